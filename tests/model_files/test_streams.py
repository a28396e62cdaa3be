"""Standard input and output as files; the tests of the command's `-` are beside it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from onnx_ascend_ext.model_files import save

from .models import model_with

PLAIN = model_with()

PROGRAM = """
from onnx_ascend_ext.errors import ModelError
from onnx_ascend_ext.model_files import STDIN, STDOUT, load, save
try:
    assert load(STDIN) == load("/dev/stdin")  # what is read once is kept
    saved = save(load(STDIN), STDOUT)
    assert (saved.model, saved.data) == (STDOUT, ())
except ModelError as error:
    raise SystemExit(str(error))
"""


def through(data: bytes) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run([sys.executable, "-c", PROGRAM], input=data, capture_output=True, check=False)


def test_a_model_goes_through_unchanged(tmp_path: Path) -> None:
    save(PLAIN, tmp_path / "model.onnx")
    data = (tmp_path / "model.onnx").read_bytes()
    ended = through(data)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, data, b"")


def test_what_is_no_model_is_refused() -> None:
    for data in (b"", b"text", PLAIN.SerializeToString()[:-1]):
        ended = through(data)
        assert ended.returncode == 1
        assert ended.stderr.startswith(b"/dev/stdin: ")
        assert ended.stdout == b""


def test_an_endless_stream_is_not_read_to_the_end(tmp_path: Path) -> None:
    limited = PROGRAM.replace("try:", "from onnx_ascend_ext.model_files import formats\n"
                              "formats.MAX_PROTOBUF_BYTES = 1 << 22\ntry:")  # fmt: skip
    with Path("/dev/zero").open("rb") as endless:
        ended = subprocess.run(
            [sys.executable, "-c", limited], stdin=endless, capture_output=True, check=False, cwd=tmp_path
        )
    assert ended.returncode == 1
    assert b"/dev/stdin: is over 2 GiB" in ended.stderr
