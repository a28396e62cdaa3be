"""Trains on stock ONNX Runtime with the artifacts of onnxruntime-training."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx

from onnx_ascend_ext import model_files
from onnx_ascend_ext.errors import BackendError, ModelError
from onnx_ascend_ext.model_files import SavedFiles
from onnx_ascend_ext.sessions.onnxruntime_module import onnxruntime
from onnx_ascend_ext.sessions.values import dtype_of
from onnx_ascend_ext.training.artifacts import (
    EVAL_MODEL,
    CheckpointOrPath,
    ModelOrPath,
    open_artifacts,
    read_artifacts,
    training_roles,
)
from onnx_ascend_ext.training.checkpoint import Checkpoint, OptimizerGroup
from onnx_ascend_ext.training.checkpoint_writer import write_checkpoint
from onnx_ascend_ext.training.dataset import BatchInput, as_dtype, fit
from onnx_ascend_ext.training.evaluation import Evaluation, Evaluator
from onnx_ascend_ext.training.forward import inference_model, network_outputs
from onnx_ascend_ext.training.optimizer import read_optimizer
from onnx_ascend_ext.training.portable_session import SessionSettings, one_line
from onnx_ascend_ext.training.state_file import read_state, write_state
from onnx_ascend_ext.training.step_graph import PARAMETERS, build_step

Array = npt.NDArray[Any]
Batch = Mapping[str, Array] | Sequence[Array]

DEFAULT_LEARNING_RATE = 1e-3
"""As in onnxruntime-training."""

_GROUP = "group0"


class Trainer:
    """One training: parameters, optimiser state, and the sessions that change and evaluate them.

    The training model, converted, and the update of the parameters run as one graph on one NPU, everything
    that no kernel computes on ONNX Runtime's CPU provider. Parameters and state stay in place between steps,
    and a step that fails changes nothing.

    Attributes:
        learning_rate: of the steps to come.
        batch_inputs: names of the arrays of a batch, in order.
        inputs: the types and shapes of these arrays.
        nodes: execution provider of each converted node, by node name.
        optimizer: name of the optimiser's operator.
    """

    def __init__(
        self,
        training_model: ModelOrPath,
        checkpoint: CheckpointOrPath,
        *,
        eval_model: ModelOrPath | None = None,
        optimizer_model: ModelOrPath | None = None,
        learning_rate: float | None = None,
        device_id: int = 0,
        threads: int = 0,
        allow_cpu: bool = False,
        folder: str | os.PathLike[str] | None = None,
    ) -> None:
        """Makes a trainer; `from_artifacts` is the usual way.

        Args:
            training_model: as `generate_artifacts` makes it, or its file; not changed.
            checkpoint: the parameters to start with, and the optimiser's state where it has one.
            eval_model: for `evaluate` and `export`.
            optimizer_model: gradient descent, `parameter - learning_rate * gradient`, where None.
            learning_rate: the checkpoint's where None, and `DEFAULT_LEARNING_RATE` where it has none.
            device_id: the NPU's number as ACL counts.
            threads: of ONNX Runtime's CPU provider; 0 for one on each core.
            allow_cpu: train on the CPU alone where the execution provider cannot be used at all.
            folder: where external data of the models lies; that of the training model's file where None.

        Warns:
            CpuFallbackWarning: a converted node is not run by the execution provider.

        Raises:
            ModelError: the models are no such artifacts, do not belong together, or have an operator that
                stock ONNX Runtime does not have and that has no portable definition.
            BackendError: no such device, or ONNX Runtime cannot run the models.
        """
        self._artifacts = open_artifacts(training_model, checkpoint, eval_model, optimizer_model)
        training_model, checkpoint = self._artifacts.training_model, self._artifacts.checkpoint
        where = self._artifacts.folder if folder is None else Path(folder)
        self._settings = SessionSettings(device_id, threads, where, allow_cpu)
        roles = training_roles(training_model, checkpoint)
        optimizer = read_optimizer(self._artifacts.optimizer_model)
        self._graph = build_step(training_model, roles, checkpoint.trainable, optimizer)
        self._momentums = optimizer.momentums
        self._fixed = {
            name: array for name, array in checkpoint.parameters.items() if name not in roles.gradients
        }
        self.batch_inputs, self.optimizer = self._graph.batch, optimizer.name
        self._session, self.nodes = self._settings.load(self._graph.model, "training")
        declared = {value.name: value for value in self._session.get_inputs()}
        self.inputs = tuple(BatchInput.of_session(declared[name]) for name in self.batch_inputs)
        self._evaluator: Evaluator | None = None
        # Each step reads one of two sets of arrays and writes the other.
        self._arrays = [
            [
                {key: np.zeros(packing.shape, packing.dtype) for key in names}
                for packing, names in zip(self._graph.packings, self._graph.arrays, strict=True)
            ]
            for _ in range(2)
        ]
        self._turn = 0
        self._rate, self._count = np.zeros(1, np.float32), np.zeros(1, np.int64)
        self._loss = np.zeros(1, dtype_of(self._session.get_outputs()[0].type))
        self._step = 0
        self.learning_rate = DEFAULT_LEARNING_RATE
        self._fill(PARAMETERS, checkpoint.trainable)
        if _GROUP in checkpoint.groups:
            self._check_state(checkpoint.groups[_GROUP])
            self._restore(checkpoint.groups[_GROUP])
        if learning_rate is not None:
            self.learning_rate = learning_rate
        self._bindings = [self._bind(turn) for turn in range(2)]

    @classmethod
    def from_artifacts(
        cls,
        folder: str | os.PathLike[str],
        *,
        learning_rate: float | None = None,
        device_id: int = 0,
        threads: int = 0,
        allow_cpu: bool = False,
    ) -> Trainer:
        """A trainer for a folder that onnxruntime-training's `generate_artifacts` wrote.

        The arguments and errors are those of the class; a missing or damaged file is a `ModelError` too.
        """
        found = read_artifacts(folder)
        return cls(
            found.training_model,
            found.checkpoint,
            eval_model=found.eval_model,
            optimizer_model=found.optimizer_model,
            learning_rate=learning_rate,
            device_id=device_id,
            threads=threads,
            allow_cpu=allow_cpu,
            folder=folder,
        )

    @property
    def can_evaluate(self) -> bool:
        """Whether there is an evaluation model."""
        return self._artifacts.eval_model is not None

    @property
    def parameters(self) -> dict[str, Array]:
        """All parameters by name, as copies."""
        return {name: array.copy() for name, array in {**self._unpacked(PARAMETERS), **self._fixed}.items()}

    @property
    def state(self) -> OptimizerGroup:
        """The optimiser's state, as copies; its `initial_learning_rate` is the present one."""
        moments = {momentum: self._unpacked(momentum) for momentum in self._momentums}
        states = {
            name: {momentum: arrays[name].copy() for momentum, arrays in moments.items()}
            for name in self._unpacked(PARAMETERS)
        }
        return OptimizerGroup(self._step, float(self.learning_rate), states)

    def step(self, batch: Batch) -> float:
        """Makes one update of the parameters and gives the loss before it.

        Args:
            batch: the arrays by name, or in the order of `batch_inputs`.

        Raises:
            ModelError: the arrays do not fit the model's inputs.
            BackendError: ONNX Runtime or a kernel fails.
        """
        binding = self._bindings[self._turn]
        for name, array in self._fitted(batch).items():
            binding.bind_cpu_input(name, array)
        self._rate[0], self._count[0] = self.learning_rate, self._step + 1
        try:
            self._session.run_with_iobinding(binding)
        except Exception as error:
            raise BackendError(one_line(error)) from error
        self._turn = 1 - self._turn
        self._step += 1
        return float(self._loss[0])

    def evaluate(self, batch: Batch) -> Evaluation:
        """Runs the evaluation model with the present parameters.

        Args:
            batch: the arrays by name, or in the order of `batch_inputs`.

        Raises:
            ModelError: there is no evaluation model, or the arrays do not fit the model's inputs.
            BackendError: ONNX Runtime fails.
        """
        if self._evaluator is None:
            self._evaluator = Evaluator(
                self._eval_model(), self._graph.packings, self._fixed, self.batch_inputs, self._settings
            )
        arrays = [group[PARAMETERS] for group in self._arrays[self._turn]]
        return self._evaluator(self._fitted(batch), arrays, self._fixed)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the parameters and the optimiser's state to an `.npz` file, for `load`.

        Raises:
            ModelError: the file cannot be written.
        """
        write_state(path, self.parameters, self.state)

    def save_checkpoint(self, path: str | os.PathLike[str]) -> None:
        """Writes a checkpoint with which onnxruntime-training goes on, and `load` too.

        Raises:
            ModelError: the file cannot be written.
        """
        parameters, start = self.parameters, self._artifacts.checkpoint
        trainable = {name: parameters[name] for name in start.trainable}
        frozen = {name: parameters[name] for name in start.frozen}
        write_checkpoint(Checkpoint(trainable, frozen, {_GROUP: self.state}, dict(start.properties)), path)

    def load(self, path: str | os.PathLike[str]) -> None:
        """Goes on from a file of `save` or a checkpoint.

        An `.npz` file with parameters alone leaves the optimiser's state as it is.

        Raises:
            ModelError: the file is of another kind, or its arrays are not those of this model.
        """
        parameters, state = read_state(path)
        try:
            parameters = self._checked(parameters)
            if state is not None:
                self._check_state(state)
        except ModelError as error:
            raise ModelError(f"{os.fspath(path)}: {error}") from None
        self._fill(PARAMETERS, parameters)
        self._fixed = {name: parameters[name] for name in self._fixed}
        if state is not None:
            self._restore(state)
        self._bindings = [self._bind(turn) for turn in range(2)]

    def export(self, path: str | os.PathLike[str], *, outputs: Iterable[str] | None = None) -> SavedFiles:
        """Writes an ordinary ONNX model: the network without the loss, the parameters as its weights.

        Args:
            path: the file.
            outputs: values of the evaluation model to put out; the network's outputs where None.

        Raises:
            ModelError: there is no evaluation model, its network cannot be told from its loss, or the file
                cannot be written.
        """
        model, parameters = self._eval_model(), self.parameters
        wanted = network_outputs(model, parameters) if outputs is None else list(outputs)
        weights = {name: onnx.numpy_helper.from_array(array, name) for name, array in parameters.items()}
        folder = self._settings.folder
        source = None if folder is None else folder / EVAL_MODEL
        return model_files.save(inference_model(model, weights, wanted), path, source=source)

    def _bind(self, turn: int) -> Any:
        """The binding of the steps that read the arrays of `turn` and write the others."""
        ort_value = onnxruntime().OrtValue.ortvalue_from_numpy
        binding = self._session.io_binding()
        binding.bind_ortvalue_input(self._graph.learning_rate, ort_value(self._rate))
        binding.bind_ortvalue_input(self._graph.step, ort_value(self._count))
        for name in self._graph.frozen:
            binding.bind_ortvalue_input(name, ort_value(self._fixed[name]))
        binding.bind_ortvalue_output(self._graph.loss, ort_value(self._loss))
        for group, names in enumerate(self._graph.arrays):
            for key, (old, new) in names.items():
                binding.bind_ortvalue_input(old, ort_value(self._arrays[turn][group][key]))
                binding.bind_ortvalue_output(new, ort_value(self._arrays[1 - turn][group][key]))
        return binding

    def _fitted(self, batch: Batch) -> dict[str, Array]:
        """The arrays of a batch as the inputs take them."""
        if isinstance(batch, Mapping):
            arrays, given = batch, ", ".join(batch)
        else:
            arrays = dict(zip(self.batch_inputs, batch, strict=False))
            given = f"{len(batch)} arrays"
        if len(batch) != len(self.batch_inputs) or any(name not in arrays for name in self.batch_inputs):
            raise ModelError(f"a batch is {', '.join(self.batch_inputs)}, and not {given}")
        return {taken.name: fit(arrays[taken.name], taken) for taken in self.inputs}

    def _eval_model(self) -> onnx.ModelProto:
        if self._artifacts.eval_model is None:
            raise ModelError(f"there is no {EVAL_MODEL} among the artifacts, which this needs")
        return self._artifacts.eval_model

    def _unpacked(self, key: str) -> dict[str, Array]:
        """The trainable parameters, or one momentum of each, by name, as views."""
        found: dict[str, Array] = {}
        for packing, group in zip(self._graph.packings, self._arrays[self._turn], strict=True):
            found |= packing.unpack(group[key])
        return found

    def _fill(self, key: str, arrays: Mapping[str, Array]) -> None:
        for packing, group in zip(self._graph.packings, self._arrays[self._turn], strict=True):
            group[key][...] = packing.pack(arrays)

    def _restore(self, state: OptimizerGroup) -> None:
        for momentum in self._momentums if state.states else ():
            self._fill(momentum, {name: moments[momentum] for name, moments in state.states.items()})
        self._step = state.step
        self.learning_rate = state.initial_learning_rate

    def _checked(self, parameters: Mapping[str, Array]) -> dict[str, Array]:
        """Parameters with the types of the model's, which they must have the names and shapes of."""
        known = {**self._unpacked(PARAMETERS), **self._fixed}
        if unknown := [name for name in parameters if name not in known]:
            raise ModelError(f"has {unknown[0]}, which is no parameter of the model")
        checked = {}
        for name, array in known.items():
            if name not in parameters:
                raise ModelError(f"lacks the parameter {name}")
            found = parameters[name]
            if found.shape != array.shape:
                raise ModelError(f"{name} has the shape {list(found.shape)}, the model's {list(array.shape)}")
            checked[name] = as_dtype(found, array.dtype, name)
        return checked

    def _check_state(self, state: OptimizerGroup) -> None:
        for name, parameter in self._unpacked(PARAMETERS).items():
            for momentum in self._momentums if state.states else ():
                array = state.states.get(name, {}).get(momentum)
                if array is None or array.shape != parameter.shape:
                    raise ModelError(f"has no {momentum} of {name} with the shape {list(parameter.shape)}")
