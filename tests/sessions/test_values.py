from __future__ import annotations

import ml_dtypes
import numpy as np
import onnx
import onnx.parser
import onnxruntime
import pytest

from onnx_ascend_ext.errors import BackendError
from onnx_ascend_ext.sessions import values


def identity(element_type: str) -> onnxruntime.InferenceSession:
    model = onnx.parser.parse_model(
        f'<ir_version: 9, opset_import: ["": 19]> g ({element_type}[N, 2] x) => ({element_type}[N, 2] y)'
        " { y = Identity (x) }"
    )
    return onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])


@pytest.mark.parametrize(
    ("element_type", "dtype"),
    [
        ("float", np.float32),
        ("double", np.float64),
        ("float16", np.float16),
        ("bfloat16", ml_dtypes.bfloat16),
        ("int64", np.int64),
        ("uint8", np.uint8),
        ("bool", np.bool_),
    ],
)
def test_arrays_pass_through_a_session_unchanged(element_type: str, dtype: type) -> None:
    array = np.array([[0.0, 1.0], [2.5, -3.0], [100.0, 7.0]]).astype(dtype)
    for given in (array, array[::-1], array[:0]):
        result = values.run(identity(element_type), {"x": given})["y"]
        assert result.dtype == array.dtype
        assert result.tobytes() == given.tobytes()


@pytest.mark.parametrize(
    ("dtype", "name"),
    [
        ("float32", "float32"),
        (ml_dtypes.bfloat16, "bfloat16"),
        (">i8", "int64"),
        (object, "string"),
        ("U3", "string"),
    ],
)
def test_a_dtype_is_named_as_numpy_does_and_text_as_onnx_does(dtype: object, name: str) -> None:
    assert values.dtype_name(np.dtype(dtype)) == name


def test_strings_pass_through() -> None:
    array = np.array([["a", "ß"], ["", "x y"]], object)
    assert values.run(identity("string"), {"x": array})["y"].tolist() == array.tolist()


def test_what_onnx_runtime_refuses_becomes_one_line() -> None:
    with pytest.raises(BackendError, match="x") as caught:
        values.run(identity("float"), {"x": np.zeros((2, 3), np.float32)})
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", ["seq(tensor(float))", "map(int64,tensor(float))", "tensor(nonsense)"])
def test_types_without_arrays_are_refused_by_name(name: str) -> None:
    with pytest.raises(BackendError) as caught:
        values.dtype_of(name)
    assert name in str(caught.value)
