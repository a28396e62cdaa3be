"""The outcome of one check, and words that several of them need."""

from __future__ import annotations

import grp
import os
import pwd
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from onnx_ascend_ext.native import Backend

Status = Literal["ok", "warning", "failed"]


@dataclass(frozen=True)
class Check:
    """One thing that has to be right for a session to reach an NPU."""

    name: str
    status: Status
    detail: str


def severity(backend: Backend) -> Status:
    """How bad a fault of CANN is: with a backend in spite of it, a session may still run."""
    return "failed" if backend.name is None else "warning"


def any_fault(checks: Iterable[Check]) -> bool:
    """Whether one of the checks has something to tell that is not right."""
    return any(check.status != "ok" for check in checks)


def source_cann(backend: Backend) -> str:
    """What to do where CANN's environment is missing."""
    script = backend.facts["set_env"]
    if script:
        remedy = f"run `source {script}`"
    elif backend.name == "cann":
        remedy = "source CANN's set_env.sh"
    else:
        remedy = "install CANN and source its set_env.sh"
    return f"{remedy} in the shell that starts the process"


def folder_fault(path: str) -> str | None:
    """Why a path cannot be used as a folder, or None where it can."""
    try:
        os.scandir(path).close()
    except PermissionError:
        return f"may not be read by {current_user()}"
    except NotADirectoryError:
        return "is no folder"
    except OSError:
        return "does not exist"
    return None


def current_user() -> str:
    """How a message names the user of this process."""
    return f"the user {_name(pwd.getpwuid, os.geteuid())}"


def access_of(path: Path) -> str:
    """Owner, group and mode of a file, such as `root:HwHiAiUser, mode 0660`."""
    status = path.stat()
    owner = _name(pwd.getpwuid, status.st_uid)
    return f"{owner}:{group_of(path)}, mode {status.st_mode & 0o7777:04o}"


def group_of(path: Path) -> str:
    """The group of a file."""
    return _name(grp.getgrgid, path.stat().st_gid)


def _name(entry: Callable[[int], Sequence[Any]], number: int) -> str:
    """The name of a user or group; its number where the system, as in a container, has none for it."""
    try:
        return str(entry(number)[0])
    except KeyError:
        return str(number)
