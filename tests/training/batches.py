"""Batches that are the same wherever they are drawn: in the tests, and by the reference."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]

CLASSES = 10
SHAPES: dict[str, tuple[int, ...]] = {
    "ort_mnist_mlp": (784,),
    "ort_lenet_sigmoid": (1, 28, 28),
    "ort_deep": (32,),
    "ort_digits": (64,),
}
"""Shape of one example of each model that is trained, by its folder in `models/`."""


def draw(case: str, *, steps: int, size: int, seed: int = 0) -> Iterator[tuple[Array, Array]]:
    """Random examples and labels; the generator is numpy's frozen one."""
    generator = np.random.RandomState(seed)
    for _ in range(steps):
        x = generator.standard_normal((size, *SHAPES[case])).astype(np.float32)
        yield x, generator.randint(0, CLASSES, size).astype(np.int64)
