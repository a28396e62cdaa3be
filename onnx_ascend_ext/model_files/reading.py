"""Reading a model file."""

from __future__ import annotations

import os
from pathlib import Path

from onnx import ModelProto

from onnx_ascend_ext.errors import ModelError
from onnx_ascend_ext.model_files.damage import blaming_damage
from onnx_ascend_ext.model_files.external_data import data_files, external_tensors
from onnx_ascend_ext.model_files.formats import check_length, parse, text_format
from onnx_ascend_ext.model_files.paths import open_source
from onnx_ascend_ext.model_files.streams import STDIN, read_stdin, refuse_external_data
from onnx_ascend_ext.model_files.wording import shown


def load(path: str | os.PathLike[str]) -> ModelProto:
    """Read the model file `path`; the weights that it keeps in other files are checked, not read.

    The suffix tells the format, as in `onnx.load`: `.json`, `.textproto` (`.pbtxt`, `.prototxt`) and
    `.onnxtxt` are text, everything else is binary protobuf.

    External data must lie in the model's folder or below: a location that is absolute, contains `..`, or
    leads out of that folder through a symlink is refused, and so is a file with several hard links, except
    those that `save(..., external_data="link")` made.

    `/dev/stdin` is standard input, which is read once, however often it is loaded; a model from there that
    has external data is refused.

    Raises:
        ModelError: the file is missing, unreadable or no whole ONNX model, or its external data is missing,
            too short or outside the model's folder.
    """
    path = Path(path)
    data = _read(path)
    model = parse(data, path)
    with blaming_damage(lambda: model, path):
        if path == STDIN:
            refuse_external_data(model, data, path)
        else:
            data_files(external_tensors(model, serialized=None if text_format(path) else data), path)
    return model


def _read(path: Path) -> bytes:
    if path == STDIN:
        data = read_stdin()
    else:
        with open_source(path, "a model file") as file:
            check_length(os.fstat(file.fileno()).st_size, path)
            data = file.read()
    if not data:
        raise ModelError(f"{shown(path)}: is empty")
    return data
