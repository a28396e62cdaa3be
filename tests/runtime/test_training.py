"""The training loop of onnxruntime-training, whose gradient graph goes through the custom-op library."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

import onnx_ascend_ext as ax
from onnx_ascend_ext import simulator

MODEL = Path(__file__).parents[2] / "models" / "ort_mnist_mlp"

try:
    from onnxruntime import SessionOptions
    from onnxruntime.training import api
except ImportError:
    pytest.skip("onnxruntime-training is not installed", allow_module_level=True)


def losses(folder: Path, options: SessionOptions | None, steps: int = 5) -> tuple[list[float], Any]:
    """The losses of some steps of AdamW on fixed batches, and the state that they end in."""
    state = api.CheckpointState.load_checkpoint(str(MODEL / "checkpoint"))
    module = api.Module(
        str(folder / "training_model.onnx"),
        state,
        str(MODEL / "eval_model.onnx"),
        device="cpu",
        session_options=options,
    )
    optimizer = api.Optimizer(str(MODEL / "optimizer_model.onnx"), module)
    module.train()
    rng = np.random.default_rng(0)
    found = []
    inputs = list(onnx.load(folder / "training_model.onnx").graph.input)
    shapes = {
        value.name: [size.dim_value or 8 for size in value.type.tensor_type.shape.dim] for value in inputs
    }
    names = module.input_names()
    for _ in range(steps):
        batch = rng.normal(size=shapes[names[0]]).astype(np.float32)
        labels = rng.integers(0, 10, size=shapes[names[1]]).astype(np.int64)
        found.append(float(np.asarray(module(batch, labels))))
        optimizer.step()
        module.lazy_reset_grad()
    return found, module.get_contiguous_parameters().numpy()


def test_five_steps_are_those_of_the_unconverted_model(tmp_path):
    original = MODEL / "training_model.onnx"
    shutil.copy(original, tmp_path / "original.onnx")
    conversion = ax.convert(original)
    assert len(conversion.matches) == 2
    conversion.save(tmp_path / "training_model.onnx")

    wanted, wanted_parameters = losses(MODEL, None)
    options = SessionOptions()
    options.register_custom_ops_library(ax.get_library_path())
    before = simulator.counters()["launches"]
    actual, actual_parameters = losses(tmp_path, options)
    assert simulator.counters()["launches"] - before == 5 * 2
    assert len(set(wanted)) == 5
    np.testing.assert_allclose(actual, wanted, rtol=0, atol=1e-6)
    np.testing.assert_allclose(actual_parameters, wanted_parameters, rtol=0, atol=1e-6)
    assert (MODEL / "training_model.onnx").read_bytes() == (tmp_path / "original.onnx").read_bytes()
