"""Runs one model: on stock ONNX Runtime as the reference, or on an NPU."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy.typing as npt

from onnx_ascend_ext.conversion import convert
from onnx_ascend_ext.errors import BackendError
from onnx_ascend_ext.model_files.wording import shown
from onnx_ascend_ext.native import Device, describe
from onnx_ascend_ext.sessions import values
from onnx_ascend_ext.sessions.assignment import CPU_EP_NAME, RECORD_ASSIGNMENT, converted_nodes, fallen_back
from onnx_ascend_ext.sessions.onnxruntime_module import loads_plugin_ep, onnxruntime, quiet_options
from onnx_ascend_ext.verification.doors import open_door
from onnx_ascend_ext.verification.source import Source

Array = npt.NDArray[Any]
MakeFeeds = Callable[[Any], Mapping[str, Array]]


@dataclass(frozen=True)
class Execution:
    """One run of a model.

    Attributes:
        outputs: array for each output, by name.
        nodes: execution provider of each converted node, or `custom-op library`, by node name.
        offered: the NPU that was offered to the session, None for a run on the CPU alone.
        seconds: wall time of the run, without loading.
        note: what a reader must know of how it was run, or an empty string.
    """

    outputs: dict[str, Array]
    nodes: dict[str, str]
    offered: Device | None
    seconds: float
    note: str = ""

    @property
    def device(self) -> Device | None:
        """The NPU, where converted nodes ran on it."""
        return None if set(self.nodes) == set(self.fallen_back) else self.offered

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


def stock_session(source: Source) -> tuple[Any, str]:
    """A session on ONNX Runtime's CPU provider alone, and a note on how the model was made to load.

    A model with named gradient operators, or others of a training build, that this ONNX Runtime does not have
    is loaded with them replaced by their ONNX function bodies.

    Raises:
        BackendError: ONNX Runtime does not load the model; the message is its own.
    """
    try:
        return source.session(_cpu_options()), ""
    except BackendError as error:
        conversion = convert(source.model, portable=True)
        named = any(match.origin == "named" for match in conversion.matches)
        if not named and not (conversion.portable and conversion.portable.expanded):
            raise
        refusal = error
    try:
        session = replace(source, model=conversion.model, is_file=False).session(_cpu_options())
    except BackendError:
        raise refusal from None
    return (
        session,
        f"onnxruntime {onnxruntime().__version__} lacks some of its operators, so their ONNX definitions ran",
    )


def execute(
    source: Source, make_feeds: MakeFeeds, *, device_id: int = 0, allow_cpu: bool = False
) -> Execution:
    """Runs a model through the execution provider, or the custom-op library where ONNX Runtime is older.

    Args:
        source: the model.
        make_feeds: gives the inputs, from the session's `get_inputs()`.
        device_id: the NPU's number as ACL counts.
        allow_cpu: run on the CPU where the NPU cannot be used at all.

    Raises:
        BackendError: the NPU, or the model, cannot be used.
    """
    try:
        door = open_door(source, device_id=device_id, record=True)
    except BackendError as error:
        if not allow_cpu:
            raise
        session, _ = stock_session(source)
        outputs, seconds = timed_run(session, make_feeds(session.get_inputs()), source)
        nodes = dict.fromkeys(converted_nodes(source.model), CPU_EP_NAME)
        return Execution(outputs, nodes, None, seconds, f"ran on the CPU alone: {error}")
    outputs, seconds = timed_run(door.session, make_feeds(door.session.get_inputs()), source)
    return Execution(outputs, door.nodes(), describe().device(device_id), seconds, door.note)


def timed_run(session: Any, feeds: Mapping[str, Array], source: Source) -> tuple[dict[str, Array], float]:
    """The outputs of a session on `source`, and the wall time of the run in seconds.

    Raises:
        BackendError: the model does not run on these inputs.
    """
    start = time.perf_counter()
    try:
        outputs = values.run(session, feeds)
    except BackendError as error:
        raise BackendError(f"{shown(source.path)}: does not run: {error}") from error
    return outputs, time.perf_counter() - start


def _cpu_options() -> Any:
    options = quiet_options()
    if loads_plugin_ep(onnxruntime()):
        options.add_session_config_entry(RECORD_ASSIGNMENT, "1")
    return options
