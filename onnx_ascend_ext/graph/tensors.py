"""Decoding of small tensors: exact element values out of every storage encoding of a `TensorProto`."""

from __future__ import annotations

from fractions import Fraction
from math import prod
from typing import TYPE_CHECKING, Any

import ml_dtypes
import numpy as np
from onnx import TensorProto

if TYPE_CHECKING:
    import numpy.typing as npt

_NUMPY_TYPES: dict[int, Any] = {
    TensorProto.FLOAT: np.float32,
    TensorProto.DOUBLE: np.float64,
    TensorProto.FLOAT16: np.float16,
    TensorProto.BFLOAT16: ml_dtypes.bfloat16,
    TensorProto.FLOAT8E4M3FN: ml_dtypes.float8_e4m3fn,
    TensorProto.FLOAT8E4M3FNUZ: ml_dtypes.float8_e4m3fnuz,
    TensorProto.FLOAT8E5M2: ml_dtypes.float8_e5m2,
    TensorProto.FLOAT8E5M2FNUZ: ml_dtypes.float8_e5m2fnuz,
    TensorProto.INT8: np.int8,
    TensorProto.INT16: np.int16,
    TensorProto.INT32: np.int32,
    TensorProto.INT64: np.int64,
    TensorProto.UINT8: np.uint8,
    TensorProto.UINT16: np.uint16,
    TensorProto.UINT32: np.uint32,
    TensorProto.UINT64: np.uint64,
    TensorProto.BOOL: np.bool_,
}

# TensorProto.FLOAT8E8M0, which onnx has since 1.19 and ml_dtypes since 0.5; its numbers by bit pattern.
_FLOAT8E8M0 = 24
_POWERS_OF_TWO = np.append(np.ldexp(1.0, np.arange(255) - 127), np.nan)

FLOAT_TYPES = frozenset(
    {
        TensorProto.FLOAT,
        TensorProto.DOUBLE,
        TensorProto.FLOAT16,
        TensorProto.BFLOAT16,
        TensorProto.FLOAT8E4M3FN,
        TensorProto.FLOAT8E4M3FNUZ,
        TensorProto.FLOAT8E5M2,
        TensorProto.FLOAT8E5M2FNUZ,
    }
)
"""Element types whose arithmetic is that of real numbers, up to rounding."""

_NARROWEST_FLOATS = (TensorProto.FLOAT8E5M2, TensorProto.FLOAT8E4M3FN)

_WIDENING = frozenset(
    {
        (TensorProto.FLOAT16, TensorProto.FLOAT),
        (TensorProto.FLOAT16, TensorProto.DOUBLE),
        (TensorProto.BFLOAT16, TensorProto.FLOAT),
        (TensorProto.BFLOAT16, TensorProto.DOUBLE),
        (TensorProto.FLOAT, TensorProto.DOUBLE),
        *((kind, kind) for kind in FLOAT_TYPES),
        *(
            (small, large)
            for small in (
                TensorProto.FLOAT8E4M3FN,
                TensorProto.FLOAT8E4M3FNUZ,
                TensorProto.FLOAT8E5M2,
                TensorProto.FLOAT8E5M2FNUZ,
            )
            for large in (TensorProto.FLOAT16, TensorProto.BFLOAT16, TensorProto.FLOAT, TensorProto.DOUBLE)
        ),
    }
)

# The field that holds the elements when `raw_data` does not, and the type of the bit patterns in it, if any.
_STORAGE: dict[int, tuple[str, Any]] = {
    TensorProto.FLOAT: ("float_data", None),
    TensorProto.DOUBLE: ("double_data", None),
    TensorProto.INT64: ("int64_data", None),
    TensorProto.UINT64: ("uint64_data", None),
    TensorProto.UINT32: ("uint64_data", None),
    TensorProto.FLOAT16: ("int32_data", np.uint16),
    TensorProto.BFLOAT16: ("int32_data", np.uint16),
    TensorProto.FLOAT8E4M3FN: ("int32_data", np.uint8),
    TensorProto.FLOAT8E4M3FNUZ: ("int32_data", np.uint8),
    TensorProto.FLOAT8E5M2: ("int32_data", np.uint8),
    TensorProto.FLOAT8E5M2FNUZ: ("int32_data", np.uint8),
    _FLOAT8E8M0: ("int32_data", np.uint8),
}


def widens(source: int, target: int) -> bool:
    """Whether a Cast from one float element type to another keeps every value exactly."""
    return (source, target) in _WIDENING


def numpy_type(element_type: int) -> Any | None:
    """The numpy type of a `TensorProto.DataType`, or None for one that this package does not decode."""
    return _NUMPY_TYPES.get(element_type)


def is_external(tensor: TensorProto) -> bool:
    """Whether the tensor's bytes lie in another file."""
    return tensor.data_location == TensorProto.EXTERNAL


def elements(tensor: TensorProto) -> npt.NDArray[Any] | None:
    """The elements of a tensor in one dimension, or None when they cannot be decoded.

    External tensors, strings, packed types and tensors whose field does not hold as many elements as
    `dims` says are not decoded. Reference: `onnx.proto`, message TensorProto.
    """
    is_power = tensor.data_type == _FLOAT8E8M0
    kind = np.uint8 if is_power else _NUMPY_TYPES.get(tensor.data_type)
    if kind is None or is_external(tensor):
        return None
    count = prod(tensor.dims)
    found: npt.NDArray[Any]
    field, pattern = _STORAGE.get(tensor.data_type, ("int32_data", None))
    stored = getattr(tensor, field)
    if tensor.raw_data:
        width = np.dtype(kind).itemsize
        if len(tensor.raw_data) != count * width:
            return None
        found = np.frombuffer(tensor.raw_data, dtype=np.dtype(kind).newbyteorder("<"))
    elif len(stored) == count:
        if pattern is None:
            return np.array(stored, dtype=kind)
        found = np.array(stored, dtype=np.int64).astype(pattern).view(kind)
    elif pattern is not None and len(tensor.float_data) == count:
        # Some writers put small floats into float_data as plain numbers.
        numbers = np.array(tensor.float_data, dtype=np.float32)
        return numbers if is_power else numbers.astype(kind)
    else:
        return None
    return _POWERS_OF_TWO[found] if is_power else found


def uniform_value(tensor: TensorProto) -> int | Fraction | None:
    """The number that every element of a tensor equals, or None when there is none."""
    found = elements(tensor)
    if found is None or not found.size:
        return None
    first = found[0]
    # One comparison settles it for nearly every weight before the whole of it is looked at.
    if found.size > 1 and (found[-1] != first or not bool((found == first).all())):
        return None
    return exact(first)


def exact(number: Any) -> int | Fraction | None:
    """A numpy or Python number as an exact rational, or None for NaN and the infinities."""
    number = float(number) if not isinstance(number, (int, np.integer, np.bool_)) else int(number)
    if isinstance(number, int):
        return number
    if not np.isfinite(number):
        return None
    return int(number) if number.is_integer() else Fraction(number)


def converted(value: int | Fraction, target: int) -> int | Fraction | None:
    """A number after a Cast to another element type, or None when it is not finite or not decoded there."""
    kind = _NUMPY_TYPES.get(target)
    if kind is None:
        return None
    if target in FLOAT_TYPES:
        with np.errstate(over="ignore"):
            return exact(np.array([float(value)], dtype=np.float64).astype(kind)[0])
    if target == TensorProto.BOOL:
        return int(value != 0)
    truncated = int(value)
    limits = np.iinfo(kind)
    return truncated if limits.min <= truncated <= limits.max else None


def is_exact_in_floats(value: int | Fraction) -> bool:
    """Whether every float type that is decoded holds a number exactly."""
    return all(converted(value, kind) == value for kind in _NARROWEST_FLOATS)
