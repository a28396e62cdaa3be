"""Accumulators and optimisers, on sequences of parameters and on plain tensors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import onnx_ascend_ext as ax

from .harness import Case, NDArray, TrainingRuntime, Values, assert_close, check, convert, run_stock

SHAPES = [(4, 3), (5,), (), (2, 3, 1)]


def tensors(seed: int, scale: float) -> list[NDArray]:
    rng = np.random.default_rng(seed)
    return [np.asarray(scale * rng.normal(size=shape), np.float32) for shape in SHAPES]


def run(case: Case) -> Values:
    """The outputs of a case, with what the node overwrote."""
    conversion = convert(case.model())
    found = run_stock(conversion.model, case.feeds)
    check(conversion.model, found)
    return found


def adamw_case(
    attributes: dict[str, Any], step: int = 3, signal: bool | None = None, opset: int = 17, seen: bool = False
) -> Case:
    momentums = [np.square(value) for value in tensors(4, 0.1)]
    inputs = {
        "lr": np.array([0.01], np.float32),
        "step": np.array([step], np.int64),
        "weights": tensors(1, 1),
        "gradients": tensors(2, 0.3),
        "momentums_1": tensors(3, 0.1),
        "momentums_2": [np.asarray(value) for value in momentums],
        "update_signal": None if signal is None else np.array([signal]),
    }
    outputs: dict[str, Any] = {"updated_flag": np.bool_}
    if seen:
        outputs |= {f"{name}.updated": [np.float32] for name in ("weights", "momentums_1", "momentums_2")}
    return Case("AdamWOptimizer", inputs, outputs, attributes, opset)


def adamw_expected(case: Case) -> Values:
    defaults = {
        "alpha": 0.9,
        "beta": 0.999,
        "epsilon": 1e-8,
        "weight_decay": 0.01,
        "correct_bias": 1,
        "adam_mode": 0,
    }
    a = defaults | dict(case.attributes)
    values = {
        name: [np.asarray(item, np.float64) for item in value] if isinstance(value, list) else value
        for name, value in case.feeds.items()
    }
    rate, step = float(values["lr"][0]), int(values["step"][0])
    alpha, beta = float(np.float32(a["alpha"])), float(np.float32(a["beta"]))
    corrections = (1 - alpha**step, 1 - beta**step) if a["correct_bias"] else (1, 1)
    names = ["weights", "momentums_1", "momentums_2"]
    results: Values = {f"{name}.updated": [] for name in names}
    for w, g, m1, m2 in zip(
        *(values[n] for n in ("weights", "gradients", "momentums_1", "momentums_2")), strict=True
    ):
        new = [w, alpha * m1 + (1 - alpha) * g, beta * m2 + (1 - beta) * g * g]
        if a["adam_mode"] == 0:
            new[0] = w - rate * a["weight_decay"] * w
            scale = np.sqrt(new[2] / corrections[1]) + a["epsilon"]
            new[0] = new[0] - rate * new[1] / corrections[0] / scale
        else:
            corrected = rate * np.sqrt(corrections[1]) / corrections[0]
            new[0] = w - corrected * new[1] / (np.sqrt(new[2]) + a["epsilon"])
            new[0] = new[0] - rate * a["weight_decay"] * new[0]
        if values.get("update_signal") is not None and not values["update_signal"][0]:
            new = [w, m1, m2]
        for name, value in zip(names, new, strict=True):
            results[f"{name}.updated"].append(np.asarray(value, np.float32))
    signal = values.get("update_signal")
    results["updated_flag"] = np.array([True]) if signal is None else signal
    return results


ATTRIBUTES = [
    {},
    {"adam_mode": 1},
    {"adam_mode": 1, "weight_decay": 0.0, "epsilon": 1e-6},
    {"adam_mode": 0, "weight_decay": 0.2, "alpha": 0.5, "beta": 0.75},
    {"correct_bias": 0},
    {"correct_bias": 0, "adam_mode": 1, "epsilon": 1e-2},
]


@pytest.mark.parametrize("attributes", ATTRIBUTES, ids=str)
@pytest.mark.parametrize("step", [1, 20])
@pytest.mark.parametrize("opset", [13, 17, 18, 21])
def test_adamw_returns_what_it_overwrote(attributes: dict[str, Any], step: int, opset: int) -> None:
    case = adamw_case(attributes, step, opset=opset)
    assert_close(run(case), adamw_expected(case))


@pytest.mark.parametrize("signal", [True, False])
def test_adamw_does_nothing_without_the_signal(signal: bool) -> None:
    case = adamw_case({}, signal=signal)
    found = run(case)
    assert_close(found, adamw_expected(case))
    assert found["updated_flag"].tolist() == [signal]


@pytest.mark.parametrize("attributes", ATTRIBUTES, ids=str)
@pytest.mark.parametrize(("step", "signal"), [(1, None), (20, True), (20, False)])
def test_the_kernel_of_adamw_computes_the_same(
    attributes: dict[str, Any], step: int, signal: bool | None, training_runtime: TrainingRuntime
) -> None:
    if not attributes.get("correct_bias", 1) and not attributes.get("adam_mode", 0):
        pytest.skip("the kernel refuses mode 0 without the correction")
    case = adamw_case(attributes, step, signal)
    expected = training_runtime.run(adamw_case(attributes, step, signal, seen=True).model(), case.feeds)
    assert_close(run(case), {name: value for name, value in expected.items() if name.endswith(".updated")})


def test_adamw_on_plain_tensors_is_one_step_of_one_parameter() -> None:
    case = adamw_case({"adam_mode": 1})
    inputs = {name: value[0] if isinstance(value, list) else value for name, value in case.inputs.items()}
    plain = Case("AdamWOptimizer", inputs, case.outputs, case.attributes)
    expected = {
        name: value[0] if isinstance(value, list) else value for name, value in adamw_expected(case).items()
    }
    assert_close(run(plain), expected)


@pytest.mark.parametrize("dtype", [np.float16, np.float64])
def test_adamw_computes_in_no_less_than_float32(dtype: Any) -> None:
    case = adamw_case({"weight_decay": 0.0})
    for name in ("weights", "gradients", "momentums_1", "momentums_2"):
        case.inputs[name] = [value.astype(dtype) for value in case.inputs[name]]
    # Without a history the denominator is epsilon, which is 0 in float16.
    case.inputs["momentums_2"] = [np.zeros_like(value) for value in case.inputs["momentums_2"]]
    case.inputs["gradients"][1][:] = 0
    case.inputs["momentums_1"][1][:] = 0
    found = run(case)
    for name, values in adamw_expected(case).items():
        if name != "updated_flag":
            assert_close(found, {name: [value.astype(dtype) for value in values]}, 2e-3, 1e-3)
    assert all(np.isfinite(value).all() for value in found["weights.updated"])


def test_an_unknown_mode_of_adamw_has_no_body() -> None:
    report = ax.convert(adamw_case({"adam_mode": 2}).model(), portable=True).portable
    assert report is not None
    assert "adam_mode 2" in report.remaining[0].reason


def sgd_case(signal: bool | None, seen: bool = False) -> Case:
    inputs = {
        "lr": np.array([0.25], np.float32),
        "weights": tensors(1, 1),
        "gradients": tensors(2, 1),
        "update_signal": None if signal is None else np.array([signal]),
    }
    outputs: dict[str, Any] = {"update_completed": np.bool_}
    if seen:
        outputs["weights.updated"] = [np.float32]
    return Case("SGDOptimizerV2", inputs, outputs)


@pytest.mark.parametrize("signal", [None, True, False])
def test_sgd_returns_what_it_overwrote(signal: bool | None) -> None:
    case = sgd_case(signal)
    rate = 0.0 if signal is False else 0.25
    pairs = zip(case.inputs["weights"], case.inputs["gradients"], strict=True)
    new = [np.asarray(weight - np.float32(rate) * gradient, np.float32) for weight, gradient in pairs]
    assert_close(run(case), {"weights.updated": new, "update_completed": np.array([signal is not False])})


@pytest.mark.parametrize("signal", [None, True, False])
def test_the_kernel_of_sgd_computes_the_same(signal: bool | None, training_runtime: TrainingRuntime) -> None:
    case = sgd_case(signal)
    expected = training_runtime.run(sgd_case(signal, seen=True).model(), case.feeds)
    assert_close(run(case), {"weights.updated": expected["weights.updated"]})


def clip_case(max_norm: float, scale: float) -> Case:
    inputs = {"gradients": tensors(5, scale)}
    return Case("InplaceClipGradNorm", inputs, {"clipped_gradients": [np.float32]}, {"max_norm": max_norm})


@pytest.mark.parametrize("max_norm", [0.5, 1.0, 100.0])
@pytest.mark.parametrize("scale", [0.01, 1.0, 30.0])
def test_gradients_are_scaled_to_a_common_norm(max_norm: float, scale: float) -> None:
    case = clip_case(max_norm, scale)
    norm = np.sqrt(sum(float(np.square(value, dtype=np.float64).sum()) for value in case.inputs["gradients"]))
    factor = min(1.0, max_norm / (norm + 1e-6))
    expected = [np.asarray(value * factor, np.float32) for value in case.inputs["gradients"]]
    assert_close(run(case), {"clipped_gradients": expected})


@pytest.mark.parametrize("max_norm", [0.5, 100.0])
def test_the_kernel_scales_the_same(max_norm: float, training_runtime: TrainingRuntime) -> None:
    case = clip_case(max_norm, 1)
    expected = training_runtime.run(
        case.model(), {"gradients": [value.copy() for value in case.inputs["gradients"]]}
    )
    assert_close(run(case), {"clipped_gradients": expected["clipped_gradients"]})


def accumulator_case(shape: tuple[int, ...], overwrite: bool | None) -> Case:
    rng = np.random.default_rng(6)
    inputs = {
        "accumulation_buffer": np.asarray(rng.normal(size=shape), np.float32),
        "value": np.asarray(rng.normal(size=shape), np.float32),
        "overwrite_flag": None if overwrite is None else np.array([overwrite]),
    }
    return Case("InPlaceAccumulatorV2", inputs, {"updated_flag": np.bool_})


@pytest.mark.parametrize("shape", [(), (3,), (2, 3), (0, 2)], ids=str)
@pytest.mark.parametrize("overwrite", [None, True, False])
def test_an_accumulator_returns_what_it_overwrote(shape: tuple[int, ...], overwrite: bool | None) -> None:
    case = accumulator_case(shape, overwrite)
    buffer, value = case.inputs["accumulation_buffer"], case.inputs["value"]
    expected = value if overwrite else np.asarray(buffer + value)
    found = run(case)
    assert_close(found, {"accumulation_buffer.updated": expected})
    assert found["updated_flag"].tolist() == [True]


def test_overwriting_forgets_a_buffer_that_is_not_finite() -> None:
    case = accumulator_case((3,), True)
    case.inputs["accumulation_buffer"][:] = np.nan
    assert_close(run(case), {"accumulation_buffer.updated": case.inputs["value"]})


@pytest.mark.parametrize("overwrite", [None, True, False])
def test_the_kernel_accumulates_the_same(overwrite: bool | None, training_runtime: TrainingRuntime) -> None:
    case = accumulator_case((2, 3), overwrite)
    feeds = {name: value.copy() for name, value in case.feeds.items()}
    expected = training_runtime.run(case.model(), feeds)
    assert_close(run(case), {"accumulation_buffer.updated": expected["after/accumulation_buffer"]})


@pytest.mark.parametrize("signal", [None, True, False])
def test_the_older_accumulator_keeps_its_sum_without_the_signal(signal: bool | None) -> None:
    rng = np.random.default_rng(7)
    inputs = {
        "old_sum": rng.normal(size=(2, 3)).astype(np.float32),
        "value": rng.normal(size=(2, 3)).astype(np.float32),
        "update_signal": None if signal is None else np.array([signal]),
    }
    case = Case("InPlaceAccumulator", inputs, {"new_sum": np.float32})
    total = inputs["old_sum"] + inputs["value"]
    assert_close(run(case), {"new_sum": inputs["old_sum"] if signal is False else total})
