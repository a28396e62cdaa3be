"""Whether CANN's set_env.sh was sourced, and whether what it set is still there."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from onnx_ascend_ext.diagnosis.check import Check, folder_fault, severity, source_cann
from onnx_ascend_ext.native import Backend

NAME = "CANN environment"

# Both say where CANN is.
HOME_VARIABLE = "ASCEND_HOME_PATH"
HOME_VARIABLES = (HOME_VARIABLE, "ASCEND_TOOLKIT_HOME")


def environment_checks(backend: Backend) -> Iterator[Check]:
    """What set_env.sh has set, or that nobody has sourced it."""
    homes = {os.environ[name]: name for name in reversed(HOME_VARIABLES) if os.environ.get(name)}
    if not homes and backend.facts["set_env"]:
        yield Check(
            NAME,
            severity(backend),
            f"CANN is installed, but its set_env.sh was not sourced ({HOME_VARIABLE} is not set): "
            + source_cann(backend),
        )
    for home, variable in homes.items():
        fault = folder_fault(home) or _home_fault(backend, home)
        if fault:
            detail = f"{variable} is {home}, which {fault}: {source_cann(backend)}"
            yield Check(NAME, severity(backend), detail)
        else:
            yield Check(NAME, "ok", f"{variable} is {home}")


def _home_fault(backend: Backend, home: str) -> str | None:
    if backend.name == "cann":
        return None
    wanted = [
        entry["path"] for entry in backend.facts["searched"] if Path(entry["path"]).is_relative_to(home)
    ]
    if any(map(os.path.lexists, wanted)):
        return None
    return f"has no {Path(wanted[0]).relative_to(home)}" if wanted else None
