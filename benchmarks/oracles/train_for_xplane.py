"""Trains a few steps with TensorFlow under its profiler and prints the path of the XPlane file.

Usage: python train_for_xplane.py FOLDER [STEPS]
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import tensorflow as tf


def train(folder: Path, steps: int) -> Path:
    data = tf.data.Dataset.range(steps * 2).map(lambda i: tf.random.stateless_normal((64, 256), (i, 1))).prefetch(2)
    model = tf.keras.Sequential([tf.keras.layers.Dense(256, "relu"), tf.keras.layers.Dense(10)])
    optimizer = tf.keras.optimizers.SGD(0.01)
    model.build((None, 256))
    optimizer.build(model.trainable_variables)

    @tf.function
    def step(iterator: tf.data.Iterator) -> None:
        batch = next(iterator)
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(model(batch) ** 2)
        optimizer.apply_gradients(
            zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables, strict=True)
        )

    iterator = iter(data)
    step(iterator)
    tf.profiler.experimental.start(str(folder))
    for number in range(steps):
        with tf.profiler.experimental.Trace("train", step_num=number, _r=1):
            step(iterator)
    tf.profiler.experimental.stop()
    (path,) = folder.rglob("*.xplane.pb")
    return path


if __name__ == "__main__":
    print(train(Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 40))
