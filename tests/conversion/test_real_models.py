"""The real training graphs of `models/`."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import onnx
import onnxruntime as ort
import pytest

import onnx_ascend_ext as ax

from .checking import check, kernel_nodes, nodes, problem_of

MODELS = Path(__file__).parents[2] / "models"
CASES = sorted(path.parent.name for path in MODELS.glob("*/case.json"))
TRAINING = sorted(path.parent.name for path in MODELS.glob("*/training_model.onnx"))
OTHERS = sorted(str(path.relative_to(MODELS)) for path in MODELS.glob("*/*_model.onnx"))


def session(model: onnx.ModelProto) -> ort.InferenceSession:
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    return ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])


def loads(model: onnx.ModelProto) -> bool:
    try:
        session(model)
    except Exception:
        return False
    return True


def test_there_are_models():
    assert len(CASES) >= 6
    assert len(TRAINING) >= 3


@pytest.mark.parametrize("name", CASES)
def test_every_gradient_is_found(name):
    case = json.loads((MODELS / name / "case.json").read_text())
    model = onnx.load(MODELS / name / "model.onnx")
    conversion = check(model)
    assert {"SigmoidBackward": len(conversion.matches)} == case["expect"]
    assert loads(conversion.model) == loads(model)


@pytest.mark.parametrize("name", [name for name in CASES if (MODELS / name / "outputs.npz").exists()])
def test_the_stored_outputs_are_computed(name):
    inputs = dict(np.load(MODELS / name / "inputs.npz"))
    outputs = dict(np.load(MODELS / name / "outputs.npz"))
    conversion = ax.convert(MODELS / name / "model.onnx")
    for model in (conversion.model, ax.restore(conversion.model)):
        results = session(model).run(list(outputs), inputs)
        for (output, expected), got in zip(outputs.items(), results, strict=True):
            tolerance = 2e-3 if expected.dtype == np.float16 else 1e-5
            scale = np.max(np.abs(expected), initial=0)
            np.testing.assert_allclose(got, expected, rtol=tolerance, atol=tolerance * scale, err_msg=output)


@pytest.mark.parametrize("name", TRAINING)
def test_every_named_gradient_of_onnx_runtime_training_is_found(name):
    model = onnx.load(MODELS / name / "training_model.onnx")
    count = sum((node.domain, node.op_type) == ("com.microsoft", "SigmoidGrad") for node in nodes(model))
    assert count > 0
    conversion = check(model)
    assert len(conversion.matches) == len(kernel_nodes(conversion.model)) == count
    assert all(match.proven_sigmoid for match in conversion.matches)
    assert not [node for node in nodes(conversion.model) if node.op_type == "SigmoidGrad"]
    assert problem_of(conversion.model) is None or problem_of(model) is not None


@pytest.mark.parametrize("name", [name for name in OTHERS if "training" not in name])
def test_a_model_without_gradients_stays_as_it_is(name):
    model = onnx.load(MODELS / name)
    assert check(model).model.SerializeToString() == model.SerializeToString()
