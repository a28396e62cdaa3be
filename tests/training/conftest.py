from __future__ import annotations

import os
from pathlib import Path

import onnx
import pytest

from onnx_ascend_ext.training import Checkpoint, read_checkpoint

PYTHON = "ONNX_ASCEND_TRAINING_PYTHON"


@pytest.fixture(scope="session")
def training_python() -> str:
    """The Python of an environment with onnxruntime-training, where there is one."""
    python = os.environ.get(PYTHON)
    if not python:
        pytest.skip(
            f"{PYTHON} does not name the Python of an environment with the packages of "
            "tests/portable/training-requirements.txt"
        )
    return python


@pytest.fixture(scope="session")
def digits(models: Path) -> Path:
    """The artifacts of a small network: 64 inputs, 96 hidden units, 10 classes."""
    return models / "ort_digits"


@pytest.fixture
def checkpoint(digits: Path) -> Checkpoint:
    return read_checkpoint(digits / "checkpoint")


@pytest.fixture
def training_model(digits: Path) -> onnx.ModelProto:
    return onnx.load(digits / "training_model.onnx")


@pytest.fixture
def eval_model(digits: Path) -> onnx.ModelProto:
    return onnx.load(digits / "eval_model.onnx")
