"""A small image data set that is made on the spot: which of four shapes does a noisy picture show?"""

from __future__ import annotations

import numpy as np

CLASSES = ("square", "disc", "cross", "stripes")
SIZE = 32


def draw(index: int) -> tuple[np.ndarray, int]:
    """Picture number ``index``: float32 of shape (SIZE, SIZE), and the number of its class.

    The same index always gives the same picture. About 0.1 ms each, so that reading a batch takes a
    visible part of a step, as it does with real pictures.
    """
    random = np.random.default_rng(index)
    label = index % len(CLASSES)
    radius = random.uniform(5, 12)
    centre = random.uniform(radius, SIZE - radius, size=2)
    y, x = np.mgrid[0:SIZE, 0:SIZE].astype(np.float32)
    dy, dx = np.abs(y - centre[0]), np.abs(x - centre[1])
    inside = np.maximum(dy, dx) < radius
    shape = (
        inside,
        np.hypot(dy, dx) < radius,
        inside & (np.minimum(dy, dx) < radius / 3),
        inside & (np.floor(x / 3) % 2 == 0),
    )[label]
    picture = shape * random.uniform(0.5, 1.0) + random.normal(0, 0.3, size=(SIZE, SIZE))
    return picture.astype(np.float32), label
