"""What is wrong with a model that the rest of the package stumbled over."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from google.protobuf.message import Message  # type: ignore[import-untyped]
from onnx import ModelProto, TensorProto

from onnx_ascend_ext.errors import AscendExtError, ModelError
from onnx_ascend_ext.model_files.external_data import external_tensors
from onnx_ascend_ext.model_files.wording import shown


@contextmanager
def blaming_damage(original: Callable[[], ModelProto], path: Path | None = None) -> Iterator[None]:
    """Turn an unexpected exception within the block into a ModelError where the model is at fault.

    A model is not examined beforehand, which would take longer than its conversion.

    Args:
        original: gives the model as it was before the block; called after an exception only.
        path: the model's file, which the error is to name.

    Raises:
        ModelError: the model holds text that is not UTF-8, or `onnx.checker` refuses it. Where it is sound,
            the exception itself is raised, which is a fault of this package then.
    """
    try:
        yield
    except (AscendExtError, MemoryError):
        raise
    except Exception as error:
        damage = _damage(original())
        if damage is None:
            raise
        label = f"{shown(path)}: " if path else ""
        raise ModelError(f"{label}the model is damaged: {damage}") from error


def _damage(model: ModelProto) -> str | None:
    place = next(_undecodable(model), None)
    if place is not None:
        return f"{place} is not UTF-8 text"
    import onnx.checker

    try:
        onnx.checker.check_model(_without_external_data(model))
    except onnx.checker.ValidationError as error:
        lines = str(error).strip().splitlines() or ["onnx.checker refuses it"]
        return shown(lines[0])
    return None


def _undecodable(message: Message, place: str = "") -> Iterator[str]:
    """The places of string fields, such as `graph.node[3].name`, that are not UTF-8."""
    for field, value in message.ListFields():
        where = f"{place}.{field.name}" if place else field.name
        if field.type == field.TYPE_STRING:
            # Protobuf gives bytes for text that is not UTF-8.
            if isinstance(value, bytes):
                yield where
            elif not isinstance(value, str):
                yield from (f"{where}[{i}]" for i, text in enumerate(value) if isinstance(text, bytes))
        elif field.type == field.TYPE_MESSAGE:
            if isinstance(value, Message):
                yield from _undecodable(value, where)
            else:
                for i, element in enumerate(value):
                    yield from _undecodable(element, f"{where}[{i}]")


def _without_external_data(model: ModelProto) -> ModelProto:
    """A copy whose external tensors are empty, since the checker would look for their files."""
    copied = ModelProto()
    copied.CopyFrom(model)
    for tensor in external_tensors(copied):
        tensor.ClearField("external_data")
        tensor.data_location = TensorProto.DEFAULT
        tensor.dims[:] = [0]
    return copied
