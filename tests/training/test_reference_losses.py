"""Whole trainings follow onnxruntime-training's losses, step by step."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pytest

from onnx_ascend_ext.sessions import get_ep_name
from onnx_ascend_ext.training import Trainer

from . import kinds
from .batches import draw

REFERENCE: dict[str, Any] = json.loads(Path(__file__).with_name("reference_losses.json").read_text())
ARTIFACTS = Path(__file__).with_name("artifacts")
KINDS_LOSSES: dict[str, list[float]] = json.loads((ARTIFACTS / "losses.json").read_text())
GRADIENTS = {"ort_mnist_mlp": 2, "ort_lenet_sigmoid": 2, "ort_deep": 8, "ort_digits": 1}
TOLERANCE = 1e-4


def losses(trainer: Trainer, case: str) -> list[float]:
    steps = len(REFERENCE["losses"][case])
    return [trainer.step(batch) for batch in draw(case, steps=steps, size=REFERENCE["batch_size"])]


@pytest.mark.parametrize("case", GRADIENTS)
def test_the_losses_are_those_of_onnxruntime_training(case: str, models: Path) -> None:
    trainer = Trainer.from_artifacts(models / case, learning_rate=REFERENCE["learning_rate"])
    assert list(trainer.nodes.values()) == [get_ep_name()] * GRADIENTS[case]
    expected = REFERENCE["losses"][case]
    assert len(expected) == 20
    np.testing.assert_allclose(losses(trainer, case), expected, rtol=TOLERANCE)


@pytest.mark.parametrize("case", GRADIENTS)
def test_the_losses_tell_other_trainings_apart(case: str, models: Path) -> None:
    trainer = Trainer.from_artifacts(models / case, learning_rate=2 * REFERENCE["learning_rate"])
    found, expected = losses(trainer, case), REFERENCE["losses"][case]
    assert found[0] == pytest.approx(expected[0], rel=TOLERANCE)
    assert not np.allclose(found, expected, rtol=10 * TOLERANCE)


@pytest.mark.parametrize("kind", kinds.KINDS)
def test_every_loss_and_optimiser_follows_onnxruntime_training(kind: str, tmp_path: Path) -> None:
    trainer = Trainer.from_artifacts(ARTIFACTS / kind, learning_rate=kinds.LEARNING_RATE)
    assert list(trainer.nodes.values())[-1] == get_ep_name()
    found = [trainer.step(batch) for batch in kinds.draw(kind)]
    np.testing.assert_allclose(found, KINDS_LOSSES[kind], rtol=TOLERANCE)
    x, targets = next(kinds.draw(kind))
    evaluation = trainer.evaluate((x, targets))
    assert (evaluation.accuracy is None) == (targets.dtype == np.float32)
    trainer.export(tmp_path / "network.onnx")
    session = onnxruntime.InferenceSession(tmp_path / "network.onnx", providers=["CPUExecutionProvider"])
    assert [value.name for value in session.get_inputs()] == ["x"]
    assert [value.name for value in session.get_outputs()] == ["y"]
    (y,) = session.run(None, {"x": x})
    if "y" in evaluation.outputs:
        np.testing.assert_allclose(y, evaluation.outputs["y"], rtol=1e-5)
    if kind == "squared_error":
        assert ((y - targets) ** 2).mean() == pytest.approx(evaluation.loss, rel=1e-5)


def test_the_stored_losses_are_those_of_the_reference(training_python: str, tmp_path: Path) -> None:
    script, output = Path(__file__).with_name("reference.py"), tmp_path / "losses.json"
    subprocess.run([training_python, script, "losses", "--output", output], check=True, capture_output=True)
    again = json.loads(output.read_text())
    assert again.keys() == REFERENCE.keys()
    for case, expected in REFERENCE["losses"].items():
        np.testing.assert_allclose(again["losses"][case], expected, rtol=1e-5)
