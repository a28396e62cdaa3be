"""Runs one model: on stock ONNX Runtime as the reference, or on an NPU."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy.typing as npt

from onnx_ascend_ext.conversion import convert
from onnx_ascend_ext.errors import BackendError
from onnx_ascend_ext.native import Device, describe
from onnx_ascend_ext.sessions import values
from onnx_ascend_ext.sessions.assignment import CPU_EP_NAME, RECORD_ASSIGNMENT, converted_nodes, fallen_back
from onnx_ascend_ext.sessions.onnxruntime_module import EXTERNAL_DATA_FOLDER, loads_plugin_ep, onnxruntime
from onnx_ascend_ext.verification.doors import load_session, open_door, quiet_options

Array = npt.NDArray[Any]
MakeFeeds = Callable[[Any], Mapping[str, Array]]


@dataclass(frozen=True)
class Execution:
    """One run of a model.

    Attributes:
        outputs: array for each output, by name.
        nodes: execution provider of each converted node, or `custom-op library`, by node name.
        device: the NPU that was offered to the session, None for a run on the CPU alone.
        seconds: wall time of the run, without loading.
        note: what a reader must know of how it was run, or an empty string.
    """

    outputs: dict[str, Array]
    nodes: dict[str, str]
    device: Device | None
    seconds: float
    note: str = ""

    @property
    def fallen_back(self) -> list[str]:
        """Names of the converted nodes that ran on the CPU."""
        return fallen_back(self.nodes)

    @property
    def reasons(self) -> dict[str, str]:
        """Why the execution provider left a node to the CPU, by node name, as far as it was asked."""
        unclaimed = {entry["node"]: entry["reason"] for entry in describe().facts["unclaimed"]}
        return {
            name: reason
            for name in self.fallen_back
            for shown, reason in unclaimed.items()
            if shown.endswith(f"'{name}'")
        }


def stock_session(path: str | os.PathLike[str]) -> tuple[Any, str]:
    """A session on ONNX Runtime's CPU provider alone, and a note on how the model was made to load.

    A model with named gradient operators, or others of a training build, that this ONNX Runtime does not have
    is loaded with them replaced by their ONNX function bodies.

    Raises:
        BackendError: ONNX Runtime does not load the model; the message is its own.
    """
    module = onnxruntime()
    name = os.fspath(path)
    try:
        return _cpu_session(name), ""
    except BackendError as error:
        conversion = convert(name, portable=True)
        named = any(match.origin == "named" for match in conversion.matches)
        if not named and not (conversion.portable and conversion.portable.expanded):
            raise
        refusal = error
    try:
        session = _cpu_session(conversion.model.SerializeToString(), folder=Path(name).resolve().parent)
    except BackendError:
        raise refusal from None
    return (
        session,
        f"onnxruntime {module.__version__} lacks some of its operators, so their ONNX definitions ran",
    )


def execute(
    path: str | os.PathLike[str], make_feeds: MakeFeeds, *, device_id: int = 0, allow_cpu: bool = False
) -> Execution:
    """Runs a model through the execution provider, or the custom-op library where ONNX Runtime is older.

    Args:
        path: the model.
        make_feeds: gives the inputs, from the session's `get_inputs()`.
        device_id: the NPU's number as ACL counts.
        allow_cpu: run on the CPU where the NPU cannot be used at all.

    Raises:
        BackendError: the NPU, or the model, cannot be used.
    """
    name = os.fspath(path)
    try:
        door = open_door(name, device_id=device_id, record=True)
    except BackendError as error:
        if not allow_cpu:
            raise
        session, _ = stock_session(name)
        outputs, seconds = timed_run(session, make_feeds(session.get_inputs()))
        nodes = dict.fromkeys(converted_nodes(name), CPU_EP_NAME)
        return Execution(outputs, nodes, None, seconds, f"ran on the CPU alone: {error}")
    outputs, seconds = timed_run(door.session, make_feeds(door.session.get_inputs()))
    return Execution(outputs, door.nodes(), describe().device(device_id), seconds, door.note)


def timed_run(session: Any, feeds: Mapping[str, Array]) -> tuple[dict[str, Array], float]:
    """The outputs, and the wall time of the run in seconds."""
    start = time.perf_counter()
    outputs = values.run(session, feeds)
    return outputs, time.perf_counter() - start


def _cpu_session(source: str | bytes, folder: Path | None = None) -> Any:
    options = quiet_options()
    if loads_plugin_ep(onnxruntime()):
        options.add_session_config_entry(RECORD_ASSIGNMENT, "1")
    if folder is not None:
        options.add_session_config_entry(EXTERNAL_DATA_FOLDER, str(folder))
    return load_session(source, options)
