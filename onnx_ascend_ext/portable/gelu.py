"""Gradients of Gelu, exact and approximated with Tanh, with and without a bias."""

from __future__ import annotations

from collections.abc import Callable
from math import pi, sqrt

from onnx import TensorProto

from onnx_ascend_ext.portable.body import Body

_CUBIC = 0.044715
"""The coefficient of X^3 in the argument of Tanh that approximates Gelu."""


def gelu_grad(body: Body) -> None:
    """`GeluGrad`."""
    body.result("dX", body.op("Mul", "dY", _slope(body, "X")))


def bias_gelu_grad(body: Body) -> None:
    """`BiasGeluGrad_dX`."""
    body.result("dX", body.op("Mul", "dY", _slope(body, body.op("Add", "X", "B"))))


def fast_gelu_grad(body: Body) -> None:
    """`FastGeluGrad`."""
    body.result("dX", body.op("Mul", "dY", _fast_slope(body, "X")))


def bias_fast_gelu_grad(body: Body) -> None:
    """`BiasFastGeluGrad_dX`."""
    body.result("dX", body.op("Mul", "dY", _fast_slope(body, body.op("Add", "X", "B"))))


def _slope(body: Body, x: str) -> str:
    """P(x) + x p(x), with the normal distribution P and its density p."""
    number = _numbers(body)
    argument = body.op("Mul", x, number(sqrt(0.5)))
    if body.dtype("X") == TensorProto.DOUBLE:
        # ONNX Runtime has no kernel of Erf for float64.
        error_function = body.cast(body.op("Erf", body.cast(argument, TensorProto.FLOAT)), TensorProto.DOUBLE)
    else:
        error_function = body.op("Erf", argument)
    raised = body.op("Add", error_function, number(1))
    distribution = body.op("Mul", raised, number(0.5), out="distribution")
    exponent = body.op("Mul", body.op("Mul", x, number(-0.5)), x)
    density = body.op("Mul", body.op("Exp", exponent), number(1 / sqrt(2 * pi)), out="density")
    return body.op("Add", distribution, body.op("Mul", x, density))


def _fast_slope(body: Body, x: str) -> str:
    """The derivative of x (1 + tanh t) / 2 with t = linear (x + _CUBIC x^3)."""
    number = _numbers(body)
    linear = sqrt(2 / pi)
    square = body.op("Mul", x, x)
    factor = body.op("Add", body.op("Mul", square, number(linear * _CUBIC)), number(linear))
    tanh = body.op("Tanh", body.op("Mul", x, factor))
    slope_of_tanh = body.op("Sub", number(1), body.op("Mul", tanh, tanh))
    slope_of_t = body.op("Add", body.op("Mul", square, number(3 * linear * _CUBIC)), number(linear))
    product = body.op("Mul", body.op("Mul", x, slope_of_t), slope_of_tanh)
    total = body.op("Add", body.op("Add", tanh, number(1)), product)
    return body.op("Mul", total, number(0.5), out="slope")


def _numbers(body: Body) -> Callable[[float], str]:
    return lambda value: body.constant_like(value, "X")
