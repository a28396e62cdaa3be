"""A CANN to diagnose: the simulator's libraries, hiding what they are, and an operator package."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from onnx_ascend_ext import simulator

# What decides which CANN is found; a test sets what it needs.
_VARIABLES = (
    "ASCEND_HOME_PATH",
    "ASCEND_TOOLKIT_HOME",
    "ASCEND_OPP_PATH",
    "ASCEND_CUSTOM_OPP_PATH",
    "ASCEND_RT_VISIBLE_DEVICES",
    "LD_LIBRARY_PATH",
)
# By which the library tells the simulator from CANN.
_MARK = b"onnx_ascend_sim_counters"
_KERNELS = "built-in/op_impl/ai_core/tbe/kernel/config"

# Capabilities by which root is above the modes of files, and what keeps a process from having them.
_PR_CAPBSET_DROP = 24
_CAP_DAC_OVERRIDE, _CAP_DAC_READ_SEARCH = 1, 2
_AS_ORDINARY_USER = f"""
import ctypes, os, sys
for capability in ({_CAP_DAC_OVERRIDE}, {_CAP_DAC_READ_SEARCH}):
    ctypes.CDLL(None).prctl({_PR_CAPBSET_DROP}, capability, 0, 0, 0)
os.execv(sys.executable, [sys.executable, "-c", *sys.argv[1:]])
"""


@dataclass(frozen=True)
class Found:
    """What `doctor --json` printed."""

    document: dict[str, Any]

    @property
    def ok(self) -> bool:
        return bool(self.document["ok"])

    def all(self, name: str) -> list[tuple[str, str]]:
        """Status and detail of each check of this name."""
        return [
            (check["status"], check["detail"]) for check in self.document["checks"] if check["name"] == name
        ]

    def one(self, name: str) -> tuple[str, str]:
        (only,) = self.all(name)
        return only


@dataclass(frozen=True)
class Cann:
    """An installation in which nothing is missing."""

    home: Path

    @property
    def libraries(self) -> Path:
        return self.home / "lib64"

    @property
    def operators(self) -> Path:
        return self.home / "opp"

    def kernels(self, family: str) -> Path:
        return self.operators / _KERNELS / family

    @property
    def environment(self) -> dict[str, str]:
        """What its set_env.sh sets."""
        home = str(self.home)
        return {"ASCEND_HOME_PATH": home, "ASCEND_TOOLKIT_HOME": home, "ASCEND_OPP_PATH": str(self.operators)}


@pytest.fixture
def cann(tmp_path: Path) -> Cann:
    found = Cann(tmp_path / "cann é")
    shutil.copytree(simulator.library_dir(), found.libraries)
    library = found.libraries / "libascendcl.so"
    marked = library.read_bytes()
    assert _MARK in marked
    library.write_bytes(marked.replace(_MARK, _MARK.swapcase()))
    found.kernels("ascend910b").mkdir(parents=True)
    (found.kernels("ascend910b") / "sigmoid_grad.json").write_text("{}")
    return found


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home folder without an installation, and nothing else that says where CANN is."""
    for name in _VARIABLES:
        monkeypatch.delenv(name, raising=False)
    folder = tmp_path / "home"
    folder.mkdir()
    monkeypatch.setenv("HOME", str(folder))
    monkeypatch.setenv("ONNX_ASCEND_BACKEND", "auto")
    return folder


Doctor = Callable[..., Found]


@pytest.fixture
def doctor(onnx_ascend: Callable[..., Any]) -> Doctor:
    def run(**environment: str) -> Found:
        ended = onnx_ascend("doctor", "--json", **environment)
        found = Found(ended.json)
        assert ended.status == (0 if found.ok else 1)
        # Each fault is told once, in the report.
        assert ended.stderr == ""
        for check in found.document["checks"]:
            assert "\n" not in check["detail"]
        return found

    return run


@pytest.fixture
def as_ordinary_user(tmp_path: Path) -> Callable[..., str]:
    """Runs Python code for which the modes of files count, and returns what it prints."""

    def run(program: str, *arguments: object, **environment: str) -> str:
        return subprocess.run(
            [sys.executable, "-c", _AS_ORDINARY_USER, program, *map(str, arguments)],
            cwd=tmp_path,
            env=os.environ | environment,
            capture_output=True,
            text=True,
            check=False,
        ).stdout

    probe = tmp_path / "probe"
    probe.touch(mode=0)
    if run("import os, sys; print(os.access(sys.argv[1], os.R_OK))", probe) != "False\n":
        pytest.skip("this user cannot give up the right to read every file")
    return run


@pytest.fixture
def doctor_as_ordinary_user(as_ordinary_user: Callable[..., str]) -> Doctor:
    def run(**environment: str) -> Found:
        program = "from onnx_ascend_ext.command import main; main(['doctor', '--json'])"
        return Found(json.loads(as_ordinary_user(program, **environment)))

    return run


@pytest.fixture
def compiled() -> Callable[..., Path]:
    """Builds a shared library from C."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        pytest.skip("there is no C compiler")

    def build(path: Path, source: str, *options: str) -> Path:
        command = [compiler, "-shared", "-fPIC", "-x", "c", "-", "-o", str(path), *options]
        subprocess.run(command, input=source, text=True, check=True)
        return path

    return build
