"""Decoding of small tensors: exact element values out of every storage encoding of a `TensorProto`."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, NamedTuple

from onnx import TensorProto

from onnx_ascend_ext.graph.number_formats import (
    FLOAT8E8M0,
    FLOAT_TYPES,
    exact,
    packed,
    packed_patterns,
    unpacked,
    width,
)

if TYPE_CHECKING:
    from collections.abc import Sequence
    from fractions import Fraction

    from onnx_ascend_ext.graph.number_formats import Number

# The field that holds the elements when `raw_data` does not; that of all other types is `int32_data`.
_FIELDS: dict[int, str] = {
    TensorProto.FLOAT: "float_data",
    TensorProto.DOUBLE: "double_data",
    TensorProto.INT64: "int64_data",
    TensorProto.UINT64: "uint64_data",
    TensorProto.UINT32: "uint64_data",
}
# Types whose numbers themselves are in their field; of all others it holds the bit patterns.
_PLAIN = frozenset({*_FIELDS, TensorProto.BOOL} - {TensorProto.UINT32})
_SMALL_FLOATS = (FLOAT_TYPES | {FLOAT8E8M0}) - _FIELDS.keys()

# How many elements are decoded at a time.
_CHUNK = 4096


def is_external(tensor: TensorProto) -> bool:
    """Whether the tensor's bytes lie in another file."""
    return tensor.data_location == TensorProto.EXTERNAL


def elements(tensor: TensorProto) -> Sequence[Number] | None:
    """The elements of a tensor in one dimension, or None when they cannot be decoded.

    External tensors, strings, packed types and tensors whose field does not hold as many elements as
    `dims` says are not decoded. Reference: `onnx.proto`, message TensorProto.
    """
    stored = _stored(tensor)
    return None if stored is None else stored.decoded(stored.part(0, stored.size))


def uniform_value(tensor: TensorProto) -> int | Fraction | None:
    """The number that every element of a tensor equals, or None when there is none."""
    stored = _stored(tensor)
    if stored is None or not stored.size:
        return None
    head = stored.part(0, 1)
    number = _only(stored.decoded(head))
    # The last element settles it for nearly every weight.
    if number is None or _only(stored.decoded(stored.part(stored.size - 1, stored.size))) != number:
        return None
    for start in range(0, stored.size, _CHUNK):
        part = stored.part(start, start + _CHUNK)
        # Equal numbers may be stored in several ways: zeros with their sign, truths as anything.
        if part != head * (len(part) // len(head)) and _only(stored.decoded(part)) != number:
            return None
    return exact(number)


def _only(numbers: Sequence[Number] | None) -> Number | None:
    """The number that all numbers equal, or None."""
    if numbers is None or any(number != numbers[0] for number in numbers):
        return None
    return numbers[0]


class _Stored(NamedTuple):
    """The elements of a tensor where they are.

    Attributes:
        kind: their `TensorProto.DataType`.
        content: `raw_data`, or another field.
        are_patterns: whether that field holds bit patterns.
    """

    kind: int
    content: bytes | Sequence[Number]
    are_patterns: bool = False

    @property
    def size(self) -> int:
        """How many elements there are."""
        return len(self.content) // (width(self.kind) if isinstance(self.content, bytes) else 1)

    def part(self, start: int, stop: int) -> bytes | list[Number]:
        """Some elements as they are stored."""
        if isinstance(self.content, bytes):
            return self.content[start * width(self.kind) : stop * width(self.kind)]
        return list(self.content[start:stop])

    def decoded(self, part: bytes | list[Number]) -> Sequence[Number] | None:
        """The numbers of stored elements, or None where one is no number of the type."""
        if isinstance(part, bytes):
            return unpacked(part, self.kind)
        if self.are_patterns:
            # Some writers extend the sign of a pattern, and others write that of a negative number without.
            return unpacked(packed_patterns([int(pattern) for pattern in part], self.kind), self.kind)
        data = packed(part, self.kind)
        return None if data is None else unpacked(data, self.kind)


def _stored(tensor: TensorProto) -> _Stored | None:
    """The elements of a tensor, or None when they cannot be decoded."""
    kind, count = tensor.data_type, prod(tensor.dims)
    size = width(kind)
    if not size or is_external(tensor):
        return None
    raw: bytes = tensor.raw_data
    if raw:
        return _Stored(kind, raw) if len(raw) == count * size else None
    field = getattr(tensor, _FIELDS.get(kind, "int32_data"))
    if len(field) == count:
        return _Stored(kind, field, kind not in _PLAIN)
    # Some writers put small floats into float_data as plain numbers.
    if kind in _SMALL_FLOATS and len(tensor.float_data) == count:
        return _Stored(kind, tensor.float_data)
    return None
