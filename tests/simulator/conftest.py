from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from onnx_ascend_ext import simulator

sys.path.insert(0, str(Path(__file__).parent))

from simulator.acl import Acl

PRELUDE = """
import ctypes, sys
from pathlib import Path
sys.path.insert(0, {folder!r})
import simulator.acl as c
from simulator.acl import Acl
acl = Acl(Path({library!r}))
"""


def library() -> Path:
    return simulator.library_dir() / "libascendcl.so"


@pytest.fixture(scope="session")
def loaded() -> Acl:
    return Acl(library())


@pytest.fixture
def acl(loaded: Acl) -> Iterator[Acl]:
    """The simulator of this process with device 0 set; the test must leave nothing behind."""
    loaded.start()
    loaded.message()
    before = simulator.counters()
    yield loaded
    after = simulator.counters()
    # What other tests of this process left behind may go meanwhile; more is a leak.
    left = {name: after[name] - before[name] for name in after if name.startswith("live_")}
    assert all(count <= 0 for count in left.values()), left


@pytest.fixture(scope="session")
def child() -> Callable[..., subprocess.CompletedProcess[str]]:
    """Runs Python text in a process of its own, with `acl` bound; what it raises fails the test."""

    def run(text: str, *, check: bool = True, **environment: str) -> subprocess.CompletedProcess[str]:
        clean = {k: v for k, v in os.environ.items() if not k.startswith(("ASCEND_", "ACLNN_"))}
        prelude = PRELUDE.format(folder=str(Path(__file__).parents[1]), library=str(library()))
        ended = subprocess.run(
            [sys.executable, "-c", prelude + textwrap.dedent(text)],
            env=clean | environment,
            capture_output=True,
            text=True,
            timeout=60,
        )
        if check:
            assert ended.returncode == 0, ended.stderr + ended.stdout
        return ended

    return run
