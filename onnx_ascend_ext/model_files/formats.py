"""File formats of a model: ONNX's own serializations, and what a file holds that is none of them."""

from __future__ import annotations

import warnings
from pathlib import Path

import onnx
from google.protobuf.message import DecodeError, EncodeError  # type: ignore[import-untyped]
from onnx import ModelProto

from onnx_ascend_ext.errors import ModelError
from onnx_ascend_ext.model_files.wording import shown

# Protobuf's own limit on one message; its parsers refuse a longer one.
MAX_PROTOBUF_BYTES = 2**31 - 1

# First bytes (offset, signature) of files that people pass by mistake, and what to do instead.
_FOREIGN_FILES = (
    (0, b"PK\x03\x04", "a zip archive such as a PyTorch checkpoint: export the model to ONNX first"),
    (0, b"\x80\x02", "a Python pickle: export the model to ONNX first"),
    (0, b"\x80\x04", "a Python pickle: export the model to ONNX first"),
    (0, b"\x1f\x8b", "gzip-compressed: unpack it first"),
    (0, b"\x89HDF\r\n", "an HDF5 file such as a Keras model: export the model to ONNX first"),
    (0, b"version https://git-lfs", "a Git LFS pointer: fetch the file itself with 'git lfs pull'"),
    (4, b"ORTM", "an ORT-format model: convert the .onnx file that it was made from"),
    (4, b"TFL3", "a TensorFlow Lite model: export the model to ONNX first"),
)


def text_format(path: Path) -> str | None:
    """onnx's name of the text format that the suffix of `path` stands for; None for the binary protobuf."""
    suffix = path.suffix.lower()
    # onnx says the same of `.onnx`, and imports its readers of text for that.
    if suffix == ".onnx":
        return None
    name = onnx.serialization.registry.get_format_from_file_extension(suffix)
    return None if name == "protobuf" else name


def check_length(count: int, path: Path) -> None:
    """Raise ModelError where the model file `path` has more bytes than protobuf reads."""
    if count > MAX_PROTOBUF_BYTES:
        raise ModelError(f"{shown(path)}: is over 2 GiB, which no protobuf reader accepts")


def parse(data: bytes, path: Path) -> ModelProto:
    """Parse the content of the model file `path`.

    Raises:
        ModelError: `data` is not a whole ONNX model in the format that the suffix of `path` stands for.
    """
    name = text_format(path)
    if name is not None:
        return _parse_text(data, path, name)
    model = ModelProto()
    try:
        model.ParseFromString(data)
    except DecodeError as error:
        raise ModelError(f"{shown(path)}: {_why_not_onnx(data)}") from error
    if not _is_model(model):
        raise ModelError(f"{shown(path)}: {_why_not_onnx(data)}")
    return model


def serialize(model: ModelProto, path: Path) -> bytes:
    """Serialize `model` in the format that the suffix of `path` stands for.

    Raises:
        ModelError: the model exceeds protobuf's 2 GiB, or the format cannot hold a whole model.
    """
    name = text_format(path)
    if name == "onnxtxt":
        raise ModelError(
            f"{shown(path)}: the {path.suffix} syntax drops parts of a model, so nothing is written in it: "
            "use .onnx, .textproto or .json"
        )
    try:
        data: bytes = model.SerializeToString() if name is None else _serializer(name).serialize_proto(model)
    except (EncodeError, ValueError) as error:
        raise ModelError(_too_big(path)) from error
    if name is None and len(data) > MAX_PROTOBUF_BYTES:
        raise ModelError(_too_big(path))
    return data


def _serializer(name: str) -> onnx.serialization.ProtoSerializer:
    serializer = onnx.serialization.registry.get(name)
    assert serializer is not None, f"onnx has no serializer named {name}"
    return serializer


def _parse_text(data: bytes, path: Path, name: str) -> ModelProto:
    try:
        with warnings.catch_warnings():  # onnx calls its .onnxtxt syntax experimental on each use
            warnings.simplefilter("ignore", UserWarning)
            model = _serializer(name).deserialize_proto(data, ModelProto())
    # The text parsers raise a different exception each, onnx.parser.ParseError among them, for bad syntax.
    except Exception as error:
        lines = str(error).strip().splitlines() or ["bad syntax"]
        raise ModelError(f"{shown(path)}: not an ONNX model in {name} format: {shown(lines[0])}") from error
    if not _is_model(model):
        raise ModelError(f"{shown(path)}: not an ONNX model: it has no ir_version, opset_import or graph")
    return model


def _is_model(model: ModelProto) -> bool:
    """Whether `model` has what every ONNX model must have.

    Protobuf accepts most messages of other types, since it keeps unknown fields; opset_import is
    required from IR version 3 on.
    """
    graph = model.graph
    return (
        model.ir_version > 0
        and (len(model.opset_import) > 0 or model.ir_version < 3)
        and (len(graph.node) > 0 or len(graph.output) > 0 or len(graph.input) > 0 or bool(graph.name))
    )


def _too_big(path: Path) -> str:
    return (
        f"{shown(path)}: the model is over protobuf's limit of 2 GiB: keep its weights as external data "
        "(convert the file, or load it with load_external_data=False)"
    )


def _why_not_onnx(data: bytes) -> str:
    for offset, signature, what in _FOREIGN_FILES:
        if data[offset : offset + len(signature)] == signature:
            return f"not an ONNX model but {what}"
    missing = _missing_bytes(data)
    if missing:
        return f"truncated ONNX model: the file ends {missing} bytes too early"
    head = data[:512].lstrip()
    if head.startswith((b"{", b"ir_version")):
        return "text, not a binary ONNX model: give it the suffix .json or .textproto if it is a model"
    if head.isascii() and b"\0" not in head:
        return "text, not an ONNX model"
    return "not an ONNX model, or a damaged or truncated one"


def _missing_bytes(data: bytes) -> int:
    """How many bytes are missing at the end of a file that starts as an ONNX model does; 0 if it does not."""
    if data[:1] != b"\x08":  # field 1, a varint: ir_version, which every writer puts first
        return 0
    position = 0
    while position < len(data):
        tag, position = _varint(data, position)
        wire_type = tag & 7
        if wire_type == 0:
            _, position = _varint(data, position)
        elif wire_type == 2:
            length, position = _varint(data, position)
            position += length
        else:
            return 0
        if not 0 < tag >> 3 <= 25:  # training_info (20) and functions (25) are ModelProto's last fields
            return 0
    # A field longer than any message shows random bytes, not a cut.
    return position - len(data) if position <= MAX_PROTOBUF_BYTES else 0


def _varint(data: bytes, position: int) -> tuple[int, int]:
    """The varint at `position` and the position after it; a cut one ends after the end of `data`."""
    value = 0
    for count in range(10):
        if position + count >= len(data):
            return value, len(data) + 1
        byte = data[position + count]
        value |= (byte & 0x7F) << (7 * count)
        if byte < 0x80:
            return value, position + count + 1
    return 0, position + 10
