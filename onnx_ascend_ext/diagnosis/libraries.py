"""CANN's library files that are there but cannot be opened, and why."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from onnx_ascend_ext.diagnosis.check import Check, access_of, current_user, severity
from onnx_ascend_ext.native import Backend, library_path

NAME = "CANN libraries"

# Of the driver, which CANN's set_env.sh does not put on the library path.
_DRIVER_LIBRARY = "libascend_hal.so"

# The part of an ELF header that tells for which machine a library is, and some machines' numbers there.
_ELF_CLASS = slice(4, 6)
_ELF_MACHINE = slice(18, 20)
_ELF_HEADER = 20
_MACHINES = {3: "x86", 40: "arm", 62: "x86_64", 183: "aarch64", 243: "riscv64"}


def library_checks(backend: Backend) -> Iterator[Check]:
    """One check for each file that should have been opened and could not be."""
    searched = backend.facts["searched"]
    found = {entry["library"] for entry in searched if entry["found"]} if backend.name == "cann" else set()
    seen = set()
    for entry in searched:
        if entry["found"]:
            continue
        by_name = "/" not in entry["path"]
        if by_name and entry["library"] in found:
            continue
        for file in _on_library_path(entry["path"]) if by_name else [Path(entry["path"])]:
            if os.path.lexists(file) and (real := os.path.realpath(file)) not in seen:
                seen.add(real)
                yield Check(NAME, severity(backend), f"{file} {_file_fault(file, entry['error'])}")


def _on_library_path(name: str) -> list[Path]:
    # The loader passes over what it cannot use there without a word.
    return [Path(folder, name) for folder in os.environ.get("LD_LIBRARY_PATH", "").split(":") if folder]


def _file_fault(file: Path, error: str) -> str:
    """Why a library that is there could not be opened; `error` is the loader's reason."""
    if not file.exists():
        return f"is a link to {file.readlink()}, which does not exist: reinstall CANN"
    try:
        header = _header(file)
    except PermissionError:
        return (
            f"may not be read by {current_user()} ({access_of(file)}): let its owner permit it, or run as "
            "the user who installed CANN"
        )
    except OSError as failure:
        return f"cannot be read: {failure.strerror or failure}"
    own = _header(library_path())
    if len(header) < _ELF_HEADER or not header.startswith(b"\x7fELF"):
        return "is no shared library, as after a broken download or copy: reinstall CANN"
    if (header[_ELF_CLASS], header[_ELF_MACHINE]) != (own[_ELF_CLASS], own[_ELF_MACHINE]):
        return (
            f"is built for {_machine(header)}, and this process is {_machine(own)}: "
            f"install the CANN package for {_machine(own)}"
        )
    needed = error.partition(": cannot open shared object file")[0]
    if needed == _DRIVER_LIBRARY:
        return (
            f"needs {needed} of the NPU driver, which is not found: install the driver (in a container, "
            "mount /usr/local/Ascend/driver) and put its lib64/driver and lib64/common on LD_LIBRARY_PATH"
        )
    if needed != error and needed.startswith("lib"):
        return f"needs {needed}, which is not found: source CANN's set_env.sh, or reinstall CANN"
    return f"cannot be used: {error}"


def _header(file: Path) -> bytes:
    with file.open("rb") as stream:
        return stream.read(_ELF_HEADER)


def _machine(header: bytes) -> str:
    number = int.from_bytes(header[_ELF_MACHINE], "little" if header[5] == 1 else "big")
    return _MACHINES.get(number, f"machine {number}")
