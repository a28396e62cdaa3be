"""Gradients of Softmax and LogSoftmax.

Up to opset 12 these normalise over all axes from one on, since opset 13 along that axis alone.
"""

from __future__ import annotations

from collections.abc import Callable

from onnx_ascend_ext.portable.body import Body
from onnx_ascend_ext.portable.normalisation import undropped


def softmax_grad(body: Body) -> None:
    """`SoftmaxGrad`."""
    body.result("dX", _over_trailing_axes(body, _softmax, "dY", "Y"))


def softmax_grad_13(body: Body) -> None:
    """`SoftmaxGrad_13`."""
    body.result("dX", _softmax(body, "dY", "Y", body.node.integer("axis")))


def log_softmax_grad(body: Body) -> None:
    """`LogSoftmaxGrad`."""
    body.result("dX", _over_trailing_axes(body, _log_softmax, "dY", "Y"))


def log_softmax_grad_13(body: Body) -> None:
    """`LogSoftmaxGrad_13`."""
    body.result("dX", _log_softmax(body, "dY", "Y", body.node.integer("axis")))


def softmax_dropout_grad(body: Body) -> None:
    """`SoftmaxDropoutGrad`."""
    body.result("dx", _over_trailing_axes(body, _softmax, undropped(body, "dy"), "softmax_y"))


def _over_trailing_axes(
    body: Body, formula: Callable[[Body, str, str, int], str], gradient: str, output: str
) -> str:
    axis = body.node.integer("axis")
    rows = [body.op("Flatten", value, axis=axis, out="rows") for value in (gradient, output)]
    return body.op("Reshape", formula(body, rows[0], rows[1], 1), body.shape(output))


def _softmax(body: Body, gradient: str, output: str, axis: int) -> str:
    weighted = body.op("Mul", gradient, output)
    total = body.with_axes("ReduceSum", weighted, [axis], keepdims=1)
    return body.op("Mul", output, body.op("Sub", gradient, total))


def _log_softmax(body: Body, gradient: str, output: str, axis: int) -> str:
    total = body.with_axes("ReduceSum", gradient, [axis], keepdims=1)
    probabilities = body.op("Exp", output, out="probabilities")
    return body.op("Sub", gradient, body.op("Mul", probabilities, total))
