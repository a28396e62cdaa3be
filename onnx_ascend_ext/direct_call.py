"""The kernels themselves, called on numpy arrays without a model or a session."""

from __future__ import annotations

import ctypes
import operator
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt

from onnx_ascend_ext.errors import AclError, BackendError
from onnx_ascend_ext.native import describe, load
from onnx_ascend_ext.native.backend import warn_if_simulated
from onnx_ascend_ext.native.library import Error, Tensor

Array = npt.NDArray[Any]

# onnx.TensorProto.DataType of each dtype that aclnnSigmoidBackward takes. Spelled out, since importing onnx
# takes longer than the whole call.
_ELEMENT_TYPES: dict[np.dtype[Any], int] = {
    np.dtype(np.float32): 1,
    np.dtype(np.float16): 10,
    np.dtype(np.float64): 11,
    np.dtype(np.complex64): 14,
    np.dtype(np.complex128): 15,
    np.dtype(ml_dtypes.bfloat16): 16,
}
_SUPPORTED = ", ".join(dtype.name for dtype in _ELEMENT_TYPES)
# The library's own codes, of `runtime/c_api/onnx_ascend_ext.h`; every other code is ACL's.
_INVALID_ARGUMENT = -1
_UNAVAILABLE = -2


def sigmoid_backward(grad_output: Any, output: Any, *, out: Array | None = None, device_id: int = 0) -> Array:
    """Gradient of Sigmoid from its result: `grad_output * (1 - output) * output`.

    Runs `aclnnSigmoidBackward` on an NPU, or on the simulator. For complex numbers the slope is conjugated:
    `conj((1 - output) * output) * grad_output`. float16 and bfloat16 are computed in float32 and rounded
    once. The GIL is released meanwhile.

    Args:
        grad_output: gradient with respect to Sigmoid's result; an array of dtype float16, bfloat16
            (`ml_dtypes.bfloat16`), float32, float64, complex64 or complex128, of any shape. Anything with
            `__array__` or DLPack on the CPU is accepted, and a Python number, which takes the other's dtype.
        output: Sigmoid's result (not its input), likewise. Its shape broadcasts with that of `grad_output`.
        out: array of the broadcast shape for the result; its dtype may be any of the six, but not a real one
            for complex operands. A new array of the promoted dtype where None (float16 with bfloat16 gives
            float32, float64 with complex64 gives complex128).
        device_id: the NPU's number as ACL counts.

    Returns:
        `out`, or the new array.

    Raises:
        TypeError: a dtype is not supported, or `out` cannot hold the result.
        ValueError: the shapes do not broadcast, or `out` has another shape.
        AclError: ACL or the kernel failed.
        BackendError: there is no such device.

    The definition is `aclnnSigmoidBackward` of CANN's operator library, `aclnnop/aclnn_sigmoid_backward.h`.
    """
    left, right = _operands(grad_output, output)
    try:
        shape = np.broadcast_shapes(left.shape, right.shape)
    except ValueError:
        raise ValueError(
            f"grad_output of shape {list(left.shape)} and output of shape {list(right.shape)} "
            "do not broadcast"
        ) from None
    promoted = _promote(left.dtype, right.dtype)
    result = np.empty(shape, promoted) if out is None else _checked_out(out, shape, promoted, left, right)
    device_id = operator.index(device_id)
    direct = result
    if not _kernel_can_access(result) or not result.flags.writeable or _overlaps(result, left, right):
        direct = np.empty(shape, result.dtype.newbyteorder("="))

    backend = describe()
    backend.device(device_id)
    warn_if_simulated()
    _call("SigmoidBackward", (left, right), direct, device_id)
    if direct is not result:
        result[...] = direct
    return result


def _operands(grad_output: Any, output: Any) -> tuple[Array, Array]:
    if _is_weak(grad_output) and not _is_weak(output):
        right = _operand("output", output)
        return _beside(grad_output, right), right
    left = _operand("grad_output", grad_output)
    return left, _beside(output, left) if _is_weak(output) else _operand("output", output)


def _is_weak(value: Any) -> bool:
    """Whether a value is a Python number, which takes the other operand's dtype, as in numpy."""
    return isinstance(value, int | float | complex) and not isinstance(value, np.generic)


def _beside(number: complex, array: Array) -> Array:
    if isinstance(number, complex):
        return np.asarray(number, np.result_type(array.dtype, np.complex64))
    return np.asarray(number, array.dtype)


def _operand(name: str, value: Any) -> Array:
    if isinstance(value, np.ndarray) or hasattr(value, "__array__") or not hasattr(value, "__dlpack__"):
        array = np.asarray(value)
    else:
        array = np.from_dlpack(value)
    native = array.dtype.newbyteorder("=")
    if native not in _ELEMENT_TYPES:
        raise TypeError(f"{name} has dtype {array.dtype.name}; SigmoidBackward takes {_SUPPORTED}")
    array = array.astype(native, copy=False)
    return array if _kernel_can_access(array) else np.array(array, order="C")


def _checked_out(
    out: Any, shape: tuple[int, ...], promoted: np.dtype[Any], left: Array, right: Array
) -> Array:
    if not isinstance(out, np.ndarray):
        raise TypeError(f"out is a {type(out).__name__}, not a numpy array")
    operands = (
        f"grad_output {left.dtype.name}{list(left.shape)}, output {right.dtype.name}{list(right.shape)}"
    )
    if out.dtype.newbyteorder("=") not in _ELEMENT_TYPES:
        raise TypeError(f"out has dtype {out.dtype.name}; SigmoidBackward takes {_SUPPORTED} ({operands})")
    if promoted.kind == "c" and out.dtype.kind != "c":
        raise TypeError(
            f"out has the real dtype {out.dtype.name} but the result is {promoted.name} ({operands})"
        )
    if out.shape != shape:
        raise ValueError(
            f"out has shape {list(out.shape)} but the result has shape {list(shape)} ({operands})"
        )
    if not out.flags.writeable:
        raise ValueError("out is read-only")
    return out


def _promote(left: np.dtype[Any], right: np.dtype[Any]) -> np.dtype[Any]:
    """numpy's promotion, and aclnn's for bfloat16, which numpy does not promote with float16."""
    if left == right:
        return left
    if {left.itemsize, right.itemsize} == {2}:
        return np.dtype(np.float32)
    halves_as_float16 = (np.dtype(np.float16) if dtype.itemsize == 2 else dtype for dtype in (left, right))
    return np.result_type(*halves_as_float16)


def _kernel_can_access(array: Array) -> bool:
    """Whether the array can be described to ACL: native, aligned, strides of whole elements >= 0."""
    return (
        array.dtype.isnative
        and array.flags.aligned
        and all(stride >= 0 and stride % array.itemsize == 0 for stride in array.strides)
    )


def _overlaps(result: Array, *operands: Array) -> bool:
    """Whether writing the result could change an operand before it is read; the same view is safe."""

    def same_view(operand: Array) -> bool:
        return (
            operand.ctypes.data == result.ctypes.data
            and operand.shape == result.shape
            and operand.strides == result.strides
            and operand.dtype == result.dtype
        )

    return any(np.may_share_memory(result, operand) and not same_view(operand) for operand in operands)


def _call(kernel: str, operands: tuple[Array, ...], result: Array, device_id: int) -> None:
    inputs = (Tensor * len(operands))(*map(_tensor, operands))
    outputs = (Tensor * 1)(_tensor(result))
    error = Error()
    code = load().onnx_ascend_call(
        kernel.encode(), inputs, len(inputs), outputs, 1, device_id, ctypes.byref(error)
    )
    if code == 0:
        return
    message = error.message.decode(errors="replace")
    if error.code == _INVALID_ARGUMENT:
        raise ValueError(message)
    if error.code == _UNAVAILABLE:
        raise BackendError(message)
    raise AclError(error.function.decode(errors="replace"), error.code, message)


def _tensor(array: Array) -> Tensor:
    dimensions = ctypes.c_int64 * array.ndim
    return Tensor(
        array.ctypes.data,
        _ELEMENT_TYPES[array.dtype],
        array.ndim,
        dimensions(*array.shape),
        dimensions(*(stride // array.itemsize for stride in array.strides)),
    )
