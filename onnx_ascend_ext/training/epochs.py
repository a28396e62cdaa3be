"""Goes through a data set several times."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from onnx_ascend_ext.errors import AscendExtError, ModelError
from onnx_ascend_ext.training.dataset import Dataset
from onnx_ascend_ext.training.trainer import Trainer


@dataclass(frozen=True)
class Epoch:
    """One pass over the data.

    Attributes:
        number: counted from 1.
        loss: mean over the examples, each with the parameters of its step.
        step_losses: loss of each step.
        seconds: wall time, without evaluation.
        eval_loss: mean loss over the evaluation data after the pass, or None.
        eval_accuracy: the same for the accuracy, for a classifier.
    """

    number: int
    loss: float
    step_losses: tuple[float, ...]
    seconds: float
    eval_loss: float | None = None
    eval_accuracy: float | None = None


def train(
    trainer: Trainer,
    data: Dataset,
    *,
    epochs: int,
    batch_size: int,
    seed: int = 0,
    shuffle: bool = True,
    eval_data: Dataset | None = None,
    on_step: Callable[[float], None] = lambda _: None,
) -> Iterator[Epoch]:
    """Trains, and gives each epoch as it ends.

    Args:
        trainer: is changed.
        data: the examples to learn from.
        epochs: how many passes.
        batch_size: examples in a step; where the model takes batches of any size the last one may be smaller,
            otherwise it is left out.
        seed: the same seed gives the same order of the examples.
        shuffle: whether each pass has an order of its own.
        eval_data: examples to evaluate after each pass.
        on_step: is told the loss of each step.

    Raises:
        ModelError: the model takes batches of another size, or the data is smaller than that.
        AscendExtError: the loss is no longer finite.
    """
    fixed = fixed_batch_size(trainer)
    if fixed not in (None, batch_size):
        raise ModelError(f"the model takes batches of {fixed}, not of {batch_size}")
    if data.batch_count(batch_size, drop_last=fixed is not None) == 0:
        raise ModelError(f"the model takes batches of {fixed}, and the data has only {data.count} examples")
    generator = np.random.default_rng(seed) if shuffle else None
    for number in range(1, epochs + 1):
        start = time.perf_counter()
        losses: list[float] = []
        total, seen = 0.0, 0
        for batch in data.batches(batch_size, generator=generator, drop_last=fixed is not None):
            loss = trainer.step(batch)
            if not math.isfinite(loss):
                raise AscendExtError(
                    f"the loss is {loss} at step {len(losses) + 1} of epoch {number}: lower the learning "
                    f"rate (it is {trainer.learning_rate:g}), or look for such values in the data"
                )
            count = len(next(iter(batch.values())))
            losses.append(loss)
            total += loss * count
            seen += count
            on_step(loss)
        seconds = time.perf_counter() - start
        evaluated = (None, None) if eval_data is None else evaluate(trainer, eval_data, batch_size=batch_size)
        yield Epoch(number, total / seen, tuple(losses), seconds, *evaluated)


def evaluate(trainer: Trainer, data: Dataset, *, batch_size: int) -> tuple[float, float | None]:
    """The mean loss over a data set, and the accuracy of a classifier.

    Raises:
        ModelError: there is no evaluation model, or the data is smaller than the batches that the model
            takes.
    """
    drop_last = fixed_batch_size(trainer) is not None
    if data.batch_count(batch_size, drop_last=drop_last) == 0:
        raise ModelError(
            f"the model takes batches of {batch_size}, and the evaluation data has only {data.count} examples"
        )
    loss, right, seen = 0.0, 0.0, 0
    is_classifier = True
    for batch in data.batches(batch_size, drop_last=drop_last):
        result = trainer.evaluate(batch)
        count = len(next(iter(batch.values())))
        loss += result.loss * count
        if result.accuracy is None or math.isnan(result.accuracy):
            is_classifier = False
        else:
            right += result.accuracy * count
        seen += count
    return loss / seen, right / seen if is_classifier else None


def fixed_batch_size(trainer: Trainer) -> int | None:
    """The size of the batches that the model takes, None where it takes any."""
    sizes = [taken.shape[0] for taken in trainer.inputs if taken.shape]
    return next((size for size in sizes if size is not None), None)
