"""The artifacts that onnxruntime-training's `generate_artifacts` writes, and what their values are for."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import onnx

from onnx_ascend_ext import model_files
from onnx_ascend_ext.errors import ModelError
from onnx_ascend_ext.model_files.wording import shown
from onnx_ascend_ext.training.checkpoint import Checkpoint, read_checkpoint

TRAINING_MODEL = "training_model.onnx"
EVAL_MODEL = "eval_model.onnx"
OPTIMIZER_MODEL = "optimizer_model.onnx"
CHECKPOINT = "checkpoint"

MICROSOFT_DOMAIN = "com.microsoft"
_ACCUMULATOR = "InPlaceAccumulatorV2"
_BUFFER_SUFFIX = "_grad.accumulation.buffer"

ModelOrPath = onnx.ModelProto | str | os.PathLike[str]
CheckpointOrPath = Checkpoint | str | os.PathLike[str]


@dataclass(frozen=True)
class Artifacts:
    """Everything that a training needs.

    Attributes:
        training_model: forward and gradient graph.
        checkpoint: the parameters to start with.
        eval_model: forward graph with the loss, or None.
        optimizer_model: the update of the parameters, or None.
        folder: where external data of the models lies, or None.
    """

    training_model: onnx.ModelProto = field(repr=False)
    checkpoint: Checkpoint = field(repr=False)
    eval_model: onnx.ModelProto | None = field(default=None, repr=False)
    optimizer_model: onnx.ModelProto | None = field(default=None, repr=False)
    folder: Path | None = None


def read_artifacts(folder: str | os.PathLike[str]) -> Artifacts:
    """Reads a folder that `generate_artifacts` wrote, with or without a prefix of the file names.

    Raises:
        ModelError: the folder, its training model or its checkpoint is missing, or a file cannot be read.
    """
    folder = Path(folder)
    if not folder.is_dir():
        raise ModelError(f"{shown(folder)}: is no folder with the artifacts of onnxruntime-training")
    found = sorted(path.name for path in folder.glob(f"*{TRAINING_MODEL}"))
    if not found:
        raise ModelError(
            f"{shown(folder)}: has no {TRAINING_MODEL}; it should hold what onnxruntime-training's "
            "generate_artifacts writes"
        )
    if len(found) > 1:
        raise ModelError(f"{shown(folder)}: has several training models ({', '.join(found)}); keep one")
    prefix = found[0].removesuffix(TRAINING_MODEL)

    def optional(name: str) -> onnx.ModelProto | None:
        path = folder / f"{prefix}{name}"
        return model_files.load(path) if path.exists() else None

    return Artifacts(
        training_model=model_files.load(folder / found[0]),
        checkpoint=read_checkpoint(folder / f"{prefix}{CHECKPOINT}"),
        eval_model=optional(EVAL_MODEL),
        optimizer_model=optional(OPTIMIZER_MODEL),
        folder=folder,
    )


def open_artifacts(
    training_model: ModelOrPath,
    checkpoint: CheckpointOrPath,
    eval_model: ModelOrPath | None,
    optimizer_model: ModelOrPath | None,
) -> Artifacts:
    """Artifacts that are given one by one, each itself or as its file.

    Raises:
        ModelError: a file cannot be read.
    """

    def opened(model: ModelOrPath) -> onnx.ModelProto:
        return model if isinstance(model, onnx.ModelProto) else model_files.load(model)

    is_file = not isinstance(training_model, onnx.ModelProto)
    return Artifacts(
        training_model=opened(training_model),
        checkpoint=checkpoint if isinstance(checkpoint, Checkpoint) else read_checkpoint(checkpoint),
        eval_model=None if eval_model is None else opened(eval_model),
        optimizer_model=None if optimizer_model is None else opened(optimizer_model),
        folder=Path(training_model).parent if is_file else None,
    )


@dataclass(frozen=True)
class TrainingRoles:
    """What the inputs and outputs of a training model are.

    Attributes:
        batch: names of the inputs that a batch gives, in order.
        gradients: for each trainable parameter, in order, the value that is its gradient.
        frozen: names of the other parameters among the inputs.
        loss: name of the output that is the loss.
        accumulators: positions of the accumulating nodes.
        bookkeeping: names of the inputs that only these nodes read.
    """

    batch: Sequence[str]
    gradients: Mapping[str, str]
    frozen: Sequence[str]
    loss: str
    accumulators: frozenset[int]
    bookkeeping: frozenset[str]


def training_roles(model: onnx.ModelProto, checkpoint: Checkpoint) -> TrainingRoles:
    """Finds the roles of a training model's values.

    Raises:
        ModelError: it is not a training model of `generate_artifacts`, or does not belong to the checkpoint.
    """
    graph = model.graph
    gradients: dict[str, str] = {}
    accumulators: set[int] = set()
    bookkeeping: set[str] = set()
    flags: set[str] = set()
    for position, node in enumerate(graph.node):
        if node.domain != MICROSOFT_DOMAIN or node.op_type != _ACCUMULATOR:
            continue
        buffer, gradient, *reset = node.input
        parameter = buffer.removesuffix(_BUFFER_SUFFIX)
        if parameter not in checkpoint.trainable:
            raise ModelError(
                f"the training model accumulates a gradient of {parameter}, which the checkpoint lacks"
            )
        gradients[parameter] = gradient
        accumulators.add(position)
        bookkeeping.update((buffer, *reset))
        flags.update(node.output)
    if not gradients:
        raise ModelError(
            f"the training model has no {MICROSOFT_DOMAIN}::{_ACCUMULATOR} node: it is not a "
            f"{TRAINING_MODEL} of onnxruntime-training's generate_artifacts"
        )
    outputs = [value.name for value in graph.output if value.name not in flags]
    if not outputs:
        raise ModelError("the training model has no loss among its outputs")
    constants = {tensor.name for tensor in graph.initializer}
    inputs = [value.name for value in graph.input if value.name not in constants]
    parameters = checkpoint.parameters
    return TrainingRoles(
        batch=[name for name in inputs if name not in bookkeeping and name not in parameters],
        gradients={name: gradients[name] for name in inputs if name in gradients},
        frozen=[name for name in inputs if name in parameters and name not in gradients],
        loss=outputs[0],
        accumulators=frozenset(accumulators),
        bookkeeping=frozenset(bookkeeping),
    )
