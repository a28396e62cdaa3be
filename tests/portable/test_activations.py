"""Gradients of activation functions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import erf
from typing import Any

import numpy as np
import pytest

from .harness import Case, NDArray, TrainingRuntime, assert_close, run_portable

Slope = Callable[..., NDArray]


def normal_distribution(x: NDArray) -> NDArray:
    return np.vectorize(lambda value: (1 + erf(value / np.sqrt(2))) / 2, otypes=[np.float64])(x)


def gelu_slope(x: NDArray) -> NDArray:
    return normal_distribution(x) + x * np.exp(-x * x / 2) / np.sqrt(2 * np.pi)


def fast_gelu_slope(x: NDArray) -> NDArray:
    t = np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)
    slope_of_t = np.sqrt(2 / np.pi) * (1 + 3 * 0.044715 * x**2)
    return (1 + np.tanh(t) + x * slope_of_t * (1 - np.tanh(t) ** 2)) / 2


def quick_gelu_slope(x: NDArray, alpha: float = 1.702) -> NDArray:
    s = 1 / (1 + np.exp(-alpha * x))
    return s * (1 + alpha * x * (1 - s))


@dataclass(frozen=True)
class Activation:
    op_type: str
    slope: Slope
    operand: str = "X"
    bias: bool = False


ACTIVATIONS = [
    Activation("ReluGrad", lambda x: (x > 0).astype(x.dtype)),
    Activation("LeakyReluGrad", lambda y, alpha=0.01: np.where(y > 0, 1, float(np.float32(alpha))), "Y"),
    Activation("TanhGrad", lambda y: 1 - y * y, "Y"),
    Activation("GeluGrad", gelu_slope),
    Activation("FastGeluGrad", fast_gelu_slope),
    Activation("QuickGeluGrad", quick_gelu_slope),
    Activation("BiasGeluGrad_dX", gelu_slope, bias=True),
    Activation("BiasFastGeluGrad_dX", fast_gelu_slope, bias=True),
]
IDS = [activation.op_type for activation in ACTIVATIONS]
SHAPES = [(), (7,), (3, 4), (2, 3, 1, 5), (0, 3)]
TOLERANCES: dict[Any, tuple[float, float]] = {
    np.float16: (5e-3, 5e-3),
    np.float32: (1e-5, 1e-6),
    np.float64: (1e-10, 1e-12),
}


def case_of(
    activation: Activation,
    shape: tuple[int, ...],
    dtype: Any,
    opset: int = 17,
    attributes: Mapping[str, Any] | None = None,
) -> Case:
    rng = np.random.default_rng(len(shape) + 11)
    operand = np.asarray(2 * rng.normal(size=shape), dtype)
    if activation.op_type == "TanhGrad":
        operand = np.asarray(np.tanh(operand), dtype)
    inputs = {"dY": np.asarray(rng.normal(size=shape) * 10.0 ** rng.integers(-3, 3, shape), dtype)}
    inputs[activation.operand] = operand
    if activation.bias:
        inputs["B"] = np.asarray(rng.normal(size=shape[-1:]), dtype)
    return Case(activation.op_type, inputs, {"dX": dtype}, attributes or {}, opset)


def expected_of(activation: Activation, case: Case) -> dict[str, Any]:
    operand = np.asarray(case.inputs[activation.operand], np.float64)
    if activation.bias:
        operand = operand + case.inputs["B"]
    slope = activation.slope(operand, **case.attributes)
    dtype = case.inputs["dY"].dtype
    return {"dX": np.asarray(case.inputs["dY"].astype(np.float64) * slope, dtype)}


@pytest.mark.parametrize("activation", ACTIVATIONS, ids=IDS)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("dtype", list(TOLERANCES))
def test_the_gradient_is_the_slope(activation: Activation, shape: tuple[int, ...], dtype: Any) -> None:
    if activation.bias and not shape:
        pytest.skip("a bias belongs to an axis")
    case = case_of(activation, shape, dtype)
    rtol, atol = TOLERANCES[dtype]
    if dtype == np.float64 and "Gelu" in activation.op_type:
        rtol, atol = TOLERANCES[np.float32]  # Erf is computed in float32
    largest = float(np.max(np.abs(case.inputs["dY"]), initial=1))
    assert_close(run_portable(case), expected_of(activation, case), rtol, atol * largest)


@pytest.mark.parametrize("activation", ACTIVATIONS, ids=IDS)
@pytest.mark.parametrize("opset", [11, 12, 13, 14, 15, 18, 21])
def test_the_body_is_written_in_the_models_opset(activation: Activation, opset: int) -> None:
    case = case_of(activation, (3, 4), np.float32, opset)
    assert_close(run_portable(case), expected_of(activation, case))


@pytest.mark.parametrize(
    ("op_type", "alpha"), [("LeakyReluGrad", 0.3), ("QuickGeluGrad", 1.0), ("QuickGeluGrad", -0.5)]
)
def test_the_body_depends_on_alpha(op_type: str, alpha: float) -> None:
    activation = next(a for a in ACTIVATIONS if a.op_type == op_type)
    case = case_of(activation, (4, 5), np.float32, attributes={"alpha": alpha})
    assert_close(run_portable(case), expected_of(activation, case))
    other = case_of(activation, (4, 5), np.float32)
    assert not np.allclose(run_portable(case)["dX"], run_portable(other)["dX"])


def test_relu_passes_no_gradient_at_zero_or_at_nan() -> None:
    case = Case(
        "ReluGrad",
        {"dY": np.ones(4, np.float32), "X": np.array([0, -0.0, np.nan, 1e-30], np.float32)},
        {"dX": np.float32},
    )
    assert run_portable(case)["dX"].tolist() == [0, 0, 0, 1]


@pytest.mark.parametrize("activation", ACTIVATIONS, ids=IDS)
@pytest.mark.parametrize("shape", SHAPES[1:4], ids=str)
def test_the_kernel_computes_the_same(
    activation: Activation, shape: tuple[int, ...], training_runtime: TrainingRuntime
) -> None:
    attributes = {"alpha": 0.7} if activation.op_type in ("LeakyReluGrad", "QuickGeluGrad") else {}
    case = case_of(activation, shape, np.float32, attributes=attributes)
    expected = training_runtime.run(case.model(), case.feeds)
    largest = float(np.max(np.abs(case.inputs["dY"]), initial=1))
    assert_close(run_portable(case), {"dX": expected["dX"]}, atol=1e-6 * largest)
