"""The checkpoint file of onnxruntime-training: parameters, optimiser state and properties.

The format is `onnxruntime/core/flatbuffers/schema/ort_training_checkpoint.fbs`, as onnxruntime-training 1.16
to 1.19 write it. Neither that package nor its generated code is needed.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from onnx_ascend_ext.errors import ModelError
from onnx_ascend_ext.model_files import open_source
from onnx_ascend_ext.model_files.wording import reason, shown
from onnx_ascend_ext.training import flatbuffer

Array = npt.NDArray[Any]
Property = int | float | str

IDENTIFIER = b"ODTC"
VERSION = 2
"""The version that is written: 2 knows nominal checkpoints and external data, 1 has the rest."""
READABLE_VERSIONS = (1, 2)
DATA_SUFFIX = ".data"
"""The tensors of a large checkpoint lie in a second file, named after the first with this suffix."""


class CheckpointField:
    """Numbers of the fields of `Checkpoint`."""

    VERSION, MODULE, OPTIMIZER_GROUPS, PROPERTIES = range(4)


class ModuleField:
    """Numbers of the fields of `ModuleState`."""

    TRAINABLE, FROZEN, IS_NOMINAL, HAS_EXTERNAL_DATA = range(4)


class TensorField:
    """Numbers of the fields of `Tensor` in `ort.fbs`."""

    NAME, DOC_STRING, DIMS, DATA_TYPE, RAW_DATA, STRING_DATA, EXTERNAL_OFFSET = range(7)


class GroupField:
    """Numbers of the fields of `OptimizerGroup`."""

    NAME, STEP, INITIAL_LEARNING_RATE, STATES = range(4)


class StateField:
    """Numbers of the fields of `ParameterOptimizerState`."""

    PARAMETER, MOMENTUMS = range(2)


class PropertyField:
    """Numbers of the fields of `PropertyBag`, and of each kind of property in it."""

    INTS, FLOATS, STRINGS = range(3)
    NAME, VALUE = range(2)


@dataclass
class OptimizerGroup:
    """State of one optimiser.

    Attributes:
        step: how many updates it has made.
        initial_learning_rate: the learning rate that it started with.
        states: for each parameter its momentums by name, arrays of the parameter's shape.
    """

    step: int = 0
    initial_learning_rate: float = 1e-3
    states: dict[str, dict[str, Array]] = field(default_factory=dict)


@dataclass
class Checkpoint:
    """What a checkpoint holds.

    Attributes:
        trainable: parameters with a gradient, by name.
        frozen: parameters without.
        groups: optimisers by name; onnxruntime-training calls its only one `group0`.
        properties: values of the user's own, by name.
    """

    trainable: dict[str, Array]
    frozen: dict[str, Array] = field(default_factory=dict)
    groups: dict[str, OptimizerGroup] = field(default_factory=dict)
    properties: dict[str, Property] = field(default_factory=dict)

    @property
    def parameters(self) -> dict[str, Array]:
        """Trainable and frozen parameters."""
        return {**self.trainable, **self.frozen}


def read_checkpoint(path: str | os.PathLike[str]) -> Checkpoint:
    """Reads a checkpoint file.

    Raises:
        ModelError: the file, or the one with its tensors, is missing, truncated, of another kind, or holds
            names without values (`generate_artifacts(..., nominal_checkpoint=True)`).
    """
    path = Path(path)
    with open_source(path, "the checkpoint file of onnxruntime-training 1.16 or newer") as file:
        buffer = file.read()
    if flatbuffer.identifier(buffer) != IDENTIFIER:
        raise ModelError(
            f"{shown(path)}: is not a training checkpoint of onnxruntime-training 1.16 or newer: "
            f"`{IDENTIFIER.decode()}` does not stand at byte 4"
        )
    try:
        return _checkpoint(flatbuffer.root(buffer), path)
    except flatbuffer.FlatBufferError as error:
        raise ModelError(f"{shown(path)}: is a damaged training checkpoint: {error}") from None


def _checkpoint(root: flatbuffer.Table, path: Path) -> Checkpoint:
    version = root.scalar(CheckpointField.VERSION, "<i", 0)
    if version not in READABLE_VERSIONS:
        raise ModelError(
            f"{shown(path)}: is a training checkpoint of version {version}, which is not known: 1 and 2 are"
        )
    module = root.table(CheckpointField.MODULE)
    if module is None:
        raise ModelError(f"{shown(path)}: holds no parameters")
    if module.scalar(ModuleField.IS_NOMINAL, "<?", False):
        raise ModelError(
            f"{shown(path)}: is a nominal checkpoint, with the parameters' names but not their "
            "values: give the full one, which generate_artifacts writes beside it"
        )
    is_external = module.scalar(ModuleField.HAS_EXTERNAL_DATA, "<?", False)
    reader = _TensorReader(path, path.with_name(path.name + DATA_SUFFIX) if is_external else None)
    return Checkpoint(
        trainable=dict(map(reader.named, module.tables(ModuleField.TRAINABLE))),
        frozen=dict(map(reader.named, module.tables(ModuleField.FROZEN))),
        groups={
            table.text(GroupField.NAME): OptimizerGroup(
                step=table.scalar(GroupField.STEP, "<q", 0),
                initial_learning_rate=table.scalar(GroupField.INITIAL_LEARNING_RATE, "<f", 0.0),
                states={
                    state.text(StateField.PARAMETER): dict(
                        map(reader.named, state.tables(StateField.MOMENTUMS))
                    )
                    for state in table.tables(GroupField.STATES)
                },
            )
            for table in root.tables(CheckpointField.OPTIMIZER_GROUPS)
        },
        properties=dict(_properties(root.table(CheckpointField.PROPERTIES))),
    )


def _properties(bag: flatbuffer.Table | None) -> Iterator[tuple[str, Property]]:
    if bag is None:
        return
    for entry in bag.tables(PropertyField.INTS):
        yield entry.text(PropertyField.NAME), entry.scalar(PropertyField.VALUE, "<q", 0)
    for entry in bag.tables(PropertyField.FLOATS):
        yield entry.text(PropertyField.NAME), entry.scalar(PropertyField.VALUE, "<f", 0.0)
    for entry in bag.tables(PropertyField.STRINGS):
        yield entry.text(PropertyField.NAME), entry.text(PropertyField.VALUE)


@dataclass(frozen=True)
class _TensorReader:
    """Reads the tensors of the checkpoint `path`, large ones from `data_path` where there is one."""

    path: Path
    data_path: Path | None

    def named(self, tensor: flatbuffer.Table) -> tuple[str, Array]:
        """The name and the value of one tensor."""
        name = tensor.text(TensorField.NAME)
        dtype = self._dtype(name, tensor.scalar(TensorField.DATA_TYPE, "<i", 0))
        shape = tensor.integers(TensorField.DIMS)
        if any(size < 0 for size in shape):
            raise flatbuffer.FlatBufferError(f"{shown(name)} has the shape {list(shape)}")
        size = math.prod(shape) * dtype.itemsize
        offset = tensor.scalar(TensorField.EXTERNAL_OFFSET, "<q", -1)
        data = tensor.data(TensorField.RAW_DATA) if offset < 0 else self._external(name, offset, size)
        if data is None or len(data) != size:
            raise flatbuffer.FlatBufferError(
                f"{shown(name)} of shape {list(shape)} has {len(data or b'')} bytes instead of {size}"
            )
        # A copy of its own: writable, aligned, and without the rest of the file.
        array: Array = np.frombuffer(data, dtype).reshape(shape).astype(dtype.newbyteorder("="))
        return name, array

    def _dtype(self, name: str, data_type: int) -> np.dtype[Any]:
        import onnx

        # The numbers are those of onnx.TensorProto.DataType.
        try:
            dtype = np.dtype(onnx.helper.tensor_dtype_to_np_dtype(data_type))
        except (KeyError, ValueError):
            dtype = np.dtype(object)
        if dtype.hasobject:
            raise ModelError(
                f"{shown(self.path)}: {shown(name)} has the type {data_type}, which is no number"
            )
        return dtype.newbyteorder("<")

    def _external(self, name: str, offset: int, size: int) -> bytes:
        if self.data_path is None:
            raise flatbuffer.FlatBufferError(f"{shown(name)} lies in a data file, and there is none")
        try:
            with self.data_path.open("rb") as file:
                if offset + size > os.fstat(file.fileno()).st_size:
                    raise flatbuffer.FlatBufferError(
                        f"{shown(self.data_path)} is too short for {shown(name)}"
                    )
                file.seek(offset)
                return file.read(size)
        except OSError as error:
            raise ModelError(
                f"{shown(self.data_path)}: cannot be read: {reason(error)}; "
                f"{shown(self.path)} keeps its tensors there"
            ) from error
