"""Imports ONNX Runtime, whichever of its distributions is installed."""

from __future__ import annotations

import contextlib
import importlib
import io
import re
import sys
from typing import Any

from onnx_ascend_ext.errors import BackendError

# Severities of ONNX Runtime's log.
_ERRORS_ONLY = 3
_FATAL_ONLY = 4
# The session configuration entry for the folder of the external data of a model that is given as bytes.
EXTERNAL_DATA_FOLDER = "session.model_external_initializers_file_folder_path"
PLUGIN_EP_VERSION = (1, 24)


def onnxruntime() -> Any:
    """The `onnxruntime` module.

    Raises:
        BackendError: it is not installed, or does not load; the message says what to install.
    """
    module = sys.modules.get("onnxruntime") or _imported()
    if not hasattr(module, "InferenceSession"):
        raise BackendError(
            "the installed `onnxruntime` has no InferenceSession, as after two of its distributions were "
            "installed over each other: uninstall all of them and install one"
        )
    return module


def _imported() -> Any:
    told = io.StringIO()
    try:
        # numpy writes a page there where ONNX Runtime was built for an older one.
        with contextlib.redirect_stderr(told):
            return importlib.import_module("onnxruntime")
    except ImportError as error:
        if isinstance(error, ModuleNotFoundError) and error.name == "onnxruntime":
            raise BackendError(
                "ONNX Runtime is not installed: `pip install 'onnx-ascend-ext[ort]'`, "
                "or one of its other builds (onnxruntime-cann, onnxruntime-training)"
            ) from None
        if "compiled using NumPy 1" in told.getvalue():
            told = io.StringIO()
            raise BackendError(
                "the installed ONNX Runtime was built for numpy 1: `pip install onnx-ascend-ext 'numpy<2'`, "
                "or a newer ONNX Runtime"
            ) from error
        raise BackendError(
            f"ONNX Runtime does not load: {error}; reinstall it in this environment"
        ) from error
    finally:
        if sys.stderr is not None and told.getvalue():
            sys.stderr.write(told.getvalue())


def show_errors_only() -> None:
    """Keeps ONNX Runtime's own log, for the whole process, to errors; what matters of it is reported anew."""
    with contextlib.suppress(BackendError):
        onnxruntime().set_default_logger_severity(_ERRORS_ONLY)


def quiet_options() -> Any:
    """New `SessionOptions` whose session logs nothing: what fails is raised too."""
    options = onnxruntime().SessionOptions()
    options.log_severity_level = _FATAL_ONLY
    return options


def version(module: Any) -> tuple[int, int]:
    """Major and minor version of an `onnxruntime` module."""
    found = re.match(r"(\d+)\.(\d+)", str(module.__version__))
    return (int(found[1]), int(found[2])) if found else (0, 0)


def loads_plugin_ep(module: Any) -> bool:
    """Whether this ONNX Runtime can load a plugin execution provider."""
    return version(module) >= PLUGIN_EP_VERSION and hasattr(module, "register_execution_provider_library")


def require_plugin_ep(module: Any) -> None:
    """Raises `BackendError` where this ONNX Runtime cannot load a plugin execution provider."""
    if loads_plugin_ep(module):
        return
    needed = ".".join(map(str, PLUGIN_EP_VERSION))
    raise BackendError(
        f"onnxruntime {module.__version__} cannot load AscendExecutionProvider, which needs {needed} "
        f"or newer: `pip install 'onnxruntime>={needed}'`; "
        "on this version use the library as a custom-op library, "
        "`SessionOptions.register_custom_ops_library(onnx_ascend_ext.get_library_path())`"
    )
