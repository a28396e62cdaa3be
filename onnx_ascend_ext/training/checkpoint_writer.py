"""Writes the checkpoint file of onnxruntime-training; `checkpoint` has its parts and reads it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from onnx_ascend_ext.errors import BackendError
from onnx_ascend_ext.model_files import write_files
from onnx_ascend_ext.training.checkpoint import (
    DATA_SUFFIX,
    IDENTIFIER,
    VERSION,
    Array,
    Checkpoint,
    CheckpointField,
    GroupField,
    ModuleField,
    OptimizerGroup,
    Property,
    PropertyField,
    StateField,
    TensorField,
)

_MAX_INLINE_BYTES = 1_800_000_000
"""Above this the tensors go to the second file: a FlatBuffer ends at 2 GiB."""
_ALIGNMENT = 64


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
    contents: dict[Path, Callable[[BinaryIO], object]] = {}
    if external_data:
        contents[path.with_name(path.name + DATA_SUFFIX)] = writer.write_external
    contents[path] = lambda file: file.write(data)
    write_files(contents)


def _arrays(checkpoint: Checkpoint) -> Iterator[Array]:
    yield from checkpoint.parameters.values()
    for group in checkpoint.groups.values():
        for momentums in group.states.values():
            yield from momentums.values()


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

    def write_external(self, file: BinaryIO) -> None:
        """Writes the file with the tensors, after `serialize`."""
        for offset, array in self._external:
            file.seek(offset)
            file.write(array.tobytes())

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
                GroupField.INITIAL_LEARNING_RATE: lambda slot: self._builder.PrependFloat32Slot(
                    slot, rate, 0.0
                ),
                GroupField.STATES: self._offset(states),
            }
        )

    def _properties(self, properties: Mapping[str, Property]) -> int:
        kinds: list[tuple[int, type, Callable[[Any], Callable[[int], None]]]] = [
            (
                PropertyField.INTS,
                int,
                lambda value: lambda slot: self._builder.PrependInt64Slot(slot, value, 0),
            ),
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
            fields[TensorField.EXTERNAL_OFFSET] = lambda slot: self._builder.PrependInt64Slot(
                slot, offset, -1
            )
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
