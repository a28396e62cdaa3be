"""Decoding of small tensors: exact element values out of every storage encoding of a `TensorProto`."""

from __future__ import annotations

import struct
from math import prod
from typing import TYPE_CHECKING, NamedTuple

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
# Types whose numbers themselves lie in `int32_data`; of all others there it holds the bit patterns.
_NUMBERS_IN_INT32 = frozenset(
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
    stored = _stored(tensor)
    data = None if stored is None else stored.encoded()
    return None if data is None else unpacked(data, tensor.data_type)


def uniform_value(tensor: TensorProto) -> int | Fraction | None:
    """The number that every element of a tensor equals, or None when there is none."""
    stored, kind = _stored(tensor), tensor.data_type
    ends = None if stored is None else stored.ends()
    if stored is None or not ends:
        return None
    # This settles it for nearly every weight before the whole of it is looked at.
    first, last = unpacked(ends, kind)
    if first != last:
        return None
    data = stored.encoded()
    if data is None or not _is_uniform(data, kind, first):
        return None
    return exact(first)


def _is_uniform(data: bytes, kind: int, number: Number) -> bool:
    if number:
        size = width(kind)
        return data == data[:size] * (len(data) // size)
    # A zero has two spellings, of these bytes alone.
    rest = data.strip(b"\0")
    return not rest.strip(b"\0\x80") and (not rest or not any(unpacked(data, kind)))


class _Stored(NamedTuple):
    """The elements of a tensor where they are.

    Attributes:
        kind: their `TensorProto.DataType`.
        content: `raw_data`, or the numbers or bit patterns of another field.
        are_patterns: whether they are bit patterns.
    """

    kind: int
    content: bytes | Sequence[Number]
    are_patterns: bool = False

    def encoded(self) -> bytes | None:
        """The elements as `raw_data` holds them, or None where one is no number of the type."""
        return self._encoded(self.content)

    def ends(self) -> bytes | None:
        """The first and the last element in the same way, empty where there are none."""
        content = self.content
        if isinstance(content, bytes):
            size = width(self.kind)
            return content[:size] + content[-size:]
        return self._encoded([content[0], content[-1]]) if len(content) else b""

    def _encoded(self, content: bytes | Sequence[Number]) -> bytes | None:
        if isinstance(content, bytes):
            return content
        if not self.are_patterns:
            return packed(content, self.kind)
        # Some writers extend the sign of a pattern.
        size = width(self.kind)
        patterns = [int(number) % (1 << 8 * size) for number in content]
        return struct.pack(f"<{len(patterns)}{'H' if size == 2 else 'B'}", *patterns)


def _stored(tensor: TensorProto) -> _Stored | None:
    """The elements of a tensor, or None when they cannot be decoded."""
    kind, count = tensor.data_type, prod(tensor.dims)
    size = width(kind)
    if not size or is_external(tensor):
        return None
    raw: bytes = tensor.raw_data
    if raw:
        return _Stored(kind, raw) if len(raw) == count * size else None
    field = _NUMBER_FIELDS.get(kind, "int32_data")
    numbers = getattr(tensor, field)
    holds_patterns = field == "int32_data" and kind not in _NUMBERS_IN_INT32
    if len(numbers) == count:
        return _Stored(kind, numbers, holds_patterns)
    # Some writers put small floats into float_data as plain numbers.
    if holds_patterns and len(tensor.float_data) == count:
        return _Stored(kind, tensor.float_data)
    return None
