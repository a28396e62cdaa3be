"""All checks in their order."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from importlib.metadata import version
from typing import Any

from onnx_ascend_ext.diagnosis import backend as acl
from onnx_ascend_ext.diagnosis import onnx_runtime
from onnx_ascend_ext.diagnosis.check import Check
from onnx_ascend_ext.diagnosis.environment import HOME_VARIABLES
from onnx_ascend_ext.errors import AscendExtError
from onnx_ascend_ext.native import Backend, describe, library_path

LIBRARY = "library"

# CANN's own variables that decide what is found; set by its set_env.sh and by the user.
_CANN_VARIABLES = (
    *HOME_VARIABLES,
    "ASCEND_OPP_PATH",
    "ASCEND_CUSTOM_OPP_PATH",
    "ASCEND_RT_VISIBLE_DEVICES",
    "LD_LIBRARY_PATH",
)


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
    """Runs every check; a failed one does not keep those from running that do not need it."""
    backend: Backend | None = None

    def library() -> Iterator[Check]:
        nonlocal backend
        path = library_path()
        backend = describe()
        yield Check(LIBRARY, "ok", f"{path}, version {version('onnx-ascend-ext')}")

    checks = _run(LIBRARY, library)
    if backend is not None:
        checks += _run(acl.NAME, lambda: acl.backend_checks(backend))
    runtime = _run(onnx_runtime.NAME, onnx_runtime.version_checks)
    found = runtime[0].detail if runtime[0].status == "ok" else None
    if backend is not None and found:
        runtime += _run(onnx_runtime.PROVIDER, onnx_runtime.provider_checks)
    return Diagnosis((*checks, *runtime), backend, found)


def _run(name: str, checks: Callable[[], Iterator[Check]]) -> list[Check]:
    done: list[Check] = []
    try:
        done.extend(checks())
    except (AscendExtError, OSError) as error:
        done.append(Check(name, "failed", str(error)))
    return done
