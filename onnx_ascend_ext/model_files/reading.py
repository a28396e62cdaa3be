"""Reading a model file."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from onnx import ModelProto

from onnx_ascend_ext.errors import ModelError
from onnx_ascend_ext.model_files.damage import blaming_damage
from onnx_ascend_ext.model_files.external_data import data_files, external_tensors
from onnx_ascend_ext.model_files.formats import MAX_PROTOBUF_BYTES, parse, text_format
from onnx_ascend_ext.model_files.wording import reason, shown


def load(path: str | os.PathLike[str]) -> ModelProto:
    """Read the model file `path`; the weights that it keeps in other files are checked, not read.

    The suffix tells the format, as in `onnx.load`: `.json`, `.textproto` (`.pbtxt`, `.prototxt`) and
    `.onnxtxt` are text, everything else is binary protobuf.

    External data must lie in the model's folder or below: a location that is absolute, contains `..`, or
    leads out of that folder through a symlink is refused, and so is a file with several hard links, except
    those that `save(..., external_data="link")` made.

    Raises:
        ModelError: the file is missing, unreadable or no whole ONNX model, or its external data is missing,
            too short or outside the model's folder.
    """
    path = Path(path)
    data = _read(path)
    model = parse(data, path)
    with blaming_damage(lambda: model, path):
        data_files(external_tensors(model, serialized=None if text_format(path) else data), path)
    return model


def _read(path: Path) -> bytes:
    try:
        status = path.stat()
        if stat.S_ISDIR(status.st_mode):
            raise ModelError(f"{shown(path)}: is a folder, not a model file")
        if not stat.S_ISREG(status.st_mode):
            raise ModelError(f"{shown(path)}: is not a regular file")
        if status.st_size > MAX_PROTOBUF_BYTES:
            raise ModelError(f"{shown(path)}: is over 2 GiB, which no protobuf reader accepts")
        data = path.read_bytes()
    except (OSError, ValueError) as error:
        words = reason(error) if isinstance(error, OSError) else "not a valid file name"
        raise ModelError(f"{shown(path)}: cannot be read: {words}") from error
    if not data:
        raise ModelError(f"{shown(path)}: is empty")
    return data
