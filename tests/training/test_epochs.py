"""Passes over a data set."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

from onnx_ascend_ext.errors import AscendExtError, ModelError
from onnx_ascend_ext.training import Checkpoint, Trainer
from onnx_ascend_ext.training.dataset import Dataset
from onnx_ascend_ext.training.epochs import evaluate, fixed_batch_size, train

COUNT = 50


@pytest.fixture
def data() -> Dataset:
    draw = np.random.default_rng(4)
    x = draw.normal(size=(COUNT, 64)).astype(np.float32)
    return Dataset({"x": x, "labels": x[:, :10].argmax(axis=1)}, COUNT)


def run(digits: Path, data: Dataset, **options: Any) -> list[Any]:
    trainer = Trainer.from_artifacts(digits, learning_rate=0.01)
    return list(train(trainer, data, **{"epochs": 3, "batch_size": 16, **options}))


def losses(epochs: list[Any]) -> list[tuple[float, ...]]:
    return [epoch.step_losses for epoch in epochs]


def test_epochs_tell_their_losses(digits: Path, data: Dataset) -> None:
    told: list[float] = []
    epochs = run(digits, data, on_step=told.append)
    assert [epoch.number for epoch in epochs] == [1, 2, 3]
    assert [len(epoch.step_losses) for epoch in epochs] == [4, 4, 4]
    assert told == [loss for epoch in epochs for loss in epoch.step_losses]
    first = epochs[0]
    sizes = [16, 16, 16, 2]
    assert first.loss == pytest.approx(np.dot(first.step_losses, sizes) / COUNT)
    assert epochs[2].loss < first.loss
    assert first.eval_loss is first.eval_accuracy is None


def test_the_seed_gives_the_order(digits: Path, data: Dataset) -> None:
    assert losses(run(digits, data, seed=5)) == losses(run(digits, data, seed=5))
    assert losses(run(digits, data, seed=5)) != losses(run(digits, data, seed=6))
    unshuffled = losses(run(digits, data, shuffle=False, seed=5))
    assert unshuffled == losses(run(digits, data, shuffle=False, seed=6))
    trainer = Trainer.from_artifacts(digits, learning_rate=0.01)
    assert unshuffled[0] == tuple(trainer.step(batch) for batch in data.batches(16))


def test_the_whole_evaluation_data_counts(digits: Path, data: Dataset) -> None:
    last = run(digits, data, eval_data=data)[-1]
    trainer = Trainer.from_artifacts(digits, learning_rate=0.01)
    list(train(trainer, data, epochs=3, batch_size=16))
    whole = trainer.evaluate(data.arrays)
    assert last.eval_loss == pytest.approx(whole.loss, rel=1e-5)
    assert last.eval_accuracy == pytest.approx(whole.accuracy)
    assert 0 < last.eval_accuracy <= 1
    assert evaluate(trainer, data, batch_size=7)[0] == pytest.approx(whole.loss, rel=1e-5)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_a_loss_that_is_not_finite_ends_the_training(digits: Path, data: Dataset, bad: float) -> None:
    data.arrays["x"][20] = bad
    with pytest.raises(AscendExtError, match="at step 2 of epoch 1: lower the learning rate"):
        run(digits, data, shuffle=False)


def test_a_model_with_a_fixed_batch_takes_that_size_alone(
    training_model: onnx.ModelProto, checkpoint: Checkpoint, data: Dataset
) -> None:
    for value in training_model.graph.input[:2]:
        value.type.tensor_type.shape.dim[0].dim_value = 8
    trainer = Trainer(training_model, checkpoint, learning_rate=0.1)
    assert fixed_batch_size(trainer) == 8
    (epoch,) = train(trainer, data, epochs=1, batch_size=8)
    assert len(epoch.step_losses) == COUNT // 8
    assert math.isfinite(epoch.loss)
    with pytest.raises(ModelError, match="takes batches of 8, not of 16"):
        next(train(trainer, data, epochs=1, batch_size=16))
    few = Dataset({name: array[:7] for name, array in data.arrays.items()}, 7)
    with pytest.raises(ModelError, match="only 7 examples"):
        next(train(trainer, few, epochs=1, batch_size=8))
