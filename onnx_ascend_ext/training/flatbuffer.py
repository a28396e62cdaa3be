"""Reads tables of a FlatBuffer that may be truncated or no FlatBuffer at all.

The `flatbuffers` package reads without looking at bounds, which suits trusted buffers alone. The encoding is
that of https://flatbuffers.dev/internals: little-endian, offsets are relative to where they are stored, and a
table begins with the signed distance back to its vtable.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any, TypeVar

T = TypeVar("T")

_IDENTIFIER_AT = 4
_IDENTIFIER_SIZE = 4
_OFFSET = struct.Struct("<I")
_VTABLE_DISTANCE = struct.Struct("<i")
_VTABLE_ENTRY = struct.Struct("<H")
_VTABLE_HEADER = 4


class FlatBufferError(ValueError):
    """The bytes are no whole FlatBuffer."""


def identifier(buffer: bytes) -> bytes:
    """The four bytes that name the kind of file; fewer in a file that is too short."""
    return buffer[_IDENTIFIER_AT : _IDENTIFIER_AT + _IDENTIFIER_SIZE]


def root(buffer: bytes) -> Table:
    """The root table of a buffer.

    Raises:
        FlatBufferError: as every method of `Table`, when an offset leads out of the buffer.
    """
    return Table(buffer, _unpack(_OFFSET, buffer, 0))


class Table:
    """One table; fields are asked for by their number in the schema, from 0.

    A field that is not stored has its default.
    """

    def __init__(self, buffer: bytes, position: int) -> None:
        self._buffer = buffer
        self._position = position
        self._vtable = position - _unpack(_VTABLE_DISTANCE, buffer, position)
        self._vtable_size = _unpack(_VTABLE_ENTRY, buffer, self._vtable)

    def scalar(self, field: int, layout: str, default: T) -> T:
        """The number in a field, such as `layout` `<q` for an int64."""
        at = self._field(field)
        if at is None:
            return default
        value: T = _unpack(struct.Struct(layout), self._buffer, at)
        return value

    def table(self, field: int) -> Table | None:
        """The table that a field refers to."""
        at = self._field(field)
        return None if at is None else Table(self._buffer, self._indirect(at))

    def text(self, field: int) -> str:
        """A string field; the default is the empty string."""
        data = self.data(field)
        try:
            return "" if data is None else data.decode()
        except UnicodeDecodeError:
            raise FlatBufferError("a name is not valid UTF-8") from None

    def data(self, field: int) -> bytes | None:
        """The bytes of a string, or of a vector of bytes."""
        found = self._vector(field, 1)
        return None if found is None else self._buffer[found[0] : found[0] + found[1]]

    def integers(self, field: int) -> tuple[int, ...]:
        """A vector of int64."""
        return tuple(self._elements(field, 8, lambda at: _unpack(struct.Struct("<q"), self._buffer, at)))

    def tables(self, field: int) -> list[Table]:
        """A vector of tables."""
        return self._elements(field, _OFFSET.size, lambda at: Table(self._buffer, self._indirect(at)))

    def _elements(self, field: int, size: int, read: Callable[[int], T]) -> list[T]:
        found = self._vector(field, size)
        if found is None:
            return []
        start, count = found
        return [read(start + index * size) for index in range(count)]

    def _vector(self, field: int, size: int) -> tuple[int, int] | None:
        """Where the elements of a vector start, and how many there are."""
        at = self._field(field)
        if at is None:
            return None
        head = self._indirect(at)
        start, count = head + _OFFSET.size, _unpack(_OFFSET, self._buffer, head)
        if start + count * size > len(self._buffer):
            raise FlatBufferError("it is truncated")
        return start, count

    def _field(self, field: int) -> int | None:
        entry = _VTABLE_HEADER + field * _VTABLE_ENTRY.size
        if entry >= self._vtable_size:
            return None
        distance = _unpack(_VTABLE_ENTRY, self._buffer, self._vtable + entry)
        return self._position + distance if distance else None

    def _indirect(self, at: int) -> int:
        return at + int(_unpack(_OFFSET, self._buffer, at))


def _unpack(layout: struct.Struct, buffer: bytes, at: int) -> Any:
    # struct itself would count a negative position from the end.
    if not 0 <= at <= len(buffer) - layout.size:
        raise FlatBufferError("it is truncated")
    return layout.unpack_from(buffer, at)[0]
