"""The checkpoint file of onnxruntime-training: parameters, optimiser state and properties.

The format is `onnxruntime/core/flatbuffers/schema/ort_training_checkpoint.fbs`, as onnxruntime-training 1.16
to 1.19 write it. Neither that package nor its generated code is needed.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from onnx_ascend_ext.errors import BackendError, ModelError
from onnx_ascend_ext.model_files.staging import Transaction, unwinding_on_sigterm
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

_MAX_INLINE_BYTES = 1_800_000_000
"""Above this the tensors go to the second file: a FlatBuffer ends at 2 GiB."""
_ALIGNMENT = 64


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
    buffer = _bytes_of(path)
    if flatbuffer.identifier(buffer) != IDENTIFIER:
        raise ModelError(
            f"{shown(path)}: is not a training checkpoint of onnxruntime-training 1.16 or newer: "
            f"`{IDENTIFIER.decode()}` does not stand at byte 4"
        )
    try:
        return _checkpoint(flatbuffer.root(buffer), path)
    except flatbuffer.FlatBufferError as error:
        raise ModelError(f"{shown(path)}: is a damaged training checkpoint: {error}") from None


def write_checkpoint(
    checkpoint: Checkpoint, path: str | os.PathLike[str], *, external_data: bool | None = None
) -> None:
    """Writes a checkpoint that onnxruntime-training loads, in one step: all files appear, or none.

    Args:
        checkpoint: what to write.
        path: the file; a second one beside it, with `DATA_SUFFIX`, holds the tensors where they are external.
        external_data: whether they are; None for where they are too large for one file.

    Raises:
        ModelError: a file cannot be written.
        BackendError: the package `flatbuffers`, which ONNX Runtime brings, is missing.
    """
    path = Path(path)
    if external_data is None:
        external_data = sum(array.nbytes for array in _arrays(checkpoint)) > _MAX_INLINE_BYTES
    writer = _Writer(external_data)
    data = writer.serialize(checkpoint)
    try:
        with unwinding_on_sigterm(), Transaction() as transaction:
            if external_data:
                with transaction.new_file(path.with_name(path.name + DATA_SUFFIX), replace=True) as fd:
                    writer.write_external(fd)
            with transaction.new_file(path, replace=True) as fd, open(fd, "wb", closefd=False) as file:
                file.write(data)
            transaction.commit()
    except (OSError, ValueError) as error:
        words = reason(error) if isinstance(error, OSError) else "not a valid file name"
        raise ModelError(f"{shown(path)}: cannot be written: {words}") from error


def _arrays(checkpoint: Checkpoint) -> Iterator[Array]:
    yield from checkpoint.parameters.values()
    for group in checkpoint.groups.values():
        for momentums in group.states.values():
            yield from momentums.values()


def _bytes_of(path: Path) -> bytes:
    if path.is_dir():
        raise ModelError(
            f"{shown(path)}: is a folder: give the checkpoint file, which onnxruntime-training writes since 1.16"
        )
    try:
        return path.read_bytes()
    except (OSError, ValueError) as error:
        words = reason(error) if isinstance(error, OSError) else "not a valid file name"
        raise ModelError(f"{shown(path)}: cannot be read: {words}") from error


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
            f"{shown(path)}: is a nominal checkpoint, with the parameters' names but not their values: make the "
            "artifacts with nominal_checkpoint=False, or give the full checkpoint"
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
            raise ModelError(f"{shown(self.path)}: {shown(name)} has the type {data_type}, which is no number")
        return dtype.newbyteorder("<")

    def _external(self, name: str, offset: int, size: int) -> bytes:
        if self.data_path is None:
            raise flatbuffer.FlatBufferError(f"{shown(name)} lies in a data file, and there is none")
        try:
            with self.data_path.open("rb") as file:
                file.seek(offset)
                return file.read(size)
        except OSError as error:
            raise ModelError(
                f"{shown(self.data_path)}: cannot be read: {reason(error)}; {shown(self.path)} keeps its tensors there"
            ) from error


class _Writer:
    """Builds the FlatBuffer, from the leaves up as the encoding wants it."""

    def __init__(self, is_external: bool) -> None:
        try:
            import flatbuffers
        except ImportError:
            raise BackendError(
                "the package `flatbuffers` is not installed, and a checkpoint cannot be written without it: "
                "`pip install 'onnx-ascend-ext[ort]'`"
            ) from None
        self._builder = flatbuffers.Builder(1024)
        self._is_external = is_external
        self._external: list[tuple[int, Array]] = []
        self._external_size = 0

    def serialize(self, checkpoint: Checkpoint) -> bytes:
        """The checkpoint file."""
        module = self._table(
            {
                ModuleField.TRAINABLE: self._offset(self._tensors(checkpoint.trainable)),
                ModuleField.FROZEN: self._offset(self._tensors(checkpoint.frozen)),
                ModuleField.HAS_EXTERNAL_DATA: lambda slot: self._builder.PrependBoolSlot(
                    slot, self._is_external, False
                ),
            }
        )
        groups = self._vector(self._group(name, group) for name, group in checkpoint.groups.items())
        root = self._table(
            {
                CheckpointField.VERSION: lambda slot: self._builder.PrependInt32Slot(slot, VERSION, 0),
                CheckpointField.MODULE: self._offset(module),
                CheckpointField.OPTIMIZER_GROUPS: self._offset(groups),
                CheckpointField.PROPERTIES: self._offset(self._properties(checkpoint.properties)),
            }
        )
        self._builder.Finish(root, file_identifier=IDENTIFIER)
        return bytes(self._builder.Output())

    def write_external(self, fd: int) -> None:
        """Writes the file with the tensors, after `serialize`."""
        with open(fd, "wb", closefd=False) as file:
            for offset, array in self._external:
                file.seek(offset)
                array.tofile(file)

    def _group(self, name: str, group: OptimizerGroup) -> int:
        states = self._vector(
            self._table(
                {
                    StateField.PARAMETER: self._text(parameter),
                    StateField.MOMENTUMS: self._offset(self._tensors(momentums)),
                }
            )
            for parameter, momentums in group.states.items()
        )
        rate = group.initial_learning_rate
        return self._table(
            {
                GroupField.NAME: self._text(name),
                GroupField.STEP: lambda slot: self._builder.PrependInt64Slot(slot, group.step, 0),
                GroupField.INITIAL_LEARNING_RATE: lambda slot: self._builder.PrependFloat32Slot(slot, rate, 0.0),
                GroupField.STATES: self._offset(states),
            }
        )

    def _properties(self, properties: Mapping[str, Property]) -> int:
        kinds: list[tuple[int, type, Callable[[Any], Callable[[int], None]]]] = [
            (PropertyField.INTS, int, lambda value: lambda slot: self._builder.PrependInt64Slot(slot, value, 0)),
            (
                PropertyField.FLOATS,
                float,
                lambda value: lambda slot: self._builder.PrependFloat32Slot(slot, value, 0.0),
            ),
            (PropertyField.STRINGS, str, self._text),
        ]
        vectors = {
            kind_field: self._offset(
                self._vector(
                    self._table({PropertyField.NAME: self._text(name), PropertyField.VALUE: store(value)})
                    for name, value in properties.items()
                    if isinstance(value, kind)
                )
            )
            for kind_field, kind, store in kinds
        }
        return self._table(vectors)

    def _tensors(self, arrays: Mapping[str, Array]) -> int:
        return self._vector(self._tensor(name, array) for name, array in arrays.items())

    def _tensor(self, name: str, array: Array) -> int:
        import onnx

        data = np.ascontiguousarray(array).astype(array.dtype.newbyteorder("<"), copy=False)
        data_type = onnx.helper.np_dtype_to_tensor_dtype(array.dtype)
        fields = {
            TensorField.NAME: self._text(name),
            TensorField.DIMS: self._offset(
                self._builder.CreateNumpyVector(np.asarray(array.shape, dtype=np.int64))
            ),
            TensorField.DATA_TYPE: lambda slot: self._builder.PrependInt32Slot(slot, int(data_type), 0),
        }
        if self._is_external:
            offset = -(-self._external_size // _ALIGNMENT) * _ALIGNMENT
            self._external.append((offset, data))
            self._external_size = offset + data.nbytes
            fields[TensorField.EXTERNAL_OFFSET] = lambda slot: self._builder.PrependInt64Slot(slot, offset, -1)
        else:
            fields[TensorField.RAW_DATA] = self._offset(self._builder.CreateByteVector(data.tobytes()))
        return self._table(fields)

    def _text(self, text: str) -> Callable[[int], None]:
        return self._offset(self._builder.CreateString(text))

    def _offset(self, offset: int) -> Callable[[int], None]:
        return lambda slot: self._builder.PrependUOffsetTRelativeSlot(slot, offset, 0)

    def _vector(self, offsets: Iterable[int]) -> int:
        made = list(offsets)
        self._builder.StartVector(4, len(made), 4)
        for offset in reversed(made):
            self._builder.PrependUOffsetTRelative(offset)
        return int(self._builder.EndVector())

    def _table(self, fields: Mapping[int, Callable[[int], None]]) -> int:
        self._builder.StartObject(max(fields) + 1)
        for slot, store in fields.items():
            store(slot)
        return int(self._builder.EndObject())
