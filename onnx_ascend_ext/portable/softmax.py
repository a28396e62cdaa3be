"""Gradients of Softmax and LogSoftmax.

Up to opset 12 these normalise over all axes from one on, since opset 13 along that axis alone.
"""

from __future__ import annotations

from collections.abc import Callable

from onnx_ascend_ext.portable.body import Body
from onnx_ascend_ext.portable.normalisation import undropped


def softmax_grad(body: Body) -> None:
    """`SoftmaxGrad`."""
    _over_trailing_axes(body, _softmax)


def softmax_grad_13(body: Body) -> None:
    """`SoftmaxGrad_13`."""
    body.result("dX", _softmax(body, "dY", "Y", body.node.integer("axis")))


def log_softmax_grad(body: Body) -> None:
    """`LogSoftmaxGrad`."""
    _over_trailing_axes(body, _log_softmax)


def log_softmax_grad_13(body: Body) -> None:
    """`LogSoftmaxGrad_13`."""
    body.result("dX", _log_softmax(body, "dY", "Y", body.node.integer("axis")))


def softmax_dropout_grad(body: Body) -> None:
    """`SoftmaxDropoutGrad`."""
    axis = body.node.integer("axis")
    rows = [
        body.op("Flatten", value, axis=axis, out="rows") for value in (undropped(body, "dy"), "softmax_y")
    ]
    body.result("dx", body.op("Reshape", _softmax(body, *rows, 1), body.shape("dy")))


def _over_trailing_axes(body: Body, gradient: Callable[[Body, str, str, int], str]) -> None:
    axis = body.node.integer("axis")
    flat = [body.op("Flatten", value, axis=axis, out=f"rows_of_{value}") for value in ("dY", "Y")]
    body.result("dX", body.op("Reshape", gradient(body, *flat, 1), body.shape("dY")))


def _softmax(body: Body, gradient: str, output: str, axis: int) -> str:
    weighted = body.op("Mul", gradient, output)
    total = body.with_axes("ReduceSum", weighted, [axis], keepdims=1)
    return body.op("Mul", output, body.op("Sub", gradient, total))


def _log_softmax(body: Body, gradient: str, output: str, axis: int) -> str:
    total = body.with_axes("ReduceSum", gradient, [axis], keepdims=1)
    probabilities = body.op("Exp", output, out="probabilities")
    return body.op("Sub", gradient, body.op("Mul", probabilities, total))
