"""Decoding of small tensors: exact element values out of every storage encoding of a `TensorProto`."""

from __future__ import annotations

import struct
from math import prod
from typing import TYPE_CHECKING

from onnx import TensorProto

from onnx_ascend_ext.graph.number_formats import exact, packed, unpacked, width

if TYPE_CHECKING:
    from collections.abc import Sequence
    from fractions import Fraction

    from onnx_ascend_ext.graph.number_formats import Number

# The field that holds the elements when `raw_data` does not; that of all other types is `int32_data`.
_NUMBER_FIELDS: dict[int, str] = {
    TensorProto.FLOAT: "float_data",
    TensorProto.DOUBLE: "double_data",
    TensorProto.INT64: "int64_data",
    TensorProto.UINT64: "uint64_data",
    TensorProto.UINT32: "uint64_data",
}
# Of those that lie in `int32_data`, which holds the bit patterns of the others.
_INTEGER_TYPES = frozenset(
    {
        TensorProto.INT8,
        TensorProto.INT16,
        TensorProto.INT32,
        TensorProto.UINT8,
        TensorProto.UINT16,
        TensorProto.BOOL,
    }
)


def is_external(tensor: TensorProto) -> bool:
    """Whether the tensor's bytes lie in another file."""
    return tensor.data_location == TensorProto.EXTERNAL


def elements(tensor: TensorProto) -> Sequence[Number] | None:
    """The elements of a tensor in one dimension, or None when they cannot be decoded.

    External tensors, strings, packed types and tensors whose field does not hold as many elements as
    `dims` says are not decoded. Reference: `onnx.proto`, message TensorProto.
    """
    data = _bytes(tensor)
    return None if data is None else unpacked(data, tensor.data_type)


def uniform_value(tensor: TensorProto) -> int | Fraction | None:
    """The number that every element of a tensor equals, or None when there is none."""
    data, kind = _bytes(tensor), tensor.data_type
    if not data:
        return None
    size = width(kind)
    first, last = unpacked(data[:size] + data[-size:], kind)
    # One comparison settles it for nearly every weight before the whole of it is looked at.
    if first != last:
        return None
    # A zero has two spellings.
    if data != data[:size] * (len(data) // size) and (first or any(unpacked(data, kind))):
        return None
    return exact(first)


def _bytes(tensor: TensorProto) -> bytes | None:
    """The elements as `raw_data` holds them, wherever they are; None when they cannot be decoded."""
    kind, count = tensor.data_type, prod(tensor.dims)
    size = width(kind)
    if not size or is_external(tensor):
        return None
    raw: bytes = tensor.raw_data
    if raw:
        return raw if len(raw) == count * size else None
    field = _NUMBER_FIELDS.get(kind, "int32_data")
    numbers = getattr(tensor, field)
    holds_patterns = field == "int32_data" and kind not in _INTEGER_TYPES
    if holds_patterns and len(numbers) == count:
        # Some writers extend them with their sign.
        limit = 1 << 8 * size
        return struct.pack(f"<{count}{'H' if size == 2 else 'B'}", *[number % limit for number in numbers])
    if holds_patterns:
        # Some writers put small floats into float_data as plain numbers.
        numbers = tensor.float_data
    return packed(numbers, kind) if len(numbers) == count else None
