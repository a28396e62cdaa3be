"""Operators that join, split, reduce and scale."""

from __future__ import annotations

from onnx_ascend_ext.portable.body import Body
from onnx_ascend_ext.portable.errors import NoBodyError

_OPSET_OF_SPLIT_INPUT = 13
_MISSING = -1
"""Stands for an axis that a shape does not have."""


def broadcast_gradient_args(body: Body) -> None:
    """`BroadcastGradientArgs`: the axes along which a shape has 1, or nothing, and the other one more."""
    ranks = [body.shape(shape) for shape in ("a_shape", "b_shape")]
    missing = body.constant([_MISSING])
    # Both are aligned at the end and have the length of both together; the axes in front are missing in both.
    a = body.concat(body.op("Expand", missing, ranks[1]), "a_shape")
    b = body.concat(body.op("Expand", missing, ranks[0]), "b_shape")
    in_front = body.op("ReduceMin", body.concat(*ranks), keepdims=1)
    body.result("a_axes", _summed_axes(body, a, b, in_front))
    body.result("b_axes", _summed_axes(body, b, a, in_front))


def _summed_axes(body: Body, shape: str, other: str, in_front: str) -> str:
    one, missing = body.constant(1), body.constant(_MISSING)
    differ = body.op("Not", body.op("Equal", shape, other))
    repeated = body.op("And", body.op("Equal", shape, one), body.op("Not", body.op("Equal", other, missing)))
    summed = body.op("And", differ, body.op("Or", body.op("Equal", shape, missing), repeated))
    axes = body.with_axes("Squeeze", body.op("NonZero", summed), [0])
    last_first = body.slice(axes, -1, -(2**31), step=-1)
    return body.op("Sub", last_first, in_front)


def reduce_sum_training(body: Body) -> None:
    """`ReduceSumTraining`, which ReduceSum is since opset 13."""
    keepdims, noop = body.node.integer("keepdims"), body.node.integer("noop_with_empty_axes")
    reduced = body.op("ReduceSum", "data", "axes", keepdims=keepdims, noop_with_empty_axes=noop)
    body.result("reduced", reduced)


def concat_training(body: Body) -> None:
    """`ConcatTraining`."""
    inputs, axis = body.node.variadic("inputs"), body.node.integer("axis")
    body.result("concat_result", body.concat(*inputs, axis=axis))
    body.result("per_input_length", body.concat(*(body.dimensions(value, [axis]) for value in inputs)))


def split_training(body: Body) -> None:
    """`SplitTraining`; before Split had sizes as an input, a slice for each output."""
    axis, outputs = body.node.integer("axis"), body.node.variadic("outputs")
    if body.opset >= _OPSET_OF_SPLIT_INPUT:
        # An output that the node leaves out still has a size in `split`.
        wishes = [f"part_{position}" for position in range(len(body.node.proto.output))]
        parts = body.ops("Split", ["input", "split"], wishes, axis=axis)
        for formal in outputs:
            body.result(formal, parts[int(formal.rpartition("_")[2])])
        return
    ends = body.op("CumSum", "split", body.constant(0))
    starts = body.op("Sub", ends, "split")
    for formal in outputs:
        position = body.constant([int(formal.rpartition("_")[2])])
        bounds = [body.op("Gather", bound, position) for bound in (starts, ends)]
        body.result(formal, body.op("Slice", "input", *bounds, body.constant([axis])))


def scale(body: Body) -> None:
    """`Scale`: the scale has a type of its own."""
    factor = body.cast_like(body.scalar("scale"), "input")
    down = body.node.integer("scale_down")
    body.result("output", body.op("Div" if down else "Mul", "input", factor))


def pass_through(body: Body) -> None:
    """`PassThrough`."""
    for formal in body.node.variadic("outputs"):
        source = f"inputs_{formal.rpartition('_')[2]}"
        if not body.has(source):
            raise NoBodyError("it has more outputs than inputs")
        body.result(formal, source)
