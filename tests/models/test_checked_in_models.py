"""What is checked in under models/ is what its exporters made, small, and reproducible."""

from __future__ import annotations

import importlib.util
import json
import sys
from collections import Counter
from pathlib import Path
from types import ModuleType

import numpy as np
import onnx
import pytest

from onnx_ascend_ext.model_files import load

MODELS = Path(__file__).parents[2] / "models"
CASES = sorted(path.name for path in MODELS.iterdir() if path.is_dir() and any(path.glob("*.onnx")))
SPELLED_OUT = [name for name in CASES if (MODELS / name / "case.json").exists()]
NAMED = [name for name in CASES if name not in SPELLED_OUT]
WITH_VALUES = [name for name in CASES if (MODELS / name / "outputs.npz").exists()]


@pytest.fixture(scope="module")
def make_models() -> ModuleType:
    spec = importlib.util.spec_from_file_location("make_models", MODELS / "make_models.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def operators(model: onnx.ModelProto) -> Counter[str]:
    return Counter(f"{node.domain}::{node.op_type}".removeprefix("::") for node in model.graph.node)


def test_every_exporter_is_there() -> None:
    assert {name.split("_")[0] for name in CASES} == {"torch", "jax", "onnxad", "ort"}
    assert len(WITH_VALUES) == 5


@pytest.mark.parametrize("name", CASES)
def test_case_is_small(name: str) -> None:
    assert sum(path.stat().st_size for path in (MODELS / name).iterdir()) < 2**20


@pytest.mark.parametrize("name", CASES)
def test_models_load_and_need_no_other_file(name: str) -> None:
    for path in (MODELS / name).glob("*.onnx"):
        model = load(path)
        assert len(model.graph.node) > 0
        assert not any(tensor.external_data for tensor in model.graph.initializer)


@pytest.mark.parametrize("name", SPELLED_OUT)
def test_case_description(name: str) -> None:
    case = json.loads((MODELS / name / "case.json").read_text())
    assert set(case) == {"source", "expect", "note", "reference"}
    assert case["source"]
    assert case["expect"]["SigmoidBackward"] > 0


@pytest.mark.parametrize("name", SPELLED_OUT)
def test_a_spelled_out_graph_holds_one_minus_y_for_each_gradient(name: str) -> None:
    model = load(MODELS / name / "model.onnx")
    expected = json.loads((MODELS / name / "case.json").read_text())["expect"]["SigmoidBackward"]
    ones = {
        tensor.name
        for tensor in model.graph.initializer
        if tensor.data_type in (onnx.TensorProto.FLOAT, onnx.TensorProto.FLOAT16)
        and (onnx.numpy_helper.to_array(tensor) == 1).all()
    }
    sigmoids = {
        output
        for node in model.graph.node
        if node.op_type in ("Sigmoid", "Div", "Cast")
        for output in node.output
    }
    slopes = [
        node
        for node in model.graph.node
        if node.op_type == "Sub" and node.input[0] in ones and node.input[1] in sigmoids
    ]
    assert len(slopes) == expected


@pytest.mark.parametrize(("name", "count"), [("ort_deep", 8), ("ort_lenet_sigmoid", 2), ("ort_mnist_mlp", 2)])
def test_a_named_graph_holds_the_named_gradients(name: str, count: int) -> None:
    assert name in NAMED
    assert operators(load(MODELS / name / "training_model.onnx"))["com.microsoft::SigmoidGrad"] == count
    assert operators(load(MODELS / name / "eval_model.onnx"))["com.microsoft::SigmoidGrad"] == 0
    assert operators(load(MODELS / name / "optimizer_model.onnx"))["com.microsoft::AdamWOptimizer"] == 1
    assert (MODELS / name / "checkpoint").stat().st_size > 0


@pytest.mark.parametrize("name", WITH_VALUES)
def test_stored_outputs_are_reproduced(name: str, make_models: ModuleType) -> None:
    pytest.importorskip("onnxruntime")
    inputs = dict(np.load(MODELS / name / "inputs.npz"))
    stored = np.load(MODELS / name / "outputs.npz")
    outputs = make_models.run(MODELS / name / "model.onnx", inputs)
    assert list(outputs) == list(stored)
    for key, value in outputs.items():
        assert np.abs(stored[key]).max() > 0
        tolerance = (
            {"rtol": 1e-2, "atol": 1e-3} if value.dtype == np.float16 else {"rtol": 1e-5, "atol": 1e-6}
        )
        np.testing.assert_allclose(value, stored[key], **tolerance)


@pytest.mark.parametrize("name", WITH_VALUES)
def test_stored_inputs_are_those_that_the_script_draws(name: str, make_models: ModuleType) -> None:
    stored = np.load(MODELS / name / "inputs.npz")
    drawn = make_models.draw_inputs(name)
    assert list(stored) == list(drawn)
    for key, value in drawn.items():
        assert stored[key].dtype == value.dtype
        np.testing.assert_array_equal(stored[key], value)


def test_the_script_knows_every_case(make_models: ModuleType) -> None:
    assert sorted([*make_models.CASES, *make_models.ORT_CASES]) == CASES
    assert not set(make_models.CASES) & set(make_models.ORT_CASES)


def test_the_script_refuses_an_unknown_case(make_models: ModuleType, tmp_path: Path) -> None:
    with pytest.raises(SystemExit) as stopped:
        make_models.main(["no_such_case", "--output", str(tmp_path)])
    assert stopped.value.code == 2
    assert list(tmp_path.iterdir()) == []
