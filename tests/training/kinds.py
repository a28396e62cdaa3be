"""The kinds of artifacts that `generate_artifacts` can be asked for, each with a small network."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]

FEATURES, HIDDEN, OUTPUTS, SIZE = 8, 6, 4, 5
LEARNING_RATE = 0.02
STEPS = 20
KINDS = (
    "squared_error",
    "absolute_error",
    "binary_cross_entropy",
    "sgd",
    "sgd_clipped",
    "adamw_clipped",
    "adamw_uncorrected",
    "frozen",
    "more_outputs",
)
"""Folders in `artifacts/`, named after what differs from cross entropy and AdamW."""


def draw(kind: str) -> Iterator[tuple[Array, Array]]:
    """Batches for a kind; the generator is numpy's frozen one."""
    generator = np.random.RandomState(3)
    for _ in range(STEPS):
        x = generator.standard_normal((SIZE, FEATURES)).astype(np.float32)
        if kind == "binary_cross_entropy":
            yield x, generator.randint(0, 2, (SIZE, OUTPUTS)).astype(np.float32)
        elif kind in ("squared_error", "absolute_error"):
            yield x, generator.standard_normal((SIZE, OUTPUTS)).astype(np.float32)
        else:
            yield x, generator.randint(0, OUTPUTS, SIZE).astype(np.int64)
