from __future__ import annotations

import json
import os
import signal
import subprocess
import sysconfig
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

# The tests need no NPU: they ask for the simulator, so that a machine with CANN runs the same tests.
os.environ.setdefault("ONNX_ASCEND_BACKEND", "simulator")

# A shell's background job ignores SIGINT, and so would every process that a test starts and interrupts.
signal.signal(signal.SIGINT, signal.default_int_handler)

MODELS = Path(__file__).parents[1] / "models"


@dataclass(frozen=True)
class Ended:
    """How a run of the command ended."""

    status: int
    stdout: str
    stderr: str

    @property
    def json(self) -> Any:
        return json.loads(self.stdout)

    @property
    def error_line(self) -> str:
        """The one line on stderr of a failed run."""
        lines = self.stderr.splitlines()
        assert len(lines) == 1, self.stderr
        return lines[0]


Command = Callable[..., Ended]


@pytest.fixture(scope="session")
def onnx_ascend(tmp_path_factory: pytest.TempPathFactory) -> Command:
    """Runs the installed command in a process of its own, as a user would."""
    program = Path(sysconfig.get_path("scripts")) / "onnx-ascend"
    elsewhere = tmp_path_factory.mktemp("cwd")

    def run(*arguments: object, cwd: Path | None = None, **environment: str) -> Ended:
        ended = subprocess.run(
            [program, *map(str, arguments)],
            cwd=cwd or elsewhere,
            env=os.environ | environment,
            capture_output=True,
            text=True,
            timeout=300,
            stdin=subprocess.DEVNULL,
        )
        return Ended(ended.returncode, ended.stdout, ended.stderr)

    return run


@pytest.fixture(scope="session")
def models() -> Path:
    """The folder of the real training graphs."""
    return MODELS
