"""References of a model to files beside it, and the checks that make them safe to follow."""

from __future__ import annotations

import math
import os
import stat
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath, PureWindowsPath

from onnx import GraphProto, ModelProto, NodeProto, SparseTensorProto, TensorProto

from onnx_ascend_ext.errors import ModelError
from onnx_ascend_ext.model_files.wording import reason, shown

# Extended attribute that marks a data file as hard-linked on purpose. Whoever can set it can write the file,
# so no archive or model can forge it for a file that is not its own.
LINK_MARK = "user.onnx_ascend_ext.linked"

# How much a tensor with no "length" key takes: bits of one element by data type (absent: not known).
_ELEMENT_BITS: dict[int, int] = {
    **dict.fromkeys((TensorProto.INT64, TensorProto.UINT64, TensorProto.DOUBLE, TensorProto.COMPLEX64), 64),
    **dict.fromkeys((TensorProto.INT32, TensorProto.UINT32, TensorProto.FLOAT), 32),
    **dict.fromkeys((TensorProto.INT16, TensorProto.UINT16, TensorProto.FLOAT16, TensorProto.BFLOAT16), 16),
    **dict.fromkeys((TensorProto.INT8, TensorProto.UINT8, TensorProto.BOOL), 8),
    TensorProto.COMPLEX128: 128,
}


@dataclass(frozen=True)
class DataFile:
    """One file that a model's tensors refer to."""

    location: str
    """As the model spells it, relative to the model's folder."""
    path: Path
    """The file itself, with every symlink resolved."""
    size: int
    device_and_inode: tuple[int, int]


def external_tensors(model: ModelProto, *, serialized: bytes | None = None) -> Iterator[TensorProto]:
    """Every tensor of `model` whose data lies outside: in graphs, bodies, functions and training_info.

    Args:
        model: the model.
        serialized: the same model as binary protobuf, where it is at hand; one look at it mostly saves the
            walk over all nodes.
    """
    if serialized is not None and not _may_refer(serialized):
        return
    yield from _in_graph(model.graph)
    for training in model.training_info:
        yield from _in_graph(training.initialization)
        yield from _in_graph(training.algorithm)
    for function in model.functions:
        for attribute in function.attribute_proto:
            yield from _in_attributes((attribute,))
        yield from _in_nodes(function.node)


def location_of(tensor: TensorProto) -> str:
    """The "location" of an external tensor, or "" where it has none."""
    return next((entry.value for entry in tensor.external_data if entry.key == "location"), "")


def relocate(tensor: TensorProto, location: str) -> None:
    """Make the external `tensor` refer to `location`; every other key stays."""
    for entry in tensor.external_data:
        if entry.key == "location":
            entry.value = location


def data_files(tensors: Iterable[TensorProto], model_path: Path) -> list[DataFile]:
    """The files that `tensors` of the model at `model_path` refer to, in order of first use.

    Only names, sizes and link counts are looked at; nothing is opened.

    Raises:
        ModelError: a location is absolute, contains `..`, or leaves the model's folder through a symlink or
            a hard link; a file is missing or no regular file; a tensor lies past the end of its file.
    """
    folder = model_path.absolute().parent
    found: dict[str, DataFile] = {}
    for tensor in tensors:
        label = f"{shown(model_path)}: external data of tensor '{shown(tensor.name)}'"
        keys = _keys(tensor, label)
        location = keys.get("location", "")
        file = found.get(location)
        if file is None:
            file = found[location] = _check_location(location, folder, model_path, label)
        _check_extent(tensor, keys, file, label)
    return list(found.values())


def _may_refer(serialized: bytes) -> bool:
    # A reference holds the key "location", or at least `data_location: EXTERNAL` (field 14, value 1).
    return b"location" in serialized or b"\x70\x01" in serialized


def _in_graph(graph: GraphProto) -> Iterator[TensorProto]:
    yield from _external(graph.initializer)
    for sparse in graph.sparse_initializer:
        yield from _in_sparse(sparse)
    yield from _in_nodes(graph.node)


def _in_nodes(nodes: Iterable[NodeProto]) -> Iterator[TensorProto]:
    for node in nodes:
        attributes = node.attribute
        if len(attributes):
            yield from _in_attributes(attributes)


def _in_attributes(attributes: Iterable[object]) -> Iterator[TensorProto]:
    for attribute in attributes:
        for field, value in attribute.ListFields():  # type: ignore[attr-defined]
            name = field.name
            if name == "t":
                yield from _external((value,))
            elif name == "tensors":
                yield from _external(value)
            elif name == "g":
                yield from _in_graph(value)
            elif name == "graphs":
                for graph in value:
                    yield from _in_graph(graph)
            elif name == "sparse_tensor":
                yield from _in_sparse(value)
            elif name == "sparse_tensors":
                for sparse in value:
                    yield from _in_sparse(sparse)


def _in_sparse(sparse: SparseTensorProto) -> Iterator[TensorProto]:
    yield from _external((sparse.values, sparse.indices))


def _external(tensors: Iterable[TensorProto]) -> Iterator[TensorProto]:
    return (tensor for tensor in tensors if tensor.data_location == TensorProto.EXTERNAL)


def _keys(tensor: TensorProto, label: str) -> dict[str, str]:
    """The keys of `tensor`'s reference; keys that are not ONNX's are another tool's business and pass."""
    keys: dict[str, str] = {}
    for entry in tensor.external_data:
        if entry.key in keys:  # readers differ in which one they follow
            raise ModelError(f"{label} gives '{shown(entry.key)}' twice")
        keys[entry.key] = entry.value
    return keys


def _check_location(location: str, folder: Path, model_path: Path, label: str) -> DataFile:
    if not location:
        raise ModelError(f"{label} names no file")
    named = f"{label} in {location!r}"
    if PurePosixPath(location).is_absolute() or PureWindowsPath(location).anchor:
        raise ModelError(f"{named} has an absolute path: make it relative to the model's folder")
    if ".." in PurePosixPath(location).parts or ".." in PureWindowsPath(location).parts:
        raise ModelError(f"{named} has '..' in its path: move the file into the model's folder")
    try:
        path = Path(os.path.realpath(folder / location, strict=True))
        status = path.stat()
    except FileNotFoundError:
        hint = (
            f" (the model is a symlink to {shown(model_path.resolve())})" if model_path.is_symlink() else ""
        )
        raise ModelError(f"{named} is missing: {shown(folder / location)} does not exist{hint}") from None
    except ValueError:  # a NUL character
        raise ModelError(f"{named} is no valid file name") from None
    except OSError as error:
        raise ModelError(f"{named} cannot be used: {reason(error)}") from error
    if not path.is_relative_to(os.path.realpath(folder)):
        raise ModelError(
            f"{named} leaves the model's folder through a symlink: put the file itself beside the model"
        )
    if not stat.S_ISREG(status.st_mode):
        raise ModelError(f"{named} is not a regular file")
    if path == Path(os.path.realpath(model_path)):
        raise ModelError(f"{named} is the model file itself")
    if status.st_nlink > 1 and not _is_our_link(path):
        raise ModelError(
            f"{named} is a hard link, and its other name may lie outside the model's folder: "
            "put a copy of the file beside the model"
        )
    return DataFile(location, path, status.st_size, (status.st_dev, status.st_ino))


def _is_our_link(path: Path) -> bool:
    try:
        os.getxattr(path, LINK_MARK)
    except OSError:
        return False
    return True


def _check_extent(tensor: TensorProto, keys: dict[str, str], file: DataFile, label: str) -> None:
    offset = _count(keys, "offset", label) or 0
    length = _count(keys, "length", label)
    if length is None:
        length = _tensor_bytes(tensor)
    if offset + length > file.size:
        raise ModelError(
            f"{label} ends at byte {offset + length} of {file.location!r}, which has only {file.size} bytes: "
            "the file is truncated or belongs to another model"
        )


def _count(keys: dict[str, str], key: str, label: str) -> int | None:
    text = keys.get(key)
    if text is None:
        return None
    if not (text.isascii() and text.isdigit() and len(text) <= 20):
        raise ModelError(f"{label}: {key} is {text!r}, not a number of bytes")
    return int(text)


def _tensor_bytes(tensor: TensorProto) -> int:
    """Bytes that `tensor` takes; 0 where its type or shape does not say."""
    elements: int = math.prod(max(dimension, 0) for dimension in tensor.dims)
    return elements * _ELEMENT_BITS.get(tensor.data_type, 0) // 8
