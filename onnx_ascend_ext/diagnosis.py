"""Checks the environment from the installed library up to a device that a session can use."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from importlib.metadata import version
from typing import Any, Literal

from onnx_ascend_ext.errors import AscendExtError
from onnx_ascend_ext.native import EP_NAME, Backend, describe, library_path
from onnx_ascend_ext.sessions.onnxruntime_module import onnxruntime, require_plugin_ep
from onnx_ascend_ext.sessions.registration import ep_devices, register

Status = Literal["ok", "warning", "failed"]

# CANN's own variables that decide what is found; set by its set_env.sh.
_CANN_VARIABLES = (
    "ASCEND_HOME_PATH",
    "ASCEND_OPP_PATH",
    "ASCEND_CUSTOM_OPP_PATH",
    "ASCEND_RT_VISIBLE_DEVICES",
)


@dataclass(frozen=True)
class Check:
    """One thing that has to be right for a session to reach an NPU."""

    name: str
    status: Status
    detail: str


@dataclass(frozen=True)
class Diagnosis:
    """The checks in their order, and what the backend reports."""

    checks: tuple[Check, ...]
    backend: Backend | None
    onnxruntime_version: str | None

    @property
    def ok(self) -> bool:
        """Whether a session can run converted nodes through the execution provider."""
        return all(check.status != "failed" for check in self.checks)

    def to_dict(self) -> dict[str, Any]:
        """The JSON of `doctor --json`."""
        facts = self.backend.facts if self.backend else {}
        return {
            "schema": 1,
            "ok": self.ok,
            "version": version("onnx-ascend-ext"),
            "onnxruntime": self.onnxruntime_version,
            "checks": [asdict(check) for check in self.checks],
            "backend": {
                key: facts.get(key)
                for key in ("backend", "requested", "error", "run_mode", "searched", "libraries")
            },
            "environment": {name: os.environ[name] for name in _CANN_VARIABLES if name in os.environ},
            "devices": facts.get("devices", []),
            "kernels": facts.get("kernels", []),
        }


def diagnose() -> Diagnosis:
    """Runs every check; a failed one does not keep the next from running."""
    backend: Backend | None = None
    ort_version: str | None = None

    def library() -> Iterator[Check]:
        yield Check("library", "ok", f"{library_path()}, version {version('onnx-ascend-ext')}")

    def acl() -> Iterator[Check]:
        nonlocal backend
        backend = describe()
        yield from _backend_checks(backend)

    def ort() -> Iterator[Check]:
        nonlocal ort_version
        module = onnxruntime()
        ort_version = str(module.__version__)
        yield Check("ONNX Runtime", "ok", ort_version)
        require_plugin_ep(module)
        register()
        devices = len(ep_devices())
        status: Status = "ok" if devices else "failed"
        yield Check("execution provider", status, f"{EP_NAME} is registered and offers {devices} device(s)")

    checks = [
        *_checked("library", library),
        *_checked("ACL backend", acl),
        *_checked("execution provider", ort),
    ]
    return Diagnosis(tuple(checks), backend, ort_version)


def _checked(name: str, checks: Callable[[], Iterator[Check]]) -> Iterator[Check]:
    try:
        yield from checks()
    except (AscendExtError, OSError) as error:
        yield Check(name, "failed", str(error))


def _backend_checks(backend: Backend) -> Iterator[Check]:
    requested = f"ONNX_ASCEND_BACKEND={backend.requested}"
    if backend.name is None:
        yield Check("ACL backend", "failed", f"{backend.error} ({requested})")
        return
    if backend.name == "simulator" and backend.requested != "simulator":
        yield Check(
            "ACL backend",
            "warning",
            f"the CPU simulator, since no CANN was found ({requested}): on a machine with an NPU, install "
            "CANN and source its set_env.sh, which sets ASCEND_HOME_PATH",
        )
    else:
        yield Check("ACL backend", "ok", f"{backend.name} ({requested})")
    if backend.name == "cann" and "ASCEND_OPP_PATH" not in os.environ:
        yield Check(
            "operator package",
            "warning",
            "ASCEND_OPP_PATH is not set, so aclnn kernels may fail with 561107: source CANN's set_env.sh",
        )
    if backend.devices:
        found = ", ".join(
            f"{device.id}: {device.soc}{' (simulator)' if device.simulated else ''}"
            for device in backend.devices
        )
        yield Check("devices", "ok", found)
    else:
        yield Check("devices", "failed", backend.error or "ACL reports no NPU")
    for kernel in backend.facts["kernels"]:
        if not kernel["available"]:
            yield Check("kernels", "failed", f"{kernel['name']}: {kernel['reason']}")
