"""Sessions in which converted nodes run on an NPU, by the door that the installed ONNX Runtime has."""

from __future__ import annotations

import tempfile
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from onnx_ascend_ext.errors import BackendError
from onnx_ascend_ext.native import describe
from onnx_ascend_ext.native.backend import warn_if_simulated
from onnx_ascend_ext.sessions import get_library_path, session_options
from onnx_ascend_ext.sessions.assignment import custom_op_nodes, node_providers
from onnx_ascend_ext.sessions.onnxruntime_module import loads_plugin_ep, onnxruntime, quiet_options
from onnx_ascend_ext.verification.source import Source


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


def open_door(source: Source, *, device_id: int = 0, record: bool = False) -> Door:
    """A session on one NPU, the rest of the model on the CPU.

    ONNX Runtime 1.24 and newer get the execution provider, older ones the custom-op library.

    Args:
        source: the model.
        device_id: the NPU's number as ACL counts.
        record: whether `nodes` will be called; recording costs an older ONNX Runtime time.

    Raises:
        BackendError: no such device, or ONNX Runtime does not load the model.
    """
    module = onnxruntime()
    if loads_plugin_ep(module):
        options = session_options(device_id=device_id, base=quiet_options())
        session = source.session(options, providers=None)
        return Door(session, lambda: node_providers(session, source.model))
    return _custom_op_door(module, source, device_id, record)


def _custom_op_door(module: Any, source: Source, device_id: int, record: bool) -> Door:
    backend = describe()
    backend.device(device_id)
    if device_id != 0:
        raise BackendError(
            f"the custom-op library, which onnxruntime {module.__version__} needs, runs on NPU 0 alone: "
            "install onnxruntime 1.24 or newer to choose one"
        )
    warn_if_simulated()
    options = quiet_options()
    options.register_custom_ops_library(get_library_path())
    # The profiler is the only record of what ran that these versions keep.
    options.enable_profiling = record
    options.profile_file_prefix = str(Path(tempfile.gettempdir(), f"onnx-ascend-{uuid.uuid4().hex}"))
    session = source.session(options)

    def nodes() -> dict[str, str]:
        profile = Path(session.end_profiling())
        try:
            return custom_op_nodes(profile, source.model)
        finally:
            profile.unlink()

    note = (
        f"onnxruntime {module.__version__} cannot load execution providers, so the converted nodes ran "
        "through the custom-op library"
    )
    return Door(session, nodes, note)
