"""A program in C on a library and a simulator that are built with a sanitizer.

Building takes minutes, so it is asked for by `ONNX_ASCEND_TEST_SANITIZERS=1`.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TOOLS = ("cmake", "cc")

pytestmark = pytest.mark.skipif(
    os.environ.get("ONNX_ASCEND_TEST_SANITIZERS") != "1" or not all(map(shutil.which, TOOLS)),
    reason="set ONNX_ASCEND_TEST_SANITIZERS=1, with cmake and a compiler",
)


@pytest.fixture(scope="module", params=["address", "thread"])
def program(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp(request.param)
    sanitizer = f"-fsanitize={request.param}"
    for command in (
        ("cmake", "-S", ROOT / "runtime", "-B", "build", f"-DONNX_ASCEND_SANITIZER={request.param}"),
        ("cmake", "--build", "build", "--parallel", "2"),
        ("cmake", "--install", "build", "--prefix", "out"),
        (
            *("cc", "-std=gnu99", "-g", sanitizer, ROOT / "tests" / "runtime" / "threads.c", "-o", "threads"),
            *(f"-I{ROOT / 'runtime' / 'c_api'}", "-Lout/onnx_ascend_ext/lib", "-lonnx_ascend_ext"),
            *(f"-Wl,-rpath,{folder / 'out' / 'onnx_ascend_ext' / 'lib'}", "-pthread", "-lm"),
        ),
    ):
        subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL)
    return folder / "threads"


@pytest.mark.parametrize("mode", ["device", "host"])
def test_threads_without_a_report(program, mode):
    # gcc 12's thread sanitizer needs addresses that are not spread at random. Executors and devices live
    # until the process ends, behind handles that no leak check can follow; the counters check leaks.
    unspread = ["setarch", "-R"] if shutil.which("setarch") else []
    ended = subprocess.run(
        [*unspread, program],
        env=os.environ
        | {"ONNX_ASCEND_BACKEND": "simulator", "ASCEND_SIM_RUN_MODE": mode, "ASCEND_SIM_ASYNC": "1"}
        | {"ASAN_OPTIONS": "detect_leaks=0"},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr[-4000:]
    assert ended.stderr == ""
