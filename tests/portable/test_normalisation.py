"""Gradients of Softmax, layer and batch normalisation, and Dropout."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from .harness import Case, NDArray, TrainingRuntime, assert_close, run_portable

SHAPES = [(6,), (3, 5), (2, 3, 4), (2, 1, 3, 2)]


def normal(shape: tuple[int, ...], seed: int, dtype: Any = np.float32) -> NDArray:
    return np.asarray(np.random.default_rng(seed).normal(size=shape), dtype)


def in_two_axes(value: NDArray, axis: int) -> NDArray:
    axis %= value.ndim
    return value.astype(np.float64).reshape(int(np.prod(value.shape[:axis])), -1)


SOFTMAX = [
    pytest.param(op_type, shape, axis, id=f"{op_type}-{shape}-{axis}")
    for op_type in ("SoftmaxGrad", "SoftmaxGrad_13", "LogSoftmaxGrad", "LogSoftmaxGrad_13")
    for shape in SHAPES
    for axis in (0, 1, -1, 2)
    if -len(shape) <= axis < len(shape)
]


def softmax_case(
    op_type: str, shape: tuple[int, ...], axis: int, opset: int = 17, dtype: Any = np.float32
) -> Case:
    scores = normal(shape, 1, np.float64)
    axes = (axis,) if op_type.endswith("_13") else tuple(range(axis % len(shape), len(shape)))
    exponentials = np.exp(scores - scores.max(axis=axes, keepdims=True))
    output = exponentials / exponentials.sum(axis=axes, keepdims=True)
    if op_type.startswith("Log"):
        output = np.log(output)
    inputs = {"dY": normal(shape, 2, dtype), "Y": output.astype(dtype)}
    return Case(op_type, inputs, {"dX": dtype}, {"axis": axis}, opset)


def softmax_expected(case: Case) -> dict[str, Any]:
    gradient, output = (case.inputs[name].astype(np.float64) for name in ("dY", "Y"))
    axis = case.attributes["axis"]
    axes = (axis,) if case.op_type.endswith("_13") else tuple(range(axis % gradient.ndim, gradient.ndim))
    if case.op_type.startswith("Log"):
        result = gradient - np.exp(output) * gradient.sum(axis=axes, keepdims=True)
    else:
        result = output * (gradient - (gradient * output).sum(axis=axes, keepdims=True))
    return {"dX": result.astype(case.inputs["Y"].dtype)}


@pytest.mark.parametrize(("op_type", "shape", "axis"), SOFTMAX)
def test_the_gradient_of_softmax(op_type: str, shape: tuple[int, ...], axis: int) -> None:
    case = softmax_case(op_type, shape, axis)
    assert_close(run_portable(case), softmax_expected(case))


@pytest.mark.parametrize("op_type", ["SoftmaxGrad", "SoftmaxGrad_13", "LogSoftmaxGrad", "LogSoftmaxGrad_13"])
@pytest.mark.parametrize("opset", [11, 13, 18, 21])
@pytest.mark.parametrize("dtype", [np.float16, np.float64])
def test_the_gradient_of_softmax_in_other_opsets_and_types(op_type: str, opset: int, dtype: Any) -> None:
    case = softmax_case(op_type, (2, 3, 4), 1, opset, dtype)
    rtol, atol = (1e-2, 5e-3) if dtype == np.float16 else (1e-12, 1e-12)
    assert_close(run_portable(case), softmax_expected(case), rtol, atol)


@pytest.mark.parametrize(("op_type", "shape", "axis"), SOFTMAX)
def test_the_kernel_of_softmax_computes_the_same(
    op_type: str, shape: tuple[int, ...], axis: int, training_runtime: TrainingRuntime
) -> None:
    case = softmax_case(op_type, shape, axis)
    expected = training_runtime.run(case.model(), case.feeds)
    assert_close(run_portable(case), {"dX": expected["dX"]})


def layer_case(
    op_type: str, shape: tuple[int, ...], axis: int, opset: int = 17, dtype: Any = np.float32
) -> Case:
    first = axis % len(shape)
    axes = tuple(range(first, len(shape)))
    x = normal(shape, 1, np.float64) * 3 + 1
    scale, bias = (normal(shape[first:], seed, np.float64) + 2 for seed in (2, 3))
    mean = np.zeros(()) if op_type.startswith("Simplified") else x.mean(axis=axes, keepdims=True)
    inverse = 1 / np.sqrt(((x - mean) ** 2).mean(axis=axes, keepdims=True) + 1e-5)
    # The statistics are of float32 for every type of the input.
    wide = np.float32
    values: dict[str, Any] = {"Y_grad": normal(shape, 4, dtype)}
    outputs = {"X_grad": dtype, "scale_grad": dtype, "bias_grad": dtype}
    if op_type.startswith("Invertible"):
        values["Y"] = ((x - mean) * inverse * scale + bias).astype(dtype)
        values["scale"], values["bias"] = scale.astype(dtype), bias.astype(dtype)
        values["inv_std_var"] = inverse.astype(wide)
    else:
        values["X"], values["scale"] = x.astype(dtype), scale.astype(dtype)
        if op_type.startswith("Simplified"):
            values["inv_std_var"] = inverse.astype(wide)
            del outputs["bias_grad"]
        else:
            values["mean"], values["inv_std_dev"] = mean.astype(wide), inverse.astype(wide)
    return Case(op_type, values, outputs, {"axis": axis}, opset)


def layer_expected(case: Case) -> dict[str, Any]:
    values, axis = case.inputs, case.attributes["axis"]
    gradient = in_two_axes(values["Y_grad"], axis)
    scale = values["scale"].astype(np.float64).reshape(1, -1)
    inverse = values.get("inv_std_dev", values.get("inv_std_var")).astype(np.float64).reshape(-1, 1)
    if "Y" in values:
        normalised = (in_two_axes(values["Y"], axis) - values["bias"].reshape(1, -1)) / scale
    else:
        mean = values["mean"].reshape(-1, 1) if "mean" in values else 0
        normalised = (in_two_axes(values["X"], axis) - mean) * inverse
    scaled = gradient * scale
    centre = 0 if case.op_type.startswith("Simplified") else scaled.mean(axis=1, keepdims=True)
    result = inverse * (scaled - centre - normalised * (scaled * normalised).mean(axis=1, keepdims=True))
    shape, dtype = values["scale"].shape, values["scale"].dtype
    expected = {
        "X_grad": result.reshape(values["Y_grad"].shape).astype(dtype),
        "scale_grad": (gradient * normalised).sum(axis=0).reshape(shape).astype(dtype),
    }
    if "bias_grad" in case.outputs:
        expected["bias_grad"] = gradient.sum(axis=0).reshape(shape).astype(dtype)
    return expected


LAYERS = ["LayerNormalizationGrad", "SimplifiedLayerNormalizationGrad", "InvertibleLayerNormalizationGrad"]


@pytest.mark.parametrize("op_type", LAYERS)
@pytest.mark.parametrize(
    ("shape", "axis"), [((3, 5), -1), ((3, 5), 1), ((2, 3, 4), 1), ((2, 3, 4), -2), ((4, 2), 0)]
)
def test_the_gradient_of_layer_normalisation(op_type: str, shape: tuple[int, ...], axis: int) -> None:
    case = layer_case(op_type, shape, axis)
    assert_close(run_portable(case), layer_expected(case), 1e-4, 1e-5)


@pytest.mark.parametrize("op_type", LAYERS)
@pytest.mark.parametrize("opset", [11, 13, 14, 18, 21])
@pytest.mark.parametrize("dtype", [np.float16, np.float64])
def test_the_gradient_of_layer_normalisation_in_other_opsets_and_types(
    op_type: str, opset: int, dtype: Any
) -> None:
    case = layer_case(op_type, (3, 5), -1, opset, dtype)
    rtol, atol = (2e-2, 2e-2) if dtype == np.float16 else (1e-9, 1e-9)
    assert_close(run_portable(case), layer_expected(case), rtol, atol)


@pytest.mark.parametrize("op_type", LAYERS)
@pytest.mark.parametrize(("shape", "axis"), [((3, 5), -1), ((2, 3, 4), 1), ((2, 3, 4), -1)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_kernel_of_layer_normalisation_computes_the_same(
    op_type: str, shape: tuple[int, ...], axis: int, dtype: Any, training_runtime: TrainingRuntime
) -> None:
    if dtype == np.float64 and op_type != "LayerNormalizationGrad":
        pytest.skip(
            "the kernel for float64 is registered for statistics of float64 and reads them as float32"
        )
    case = layer_case(op_type, shape, axis, dtype=dtype)
    expected = training_runtime.run(case.model(), case.feeds)
    assert_close(run_portable(case), {name: expected[name] for name in case.outputs}, 1e-4, 1e-5)


def batch_case(shape: tuple[int, ...], opset: int = 17, dtype: Any = np.float32) -> Case:
    axes = tuple(axis for axis in range(len(shape)) if axis != 1)
    x = normal(shape, 1, np.float64) * 2 + 3
    mean = x.mean(axis=axes)
    inverse = 1 / np.sqrt(x.var(axis=axes) + 1e-5)
    inputs = {
        "dY": normal(shape, 2, dtype),
        "X": x.astype(dtype),
        "scale": normal(shape[1:2], 3, dtype),
        "mean": mean.astype(dtype),
        "variance": inverse.astype(dtype),
    }
    outputs = {"X_grad": dtype, "scale_grad": dtype, "bias_grad": dtype}
    return Case("BatchNormalizationGrad", inputs, outputs, {"epsilon": 1e-5}, opset)


def batch_expected(case: Case) -> dict[str, Any]:
    values = {name: value.astype(np.float64) for name, value in case.inputs.items()}
    gradient, rank = values["dY"], values["X"].ndim
    axes = tuple(axis for axis in range(rank) if axis != 1)
    scale, mean, inverse = (
        values[name].reshape([1, -1] + [1] * (rank - 2)) for name in ("scale", "mean", "variance")
    )
    normalised = (values["X"] - mean) * inverse
    means = [value.mean(axis=axes, keepdims=True) for value in (gradient, gradient * normalised)]
    results = {
        "X_grad": scale * inverse * (gradient - means[0] - normalised * means[1]),
        "scale_grad": (gradient * normalised).sum(axis=axes),
        "bias_grad": gradient.sum(axis=axes),
    }
    return {name: value.astype(case.inputs["X"].dtype) for name, value in results.items()}


@pytest.mark.parametrize("shape", [(4, 3), (2, 3, 5), (2, 3, 2, 4), (2, 2, 2, 3, 2)], ids=str)
@pytest.mark.parametrize(("opset", "dtype"), [(11, np.float32), (17, np.float32), (18, np.float64)])
def test_the_gradient_of_batch_normalisation(shape: tuple[int, ...], opset: int, dtype: Any) -> None:
    case = batch_case(shape, opset, dtype)
    assert_close(run_portable(case), batch_expected(case), 1e-4, 1e-5)


@pytest.mark.parametrize("shape", [(2, 3, 5), (2, 3, 2, 4)], ids=str)
def test_the_kernel_of_batch_normalisation_computes_the_same(
    shape: tuple[int, ...], training_runtime: TrainingRuntime
) -> None:
    case = batch_case(shape)
    expected = training_runtime.run(case.model(), case.feeds)
    assert_close(run_portable(case), {name: expected[name] for name in case.outputs}, 1e-4, 1e-5)


def batch_norm_case(shape: tuple[int, ...], training: int, momentum: float = 0.9) -> Case:
    channels = shape[1:2]
    inputs = {
        "X": normal(shape, 1) * 2 + 1,
        "scale": normal(channels, 2),
        "B": normal(channels, 3),
        "input_mean": normal(channels, 4),
        "input_var": normal(channels, 5) ** 2 + 0.5,
    }
    names = ["Y", "running_mean", "running_var", "saved_mean", "saved_inv_std"] if training else ["Y"]
    attributes = {"epsilon": 1e-3, "momentum": momentum, "training_mode": training}
    return Case("BatchNormInternal", inputs, dict.fromkeys(names, np.float32), attributes)


@pytest.mark.parametrize("shape", [(2, 3, 4), (2, 3, 2, 5)], ids=str)
@pytest.mark.parametrize("momentum", [0.9, 0.25])
@pytest.mark.parametrize("training", [0, 1])
def test_batch_normalisation_with_its_statistics(
    shape: tuple[int, ...], momentum: float, training: int
) -> None:
    case = batch_norm_case(shape, training, momentum)
    values = {name: value.astype(np.float64) for name, value in case.inputs.items()}
    axes = (0, *range(2, len(shape)))
    mean = values["X"].mean(axis=axes) if training else values["input_mean"]
    variance = values["X"].var(axis=axes) if training else values["input_var"]
    column = [1, -1] + [1] * (len(shape) - 2)
    inverse = 1 / np.sqrt(variance + 1e-3)
    y = (values["X"] - mean.reshape(column)) * (inverse * values["scale"]).reshape(column)
    expected = {
        "Y": y + values["B"].reshape(column),
        "running_mean": momentum * values["input_mean"] + (1 - momentum) * mean,
        "running_var": momentum * values["input_var"] + (1 - momentum) * variance,
        "saved_mean": mean,
        "saved_inv_std": inverse,
    }
    assert_close(
        run_portable(case), {name: expected[name].astype(np.float32) for name in case.outputs}, 1e-4, 1e-5
    )


@pytest.mark.parametrize("training", [0, 1])
def test_the_kernel_of_the_forward_pass_computes_the_same(
    training: int, training_runtime: TrainingRuntime
) -> None:
    case = batch_norm_case((2, 3, 2, 5), training)
    expected = training_runtime.run(case.model(), case.feeds)
    assert_close(run_portable(case), {name: expected[name] for name in case.outputs}, 1e-4, 1e-5)


def dropout_case(
    ratio: float | None, training: bool | None, dtype: Any = np.float32, opset: int = 17
) -> Case:
    shape = (3, 4)
    kept = 1 - (0.5 if ratio is None else ratio)
    inputs = {
        "dy": normal(shape, 1, dtype),
        "mask": np.random.default_rng(2).random(shape) < kept,
        "ratio": None if ratio is None else np.array(ratio, np.float32),
        "training_mode": None if training is None else np.array(training),
    }
    return Case("DropoutGrad", inputs, {"dx": dtype}, {}, opset)


@pytest.mark.parametrize("ratio", [None, 0.0, 0.1, 0.75])
@pytest.mark.parametrize(
    ("opset", "dtype"), [(11, np.float32), (17, np.float32), (17, np.float64), (17, np.float16)]
)
def test_the_gradient_of_dropout(ratio: float | None, opset: int, dtype: Any) -> None:
    case = dropout_case(ratio, None if ratio is None else True, dtype, opset)
    kept = 1 - (0.5 if ratio is None else ratio)
    expected = np.where(case.inputs["mask"], case.inputs["dy"].astype(np.float64) / kept, 0)
    assert_close(run_portable(case), {"dx": expected.astype(dtype)}, 2e-3 if dtype == np.float16 else 1e-5)


@pytest.mark.parametrize("ratio", [None, 0.0, 0.1, 0.75])
@pytest.mark.parametrize("training", [None, True, False])
def test_the_kernel_of_dropout_computes_the_same(
    ratio: float | None, training: bool | None, training_runtime: TrainingRuntime
) -> None:
    case = dropout_case(ratio, training)
    expected = training_runtime.run(case.model(), case.feeds)
    assert_close(run_portable(case), {"dx": expected["dx"]})


@pytest.mark.parametrize("axis", [1, -1])
def test_the_gradient_of_dropout_after_softmax(axis: int) -> None:
    shape = (2, 3, 4)
    softmax = softmax_case("SoftmaxGrad", shape, axis)
    mask = np.random.default_rng(5).random(shape) < 0.6
    inputs = {"dy": normal(shape, 6), "mask": mask, "softmax_y": softmax.inputs["Y"]}
    case = Case(
        "SoftmaxDropoutGrad",
        inputs | {"ratio": np.array(0.4, np.float32)},
        {"dx": np.float32},
        {"axis": axis},
    )
    undropped = np.where(mask, inputs["dy"] / 0.6, 0)
    plain = Case("SoftmaxGrad", {"dY": undropped, "Y": inputs["softmax_y"]}, {}, {"axis": axis})
    assert_close(run_portable(case), {"dx": softmax_expected(plain)["dX"]})
