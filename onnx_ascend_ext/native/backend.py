"""What the library knows of its ACL backend: CANN or the simulator, devices, kernels."""

from __future__ import annotations

import ctypes
import json
import sys
import warnings
from dataclasses import dataclass
from typing import Any

from onnx_ascend_ext.errors import AscendExtWarning, BackendError
from onnx_ascend_ext.native.library import load


class SimulatorWarning(AscendExtWarning, UserWarning):
    """No CANN was found, so kernels run on the CPU simulator."""


@dataclass(frozen=True)
class Device:
    """One NPU: `id` counts from 0 as ACL does, `memory_total` is in bytes."""

    id: int
    soc: str
    simulated: bool
    memory_total: int


@dataclass(frozen=True)
class Backend:
    """A picture of the ACL backend at one moment.

    Attributes:
        name: `cann`, `simulator`, or None where neither could be loaded.
        requested: the value of `ONNX_ASCEND_BACKEND`, `auto` by default.
        error: one line that says why there is no usable device, or None.
        run_mode: `host` (devices have their own memory) or `device` (memory is shared), or None.
        devices: the NPUs that ACL reports.
        facts: everything the library reports, for `doctor`.
    """

    name: str | None
    requested: str
    error: str | None
    run_mode: str | None
    devices: tuple[Device, ...]
    facts: dict[str, Any]

    def device(self, device_id: int) -> Device:
        """The device with this id; `BackendError` with the known ids where there is none."""
        self.require_devices()
        for device in self.devices:
            if device.id == device_id:
                return device
        known = ", ".join(str(device.id) for device in self.devices)
        raise BackendError(
            f"there is no NPU {device_id}: this process sees {known}; pass one of these as device_id"
        )

    def require_devices(self) -> None:
        """Raises `BackendError` with the library's reason where no device can be used."""
        if not self.devices:
            raise BackendError(self.error or "no NPU is visible to this process; run `onnx-ascend doctor`")


def describe() -> Backend:
    """Asks the library, which loads its backend at the first call."""
    function = load().onnx_ascend_describe
    size = 1 << 14
    while True:
        buffer = ctypes.create_string_buffer(size)
        needed = function(buffer, size)
        if needed <= size:
            break
        size = needed
    facts: dict[str, Any] = json.loads(buffer.value.decode())
    return Backend(
        name=facts["backend"],
        requested=facts["requested"],
        error=facts["error"],
        run_mode=facts["run_mode"],
        devices=tuple(
            Device(entry["id"], entry["soc"], entry["simulated"], entry["memory_total"])
            for entry in facts["devices"]
        ),
        facts=facts,
    )


def warn_if_simulated() -> None:
    """Says, unless the process has been told, that the simulator stands in for an NPU nobody chose it over.

    The library says the same in ONNX Runtime's log where nothing of this package's Python has.
    """
    notice = load().onnx_ascend_simulator_notice()
    if notice is not None:
        warnings.warn(notice.decode(), SimulatorWarning, stacklevel=_levels_to_the_caller())


def _levels_to_the_caller() -> int:
    """The `stacklevel` at which a warning of the calling function names a line outside this package."""
    level, frame = 1, sys._getframe(1)
    while frame.f_back is not None and _is_ours(frame.f_globals.get("__name__", "")):
        level, frame = level + 1, frame.f_back
    return level


def _is_ours(module: str) -> bool:
    package = __name__.partition(".")[0]
    return module == package or module.startswith(f"{package}.")
