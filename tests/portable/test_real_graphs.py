"""The graphs of `generate_artifacts` run on stock ONNX Runtime, with the numbers of onnxruntime-training."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

from .harness import TrainingRuntime, Values, assert_close, check, convert, run_stock

Command = Any
NAMES = ["ort_mnist_mlp", "ort_lenet_sigmoid", "ort_deep"]
BATCH = 5


def feeds_of(model: onnx.ModelProto, seed: int, overwrite: bool) -> Values:
    rng = np.random.default_rng(seed)
    feeds: Values = {}
    for value in model.graph.input:
        shape = [dim.dim_value or BATCH for dim in value.type.tensor_type.shape.dim]
        if value.name == "lazy_reset_grad":
            feeds[value.name] = np.array([overwrite])
        elif value.type.tensor_type.elem_type == onnx.TensorProto.INT64:
            feeds[value.name] = rng.integers(0, 10, shape)
        else:
            feeds[value.name] = (0.3 * rng.normal(size=shape)).astype(np.float32)
    return feeds


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("overwrite", [True, False])
def test_a_training_step_has_the_kernels_numbers(
    name: str, overwrite: bool, models: Path, training_runtime: TrainingRuntime
) -> None:
    model = onnx.load(models / name / "training_model.onnx")
    feeds = feeds_of(model, 1, overwrite)
    conversion = convert(model)
    found = run_stock(conversion.model, feeds)
    check(conversion.model, found)
    expected = training_runtime.run(_with_batch_size(model), feeds)
    loss = model.graph.output[0].name
    assert_close(found, {loss: expected[loss]})
    assert conversion.portable is not None
    assert len(conversion.portable.updates) == len(model.graph.output) - 1
    for update in conversion.portable.updates:
        assert np.any(expected[f"after/{update.value}"] != feeds[update.value])
        assert_close({"new": found[update.output]}, {"new": expected[f"after/{update.value}"]}, rtol=1e-4)


@pytest.mark.parametrize("name", NAMES)
def test_an_optimiser_step_has_the_kernels_numbers(
    name: str, models: Path, training_runtime: TrainingRuntime
) -> None:
    model = onnx.load(models / name / "optimizer_model.onnx")
    rng = np.random.default_rng(3)
    shapes = [(4, 3), (5,), (), (2, 3, 1)]

    def tensors(scale: float) -> list[np.ndarray]:
        return [np.asarray(scale * rng.normal(size=shape), np.float32) for shape in shapes]

    feeds: Values = {
        "learning_rate": np.array([0.01], np.float32),
        "step": np.array([3], np.int64),
        "params": tensors(1),
        "gradients": tensors(0.1),
        "first_order_moments": tensors(0.1),
        "second_order_moments": [np.square(value, out=value) for value in tensors(0.1)],
    }
    conversion = convert(model)
    found = run_stock(conversion.model, feeds)
    check(conversion.model, found)
    expected = training_runtime.run(_with_state_as_outputs(model), feeds)
    assert conversion.portable is not None
    names = [update.output for update in conversion.portable.updates]
    assert names == [
        f"{value}.updated" for value in ("params", "first_order_moments", "second_order_moments")
    ]
    assert_close(found, {name: expected[name] for name in names})
    assert found[model.graph.output[0].name].tolist() == [True]


@pytest.mark.parametrize("name", NAMES)
def test_every_sigmoid_gradient_runs_on_the_execution_provider(
    name: str, models: Path, tmp_path: Path, onnx_ascend: Command
) -> None:
    model = onnx.load(models / name / "training_model.onnx")
    target = tmp_path / "portable.onnx"
    ended = onnx_ascend("convert", models / name / "training_model.onnx", "-o", target, "--portable")
    assert ended.status == 0, ended.stderr
    feeds = feeds_of(model, 1, True)
    np.savez(tmp_path / "inputs.npz", **feeds)
    ran = onnx_ascend("run", target, "--inputs", tmp_path / "inputs.npz", "--json")
    assert ran.status == 0, ran.stderr
    gradients = [node for node in model.graph.node if node.op_type == "SigmoidGrad"]
    assert len(gradients) == len(ran.json["nodes"]) > 0
    assert set(ran.json["nodes"].values()) == {"AscendExecutionProvider"}


@pytest.mark.parametrize("name", NAMES)
def test_verify_compares_a_portable_model_with_the_original(
    name: str, models: Path, tmp_path: Path, onnx_ascend: Command
) -> None:
    model = onnx.load(models / name / "training_model.onnx")
    np.savez(tmp_path / "inputs.npz", **feeds_of(model, 1, True))
    source, target = models / name / "training_model.onnx", tmp_path / "portable.onnx"
    ended = onnx_ascend(
        "convert", source, "-o", target, "--portable", "--verify", "--inputs", tmp_path / "inputs.npz"
    )
    assert ended.status == 0, ended.stderr
    assert "equal within the tolerance" in ended.stdout


def _with_batch_size(model: onnx.ModelProto) -> onnx.ModelProto:
    """The model for one batch size: AveragePoolGrad's kernel divides by zero where its size is symbolic."""
    fixed = onnx.ModelProto()
    fixed.CopyFrom(model)
    for value in (*fixed.graph.input, *fixed.graph.value_info):
        for dim in value.type.tensor_type.shape.dim:
            if dim.dim_param:
                dim.dim_value = BATCH
    return fixed


def _with_state_as_outputs(model: onnx.ModelProto) -> onnx.ModelProto:
    """The model with the optional outputs of its optimiser, the only way to see what it overwrote."""
    seen = onnx.ModelProto()
    seen.CopyFrom(model)
    node = seen.graph.node[-1]
    for position in (2, 4, 5):
        name = f"{node.input[position]}.updated"
        node.output.append(name)
        kind = next(value.type for value in model.graph.input if value.name == node.input[position])
        seen.graph.output.add(name=name, type=kind)
    return seen
