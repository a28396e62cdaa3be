"""A model file that is to be run: read and checked before ONNX Runtime sees it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import onnx

from onnx_ascend_ext import model_files
from onnx_ascend_ext.errors import BackendError, ModelError
from onnx_ascend_ext.model_files.formats import text_format
from onnx_ascend_ext.model_files.streams import STDIN
from onnx_ascend_ext.model_files.wording import shown
from onnx_ascend_ext.sessions.assignment import CPU_EP_NAME
from onnx_ascend_ext.sessions.onnxruntime_module import EXTERNAL_DATA_FOLDER, onnxruntime


@dataclass(frozen=True)
class Source:
    """A model file.

    Attributes:
        path: the file.
        model: what it holds, or what runs in its place; external data is not loaded.
        is_file: whether ONNX Runtime can read `model` from `path`.
    """

    path: Path
    model: onnx.ModelProto
    is_file: bool

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Source:
        """Reads the file.

        Raises:
            ModelError: it cannot be read, or there is nothing in it to run.
        """
        path = Path(path)
        model = model_files.load(path)
        if not model.graph.output:
            raise ModelError(f"{shown(path)}: the model has no outputs, so there is nothing to run")
        is_binary = text_format(path) is None and path != STDIN
        return cls(path, model, is_binary and _is_utf8(path))

    def session(self, options: Any, providers: Sequence[str] | None = (CPU_EP_NAME,)) -> Any:
        """An `onnxruntime.InferenceSession`; `providers` is None where `options` holds a device.

        Raises:
            BackendError: ONNX Runtime does not load the model; the message is its own, in one line.
        """
        module = onnxruntime()
        given: str | bytes = str(self.path)
        if not self.is_file:
            given = self.model.SerializeToString()
            folder = self.path.resolve().parent
            if _is_utf8(folder):
                options.add_session_config_entry(EXTERNAL_DATA_FOLDER, str(folder))
        try:
            # Without the last argument a session whose device cannot be opened silently runs on the CPU.
            return module.InferenceSession(
                given, options, providers=providers and list(providers), enable_fallback=0
            )
        except Exception as error:
            # ONNX Runtime raises its own exception types, all derived from Exception alone.
            message = " ".join(str(error).split())
            if "is not a registered function/op" in message:
                message += (
                    "; `onnx-ascend convert --portable` defines the operators that only training builds have"
                )
            raise BackendError(
                f"onnxruntime {module.__version__} does not load {shown(self.path)}: {message}"
            ) from error


def _is_utf8(path: Path) -> bool:
    """Whether a path is text, which is all that ONNX Runtime's Python takes."""
    try:
        str(path).encode()
    except UnicodeEncodeError:
        return False
    return True
