"""The training of keras_small.py as a loop of one's own: python examples/tensorflow_loop.py [RUN]"""

from __future__ import annotations

import sys

import keras
import tensorflow as tf

import keras_small
import stepscope_tf

EPOCHS = 2


def main(run: str) -> None:
    keras.utils.set_random_seed(0)
    model = keras_small.make_model()
    optimizer = keras.optimizers.AdamW(2e-3)
    loss_of = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    dataset = keras_small.dataset(0, keras_small.BATCH * keras_small.STEPS_PER_EPOCH)

    @tf.function
    def train(pictures: tf.Tensor, labels: tf.Tensor) -> tf.Tensor:
        with tf.GradientTape() as tape:
            loss = loss_of(labels, model(pictures, training=True))
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
        return loss

    number = 0
    with stepscope_tf.Profiler(run):
        for epoch in range(EPOCHS):
            losses = []
            for pictures, labels in stepscope_tf.data(dataset):
                with stepscope_tf.step(number):
                    losses.append(float(train(pictures, labels)))  # reading the loss waits for the device
                number += 1
            print(f"epoch {epoch + 1}/{EPOCHS}: loss {sum(losses) / len(losses):.3f}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "runs/tensorflow-loop")
