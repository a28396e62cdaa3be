"""Numpy arrays in and out of a session, for every ONNX tensor type.

ONNX Runtime's own conversion refuses bfloat16 and the float8 types; here they are `ml_dtypes` arrays.
"""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from onnx_ascend_ext.errors import BackendError
from onnx_ascend_ext.sessions.onnxruntime_module import onnxruntime

Array = npt.NDArray[Any]


def dtype_of(type_name: str) -> np.dtype[Any]:
    """The numpy dtype for ONNX Runtime's name of a tensor type, such as `tensor(float16)`.

    Raises:
        BackendError: the type is not a dense tensor, or has no numpy dtype.
    """
    import onnx

    inner = type_name.removeprefix("tensor(").removesuffix(")")
    if inner == type_name:
        raise BackendError(
            f"values of type {type_name} cannot be made from numpy arrays, only dense tensors can"
        )
    element_type = onnx.TensorProto.DataType.Value(inner.upper())
    return np.dtype(onnx.helper.tensor_dtype_to_np_dtype(element_type))


def run(session: Any, feeds: Mapping[str, Array], outputs: Sequence[str] | None = None) -> dict[str, Array]:
    """Runs a session on arrays.

    Args:
        session: an `onnxruntime.InferenceSession`.
        feeds: an array for each input that the model needs, by name.
        outputs: the outputs to compute; all where None.

    Returns:
        The outputs by name, in the model's order.

    Raises:
        BackendError: ONNX Runtime cannot run the model on these inputs; the message is its own.
    """
    names = list(outputs) if outputs is not None else [output.name for output in session.get_outputs()]
    try:
        values = session.run_with_ort_values(names, {name: _to_value(array) for name, array in feeds.items()})
    except BackendError:
        raise
    except Exception as error:
        # ONNX Runtime raises its own exception types, all derived from Exception alone.
        raise BackendError(" ".join(str(error).split())) from error
    return {name: _to_array(value) for name, value in zip(names, values, strict=True)}


def _to_value(array: Array) -> Any:
    ort_value = onnxruntime().OrtValue
    if array.dtype.isbuiltin or array.dtype.kind in "OSU":
        return ort_value.ortvalue_from_numpy(np.ascontiguousarray(array).reshape(array.shape))
    import onnx

    storage = np.dtype(f"u{array.dtype.itemsize}")
    return ort_value.ortvalue_from_numpy_with_onnx_type(
        np.ascontiguousarray(array).reshape(array.shape).view(storage),
        onnx.helper.np_dtype_to_tensor_dtype(array.dtype),
    )


def _to_array(value: Any) -> Array:
    if not value.is_tensor():
        raise BackendError(f"an output of type {value.data_type()} cannot become a numpy array")
    if value.data_type() == "tensor(string)":
        return np.asarray(value.numpy())
    dtype = dtype_of(value.data_type())
    if dtype.isbuiltin:
        return np.asarray(value.numpy())
    array = np.empty(value.shape(), dtype)
    if array.nbytes:
        ctypes.memmove(array.ctypes.data, value.data_ptr(), array.nbytes)
    return array
