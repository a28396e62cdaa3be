from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator

import pytest

from .harness import TrainingRuntime

PYTHON = "ONNX_ASCEND_TRAINING_PYTHON"


@pytest.fixture(scope="session")
def training_runtime(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TrainingRuntime]:
    """onnxruntime-training, where there is an environment with it."""
    python = os.environ.get(PYTHON)
    if not python:
        pytest.skip(
            f"{PYTHON} does not name the Python of an environment with the packages of "
            "tests/portable/training-requirements.txt"
        )
    runtime = TrainingRuntime(python, tmp_path_factory.mktemp("training"))
    assert runtime.version == "1.19.2"
    yield runtime
    try:
        runtime.close()
    except subprocess.TimeoutExpired:
        pytest.fail("the process of onnxruntime-training does not end")
