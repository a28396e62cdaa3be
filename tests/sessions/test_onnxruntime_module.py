"""An ONNX Runtime that is missing or broken is told in one line that says what to install."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

NUMPY_PAGE = "A module that was compiled using NumPy 1.x cannot be run in\\nNumPy 2.4.6 as it may crash."
PROGRAM = """
from onnx_ascend_ext.errors import BackendError
from onnx_ascend_ext.sessions.onnxruntime_module import onnxruntime
try:
    print(onnxruntime().__version__)
except BackendError as error:
    print(error)
"""


@pytest.mark.parametrize(
    ("module", "words", "noise"),
    [
        ("raise ModuleNotFoundError(name='onnxruntime')", "ONNX Runtime is not installed", ""),
        (
            f"import sys; sys.stderr.write({NUMPY_PAGE!r}.replace('\\\\n', chr(10))); raise ImportError",
            "the installed ONNX Runtime was built for numpy 1: `pip install onnx-ascend-ext 'numpy<2'`",
            "",
        ),
        (
            "import sys; sys.stderr.write('of note'); raise ImportError('libcudart.so.12 is missing')",
            "ONNX Runtime does not load: libcudart.so.12 is missing",
            "of note",
        ),
        ("__version__ = '1.0'", "the installed `onnxruntime` has no InferenceSession", ""),
        (
            "import sys; sys.stderr.write('of note'); __version__ = '1.0'; InferenceSession = 1",
            "1.0",
            "of note",
        ),
    ],
)
def test_each_state_of_the_installation(tmp_path: Path, module: str, words: str, noise: str) -> None:
    (tmp_path / "onnxruntime.py").write_text(module)
    ended = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env=os.environ | {"PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert ended.stdout.startswith(words)
    assert len(ended.stdout.splitlines()) == 1
    assert ended.stderr == noise


def test_what_it_writes_is_dropped_where_there_is_no_stderr(tmp_path: Path) -> None:
    (tmp_path / "onnxruntime.py").write_text(
        "import sys; sys.stderr.write('of note'); __version__ = '1.0'; InferenceSession = 1"
    )
    ended = subprocess.run(
        [sys.executable, "-c", f"import sys; sys.stderr = None\n{PROGRAM}"],
        env=os.environ | {"PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "1.0\n", "")
