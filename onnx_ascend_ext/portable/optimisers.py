"""Optimisers, without overwriting anything.

The operators take sequences of tensors, of a length that the graph does not tell: a Loop goes through them.
Where a node has plain tensors instead, its body is one step for that one parameter.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import onnx
from onnx import TensorProto, helper

from onnx_ascend_ext.portable.body import Body
from onnx_ascend_ext.portable.errors import NoBodyError

_CLIP_EPSILON = 1e-6

_Step = Callable[[Sequence[str]], list[str]]
"""Writes what is computed for one parameter: from its tensors to its new ones."""


def adamw_optimizer(body: Body) -> None:
    """`AdamWOptimizer`: decoupled weight decay, before the update in mode 0 and after it in mode 1."""
    mode = body.node.integer("adam_mode")
    if mode not in (0, 1):
        raise NoBodyError(f"its adam_mode {mode} is neither 0 nor 1")
    dtype = _working_type(body, "weights")
    alpha, beta = body.node.number("alpha"), body.node.number("beta")
    rate = body.cast_if_needed(body.scalar("lr"), TensorProto.FLOAT, dtype)
    corrections = [_bias_correction(body, dtype, decay) for decay in (alpha, beta)]
    number = _Numbers(body, dtype)
    decay = body.node.number("weight_decay")
    corrected_rate = rate
    if mode == 1 and corrections[0] is not None and corrections[1] is not None:
        corrected_rate = body.op("Mul", rate, body.op("Div", body.op("Sqrt", corrections[1]), corrections[0]))

    def decayed(weight: str) -> str:
        if decay == 0:
            return weight
        share = body.op("Mul", rate, number(decay))
        return body.op("Sub", weight, body.op("Mul", weight, share), out="decayed")

    def average(old: str, new: str, coefficient: float) -> str:
        kept = body.op("Mul", number(coefficient), old)
        # 1 - coefficient in float32, as the kernel has it.
        added = body.op("Mul", number(float(np.float32(1) - np.float32(coefficient))), new)
        return body.op("Add", kept, added, out="average")

    def step(tensors: Sequence[str]) -> list[str]:
        weight, gradient, momentum_1, momentum_2 = tensors
        momentum_1 = average(momentum_1, gradient, alpha)
        momentum_2 = average(momentum_2, body.op("Mul", gradient, gradient), beta)
        if mode == 0:
            weight = decayed(weight)
        scale, share = momentum_2, momentum_1
        if mode == 0 and corrections[1] is not None and corrections[0] is not None:
            scale = body.op("Div", momentum_2, corrections[1])
            share = body.op("Div", momentum_1, corrections[0])
        denominator = body.op("Add", body.op("Sqrt", scale), number(body.node.number("epsilon")))
        change = body.op("Mul", corrected_rate, body.op("Div", share, denominator))
        weight = body.op("Sub", weight, change, out="weight")
        return [decayed(weight) if mode == 1 else weight, momentum_1, momentum_2]

    sources = ["weights", "gradients", "momentums_1", "momentums_2"]
    kept = ["weights", "momentums_1", "momentums_2"]
    _each(body, sources, kept, step, [f"updated_{name}" for name in kept])
    body.result("updated_flag", _updated_flag(body, "updated_flag", body.shape("step")))


def sgd_optimizer_v2(body: Body) -> None:
    """`SGDOptimizerV2`: weight - lr * gradient."""
    dtype = _working_type(body, "weights")
    rate = body.cast_if_needed(body.scalar("lr"), TensorProto.FLOAT, dtype)

    def step(tensors: Sequence[str]) -> list[str]:
        return [body.op("Sub", tensors[0], body.op("Mul", rate, tensors[1]), out="weight")]

    _each(body, ["weights", "gradients"], ["weights"], step, ["updated_weights"])
    body.result("update_completed", _updated_flag(body, "update_completed", body.constant([1])))


def inplace_clip_grad_norm(body: Body) -> None:
    """`InplaceClipGradNorm`: all gradients scaled alike, so that their common norm is at most `max_norm`."""
    if body.node.text("norm_type") != "fro":
        raise NoBodyError(f"its norm_type {body.node.text('norm_type')!r} is not fro")
    dtype, working = _element_type(body, "gradients"), _working_type(body, "gradients")
    number = _Numbers(body, working)

    def square_sum(tensors: Sequence[str]) -> list[str]:
        return [body.reduce_all("ReduceSumSquare", body.cast_if_needed(tensors[0], dtype, working))]

    squares = _map(body, ["gradients"], square_sum, [working])[0]
    total = squares
    if body.node.is_sequence("gradients"):
        total = body.op("ReduceSum", body.op("ConcatFromSequence", squares, axis=0, new_axis=1), keepdims=0)
    norm = body.op("Add", body.op("Sqrt", total), number(_CLIP_EPSILON))
    factor = body.op("Div", number(body.node.number("max_norm")), norm)
    factor = body.op("Where", body.op("Less", factor, number(1)), factor, number(1), out="factor")

    def clip(tensors: Sequence[str]) -> list[str]:
        scaled = body.op("Mul", body.cast_if_needed(tensors[0], dtype, working), factor)
        return [body.cast_if_needed(scaled, working, dtype)]

    body.result("clipped_gradients", _map(body, ["gradients"], clip, [dtype])[0])


class _Numbers:
    """Scalar constants of one element type."""

    def __init__(self, body: Body, dtype: int) -> None:
        self._body = body
        self._dtype = dtype

    def __call__(self, value: float) -> str:
        return self._body.constant(value, helper.tensor_dtype_to_np_dtype(self._dtype))


def _bias_correction(body: Body, dtype: int, decay: float) -> str | None:
    """1 - decay ** step, where the node corrects the bias of its averages."""
    if not body.node.integer("correct_bias"):
        return None
    step = body.cast(body.scalar("step"), TensorProto.DOUBLE)
    power = body.op("Pow", body.constant(decay, np.float64), step)
    # The power is rounded to float32 before it is subtracted, as in the kernel.
    difference = body.op("Sub", body.constant(1, np.float32), body.cast(power, TensorProto.FLOAT))
    return body.cast_if_needed(difference, TensorProto.FLOAT, dtype)


def _each(
    body: Body, sources: Sequence[str], kept: Sequence[str], step: _Step, results: Sequence[str]
) -> None:
    """Takes one step for every parameter; where `update_signal` is false, everything stays as it is."""
    signal = body.scalar("update_signal") if body.has("update_signal") else None
    positions = [sources.index(name) for name in kept]
    dtypes = [_element_type(body, name) for name in kept]
    working = _working_type(body, kept[0])

    def guarded(tensors: Sequence[str]) -> list[str]:
        same_type = [
            body.cast_if_needed(tensor, _element_type(body, source), working)
            for tensor, source in zip(tensors, sources, strict=True)
        ]
        new = [
            body.cast_if_needed(value, working, dtype)
            for value, dtype in zip(step(same_type), dtypes, strict=True)
        ]
        if signal is None:
            return new
        old = [tensors[position] for position in positions]
        return [body.op("Where", signal, value, before) for value, before in zip(new, old, strict=True)]

    for result, value in zip(results, _map(body, sources, guarded, dtypes), strict=True):
        body.result(result, value)


def _map(body: Body, sources: Sequence[str], step: _Step, dtypes: Sequence[int]) -> list[str]:
    """Writes a step for the tensors of some sequences that belong together; plain tensors are one step."""
    if not body.node.is_sequence(sources[0]):
        return step(sources)
    counter, condition = body.fresh("position"), body.fresh("condition")
    collected = [body.fresh("collected") for _ in dtypes]
    with body.nested() as nodes:
        new = step([body.op("SequenceAt", source, counter, out="tensor") for source in sources])
        longer = [
            body.op("SequenceInsert", old, value, out="longer")
            for old, value in zip(collected, new, strict=True)
        ]
        going_on = body.op("Identity", condition, out="going_on")
    kinds = [helper.make_sequence_type_proto(helper.make_tensor_type_proto(dtype, None)) for dtype in dtypes]
    scalar_inputs = [
        helper.make_tensor_value_info(counter, TensorProto.INT64, []),
        helper.make_tensor_value_info(condition, TensorProto.BOOL, []),
    ]
    graph = helper.make_graph(
        nodes,
        "each_parameter",
        [*scalar_inputs, *map(onnx.helper.make_value_info, collected, kinds)],
        [
            helper.make_tensor_value_info(going_on, TensorProto.BOOL, []),
            *map(onnx.helper.make_value_info, longer, kinds),
        ],
    )
    count = body.op("SequenceLength", sources[0], out="count")
    empty = [body.op("SequenceEmpty", dtype=dtype, out="empty") for dtype in dtypes]
    return body.ops("Loop", [count, "", *empty], ["updated"] * len(dtypes), body=graph)


def _element_type(body: Body, formal: str) -> int:
    dtype = body.node.dtype(formal)
    if dtype == TensorProto.UNDEFINED:
        raise NoBodyError(
            f"the element type of its {formal} is not known: state the types of the graph's inputs"
        )
    return dtype


def _working_type(body: Body, formal: str) -> int:
    """The element type to compute in: that of an input, but float32 where epsilon would vanish in that."""
    dtype = _element_type(body, formal)
    return int(TensorProto.FLOAT) if dtype in (TensorProto.FLOAT16, TensorProto.BFLOAT16) else dtype


def _updated_flag(body: Body, formal: str, shape: str) -> str:
    """The signal, or true; in the type that the model gives it."""
    flag = body.scalar("update_signal") if body.has("update_signal") else body.constant(True, np.bool_)
    flag = body.op("Expand", flag, shape, out="flag")
    wanted = body.node.dtype(formal)
    return flag if wanted in (TensorProto.UNDEFINED, TensorProto.BOOL) else body.cast(flag, wanted)
