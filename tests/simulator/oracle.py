"""An independent computation of aclnnSigmoidBackward: integers and numpy, no code of the product."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

F16 = np.dtype(np.float16)
BF16 = np.dtype(ml_dtypes.bfloat16)
F32 = np.dtype(np.float32)
F64 = np.dtype(np.float64)
C64 = np.dtype(np.complex64)
C128 = np.dtype(np.complex128)

ACL_TYPE = {F32: 0, F16: 1, F64: 11, C64: 16, C128: 17, BF16: 27}
DTYPES = list(ACL_TYPE)

# The table of the operator library, row by row.
_ORDER = [F16, BF16, F32, F64, C64, C128]
_PROMOTION = [
    [F16, F32, F32, F64, C64, C128],
    [F32, BF16, F32, F64, C64, C128],
    [F32, F32, F32, F64, C64, C128],
    [F64, F64, F64, F64, C128, C128],
    [C64, C64, C64, C128, C64, C128],
    [C128, C128, C128, C128, C128, C128],
]

Array = np.ndarray[Any, Any]


def promote(a: np.dtype[Any], b: np.dtype[Any]) -> np.dtype[Any]:
    return _PROMOTION[_ORDER.index(a)][_ORDER.index(b)]


def castable(source: np.dtype[Any], target: np.dtype[Any]) -> bool:
    return source.kind != "c" or target.kind == "c"


def _float64_to_bfloat16(values: Array) -> Array:
    """One rounding to nearest even, on the bits: ml_dtypes goes through float32 and rounds twice."""
    exact = np.asarray(values, np.float64)
    # Truncated to float32 (towards zero) with a sticky bit for what was lost.
    with np.errstate(all="ignore"):
        near = exact.astype(np.float32)
    bits = near.view(np.uint32).astype(np.int64)
    too_far = np.abs(near.astype(np.float64)) > np.abs(exact)
    bits = bits - too_far
    truncated = bits.astype(np.uint32).view(np.float32).astype(np.float64)
    sticky = (truncated != exact) & ~np.isnan(exact)
    low = (bits & 0xFFFF) | sticky
    high = bits >> 16
    up = (low > 0x8000) | ((low == 0x8000) & (high & 1 == 1))
    result = (high + up).astype(np.uint16)
    return np.where(np.isnan(exact), np.uint16(0x7FC0), result).astype(np.uint16).view(BF16)


def cast(values: Array, target: np.dtype[Any]) -> Array:
    """To the type, rounded once to nearest even."""
    with np.errstate(all="ignore"):
        if values.dtype == F64 and target == BF16:
            return _float64_to_bfloat16(values)
        return values.astype(target)


def _product(a: Array, b: Array, c: Array, d: Array) -> tuple[Array, Array]:
    """(a + bi)(c + di) with the recovery of infinities of C99's annex G."""
    real = a * c - b * d
    imaginary = a * d + b * c
    both = np.isnan(real) & np.isnan(imaginary)
    if both.any():
        a, b, c, d = (part.copy() for part in np.broadcast_arrays(a, b, c, d))
        recalculate = np.zeros(real.shape, bool)

        def box(first: Array, second: Array, other: Array, another: Array) -> None:
            infinite = both & (np.isinf(first) | np.isinf(second))
            first[infinite] = np.copysign(np.isinf(first[infinite]).astype(first.dtype), first[infinite])
            second[infinite] = np.copysign(np.isinf(second[infinite]).astype(second.dtype), second[infinite])
            for part in (other, another):
                lost = infinite & np.isnan(part)
                part[lost] = np.copysign(np.zeros_like(part[lost]), part[lost])
            recalculate[infinite] = True

        box(a, b, c, d)
        box(c, d, a, b)
        partial = np.isinf(a * c) | np.isinf(b * d) | np.isinf(a * d) | np.isinf(b * c)
        overflow = both & ~recalculate & partial
        for part in (a, b, c, d):
            lost = overflow & np.isnan(part)
            part[lost] = np.copysign(np.zeros_like(part[lost]), part[lost])
        recalculate |= overflow
        infinity = real.dtype.type(np.inf)
        real = np.where(recalculate, infinity * (a * c - b * d), real)
        imaginary = np.where(recalculate, infinity * (a * d + b * c), imaginary)
    return real, imaginary


def _kernel(dy: Array, y: Array) -> Array:
    """In the promoted type."""
    if dy.dtype in (F16, BF16):
        return cast(_kernel(dy.astype(F32), y.astype(F32)), dy.dtype)
    one = dy.real.dtype.type(1)
    if dy.dtype.kind != "c":
        return (dy * (one - y)) * y
    zero = dy.real.dtype.type(0)
    real, imaginary = _product(one - y.real, zero - y.imag, y.real, y.imag)
    real, imaginary = _product(real, -imaginary, dy.real, dy.imag)
    result = np.empty(real.shape, dy.dtype)
    result.real, result.imag = real, imaginary
    return result


def sigmoid_backward(dy: Array, y: Array, target: np.dtype[Any]) -> Array:
    with np.errstate(all="ignore"):
        promoted = promote(dy.dtype, y.dtype)
        dy, y = np.broadcast_arrays(dy.astype(promoted), y.astype(promoted))
        return cast(_kernel(dy, y), target)


def bits(values: Array) -> Array:
    """The bits of the (parts of the) numbers, with one and the same pattern for every NaN."""
    values = np.ascontiguousarray(values)
    if values.dtype.kind == "c":
        values = values.view(values.real.dtype)
    unsigned = values.view(f"u{values.dtype.itemsize}").copy()
    unsigned[np.isnan(values.astype(np.float64))] = 0x7FFF
    return unsigned
