"""Number formats, against numpy and ml_dtypes."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from float_types import FLOATS
from hypothesis import given
from hypothesis import strategies as st
from onnx import TensorProto

from onnx_ascend_ext.graph import number_formats

INTEGERS = {
    TensorProto.INT8: np.int8,
    TensorProto.INT16: np.int16,
    TensorProto.INT32: np.int32,
    TensorProto.INT64: np.int64,
    TensorProto.UINT8: np.uint8,
    TensorProto.UINT16: np.uint16,
    TensorProto.UINT32: np.uint32,
    TensorProto.UINT64: np.uint64,
}
POWERS = 24  # TensorProto.FLOAT8E8M0, which onnx has since 1.19

numbers = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False),
    st.floats(-500, 500),
    st.builds(lambda digits, scale: digits * 2.0**scale, st.integers(-64, 64), st.integers(-20, 12)),
)


def rounded(number, kind):
    with np.errstate(over="ignore"):
        return float(np.array([number], np.float64).astype(FLOATS[kind])[0])


@pytest.mark.parametrize("kind", FLOATS, ids=TensorProto.DataType.Name)
class TestFloats:
    @given(number=numbers)
    def test_a_number_is_converted_as_a_cast_does(self, kind, number):
        expected = rounded(number, kind)
        found = number_formats.converted(Fraction(number), kind)
        assert found == (Fraction(expected) if np.isfinite(expected) else None)

    @given(values=st.lists(st.floats(-200, 200), max_size=5))
    def test_bytes_hold_the_numbers_that_were_packed(self, kind, values):
        array = np.array(values, np.float64).astype(FLOATS[kind])
        data = number_formats.packed(values, kind)
        assert data == array.tobytes()
        assert len(data) == len(values) * number_formats.width(kind)
        assert list(number_formats.unpacked(data, kind)) == array.astype(np.float64).tolist()

    def test_a_number_beyond_the_largest_is_none_of_the_type(self, kind):
        if kind == TensorProto.DOUBLE:
            assert number_formats.packed([1.7e308], kind) is not None
        else:
            assert number_formats.packed([1.0, -1e300], kind) is None
            assert number_formats.converted(10**300, kind) is None

    def test_what_is_not_finite_is_no_exact_number(self, kind):
        data = np.array([np.nan], FLOATS[kind]).tobytes()
        assert number_formats.exact(number_formats.unpacked(data, kind)[0]) is None


@given(number=numbers)
def test_a_number_is_exact_in_floats_where_every_type_holds_it(number):
    expected = all(rounded(number, kind) == number for kind in FLOATS)
    assert number_formats.is_exact_in_floats(number_formats.exact(number)) == expected


@pytest.mark.parametrize("kind", INTEGERS, ids=TensorProto.DataType.Name)
def test_an_integer_type_holds_its_range_and_no_more(kind):
    limits = np.iinfo(INTEGERS[kind])
    for limit, beyond in ((limits.min, limits.min - 1), (limits.max, limits.max + 1)):
        assert number_formats.converted(int(limit), kind) == limit
        assert number_formats.converted(int(beyond), kind) is None
    assert number_formats.converted(Fraction(7, 2), kind) == 3
    assert list(number_formats.unpacked(np.array([1, 0, 5], INTEGERS[kind]).tobytes(), kind)) == [1, 0, 5]


def test_truth_is_one_or_zero():
    assert number_formats.converted(Fraction(1, 2), TensorProto.BOOL) == 1
    assert number_formats.converted(0, TensorProto.BOOL) == 0


def test_a_power_of_two_has_its_exponent_for_a_pattern():
    data = number_formats.packed([1.0, 2.0, 0.5, np.nan], POWERS)
    assert data == bytes([127, 128, 126, 255])
    assert list(number_formats.unpacked(data[:3], POWERS)) == [1.0, 2.0, 0.5]
    assert np.isnan(number_formats.unpacked(data[3:], POWERS)).all()


@pytest.mark.parametrize("number", [3.0, -2.0, 0.0, 2.0**200, np.inf])
def test_what_is_no_power_of_two_has_no_pattern(number):
    assert number_formats.packed([1.0, number], POWERS) is None


@pytest.mark.parametrize("source", [kind for kind in FLOATS if number_formats.width(kind) <= 2])
def test_a_cast_that_widens_keeps_every_value(source):
    patterns = np.arange(2 ** (8 * number_formats.width(source)), dtype=f"u{number_formats.width(source)}")
    with np.errstate(all="ignore"):
        values = patterns.view(FLOATS[source]).astype(np.float64)
        values = values[np.isfinite(values)]
        for target, dtype in FLOATS.items():
            if number_formats.widens(source, target):
                assert (values.astype(dtype).astype(np.float64) == values).all()


def test_a_cast_widens_to_a_larger_float_type_only():
    assert number_formats.widens(TensorProto.FLOAT, TensorProto.DOUBLE)
    assert number_formats.widens(TensorProto.FLOAT8E5M2, TensorProto.FLOAT16)
    assert not number_formats.widens(TensorProto.DOUBLE, TensorProto.FLOAT)
    assert not number_formats.widens(TensorProto.FLOAT, TensorProto.BFLOAT16)
    assert not number_formats.widens(TensorProto.INT8, TensorProto.INT8)


@pytest.mark.parametrize("kind", [TensorProto.STRING, TensorProto.INT4, TensorProto.COMPLEX64])
def test_other_types_are_not_decoded(kind):
    assert number_formats.width(kind) == 0
    assert number_formats.converted(1, kind) is None
