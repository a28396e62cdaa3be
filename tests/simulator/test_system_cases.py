"""The 204 system cases of the operator library, made again by type, shape and range of values.

`system_cases.csv` lists them. Both operands have one shape and type; ranges reach far out of (0, 1) and
beyond the finite numbers.
"""

from __future__ import annotations

import csv
import math
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from simulator import kernel, oracle
from simulator.acl import Acl

with (Path(__file__).parent / "system_cases.csv").open(newline="") as file:
    CASES = list(csv.DictReader(file))

# Larger tensors repeat a block of this many elements, whose result repeats as well.
PERIOD = 65521

Array = np.ndarray[Any, Any]


def drawn(kind: str, dtype: np.dtype[Any], count: int, seed: int) -> Array:
    """Uniform numbers of a range, written as "low:high", or one value that is not finite."""
    rng = np.random.default_rng(seed)
    if ":" not in kind:
        return np.full(count, float(kind)).astype(dtype)
    low, high = map(float, kind.split(":"))
    real = rng.uniform(low, high, count)
    return (
        (real + 1j * rng.uniform(low, high, count)).astype(dtype) if dtype.kind == "c" else real.astype(dtype)
    )


def test_there_are_as_many_cases_as_in_the_library() -> None:
    assert len(CASES) == 204


@pytest.mark.parametrize("number", range(204))
def test_a_system_case_is_computed_bit_for_bit(acl: Acl, number: int) -> None:
    case = CASES[number]
    dtype = np.dtype(getattr(ml_dtypes, case["dtype"], None) or case["dtype"])
    shape = tuple(map(int, case["shape"].split("x")))
    count = math.prod(shape)
    dy, y = (
        drawn(case[operand], dtype, min(count, PERIOD), 2 * number + i)
        for i, operand in enumerate(("grad_output", "output"))
    )
    out = np.zeros(shape, dtype)
    assert kernel.run(acl, np.resize(dy, shape), np.resize(y, shape), out) == 0
    expected = oracle.bits(oracle.sigmoid_backward(dy, y, dtype))
    flat, per_element = out.reshape(-1), len(expected) // len(dy)
    for start in range(0, count, PERIOD):
        piece = oracle.bits(flat[start : start + PERIOD])
        assert (piece == expected[: len(flat[start : start + PERIOD]) * per_element]).all(), start
