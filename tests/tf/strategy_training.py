"""Trains under a distribution strategy, with and without stepscope; run by test_strategies.py.

Arguments: the run folder, and ``mirrored``, where Keras trains two replicas on two logical CPUs, or ``workers``, where
a loop of one's own trains as TF_CONFIG says: Keras 3 cannot (its ``fit`` fails with two workers).
"""

import json
import sys

import keras
import numpy as np
import tensorflow as tf

import stepscope_tf

run, kind = sys.argv[1:]
x = np.random.default_rng(0).random((64, 8), dtype=np.float32)


def dataset():
    return tf.data.Dataset.from_tensor_slices((x, x[:, :1])).batch(16)


def mirrored():
    tf.config.set_logical_device_configuration(
        tf.config.list_physical_devices("CPU")[0], [tf.config.LogicalDeviceConfiguration()] * 2
    )
    strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
    data = dataset()

    def train(callbacks):
        keras.utils.set_random_seed(1)
        with strategy.scope():
            model = keras.Sequential([keras.Input((8,)), keras.layers.Dense(8), keras.layers.Dense(1)])
            model.compile("sgd", "mse")
        history = model.fit(data, epochs=2, verbose=0, callbacks=callbacks, validation_data=data).history
        return history, [w.tolist() for w in model.get_weights()]

    hook = stepscope_tf.ProfilerCallback(run, window=(2, 2), monitor_interval_ms=0, overhead_budget=None)
    recorded = train([hook])
    hook.close()
    return strategy, recorded == train([])


def workers():
    strategy = tf.distribute.MultiWorkerMirroredStrategy()  # before anything else of TensorFlow
    batches = strategy.experimental_distribute_dataset(dataset())

    def train():
        with strategy.scope():
            weights = tf.Variable(tf.ones((8, 1)))

            @tf.function
            def update(inputs, labels):
                with tf.GradientTape() as tape:
                    loss = tf.reduce_mean((inputs @ weights - labels) ** 2)
                gradient = tf.distribute.get_replica_context().all_reduce("MEAN", tape.gradient(loss, weights))
                weights.assign_sub(0.1 * gradient)
                return loss

            losses = []
            for batch in stepscope_tf.data(batches):
                with stepscope_tf.step():
                    losses.append(strategy.reduce("MEAN", strategy.run(update, args=batch), axis=None).numpy().item())
        return losses, weights.numpy().tolist()

    with strategy.scope(), stepscope_tf.Profiler(run, window=(2, 2), monitor_interval_ms=0, overhead_budget=None):
        recorded = train()
    return strategy, recorded == train()


strategy, same = {"mirrored": mirrored, "workers": workers}[kind]()
print(json.dumps({"replicas": strategy.num_replicas_in_sync, "same": same}))
