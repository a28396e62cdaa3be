"""`-`: models from standard input and to standard output."""

from __future__ import annotations

import os
import pty
import subprocess
import sysconfig
from collections.abc import Callable
from pathlib import Path
from typing import Any

import onnx
import pytest

Command = Any
Piped = Callable[..., "subprocess.CompletedProcess[bytes]"]

PROGRAM = Path(sysconfig.get_path("scripts")) / "onnx-ascend"


@pytest.fixture
def piped(tmp_path: Path) -> Piped:
    """Runs the command on bytes."""

    def run(data: bytes, *arguments: object, **options: Any) -> subprocess.CompletedProcess[bytes]:
        return subprocess.run(
            [PROGRAM, *map(str, arguments)],
            input=data,
            cwd=tmp_path,
            capture_output="stdout" not in options,
            check=False,
            timeout=300,
            **options,
        )

    return run


@pytest.fixture
def model(models: Path) -> Path:
    return models / "torch_mlp" / "model.onnx"


@pytest.fixture
def with_weights_beside(model: Path, tmp_path: Path) -> Path:
    path = tmp_path / "external" / "model.onnx"
    path.parent.mkdir()
    onnx.save(
        onnx.load(model), path, save_as_external_data=True, location="w.bin",
        size_threshold=0, convert_attribute=True,
    )  # fmt: skip
    return path


def test_convert_and_restore_are_filters(
    piped: Piped, onnx_ascend: Command, model: Path, tmp_path: Path
) -> None:
    converted = piped(model.read_bytes(), "convert", "-", "-o", "-")
    assert converted.returncode == 0
    assert converted.stderr.splitlines()[0].startswith(
        b"onnx-ascend: /dev/stdin \xe2\x86\x92 /dev/stdout   1 gradient"
    )
    assert onnx_ascend("convert", model, "-o", tmp_path / "converted.onnx").status == 0
    assert converted.stdout == (tmp_path / "converted.onnx").read_bytes()
    restored = piped(converted.stdout, "restore", "-", "-o", "-")
    assert restored.returncode == 0
    assert {node.domain for node in onnx.load_model_from_string(restored.stdout).graph.node} == {""}
    assert not list(tmp_path.glob("-*"))


@pytest.mark.parametrize(
    "arguments",
    [["inspect", "-"], ["run", "-"], ["verify", "-", "-"], ["convert", "-", "-o", "out.onnx", "--verify"]],
)
def test_every_command_reads_a_model_from_standard_input(
    piped: Piped, model: Path, arguments: list[str]
) -> None:
    ended = piped(model.read_bytes(), *arguments, "--json")
    assert ended.returncode == 0, ended.stderr
    assert b'"schema": 1' in ended.stdout


def test_a_file_of_that_name_is_still_a_file(piped: Piped, model: Path, tmp_path: Path) -> None:
    assert piped(b"", "convert", model, "-o", "./-").returncode == 0
    assert onnx.load_model_from_string((tmp_path / "-").read_bytes()).functions
    assert b"0 gradients" in piped(b"", "inspect", "./-").stdout


@pytest.mark.parametrize(
    ("data", "words"),
    [(b"", b"is empty"), (b"hello", b"text, not an ONNX model"), (b"\x1f\x8b", b"gzip-compressed")],
)
def test_what_is_no_model_is_told_of_standard_input(piped: Piped, data: bytes, words: bytes) -> None:
    ended = piped(data, "inspect", "-")
    assert ended.returncode == 1
    assert ended.stderr.startswith(b"onnx-ascend: /dev/stdin: ")
    assert words in ended.stderr


def test_weights_in_other_files_cannot_go_through_a_stream(
    piped: Piped, with_weights_beside: Path, tmp_path: Path
) -> None:
    read = piped(with_weights_beside.read_bytes(), "convert", "-", "-o", "out.onnx")
    written = piped(b"", "convert", with_weights_beside, "-o", "-")
    for ended, name in ((read, b"/dev/stdin"), (written, b"/dev/stdout")):
        assert (ended.returncode, ended.stdout) == (1, b"")
        assert ended.stderr.startswith(b"onnx-ascend: " + name + b": the model keeps weights in other files")
    assert not (tmp_path / "out.onnx").exists()


@pytest.mark.parametrize(
    ("arguments", "status", "words"),
    [
        (["convert", "-", "-o", "-", "--json"], 2, b"--json needs an OUT that is a file"),
        (["convert", "-", "-o", "-", "--verify"], 2, b"--verify needs an OUT that is a file"),
        (["convert", "-", "-o", "."], 1, b"/dev/stdin: has no name to give"),
        (["convert", "-", "other.onnx", "-o", "."], 1, b"/dev/stdin: has no name to give"),
        (["convert", "a.onnx", "b.onnx", "-o", "-"], 1, b"several models need a folder"),
        (["run", "-", "--inputs", "-"], 2, b"no standard stream can be used here"),
        (["run", "-", "--outputs", "-"], 2, b"no standard stream can be used here"),
        (["train", "-", "--data", "x.npz"], 2, b"no standard stream can be used here"),
    ],
)
def test_streams_have_no_place_everywhere(
    piped: Piped, model: Path, tmp_path: Path, arguments: list[str], status: int, words: bytes
) -> None:
    ended = piped(model.read_bytes(), *arguments)
    assert (ended.returncode, words in ended.stderr) == (status, True), ended.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_terminal_gets_no_model_and_gives_none(piped: Piped, model: Path) -> None:
    controller, terminal = pty.openpty()
    try:
        shown = piped(b"", "convert", model, "-o", "-", stdout=terminal, stderr=subprocess.PIPE)
        assert (shown.returncode, b"it is a terminal" in shown.stderr) == (1, True)
        asked = subprocess.run(
            [PROGRAM, "inspect", "-"], stdin=terminal, capture_output=True, check=False, timeout=300
        )
        assert (asked.returncode, b"/dev/stdin: cannot be read: it is a terminal" in asked.stderr) == (
            1,
            True,
        )
    finally:
        os.close(terminal)
        os.close(controller)


@pytest.mark.parametrize(("redirection", "stream"), [("<&-", "/dev/stdin"), (">&-", "/dev/stdout")])
def test_a_closed_stream_is_named(model: Path, redirection: str, stream: str) -> None:
    arguments = "- -o x.onnx" if stream == "/dev/stdin" else f"'{model}' -o -"
    ended = subprocess.run(
        f"exec '{PROGRAM}' convert {arguments} {redirection}",
        shell=True,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 1
    assert ended.stderr.startswith(f"onnx-ascend: {stream}: cannot be ")
    assert "it is closed" in ended.stderr


def test_a_full_disk_behind_standard_output_is_one_line(piped: Piped, model: Path) -> None:
    with Path("/dev/full").open("wb") as full:
        ended = piped(b"", "convert", model, "-o", "-", stdout=full, stderr=subprocess.PIPE)
    assert ended.returncode == 1
    assert ended.stderr == b"onnx-ascend: standard output: No space left on device\n"
