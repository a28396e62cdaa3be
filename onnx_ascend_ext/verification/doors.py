"""Sessions in which converted nodes run on an NPU, by the door that the installed ONNX Runtime has."""

from __future__ import annotations

import tempfile
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from onnx_ascend_ext.errors import BackendError, ModelError
from onnx_ascend_ext.native import describe
from onnx_ascend_ext.native.backend import warn_if_simulated
from onnx_ascend_ext.sessions import get_library_path, session_options
from onnx_ascend_ext.sessions.assignment import CPU_EP_NAME, custom_op_nodes, node_providers
from onnx_ascend_ext.sessions.onnxruntime_module import ERRORS_ONLY, loads_plugin_ep, onnxruntime


@dataclass(frozen=True)
class Door:
    """A session with one NPU.

    Attributes:
        session: the `onnxruntime.InferenceSession`.
        nodes: where each converted node ran, by node name; to be called after the first run.
        note: what a reader must know of the door, or an empty string.
    """

    session: Any
    nodes: Callable[[], dict[str, str]]
    note: str = ""


def open_door(path: str, *, device_id: int = 0, record: bool = False) -> Door:
    """A session on one NPU, the rest of the model on the CPU.

    ONNX Runtime 1.24 and newer get the execution provider, older ones the custom-op library.

    Args:
        path: the model.
        device_id: the NPU's number as ACL counts.
        record: whether `nodes` will be called; recording costs an older ONNX Runtime time.

    Raises:
        BackendError: no such device, or ONNX Runtime does not load the model.
    """
    module = onnxruntime()
    if loads_plugin_ep(module):
        options = session_options(device_id=device_id, base=quiet_options())
        session = load_session(path, options, providers=None)
        return Door(session, lambda: node_providers(session, path))
    return _custom_op_door(module, path, device_id, record)


def quiet_options() -> Any:
    """Session options whose log holds errors only."""
    options = onnxruntime().SessionOptions()
    options.log_severity_level = ERRORS_ONLY
    return options


def load_session(source: str | bytes, options: Any, providers: Sequence[str] | None = (CPU_EP_NAME,)) -> Any:
    """An `onnxruntime.InferenceSession`; `providers` is None where `options` holds a device.

    Raises:
        BackendError: ONNX Runtime does not load the model; the message is its own, in one line.
        ModelError: there is no such file.
    """
    module = onnxruntime()
    if isinstance(source, str) and not Path(source).is_file():
        raise ModelError(f"{source}: cannot be read: no such file")
    try:
        # Without the last argument a session whose device cannot be opened silently runs on the CPU.
        return module.InferenceSession(
            source, options, providers=providers and list(providers), enable_fallback=0
        )
    except Exception as error:
        # ONNX Runtime raises its own exception types, all derived from Exception alone.
        shown = source if isinstance(source, str) else "the model"
        message = " ".join(str(error).split())
        if "is not a registered function/op" in message:
            message += (
                "; `onnx-ascend convert --portable` defines the operators that only training builds have"
            )
        raise BackendError(f"onnxruntime {module.__version__} does not load {shown}: {message}") from error


def _custom_op_door(module: Any, path: str, device_id: int, record: bool) -> Door:
    backend = describe()
    backend.device(device_id)
    if device_id != 0:
        raise BackendError(
            f"the custom-op library, which onnxruntime {module.__version__} needs, runs on NPU 0 alone: "
            "install onnxruntime 1.24 or newer to choose one"
        )
    warn_if_simulated(backend)
    options = quiet_options()
    options.register_custom_ops_library(get_library_path())
    # The profiler is the only record of what ran that these versions keep.
    options.enable_profiling = record
    options.profile_file_prefix = str(Path(tempfile.gettempdir(), f"onnx-ascend-{uuid.uuid4().hex}"))
    session = load_session(path, options)

    def nodes() -> dict[str, str]:
        profile = Path(session.end_profiling())
        try:
            return custom_op_nodes(profile, path)
        finally:
            profile.unlink()

    note = (
        f"onnxruntime {module.__version__} cannot load execution providers, so the converted nodes ran "
        "through the custom-op library"
    )
    return Door(session, nodes, note)
