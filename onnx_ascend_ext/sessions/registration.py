"""Registers the plugin execution provider with ONNX Runtime, following its packaging convention."""

from __future__ import annotations

import threading
from typing import Any

from onnx_ascend_ext.errors import BackendError
from onnx_ascend_ext.native import EP_NAME, describe, library_path
from onnx_ascend_ext.native.backend import warn_if_simulated
from onnx_ascend_ext.sessions.onnxruntime_module import onnxruntime, require_plugin_ep

_lock = threading.Lock()


def get_library_path() -> str:
    """Path of the library, for `onnxruntime.register_execution_provider_library` and
    `SessionOptions.register_custom_ops_library`.

    Raises:
        FileNotFoundError: the package was not built.
    """
    return str(library_path())


def get_include() -> str:
    """Folder of `onnx_ascend_ext.h`, the header of the C API of the library at `get_library_path()`.

    Raises:
        FileNotFoundError: the package was not built.
    """
    return str(library_path().parents[1] / "include")


def get_ep_name() -> str:
    """Name of the execution provider in the library."""
    return EP_NAME


def get_ep_names() -> list[str]:
    """Names of all execution providers in the library."""
    return [EP_NAME]


def ep_devices() -> list[Any]:
    """The execution provider's `OrtEpDevice`s; empty before `register`."""
    return [device for device in onnxruntime().get_ep_devices() if device.ep_name == EP_NAME]


def register() -> None:
    """Registers the execution provider's library with ONNX Runtime, once per process.

    Safe to call again, from several threads, after a failed call, and where the application has registered
    the library under a name of its own. Where ACL reports no device the registration still succeeds.

    Raises:
        BackendError: ONNX Runtime is missing, older than 1.24, or refuses the library.
        FileNotFoundError: the package was not built.
    """
    module = onnxruntime()
    require_plugin_ep(module)
    path = get_library_path()
    backend = describe()
    # Before the library, which else says it in ONNX Runtime's log.
    warn_if_simulated()
    with _lock:
        if not ep_devices():
            _register(module, path)
            if backend.devices and not ep_devices():
                # Registered while ACL could not be started: ONNX Runtime asks for devices only then.
                module.unregister_execution_provider_library(EP_NAME)
                _register(module, path)


def _register(module: Any, path: str) -> None:
    try:
        module.register_execution_provider_library(EP_NAME, path)
    except Exception as error:
        # ONNX Runtime raises its own exception types. A library without devices shows only here that it is
        # registered.
        if "already registered" not in str(error):
            raise BackendError(f"onnxruntime {module.__version__} refuses {path}: {error}") from error
