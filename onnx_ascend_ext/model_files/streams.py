"""Standard input and output in the place of model files: binary, and without a folder for external data."""

from __future__ import annotations

import functools
import io
import sys
from pathlib import Path
from typing import BinaryIO, TextIO

from onnx import ModelProto

from onnx_ascend_ext.errors import ModelError
from onnx_ascend_ext.model_files.external_data import external_tensors
from onnx_ascend_ext.model_files.formats import check_length, serialize
from onnx_ascend_ext.model_files.wording import reason

STDIN = Path("/dev/stdin")
STDOUT = Path("/dev/stdout")
_CHUNK = 1 << 20


# Kept, since one command may name it twice, as `verify - -` does.
@functools.cache
def read_stdin() -> bytes:
    """What standard input holds, which can be read once.

    Raises:
        ModelError: it is closed, a terminal, cannot be read, or goes on for longer than any model.
    """
    stream = _binary(sys.__stdin__, STDIN, "read")
    held = io.BytesIO()
    try:
        while held.write(stream.read(_CHUNK)):
            check_length(held.tell(), STDIN)
    except OSError as error:
        raise ModelError(f"{STDIN}: cannot be read: {reason(error)}") from error
    return held.getvalue()


def write_stdout(model: ModelProto) -> None:
    """Write `model` to standard output.

    Raises:
        ModelError: it is closed or a terminal, or the model has external data or is over 2 GiB.
        OSError: it takes no more.
    """
    stream = _binary(sys.__stdout__, STDOUT, "written")
    data = serialize(model, STDOUT)
    refuse_external_data(model, data, STDOUT)
    stream.write(data)
    stream.flush()


def refuse_external_data(model: ModelProto, serialized: bytes, stream: Path) -> None:
    """Raise ModelError where `model`, which comes from or goes to `stream`, keeps weights in other files."""
    tensor = next(external_tensors(model, serialized=serialized), None)
    if tensor is not None:
        raise ModelError(
            f"{stream}: the model keeps weights in other files beside it, which a stream has no place for: "
            "give the path of a file"
        )


def _binary(stream: TextIO | None, path: Path, done: str) -> BinaryIO:
    if stream is None:
        raise ModelError(f"{path}: cannot be {done}: it is closed")
    if stream.isatty():
        raise ModelError(f"{path}: cannot be {done}: it is a terminal, no file or pipe")
    return stream.buffer
