"""How far two sets of outputs lie apart."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from onnx_ascend_ext.sessions.values import dtype_name

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Tolerance:
    """Bound on `|candidate - reference|`: `atol * max(1, largest |reference|) + rtol * |reference|`.

    The absolute part grows with the tensor's largest finite value: the sums of one tensor share its scale.
    """

    rtol: float
    atol: float


# A few dozen units in the last place of each format, which a graph of some depth accumulates.
_DEFAULTS = {
    "float64": Tolerance(1e-9, 1e-11),
    "float32": Tolerance(1e-5, 1e-6),
    "float16": Tolerance(5e-3, 1e-3),
    "bfloat16": Tolerance(4e-2, 1e-2),
    "complex64": Tolerance(1e-5, 1e-6),
    "complex128": Tolerance(1e-9, 1e-11),
}
_EXACT = Tolerance(0.0, 0.0)


@dataclass(frozen=True)
class Comparison:
    """One output's difference.

    Attributes:
        name: the output.
        dtype: the name of its dtype.
        max_abs_error: largest `|candidate - reference|`, 0 where both are NaN or the same infinity; infinite
            where the arrays differ in shape, dtype, or in where they are not finite.
        max_rel_error: largest `|candidate - reference| / |reference|` over the elements that differ and whose
            reference is not 0.
        tolerance: what was allowed.
        ok: whether every element lies within it.
        note: what differs beside the values, or an empty string.
    """

    name: str
    dtype: str
    max_abs_error: float
    max_rel_error: float
    tolerance: Tolerance
    ok: bool
    note: str = ""


def default_tolerance(dtype: np.dtype[Any]) -> Tolerance:
    """The tolerance for a dtype; exact equality for integers, booleans and strings."""
    return _DEFAULTS.get(dtype.name, Tolerance(0.25, 0.25) if dtype.name.startswith("float8") else _EXACT)


def compare(
    reference: Mapping[str, Array],
    candidate: Mapping[str, Array],
    *,
    rtol: float | None = None,
    atol: float | None = None,
) -> list[Comparison]:
    """Compares the outputs of two runs by name; `rtol` and `atol` replace the dtype's own where given."""
    return [
        _compare_one(name, expected, candidate.get(name), rtol, atol) for name, expected in reference.items()
    ] + [
        Comparison(
            name, dtype_name(array.dtype), np.inf, np.inf, _EXACT, False, "the reference has no such output"
        )
        for name, array in candidate.items()
        if name not in reference
    ]


def _compare_one(
    name: str, expected: Array, actual: Array | None, rtol: float | None, atol: float | None
) -> Comparison:
    dtype, default = dtype_name(expected.dtype), default_tolerance(expected.dtype)
    tolerance = Tolerance(default.rtol if rtol is None else rtol, default.atol if atol is None else atol)

    def differs(note: str) -> Comparison:
        return Comparison(name, dtype, np.inf, np.inf, tolerance, False, note)

    if actual is None:
        return differs("the candidate has no such output")
    if actual.dtype != expected.dtype:
        return differs(f"dtype {dtype_name(actual.dtype)}, not {dtype}")
    if actual.shape != expected.shape:
        return differs(f"shape {list(actual.shape)}, not {list(expected.shape)}")
    if expected.dtype.kind in "OSUb":
        same = bool(np.array_equal(expected, actual))
        apart = 0.0 if same else np.inf
        return Comparison(name, dtype, apart, apart, tolerance, same, "" if same else "values differ")

    wide: Any = np.complex128 if expected.dtype.kind == "c" else np.float64
    left, right = expected.astype(wide), actual.astype(wide)
    equal = (expected == actual) | (np.isnan(left) & np.isnan(right))
    comparable = np.isfinite(left) & np.isfinite(right)
    with np.errstate(invalid="ignore"):
        difference: Array = np.abs(left - right)
    if expected.dtype.kind in "iu":
        # Integers beyond 2**53 do not survive the widening, but two that differ are at least 1 apart.
        difference = np.maximum(difference, 1.0)
    magnitude = np.abs(left)
    error: Array = np.where(equal, 0.0, np.where(comparable, difference, np.inf))
    scale = max(1.0, float(magnitude[np.isfinite(magnitude)].max(initial=0.0)))
    allowed = tolerance.atol * scale + tolerance.rtol * np.where(comparable, magnitude, 0.0)
    relative = np.where(np.isinf(error), np.inf, 0.0)
    np.divide(error, magnitude, out=relative, where=(error > 0) & np.isfinite(error) & (magnitude > 0))
    missing = bool(np.isinf(error).any())
    return Comparison(
        name,
        dtype,
        float(error.max(initial=0.0)),
        float(relative.max(initial=0.0)),
        tolerance,
        bool((error <= allowed).all()) and not missing,
        "NaN or infinity on one side only" if missing else "",
    )
