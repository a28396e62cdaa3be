"""Cross entropy of a softmax, and its gradient."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from .harness import Case, NDArray, TrainingRuntime, assert_close, run_portable

SHAPES = [(4, 3), (1, 5), (2, 4, 3), (2, 3, 2, 2)]
REDUCTIONS = ["mean", "sum", "none"]
IGNORED = -100


def log_softmax(scores: NDArray) -> NDArray:
    shifted = scores - scores.max(axis=1, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))


def weights_of(label: NDArray, weight: NDArray | None, ignored: int | None) -> NDArray:
    kept = np.ones(label.shape, bool) if ignored is None else label != ignored
    weights = np.ones(label.shape) if weight is None else weight.astype(np.float64)[np.where(kept, label, 0)]
    return np.where(kept, weights, 0)


def gradient_of(values: Mapping[str, Any], reduction: str, ignored: int | None) -> NDArray:
    log_prob, label = values["log_prob"].astype(np.float64), values["label"]
    weights = weights_of(label, values.get("weight"), ignored)
    one_hot = np.moveaxis(label[..., np.newaxis] == np.arange(log_prob.shape[1]), -1, 1)
    factor = weights * values["dY"]
    if reduction == "mean" and weights.sum() != 0:
        factor = factor / weights.sum()
    result = (np.exp(log_prob) - one_hot) * np.expand_dims(factor, 1)
    if values.get("bias") is not None:
        result = result + values["bias"].reshape(result.shape)
    return result


def loss_of(values: Mapping[str, Any], reduction: str, ignored: int | None) -> tuple[NDArray, NDArray]:
    log_prob = log_softmax(values["scores"].astype(np.float64))
    label = values["labels"]
    weights = weights_of(label, values.get("weights"), ignored)
    valid = np.where(weights != 0, label, 0) if ignored is not None else label
    picked = np.take_along_axis(log_prob, np.expand_dims(valid, 1), 1).squeeze(1)
    losses = -picked * weights
    if reduction == "none":
        return losses, log_prob
    total = losses.sum()
    return (total / weights.sum() if reduction == "mean" and weights.sum() else total), log_prob


def inputs_of(
    shape: tuple[int, ...],
    reduction: str,
    *,
    seed: int = 0,
    weighted: bool = False,
    ignored: int | None = None,
    index: Any = np.int64,
    dtype: Any = np.float32,
) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    label_shape = (shape[0], *shape[2:])
    label = rng.integers(0, shape[1], label_shape)
    if ignored is not None:
        label[rng.random(label_shape) < 0.4] = ignored
    gradient = rng.normal(size=label_shape if reduction == "none" else ())
    return {
        "dY": np.asarray(gradient, dtype),
        "log_prob": log_softmax(rng.normal(size=shape)).astype(dtype),
        "label": label.astype(index),
        "weight": np.asarray(rng.random(shape[1]) + 0.1, dtype) if weighted else None,
    }


def case_of(
    shape: tuple[int, ...], reduction: str, *, ignored: int | None = None, opset: int = 17, **options: Any
) -> Case:
    attributes: dict[str, Any] = {"reduction": reduction}
    if ignored is not None:
        attributes["ignore_index"] = ignored
    inputs = inputs_of(shape, reduction, ignored=ignored, **options)
    dtype = inputs["log_prob"].dtype
    return Case("SoftmaxCrossEntropyLossGrad", inputs, {"d_logits": dtype}, attributes, opset)


def expected_of(case: Case) -> dict[str, Any]:
    ignored = case.attributes.get("ignore_index")
    gradient = gradient_of(case.inputs, case.attributes["reduction"], ignored)
    return {"d_logits": gradient.astype(case.inputs["log_prob"].dtype)}


GRID = [
    pytest.param(
        {"shape": shape, "reduction": reduction, "weighted": weighted, "ignored": ignored, "index": index},
        id=f"{shape}-{reduction}-{'weighted' if weighted else 'plain'}-{ignored}-{np.dtype(index)}",
    )
    for shape in SHAPES
    for reduction in REDUCTIONS
    for weighted in (False, True)
    for ignored, index in ((None, np.int64), (IGNORED, np.int32), (1, np.int64))
]


@pytest.mark.parametrize("options", GRID)
def test_the_gradient_of_the_loss(options: dict[str, Any]) -> None:
    case = case_of(**options)
    assert_close(run_portable(case), expected_of(case))


@pytest.mark.parametrize("options", GRID)
def test_the_kernel_computes_the_same_gradient(
    options: dict[str, Any], training_runtime: TrainingRuntime
) -> None:
    case = case_of(**options, seed=5)
    expected = training_runtime.run(case.model(), case.feeds)
    assert_close(run_portable(case), {"d_logits": expected["d_logits"]})


@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("dtype", [np.float16, np.float64])
def test_the_gradient_in_other_types(reduction: str, weighted: bool, dtype: Any) -> None:
    case = case_of((3, 4), reduction, weighted=weighted, ignored=IGNORED, dtype=dtype)
    rtol, atol = (1e-2, 2e-3) if dtype == np.float16 else (1e-12, 1e-12)
    assert_close(run_portable(case), expected_of(case), rtol, atol)


@pytest.mark.parametrize("opset", [12, 13, 14, 15, 18, 21])
@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_the_body_is_written_in_the_models_opset(opset: int, reduction: str) -> None:
    case = case_of((2, 3, 4), reduction, weighted=True, ignored=0, opset=opset)
    assert_close(run_portable(case), expected_of(case))


def test_where_every_label_is_ignored_nothing_is_divided_by_zero() -> None:
    case = case_of((3, 4), "mean", ignored=IGNORED)
    case.inputs["label"][:] = IGNORED
    assert np.all(run_portable(case)["d_logits"] == 0)


def test_an_unknown_reduction_has_no_body() -> None:
    import onnx_ascend_ext as ax

    case = case_of((3, 4), "mean")
    model = case.model()
    model.graph.node[0].attribute[0].s = b"median"
    report = ax.convert(model, portable=True).portable
    assert report is not None
    assert report.expanded == []
    assert "reduction 'median'" in report.remaining[0].reason
    assert model.graph.node[0].op_type == "SoftmaxCrossEntropyLossGrad"


INTERNAL = [
    pytest.param({"reduction": reduction, "weighted": weighted, "ignored": ignored, "biased": biased})
    for reduction in REDUCTIONS
    for weighted in (False, True)
    for ignored in (None, IGNORED)
    for biased in (False, True)
]


def internal_case(
    reduction: str,
    weighted: bool,
    ignored: int | None,
    biased: bool,
    dtype: Any = np.float32,
    output: Any = None,
) -> Case:
    shape = (3, 4, 2)
    inputs = inputs_of(shape, reduction, weighted=weighted, ignored=ignored, dtype=dtype)
    rng = np.random.default_rng(9)
    inputs["ignore_index"] = None if ignored is None else np.array(ignored, np.int64)
    inputs["bias"] = rng.normal(size=shape).astype(dtype) if biased else None
    attributes: dict[str, Any] = {"reduction": reduction}
    if output is not None:
        attributes["output_type"] = int(np.dtype(output) == np.float32) or 10
    return Case("SoftmaxCrossEntropyLossInternalGrad", inputs, {"d_logits": output or dtype}, attributes)


def internal_expected(case: Case) -> dict[str, Any]:
    ignore_index = case.inputs["ignore_index"]
    gradient = gradient_of(
        case.inputs, case.attributes["reduction"], None if ignore_index is None else int(ignore_index)
    )
    return {"d_logits": gradient.astype(case.outputs["d_logits"])}


@pytest.mark.parametrize("options", INTERNAL)
def test_the_gradient_with_ignore_index_as_an_input(options: dict[str, Any]) -> None:
    case = internal_case(**options)
    assert_close(run_portable(case), internal_expected(case))


@pytest.mark.parametrize("options", INTERNAL)
def test_the_kernel_computes_the_same_with_ignore_index_as_an_input(
    options: dict[str, Any], training_runtime: TrainingRuntime
) -> None:
    case = internal_case(**options)
    expected = training_runtime.run(case.model(), case.feeds)
    assert_close(run_portable(case), {"d_logits": expected["d_logits"]})


@pytest.mark.parametrize(("source", "output"), [(np.float16, np.float32), (np.float32, np.float16)])
def test_the_gradient_may_have_a_type_of_its_own(source: Any, output: Any) -> None:
    case = internal_case("mean", True, IGNORED, True, source, output)
    assert_close(run_portable(case), internal_expected(case), 5e-3, 5e-3)


LOSSES = [
    pytest.param({"shape": shape, "reduction": reduction, "weighted": weighted, "ignored": ignored})
    for shape in ((3, 4), (2, 4, 3))
    for reduction in REDUCTIONS
    for weighted in (False, True)
    for ignored in (None, IGNORED)
]


def loss_case(shape: tuple[int, ...], reduction: str, weighted: bool, ignored: int | None) -> Case:
    values = inputs_of(shape, reduction, seed=2, weighted=weighted, ignored=ignored)
    scores = np.random.default_rng(4).normal(size=shape).astype(np.float32)
    inputs = {
        "scores": scores,
        "labels": values["label"],
        "weights": values["weight"],
        "ignore_index": None if ignored is None else np.array(ignored, np.int64),
    }
    outputs = {"output": np.float32, "log_prob": np.float32}
    return Case("SoftmaxCrossEntropyLossInternal", inputs, outputs, {"reduction": reduction})


@pytest.mark.parametrize("options", LOSSES)
def test_the_loss_with_ignore_index_as_an_input(options: dict[str, Any]) -> None:
    case = loss_case(**options)
    loss, log_prob = loss_of(case.inputs, options["reduction"], options["ignored"])
    expected = {"output": np.asarray(loss, np.float32), "log_prob": log_prob.astype(np.float32)}
    assert_close(run_portable(case), expected)


@pytest.mark.parametrize("options", LOSSES)
def test_the_kernel_computes_the_same_loss(
    options: dict[str, Any], training_runtime: TrainingRuntime
) -> None:
    case = loss_case(**options)
    expected = training_runtime.run(case.model(), case.feeds)
    assert_close(run_portable(case), {name: expected[name] for name in ("output", "log_prob")})
