"""Adding values to places of a tensor of zeros: what every gradient of an indexing operator does."""

from __future__ import annotations

from onnx import TensorProto

from onnx_ascend_ext.portable.body import Body
from onnx_ascend_ext.portable.errors import NoBodyError

_OPSET_OF_REDUCTION = 16
"""The first opset whose ScatterElements adds."""

_TYPES_WITHOUT_KERNEL = (TensorProto.FLOAT16, TensorProto.BFLOAT16)
"""The element types that ONNX Runtime's ScatterElements cannot add; float32 also adds them more exactly."""


def can_add(body: Body) -> bool:
    """Whether values that meet at one place can be added."""
    return body.opset >= _OPSET_OF_REDUCTION


def scatter(body: Body, positions: str, values: str, shape: str, like: str) -> str:
    """A tensor of zeros in which values have been put to different places.

    Args:
        body: the body to write to.
        positions: where each value goes, counted through the whole tensor; int64, no two of them equal.
        values: the values, as many as positions.
        shape: the shape of the tensor, 1-D.
        like: an input of the node with the element type of the values.
    """
    pieces = _flat(body, shape, positions, values, like)
    return body.op("Reshape", body.op("ScatterElements", *pieces, axis=0, out="scattered"), shape)


def scatter_add(body: Body, positions: str, values: str, shape: str, like: str) -> str:
    """As `scatter`, but positions may be equal: what meets at one place is added.

    Raises:
        NoBodyError: the opset has no way to add.
    """
    if not can_add(body):
        raise NoBodyError(
            f"gradients that meet at one place have to be added, which needs opset {_OPSET_OF_REDUCTION} or "
            f"newer and the model is at {body.opset}: export the forward model at a newer opset"
        )
    pieces = _flat(body, shape, positions, values, like)
    return body.op("Reshape", add_elements(body, *pieces, axis=0, like=like), shape)


def _flat(body: Body, shape: str, positions: str, values: str, like: str) -> tuple[str, str, str]:
    """Zeros, positions and values in one dimension each."""
    flat = body.constant([-1])
    count = body.op("ReduceProd", shape, keepdims=1)
    zeros = body.op("Expand", body.constant_like(0, like), count, out="zeros")
    return zeros, body.op("Reshape", positions, flat), body.op("Reshape", values, flat)


def add_elements(body: Body, data: str, indices: str, updates: str, axis: int, like: str) -> str:
    """Adds the updates at their indices along an axis; `like` has their element type."""
    narrow = body.dtype(like) in _TYPES_WITHOUT_KERNEL
    if narrow:
        data, updates = (body.cast(value, TensorProto.FLOAT) for value in (data, updates))
    summed = body.op("ScatterElements", data, indices, updates, axis=axis, reduction="add", out="scattered")
    return body.cast_like(summed, like) if narrow else summed


def places(body: Body, shape: str) -> str:
    """A tensor of a shape whose elements count from 0 in row-major order; int64."""
    count = body.op("ReduceProd", shape, keepdims=0)
    numbers = body.op("Range", body.constant(0), count, body.constant(1))
    return body.op("Reshape", numbers, shape, out="places")
