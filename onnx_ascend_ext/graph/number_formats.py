"""The number formats of ONNX's element types: their numbers as bytes, and what a Cast makes of a number.

The standard library knows most formats, and bfloat16 is the upper half of one that it knows. numpy and
ml_dtypes, which take long to import, are imported where they are needed.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, TypeAlias

from onnx import TensorProto

Number: TypeAlias = "int | float"

# Codes of the struct module, which are numpy's as well.
_CODES: dict[int, str] = {
    TensorProto.FLOAT: "f",
    TensorProto.DOUBLE: "d",
    TensorProto.FLOAT16: "e",
    TensorProto.INT8: "b",
    TensorProto.INT16: "h",
    TensorProto.INT32: "i",
    TensorProto.INT64: "q",
    TensorProto.UINT8: "B",
    TensorProto.UINT16: "H",
    TensorProto.UINT32: "I",
    TensorProto.UINT64: "Q",
    TensorProto.BOOL: "?",
}

# Names in ml_dtypes.
_EXTENSIONS: dict[int, str] = {
    TensorProto.BFLOAT16: "bfloat16",
    TensorProto.FLOAT8E4M3FN: "float8_e4m3fn",
    TensorProto.FLOAT8E4M3FNUZ: "float8_e4m3fnuz",
    TensorProto.FLOAT8E5M2: "float8_e5m2",
    TensorProto.FLOAT8E5M2FNUZ: "float8_e5m2fnuz",
}

FLOAT8E8M0 = 24
"""`TensorProto.FLOAT8E8M0`, powers of two, which onnx has since 1.19 and ml_dtypes since 0.5."""
_BIAS_OF_POWERS = 127
_NO_POWER = 255

FLOAT8_TYPES = frozenset(
    {
        TensorProto.FLOAT8E4M3FN,
        TensorProto.FLOAT8E4M3FNUZ,
        TensorProto.FLOAT8E5M2,
        TensorProto.FLOAT8E5M2FNUZ,
    }
)
"""The element types of 8 bits whose arithmetic is that of real numbers, up to rounding."""

FLOAT_TYPES = FLOAT8_TYPES | {
    TensorProto.FLOAT,
    TensorProto.DOUBLE,
    TensorProto.FLOAT16,
    TensorProto.BFLOAT16,
}
"""All element types whose arithmetic is that of real numbers, up to rounding."""

_WIDENING = frozenset(
    {
        (TensorProto.FLOAT16, TensorProto.FLOAT),
        (TensorProto.FLOAT16, TensorProto.DOUBLE),
        (TensorProto.BFLOAT16, TensorProto.FLOAT),
        (TensorProto.BFLOAT16, TensorProto.DOUBLE),
        (TensorProto.FLOAT, TensorProto.DOUBLE),
        *((kind, kind) for kind in FLOAT_TYPES),
        *((small, large) for small in FLOAT8_TYPES for large in FLOAT_TYPES - FLOAT8_TYPES),
    }
)


def widens(source: int, target: int) -> bool:
    """Whether a Cast from one float element type to another keeps every value exactly."""
    return (source, target) in _WIDENING


def width(element_type: int) -> int:
    """The bytes of a number of a `TensorProto.DataType`; 0 for one that this package does not decode."""
    if element_type in _CODES:
        return struct.calcsize(f"<{_CODES[element_type]}")
    if element_type in _EXTENSIONS:
        return 2 if element_type == TensorProto.BFLOAT16 else 1
    return 1 if element_type == FLOAT8E8M0 else 0


def unpacked(data: bytes, element_type: int) -> Sequence[Number]:
    """The numbers that little-endian bytes hold, which are as many as whole numbers of the type need."""
    code = _CODES.get(element_type)
    if code is not None:
        return struct.unpack(f"<{len(data) // width(element_type)}{code}", data)
    if element_type == FLOAT8E8M0:
        return [math.nan if byte == _NO_POWER else 2.0 ** (byte - _BIAS_OF_POWERS) for byte in data]
    if element_type == TensorProto.BFLOAT16:
        wide = bytearray(2 * len(data))
        wide[2::4], wide[3::4] = data[::2], data[1::2]
        return struct.unpack(f"<{len(data) // 2}f", wide)
    import numpy as np

    found: list[float] = np.frombuffer(data, _extension(element_type)).astype(np.float64).tolist()
    return found


def packed(numbers: Sequence[Number], element_type: int) -> bytes | None:
    """The bytes of some numbers, rounded as a Cast does.

    None where the type has no such number: no integer of that size, no finite number as large, or no power.
    """
    code = _CODES.get(element_type)
    if code is not None:
        try:
            return struct.pack(f"<{len(numbers)}{code}", *numbers)
        except (struct.error, OverflowError):
            return None
    if element_type in (FLOAT8E8M0, TensorProto.BFLOAT16):
        pattern_of = _power if element_type == FLOAT8E8M0 else _upper_half
        patterns: list[int] = []
        for number in numbers:
            pattern = pattern_of(number)
            if pattern is None:
                return None
            patterns.append(pattern)
        return packed_patterns(patterns, element_type)
    import numpy as np

    given = np.array(numbers, np.float64)
    with np.errstate(over="ignore", invalid="ignore"):
        rounded = given.astype(_extension(element_type))
        finite = np.isfinite(rounded.astype(np.float64))
    if not finite[np.isfinite(given)].all():
        return None
    return bytes(rounded.tobytes())


def packed_patterns(patterns: Sequence[int], element_type: int) -> bytes:
    """The bytes of the numbers with some bit patterns; bits beyond the width of the type do not count."""
    size = width(element_type)
    code = {1: "B", 2: "H", 4: "I"}[size]
    return struct.pack(f"<{len(patterns)}{code}", *[pattern % (1 << 8 * size) for pattern in patterns])


def exact(number: Number) -> int | Fraction | None:
    """A number as an exact rational, or None for NaN and the infinities."""
    if isinstance(number, int):
        return int(number)
    if not math.isfinite(number):
        return None
    return int(number) if number.is_integer() else Fraction(number)


def converted(value: int | Fraction, target: int) -> int | Fraction | None:
    """A number after a Cast to another element type, or None when it is not finite or not decoded there."""
    if target in FLOAT_TYPES:
        data = packed([float(value)], target)
        return None if data is None else exact(unpacked(data, target)[0])
    if target == TensorProto.BOOL:
        return int(value != 0)
    # Integers are truncated; one that is too large does not pack.
    return int(value) if target in _CODES and packed([int(value)], target) is not None else None


def is_exact_in_floats(value: int | Fraction) -> bool:
    """Whether every float type that is decoded holds a number exactly.

    The fewest digits are the 3 bits of FLOAT8E5M2, the coarsest step is 2**-9, that of FLOAT8E4M3FN, and the
    smallest range ends at 240, in FLOAT8E4M3FNUZ.
    """
    numerator = abs(value.numerator)
    digits = numerator // (numerator & -numerator or 1)
    return digits < 1 << 3 and (1 << 9) % value.denominator == 0 and numerator <= 240 * value.denominator


def spelled(value: int | Fraction, element_type: int) -> str:
    """A number with as few digits as tell it apart in its type."""
    if element_type not in FLOAT_TYPES:
        return str(float(value))
    import numpy as np

    code = _CODES.get(element_type)
    kind = _extension(element_type) if code is None else np.dtype(code).type
    return str(kind(float(value)))


def _extension(element_type: int) -> Any:
    import ml_dtypes

    return getattr(ml_dtypes, _EXTENSIONS[element_type])


def _upper_half(number: Number) -> int | None:
    """The pattern of a bfloat16, the upper half of a float32; None for a finite number beyond its largest."""
    try:
        (pattern,) = struct.unpack("<I", struct.pack("<f", number))
    except OverflowError:
        return None
    if not math.isfinite(number):
        return int(pattern >> 16) | (math.isnan(number) << 6)
    # To the nearest one, and half-way to the even one.
    upper = int(pattern + 0x7FFF + (pattern >> 16 & 1)) >> 16
    return None if upper & 0x7F80 == 0x7F80 else upper


def _power(number: Number) -> int | None:
    """The pattern of a power of two or of NaN, None for any other number."""
    if math.isnan(number):
        return _NO_POWER
    digits, exponent = math.frexp(float(number))
    pattern = exponent - 1 + _BIAS_OF_POWERS
    return pattern if digits == 0.5 and 0 <= pattern < _NO_POWER else None
