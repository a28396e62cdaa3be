"""Evaluates the present parameters of a training."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx

from onnx_ascend_ext.errors import BackendError, ModelError
from onnx_ascend_ext.sessions.onnxruntime_module import onnxruntime
from onnx_ascend_ext.training.forward import classifier
from onnx_ascend_ext.training.packing import Packing
from onnx_ascend_ext.training.portable_session import SessionSettings, one_line
from onnx_ascend_ext.training.step_graph import build_eval

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Evaluation:
    """What an evaluation model says of a batch.

    Attributes:
        loss: its first output.
        outputs: all its outputs by name, and the scores of a classifier.
        accuracy: share of the labels with the highest score, for a model with one classification loss; NaN
            where no label counts; None for other models.
    """

    loss: float
    outputs: dict[str, Array] = field(repr=False)
    accuracy: float | None = None


class Evaluator:
    """The session of an evaluation model that takes the arrays of the parameters."""

    def __init__(
        self,
        model: onnx.ModelProto,
        packings: Sequence[Packing],
        frozen: Collection[str],
        batch_inputs: Collection[str],
        settings: SessionSettings,
    ) -> None:
        """Loads the session.

        Raises:
            ModelError: the model has inputs that a batch does not give; as `SessionSettings.load`.
            BackendError: as `SessionSettings.load`.
        """
        found = classifier(model)
        self._graph = build_eval(model, packings, frozen, [found.scores] if found else [])
        if unknown := [name for name in self._graph.batch if name not in batch_inputs]:
            raise ModelError(f"the evaluation model has inputs that training lacks: {', '.join(unknown)}")
        self._classifier = found if found and found.labels in self._graph.batch else None
        self._session, _ = settings.load(self._graph.model, "evaluation")
        self._outputs = [value.name for value in self._session.get_outputs()]

    def __call__(
        self, batch: Mapping[str, Array], arrays: Sequence[Array], fixed: Mapping[str, Array]
    ) -> Evaluation:
        """Evaluates a batch.

        Args:
            batch: arrays by name, as the inputs take them.
            arrays: of the trainable parameters, one for each packing.
            fixed: the other parameters.

        Raises:
            BackendError: ONNX Runtime fails.
        """
        ort_value = onnxruntime().OrtValue.ortvalue_from_numpy
        values = {name: ort_value(batch[name]) for name in self._graph.batch}
        values |= {name: ort_value(fixed[name]) for name in self._graph.frozen}
        values |= {name: ort_value(array) for name, array in zip(self._graph.arrays, arrays, strict=True)}
        try:
            results = self._session.run_with_ort_values(self._outputs, values)
        except Exception as error:
            raise BackendError(one_line(error)) from error
        outputs = {name: value.numpy() for name, value in zip(self._outputs, results, strict=True)}
        found = self._classifier
        accuracy = found.accuracy(outputs[found.scores], batch[found.labels]) if found else None
        return Evaluation(scalar(outputs[self._outputs[0]]), outputs, accuracy)


def scalar(loss: Array) -> float:
    """The number in a loss.

    Raises:
        ModelError: it has several.
    """
    if np.size(loss) != 1:
        raise ModelError(f"the loss has {np.size(loss)} elements: reduce it to one, as by its mean")
    return float(np.reshape(loss, ()))
