"""Numpy arrays in and out of a session, for every ONNX tensor type.

ONNX Runtime's own conversion refuses bfloat16 and the float8 types; here they are `ml_dtypes` arrays.
"""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt

from onnx_ascend_ext.errors import BackendError
from onnx_ascend_ext.sessions.onnxruntime_module import onnxruntime

Array = npt.NDArray[Any]


# ONNX Runtime's names of element types, where numpy's differ or numpy has none.
_DTYPES: dict[str, np.dtype[Any]] = {
    "float": np.dtype(np.float32),
    "double": np.dtype(np.float64),
    "bfloat16": np.dtype(ml_dtypes.bfloat16),
    "float8e4m3fn": np.dtype(ml_dtypes.float8_e4m3fn),
    "float8e4m3fnuz": np.dtype(ml_dtypes.float8_e4m3fnuz),
    "float8e5m2": np.dtype(ml_dtypes.float8_e5m2),
    "float8e5m2fnuz": np.dtype(ml_dtypes.float8_e5m2fnuz),
    "string": np.dtype(object),
}

# The types whose arrays ONNX Runtime's own conversion refuses.
_EXTENDED_DTYPES = frozenset(dtype for dtype in _DTYPES.values() if dtype.isbuiltin != 1)
_EXTENDED_TYPES = frozenset(f"tensor({name})" for name, dtype in _DTYPES.items() if dtype in _EXTENDED_DTYPES)


def dtype_of(type_name: str) -> np.dtype[Any]:
    """The numpy dtype for ONNX Runtime's name of a tensor type, such as `tensor(float16)`.

    Raises:
        BackendError: the type is not a dense tensor, or has no numpy dtype.
    """
    inner = type_name.removeprefix("tensor(").removesuffix(")")
    try:
        return _DTYPES[inner] if inner in _DTYPES else np.dtype(inner)
    except (TypeError, ValueError):
        raise BackendError(f"a value of type {type_name} cannot be made from a numpy array") from None


def dtype_name(dtype: np.dtype[Any]) -> str:
    """The name that a dtype has in everything that a user reads: numpy's, and `string` for text."""
    return "string" if dtype.kind in "OSU" else dtype.name


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
    types = {output.name: output.type for output in session.get_outputs()}
    names = list(types) if outputs is None else list(outputs)
    try:
        if all(map(_is_plain, feeds.values())) and not any(types[name] in _EXTENDED_TYPES for name in names):
            results = session.run(names, dict(feeds))
        else:
            feeds_as_values = {name: _to_value(array) for name, array in feeds.items()}
            results = [_to_array(value) for value in session.run_with_ort_values(names, feeds_as_values)]
    except Exception as error:
        # ONNX Runtime raises its own exception types, all derived from Exception alone.
        raise BackendError(" ".join(str(error).split())) from error
    for name, result in zip(names, results, strict=True):
        if not isinstance(result, np.ndarray | np.generic):
            raise BackendError(f"output {name} of type {types[name]} cannot become a numpy array")
    return {name: np.asarray(result) for name, result in zip(names, results, strict=True)}


def _is_plain(array: Array) -> bool:
    return array.dtype not in _EXTENDED_DTYPES


def _to_value(array: Array) -> Any:
    ort_value = onnxruntime().OrtValue
    # ascontiguousarray gives a scalar one dimension.
    contiguous = np.ascontiguousarray(array).reshape(array.shape)
    if _is_plain(array):
        return ort_value.ortvalue_from_numpy(contiguous)
    import onnx

    name = next(name for name, dtype in _DTYPES.items() if dtype == array.dtype)
    storage = np.dtype(f"u{array.dtype.itemsize}")
    return ort_value.ortvalue_from_numpy_with_onnx_type(
        contiguous.view(storage), onnx.TensorProto.DataType.Value(name.upper())
    )


def _to_array(value: Any) -> Any:
    if not value.is_tensor() or value.data_type() not in _EXTENDED_TYPES:
        return value.numpy()
    array = np.empty(value.shape(), dtype_of(value.data_type()))
    if array.nbytes:
        ctypes.memmove(array.ctypes.data, value.data_ptr(), array.nbytes)
    return array
