"""Train a small convolutional network with Keras and record it: python examples/keras_small.py [RUN]"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")  # before TensorFlow is imported: no start-up notices

import keras
import numpy as np
import tensorflow as tf

import stepscope
from shapes import CLASSES, SIZE, draw
from stepscope_tf import ProfilerCallback

BATCH = 64
STEPS_PER_EPOCH = 100
EPOCHS = 3


def dataset(first: int, count: int) -> tf.data.Dataset:
    """Batches of the pictures ``first`` to ``first + count - 1``, drawn when asked for."""

    def pictures() -> Iterator[tuple[np.ndarray, int]]:
        flip = np.random.default_rng(first)
        for index in range(first, first + count):
            picture, label = draw(index)
            with stepscope.annotate("augment"):
                if flip.random() < 0.5:
                    picture = picture[:, ::-1]
                picture = picture[..., np.newaxis]
            yield picture, label

    signature = (tf.TensorSpec((SIZE, SIZE, 1), tf.float32), tf.TensorSpec((), tf.int32))
    batches = tf.data.Dataset.from_generator(pictures, output_signature=signature).batch(BATCH)
    return batches.apply(tf.data.experimental.assert_cardinality(count // BATCH))


def make_model() -> keras.Model:
    layers: list[keras.Layer] = [keras.Input((SIZE, SIZE, 1))]
    for filters in (16, 32, 64):
        layers += [
            keras.layers.Conv2D(filters, 3, padding="same"),
            keras.layers.GroupNormalization(8),
            keras.layers.ReLU(),
            keras.layers.MaxPooling2D(),
        ]
    layers += [keras.layers.GlobalAveragePooling2D(), keras.layers.Dense(len(CLASSES))]
    return keras.Sequential(layers)


def main(run: str) -> None:
    keras.utils.set_random_seed(0)
    model = make_model()
    model.compile(
        optimizer=keras.optimizers.AdamW(2e-3),
        loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        metrics=["accuracy"],
    )
    model.fit(
        dataset(0, BATCH * STEPS_PER_EPOCH),
        validation_data=dataset(10_000_000, BATCH * 8),
        epochs=EPOCHS,
        shuffle=False,
        verbose=2,
        callbacks=[ProfilerCallback(run)],
    )


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "runs/keras-small")
