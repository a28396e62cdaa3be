"""Cross entropy of a softmax with class labels, and its gradient."""

from __future__ import annotations

import numpy as np
from onnx import TensorProto

from onnx_ascend_ext.portable.body import Body
from onnx_ascend_ext.portable.errors import NoBodyError

_WIDE_TYPES = (TensorProto.FLOAT, TensorProto.DOUBLE)
_CLASS_AXIS = 1


def softmax_cross_entropy_loss_grad(body: Body) -> None:
    """`SoftmaxCrossEntropyLossGrad`: `ignore_index` is an attribute."""
    ignored = body.node.attribute("ignore_index")
    ignore_index = body.constant(ignored) if isinstance(ignored, int) else None
    inputs = {formal: formal for formal in body.node.inputs}
    body.result("d_logits", _gradient(body, inputs, ignore_index))


def softmax_cross_entropy_loss_internal_grad(body: Body) -> None:
    """`SoftmaxCrossEntropyLossInternalGrad`: `ignore_index` is an input, the result may have its own type."""
    ignore_index = "ignore_index" if body.has("ignore_index") else None
    inputs = _widened(body, ("dY", "log_prob", "weight", "bias"))
    gradient = _gradient(body, {**inputs, "label": "label"}, ignore_index)
    if "bias" in inputs:
        gradient = body.op("Add", gradient, body.op("Reshape", inputs["bias"], body.shape("log_prob")))
    body.result("d_logits", _as_output_type(body, gradient))


def softmax_cross_entropy_loss_internal(body: Body) -> None:
    """`SoftmaxCrossEntropyLossInternal`, the forward pass."""
    inputs = _widened(body, ("scores", "weights"))
    log_prob = body.op("LogSoftmax", inputs["scores"], axis=_CLASS_AXIS, out="log_probabilities")
    body.result("log_prob", _as_output_type(body, log_prob))
    like = inputs["scores"]
    ignore_index = "ignore_index" if body.has("ignore_index") else None
    label, ignored = _labels(body, "labels", ignore_index)
    weight = _label_weights(body, label, ignored, inputs.get("weights"), like)
    column = body.with_axes("Unsqueeze", label, [_CLASS_AXIS])
    picked = body.op("GatherElements", log_prob, column, axis=_CLASS_AXIS)
    loss = body.op("Neg", body.with_axes("Squeeze", picked, [_CLASS_AXIS]), out="losses")
    if weight is not None:
        loss = body.op("Mul", loss, weight)
    if ignored is not None:
        # Where, since 0 times the loss of a probability of 0 is NaN.
        loss = body.op("Where", ignored, body.constant_like(0, like), loss)
    reduction = _reduction(body)
    if reduction == "mean" and weight is None:
        loss = body.reduce_all("ReduceMean", loss)
    elif reduction != "none":
        loss = body.reduce_all("ReduceSum", loss)
        if reduction == "mean" and weight is not None:
            loss = body.op("Div", loss, _total(body, weight, like))
    body.result("output", _as_output_type(body, loss))


def _gradient(body: Body, inputs: dict[str, str], ignore_index: str | None) -> str:
    log_prob = inputs["log_prob"]
    label, ignored = _labels(body, "label", ignore_index)
    weight = _label_weights(body, label, ignored, inputs.get("weight"), log_prob)
    reduction = _reduction(body)
    factor = inputs["dY"]
    if weight is not None:
        if reduction == "mean":
            weight = body.op("Div", weight, _total(body, weight, log_prob))
        factor = body.op("Mul", weight, factor)
    elif reduction == "mean":
        factor = body.op("Div", factor, body.cast_like(body.op("Size", label), log_prob))
    if weight is not None or reduction == "none":
        factor = body.with_axes("Unsqueeze", factor, [_CLASS_AXIS])
    classes = body.op("Gather", body.shape(log_prob), body.constant(_CLASS_AXIS), out="classes")
    off_on = body.constant([0.0, 1.0], np.float32)
    one_hot = body.op("OneHot", label, classes, off_on, axis=_CLASS_AXIS, out="one_hot")
    if body.dtype(log_prob) != TensorProto.FLOAT:
        one_hot = body.cast_like(one_hot, log_prob)
    difference = body.op("Sub", body.op("Exp", log_prob, out="probabilities"), one_hot)
    return body.op("Mul", difference, factor)


def _labels(body: Body, formal: str, ignore_index: str | None) -> tuple[str, str | None]:
    """The labels as int64 with a valid class for those that are ignored, and which those are."""
    label = formal
    if body.dtype(formal) != TensorProto.INT64:
        label = body.op("Cast", formal, to=TensorProto.INT64)
    if ignore_index is None:
        return label, None
    if body.has(ignore_index):
        ignore_index = body.op("Cast", ignore_index, to=TensorProto.INT64)
    ignored = body.op("Equal", label, ignore_index, out="ignored")
    return body.op("Where", ignored, body.constant(0), label, out="class"), ignored


def _label_weights(body: Body, label: str, ignored: str | None, weight: str | None, like: str) -> str | None:
    """The weight of each label; None where all count the same."""
    if weight is not None:
        picked = body.op("Gather", weight, label, out="weights_of_labels")
        return picked if ignored is None else body.op("Where", ignored, body.constant_like(0, like), picked)
    if ignored is None:
        return None
    return body.cast_like(body.op("Not", ignored), like)


def _total(body: Body, weights: str, like: str) -> str:
    """The sum of the weights, or 1 where that is 0, as then nothing is divided."""
    total = body.reduce_all("ReduceSum", weights)
    nothing = body.op("Equal", total, body.constant_like(0, like))
    return body.op("Where", nothing, body.constant_like(1, like), total)


def _reduction(body: Body) -> str:
    reduction = body.node.text("reduction")
    if reduction not in ("mean", "sum", "none"):
        raise NoBodyError(f"its reduction {reduction!r} is none of mean, sum and none")
    return reduction


def _widened(body: Body, formals: tuple[str, ...]) -> dict[str, str]:
    """The floating-point inputs that the node has, in the type of the result where that is a wide one."""
    to = body.node.integer("output_type")
    values = {formal: formal for formal in formals if body.has(formal)}
    if to not in _WIDE_TYPES:
        return values
    return {
        formal: value if body.dtype(value) == to else body.cast(value, to) for formal, value in values.items()
    }


def _as_output_type(body: Body, value: str) -> str:
    to = body.node.integer("output_type")
    return body.cast(value, to) if to != TensorProto.UNDEFINED else value
