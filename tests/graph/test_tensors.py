"""The elements of tensors in every storage encoding."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import TensorProto, numpy_helper

from onnx_ascend_ext.graph.tensors import elements, uniform_value

FLOAT, HALF, INT8, BOOL = TensorProto.FLOAT, TensorProto.FLOAT16, TensorProto.INT8, TensorProto.BOOL


def tensor(kind, dims, **content):
    return TensorProto(name="t", data_type=kind, dims=dims, **content)


@pytest.mark.parametrize(
    ("kind", "content", "expected"),
    [
        (FLOAT, {"float_data": [1.5, -2]}, [1.5, -2]),
        (TensorProto.DOUBLE, {"double_data": [0.1, 3]}, [0.1, 3]),
        (HALF, {"int32_data": [0x3C00, 0xC000]}, [1, -2]),
        (HALF, {"int32_data": [0x3C00, 0xC000 - 0x10000]}, [1, -2]),
        (HALF, {"float_data": [1, -2]}, [1, -2]),
        (TensorProto.BFLOAT16, {"int32_data": [0x3F80, 0xC000]}, [1, -2]),
        (INT8, {"int32_data": [-1, 127]}, [-1, 127]),
        (INT8, {"int32_data": [255, 0x101]}, [-1, 1]),
        (TensorProto.UINT8, {"int32_data": [-1, 200]}, [255, 200]),
        (TensorProto.INT16, {"int32_data": [0xFFFF, -2]}, [-1, -2]),
        (TensorProto.INT32, {"int32_data": [-(2**31), 7]}, [-(2**31), 7]),
        (BOOL, {"int32_data": [5, 0]}, [1, 0]),
        (TensorProto.UINT32, {"uint64_data": [2**32 + 1, 2]}, [1, 2]),
        (BOOL, {"int32_data": [1, 0]}, [1, 0]),
        (TensorProto.UINT32, {"uint64_data": [1, 2**32 - 1]}, [1, 2**32 - 1]),
        (TensorProto.INT64, {"int64_data": [-1, 2**40]}, [-1, 2**40]),
    ],
)
def test_elements_are_read_from_the_field_of_their_type(kind, content, expected):
    assert list(elements(tensor(kind, [2], **content))) == expected


@pytest.mark.parametrize(
    "broken",
    [
        tensor(FLOAT, [3], raw_data=bytes(8)),
        tensor(FLOAT, [3], float_data=[1, 2]),
        tensor(FLOAT, [2], int32_data=[1, 2]),
        tensor(TensorProto.INT64, [2], float_data=[1, 2]),
        tensor(INT8, [2], float_data=[1, 1]),
        tensor(TensorProto.DOUBLE, [2], float_data=[1, 1]),
        tensor(TensorProto.DOUBLE, [0, 3], double_data=[1, 1]),
        tensor(TensorProto.FLOAT16, [1], float_data=[1e30]),
        tensor(TensorProto.STRING, [1], string_data=[b"1"]),
        tensor(FLOAT, [1], float_data=[1], data_location=TensorProto.EXTERNAL),
    ],
)
def test_what_its_type_does_not_say_is_not_decoded(broken):
    assert elements(broken) is None
    assert uniform_value(broken) is None


@pytest.mark.parametrize(
    "array", [np.float32, np.float16, np.int64, np.uint8], ids=lambda kind: kind.__name__
)
def test_a_tensor_is_uniform_where_all_elements_are_equal(array):
    values = np.full((4, 3), 3, array)
    assert uniform_value(numpy_helper.from_array(values)) == 3
    values[2, 1] = 2
    assert uniform_value(numpy_helper.from_array(values)) is None


@pytest.mark.parametrize("field", ["float_data", "raw_data"])
@pytest.mark.parametrize("between", [1.0, -1e9, np.nan, -1e-45, 2.0**-133])
def test_a_zero_with_a_sign_equals_one_without(field, between):
    def stored(*numbers):
        content = np.array(numbers, np.float32).tobytes() if field == "raw_data" else numbers
        return tensor(FLOAT, [len(numbers)], **{field: content})

    assert uniform_value(stored(0.0, -0.0, 0.0)) == 0
    assert uniform_value(stored(-0.0, -0.0)) == 0
    assert uniform_value(stored(0.0, between, -0.0)) is None


def test_patterns_of_zero_with_a_sign_are_equal():
    assert uniform_value(tensor(HALF, [2], int32_data=[0, 0x8000])) == 0
    assert uniform_value(tensor(TensorProto.FLOAT8E4M3FNUZ, [2], int32_data=[0, 0x80])) is None  # NaN


@pytest.mark.parametrize("number", [np.nan, np.inf])
def test_nan_and_infinity_are_no_uniform_number(number):
    assert uniform_value(tensor(FLOAT, [2], float_data=[number, number])) is None


def test_a_tensor_without_elements_has_no_value():
    assert uniform_value(tensor(FLOAT, [0])) is None
    assert list(elements(tensor(FLOAT, [0]))) == []


def test_truths_are_equal_whatever_their_bytes():
    assert uniform_value(tensor(BOOL, [4], raw_data=b"\1\2\3\xff")) == 1
    assert uniform_value(tensor(BOOL, [4], raw_data=b"\1\2\0\xff")) is None


@pytest.mark.parametrize("encoding", ["raw_data", "int32_data", "float_data"])
def test_one_other_element_anywhere_is_seen(encoding):
    values = np.full(10_000, 1.5, np.float16)

    def stored():
        content = {
            "raw_data": values.tobytes(),
            "int32_data": values.view(np.uint16).tolist(),
            "float_data": values.tolist(),
        }[encoding]
        return tensor(HALF, [len(values)], **{encoding: content})

    assert uniform_value(stored()) == 1.5
    values[7_654] = 1.25
    assert uniform_value(stored()) is None


def test_a_signalling_nan_is_no_number_and_no_warning():
    assert uniform_value(tensor(TensorProto.BFLOAT16, [2], raw_data=b"\x81\x7f\x81\x7f")) is None
