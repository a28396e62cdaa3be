"""Gradients of operators that pick elements."""

from __future__ import annotations

import numpy as np
from onnx import TensorProto

from onnx_ascend_ext.portable.body import END, Body
from onnx_ascend_ext.portable.scattering import add_elements, can_add, places, scatter, scatter_add


def slice_grad(body: Body) -> None:
    """`SliceGrad`: the same slice of the numbers of all places says where dY goes."""
    optional = [formal if body.has(formal) else "" for formal in ("axes", "steps")]
    while optional and not optional[-1]:
        optional.pop()
    positions = body.op("Slice", places(body, "shape"), "starts", "ends", *optional, out="positions")
    body.result("dX", scatter(body, positions, "dY", "shape", "dY"))


def gather_grad(body: Body) -> None:
    """`GatherGrad`: the same Gather from the numbers of all places says where dY goes."""
    axis = body.node.integer("axis")
    shape = "shape" if body.dtype("shape") == TensorProto.INT64 else body.cast("shape", TensorProto.INT64)
    if can_add(body):
        positions = body.op("Gather", places(body, shape), "indices", axis=axis, out="positions")
        body.result("dX", scatter_add(body, positions, "dY", shape, "dY"))
        return
    # [size along the axis, indices] times [before the axis, indices, behind it] sums what meets at one index.
    size = body.op("Gather", shape, body.constant([axis]), out="size")
    before = body.op("ReduceProd", body.slice(shape, 0, axis), keepdims=1)
    # For the last axis, counted from the end, axis + 1 would be the first one: nothing lies behind it.
    behind = body.op("ReduceProd", body.slice(shape, axis + 1 or END, END), keepdims=1)
    count = body.op("Reshape", body.op("Size", "indices"), body.constant([1]))
    gradients = body.op("Reshape", "dY", body.concat(before, count, behind))
    indices = body.op("Reshape", "indices", body.constant([-1]))
    chosen = _one_hot(body, indices, body.scalar(size), 0, "dY")
    body.result("dX", body.op("Reshape", body.op("MatMul", chosen, gradients), shape))


def gather_elements_grad(body: Body) -> None:
    """`GatherElementsGrad`: what ScatterElements adds; before it could, a sum over a one-hot axis."""
    axis = body.node.integer("axis")
    if can_add(body):
        zeros = body.op("Expand", body.constant_like(0, "dY"), "shape", out="zeros")
        body.result("dX", add_elements(body, zeros, "indices", "dY", axis=axis, like="dY"))
        return
    size = body.op("Gather", "shape", body.constant(axis), out="size")
    new_axis = axis if axis >= 0 else axis - 1
    summed_axis = axis + 1 if axis >= 0 else axis
    chosen = _one_hot(body, "indices", size, new_axis, "dY")
    column = body.with_axes("Unsqueeze", "dY", [new_axis])
    total = body.with_axes("ReduceSum", body.op("Mul", chosen, column), [summed_axis], keepdims=0)
    # The indices may be shorter than the tensor along the other axes.
    missing = body.op("Sub", "shape", body.shape(total))
    none = body.op("Sub", missing, missing)
    body.result("dX", body.op("Pad", total, body.concat(none, missing)))


def gather_nd_grad(body: Body) -> None:
    """`GatherNDGrad`: the same GatherND from the numbers of all places says where the update goes."""
    batch_dims = body.node.integer("batch_dims")
    positions = body.op("GatherND", places(body, "shape"), "indices", batch_dims=batch_dims, out="positions")
    body.result("output", scatter_add(body, positions, "update", "shape", "update"))


def _one_hot(body: Body, indices: str, size: str, axis: int, like: str) -> str:
    wide = body.cast(indices, TensorProto.INT64)
    chosen = body.op("OneHot", wide, size, body.constant([0, 1], np.float32), axis=axis, out="chosen")
    return chosen if body.dtype(like) == TensorProto.FLOAT else body.cast_like(chosen, like)
