"""Whatever a user gives the command: one clear line, the right exit status, and JSON where asked for."""

from __future__ import annotations

import errno
import gzip
import json
import os
import pty
import socket
import struct
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Any

import onnx
import onnx.parser
import pytest

from onnx_ascend_ext.command import failure

Command = Any

PROGRAM = Path(sysconfig.get_path("scripts")) / "onnx-ascend"
# How each command that reads a model is called with the file PATH.
READERS = {
    "convert": ["convert", "PATH", "-o", "out.onnx"],
    "inspect": ["inspect", "PATH"],
    "restore": ["restore", "PATH", "-o", "out.onnx"],
    "run": ["run", "PATH"],
    "verify": ["verify", "PATH", "PATH"],
    "bench": ["bench", "PATH"],
}


# Runs the arguments of each line of stdin in one process, and prints what came of each as JSON.
SEVERAL = """
import contextlib, io, json, sys
from onnx_ascend_ext.command import entry
for line in sys.stdin:
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        status = entry._run(json.loads(line))
    print(json.dumps([status, out.getvalue(), err.getvalue()]))
"""


@pytest.fixture(scope="module")
def model(models: Path) -> Path:
    return models / "torch_mlp" / "model.onnx"


def written(path: Path, text: str) -> Path:
    onnx.save(onnx.parser.parse_model(f'<ir_version: 9, opset_import: ["" : 18]> {text}'), path)
    return path


@pytest.fixture(scope="module")
def no_models(model: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[Path, str]:
    """Paths of what is no model file, and what is to be said of each."""
    folder, data = tmp_path_factory.mktemp("no_models"), model.read_bytes()
    contents = {
        "empty.onnx": (b"", "is empty"),
        "half.onnx": (data[: len(data) // 2], "truncated"),
        "text.onnx": (b"hello\n", "text, not an ONNX model"),
        "packed.onnx": (gzip.compress(data), "gzip-compressed"),
        "json.onnx": (b'{"irVersion": "8"}', "give it the suffix .json"),
        "half.json": (b"{", "not an ONNX model in json format"),
    }
    for name, (content, _) in contents.items():
        (folder / name).write_bytes(content)
    os.mkfifo(folder / "pipe.onnx")
    (folder / "loop.onnx").symlink_to("loop.onnx")
    onnx.save(
        onnx.load(model), folder / "external.onnx", save_as_external_data=True, location="w.bin",
        size_threshold=0, convert_attribute=True,
    )  # fmt: skip
    (folder / "w.bin").unlink()
    return {folder / name: words for name, (_, words) in contents.items()} | {
        folder / "pipe.onnx": "is not a regular file",
        folder / "loop.onnx": "too many levels of symbolic links",
        folder / "external.onnx": "w.bin does not exist",
        folder / "none.onnx": "no such file",
        folder / ("x" * 300): "file name too long",
        Path("/dev/zero"): "is not a regular file",
    }


@pytest.mark.parametrize("reader", READERS)
def test_every_command_says_in_one_line_what_is_wrong_with_a_file(
    no_models: dict[Path, str], tmp_path: Path, reader: str
) -> None:
    calls = [
        json.dumps([str(path) if argument == "PATH" else argument for argument in READERS[reader]])
        for path in no_models
    ]
    ended = subprocess.run(
        [sys.executable, "-c", SEVERAL], input="\n".join(calls), cwd=tmp_path,
        capture_output=True, text=True, check=True, timeout=300,
    )  # fmt: skip
    for (path, words), line in zip(no_models.items(), ended.stdout.splitlines(), strict=True):
        status, out, err = json.loads(line)
        assert (status, out) == (1, "")
        assert err.startswith(f"onnx-ascend: {path}: "), err
        assert words in err
        assert err.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("suffix", [".json", ".textproto", ".onnx"])
def test_a_model_in_each_format_and_under_each_name_runs(
    onnx_ascend: Command, model: Path, tmp_path: Path, suffix: str
) -> None:
    source = os.fsencode(tmp_path / f"converted{suffix}")
    target = source.replace(b"converted", b"\xff\xfe") if suffix == ".onnx" else source
    assert onnx_ascend("convert", model, "-o", os.fsdecode(source)).status == 0
    Path(os.fsdecode(source)).rename(os.fsdecode(target))
    ended = onnx_ascend("verify", model, os.fsdecode(target), "--json")
    assert ended.status == 0, ended.stderr
    assert list(ended.json["nodes"].values()) == ["AscendExecutionProvider"]


def test_a_model_without_outputs_has_nothing_to_run(onnx_ascend: Command, tmp_path: Path) -> None:
    path = written(tmp_path / "empty.onnx", "g () => () { }")
    assert onnx_ascend("inspect", path).status == 0
    ended = onnx_ascend("run", path)
    assert (ended.status, "has no outputs" in ended.error_line) == (1, True)


def test_a_run_that_fails_names_the_model_and_logs_nothing_else(onnx_ascend: Command, tmp_path: Path) -> None:
    path = written(
        tmp_path / "gather.onnx",
        "g (float[N] d, int64[M] i) => (float[M] z)"
        " { k = Constant <value_int = 1000> () j = Add (i, k) z = Gather (d, j) }",
    )
    for arguments in (("run", path), ("verify", path, path)):
        ended = onnx_ascend(*arguments)
        assert ended.status == 1
        assert ended.error_line.startswith(f"onnx-ascend: {path}: does not run: ")
        assert "out of data bounds" in ended.error_line


@pytest.mark.parametrize("dtype", ["string", "bfloat16", "float16"])
def test_outputs_of_every_name_and_type_are_written_and_read_again(
    onnx_ascend: Command, tmp_path: Path, dtype: str
) -> None:
    path = written(
        tmp_path / "model.onnx",
        f"g ({dtype}[2] file, {dtype}[2] args) => ({dtype}[2] allow_pickle, {dtype}[2] kwds)"
        " { allow_pickle = Identity (file) kwds = Identity (args) }",
    )
    ended = onnx_ascend("run", path, "--outputs", tmp_path / "out.npz", "--json")
    assert ended.status == 0, ended.stderr
    assert [output["dtype"] for output in ended.json["outputs"].values()] == [dtype, dtype]
    again = written(
        tmp_path / "again.onnx",
        f"g ({dtype}[2] allow_pickle, {dtype}[2] kwds) => ({dtype}[2] file, {dtype}[2] args)"
        " { file = Identity (kwds) args = Identity (allow_pickle) }",
    )
    assert onnx_ascend("run", again, "--inputs", tmp_path / "out.npz").status == 0


@pytest.mark.parametrize("target", ["/dev/null", ".", "missing/out.npz", "/dev/fd/1"])
def test_outputs_that_cannot_be_written_are_refused_before_the_run(
    onnx_ascend: Command, model: Path, tmp_path: Path, target: str
) -> None:
    ended = onnx_ascend("run", model, "--outputs", target, cwd=tmp_path)
    assert (ended.status, ended.stdout) == (1, "")
    assert ended.error_line.startswith(f"onnx-ascend: {target}: cannot be written: ")
    assert list(tmp_path.iterdir()) == []


class TestJson:
    @pytest.mark.parametrize(
        ("arguments", "status", "words"),
        [
            (["inspect", "none.onnx"], 1, "none.onnx: cannot be read"),
            (["convert", "none.onnx", "-o", "x.onnx"], 1, "none.onnx: cannot be read"),
            (["run", "none.onnx", "--device-id", "5"], 1, "none.onnx: cannot be read"),
            (["run", "none.onnx", "--device-id", "-1"], 2, "-1 is not in the range"),
            (["train", "none", "--data", "x.npz"], 1, "none"),
            (["verify", "one.onnx"], 2, "Missing argument"),
            (["inspect", "--frobnicate"], 2, "No such option"),
        ],
    )
    def test_a_failure_is_a_document_too(
        self, onnx_ascend: Command, tmp_path: Path, arguments: list[str], status: int, words: str
    ) -> None:
        ended = onnx_ascend(*arguments, "--json", cwd=tmp_path)
        assert ended.status == status
        assert (ended.json["schema"], ended.json["ok"]) == (1, False)
        assert words in ended.json["error"]
        assert words in ended.stderr

    def test_a_library_that_is_not_built_is_a_document_too(self, model: Path) -> None:
        program = (
            "from onnx_ascend_ext.native import library; library.LIBRARY_NAME = 'none.so'; "
            f"from onnx_ascend_ext.command import main; main(['run', {str(model)!r}, '--json'])"
        )
        ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
        assert ended.returncode == 1
        found = json.loads(ended.stdout)
        assert found.keys() == {"schema", "ok", "source", "error"}
        assert (found["ok"], found["source"]) == (False, None)
        assert found["error"].startswith("none.so is not in ")
        assert ended.stderr == f"onnx-ascend: {found['error']}\n"

    def test_not_where_it_was_not_asked_for(self, onnx_ascend: Command, tmp_path: Path) -> None:
        assert onnx_ascend("inspect", "none.onnx", cwd=tmp_path).stdout == ""
        assert onnx_ascend("inspect", "--", "--json", cwd=tmp_path).stdout == ""

    @pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf-8"])
    def test_it_is_valid_in_every_encoding(
        self, onnx_ascend: Command, model: Path, tmp_path: Path, encoding: str
    ) -> None:
        path = os.fsdecode(os.fsencode(tmp_path / "é😀") + b"\xff.onnx")
        Path(path).write_bytes(model.read_bytes())
        ended = onnx_ascend("inspect", path, "--json", PYTHONIOENCODING=encoding)
        assert ended.json["source"] == path

    def test_one_file_has_its_source(self, onnx_ascend: Command, model: Path) -> None:
        found = onnx_ascend("inspect", model, "--json").json
        assert (found["source"], found["error"]) == (str(model), None)


class TestStreams:
    def test_a_reader_that_goes_away_is_no_error_to_read_about(self, models: Path, tmp_path: Path) -> None:
        for name in ("a.onnx", "b.onnx"):
            (tmp_path / name).write_bytes((models / "torch_lstm_cell" / "model.onnx").read_bytes())
        ended = subprocess.run(
            f"'{PROGRAM}' inspect '{tmp_path}' | head -n 1",
            shell=True,
            capture_output=True,
            text=True,
            check=False,
        )
        assert ended.stdout == f"{tmp_path}/a.onnx: 9 gradients, 0 near misses\n"
        assert ended.stderr == ""

    @pytest.mark.parametrize("arguments", [["inspect", "MODEL"], ["inspect", "MODEL", "--json"]])
    def test_a_full_disk_behind_stdout_is_one_line(self, model: Path, arguments: list[str]) -> None:
        given = [str(model) if argument == "MODEL" else argument for argument in arguments]
        with Path("/dev/full").open("w") as full:
            ended = subprocess.run(
                [PROGRAM, *given], stdout=full, stderr=subprocess.PIPE, text=True, check=False
            )
        assert ended.returncode == 1
        assert ended.stderr == "onnx-ascend: standard output: No space left on device\n"

    def test_a_failure_stays_one_where_nothing_can_be_told(self, tmp_path: Path) -> None:
        with Path("/dev/full").open("w") as full:
            for stdout, stderr in ((full, subprocess.PIPE), (subprocess.PIPE, full), (full, full)):
                ended = subprocess.run(
                    [PROGRAM, "inspect", "none.onnx", "--json"],
                    stdout=stdout, stderr=stderr, text=True, check=False, cwd=tmp_path,
                )  # fmt: skip
                assert ended.returncode == 1
                assert "Traceback" not in (ended.stderr or "")
                if ended.stdout:
                    assert json.loads(ended.stdout)["error"].startswith("none.onnx: ")


@pytest.mark.parametrize(
    ("error", "source", "told"),
    [
        (OSError(errno.EAGAIN, "no more"), "a.onnx", "a.onnx: no more"),
        (OSError(errno.EAGAIN, "no more"), "", "standard output: no more"),
        (OSError(errno.ENOENT, "missing", "w.bin"), "a.onnx", "w.bin: missing"),
        (OSError("libx.so is broken"), "a.onnx", "libx.so is broken"),
    ],
)
def test_an_error_of_the_system_names_what_it_is_about(error: OSError, source: str, told: str) -> None:
    assert failure.reason(error, source) == told


@pytest.fixture
def evil(model: Path, tmp_path: Path) -> Path:
    """A model, one of whose nodes has a name that a terminal would act on."""
    changed = onnx.load(model)
    (node,) = (node for node in changed.graph.node if node.name == "node_mul_3")
    node.name = "evil\x1b[2J\r\n\u202ename"
    onnx.save(changed, tmp_path / "evil.onnx")
    return tmp_path / "evil.onnx"


def test_names_cannot_act_on_a_terminal(onnx_ascend: Command, evil: Path) -> None:
    shown = onnx_ascend("inspect", evil).stdout
    assert r"evil\x1b[2J\r\n\u202ename" in shown
    assert "\x1b" not in shown
    named = evil.with_name("e\x1bvil\n.onnx")
    refused = onnx_ascend("inspect", named)
    assert repr(str(named)) in refused.error_line
    assert "evil\x1b[2J\r\n\u202ename" in onnx_ascend("inspect", evil, "--json").json["matches"][0]["nodes"]


@pytest.mark.parametrize("columns", [5, 20, 80])
def test_a_table_keeps_its_words_in_a_narrow_terminal(model: Path, columns: int) -> None:
    import fcntl
    import termios

    controller, terminal = pty.openpty()
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    try:
        ended = subprocess.run(
            [PROGRAM, "inspect", model], stdin=terminal, stdout=terminal, stderr=subprocess.PIPE,
            env=os.environ | {"TERM": "dumb"}, check=False,
        )  # fmt: skip
        shown = os.read(controller, 1 << 16).decode()
    finally:
        os.close(terminal)
        os.close(controller)
    assert ended.returncode == 0
    assert "algebra" in shown
    assert "node_sub_1" in shown


def test_a_socket_is_not_waited_for(onnx_ascend: Command, tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(tmp_path / "s.npz"))
        path = written(tmp_path / "m.onnx", "g (float[2] x) => (float[2] y) { y = Neg (x) }")
        ended = onnx_ascend("run", path, "--inputs", tmp_path / "s.npz")
    assert (ended.status, "s.npz: is not a regular file" in ended.error_line) == (1, True)


def test_an_internal_error_is_one_line_or_its_traceback_on_request(model: Path) -> None:
    program = (
        "from onnx_ascend_ext import conversion\n"
        "from onnx_ascend_ext.command import main\n"
        "def convert(*_, **__):\n"
        "    raise KeyError('first\\nsecond')\n"
        "conversion.inspect = convert\n"
        f"main(['inspect', {str(model)!r}])\n"
    )
    for variable, lines in (("", 1), ("1", 5)):
        ended = subprocess.run(
            [sys.executable, "-c", program], capture_output=True, text=True, check=False,
            env=os.environ | {"ONNX_ASCEND_TRACEBACK": variable},
        )  # fmt: skip
        assert ended.returncode == 1
        assert len(ended.stderr.splitlines()) >= lines
        assert ("Traceback" in ended.stderr) == bool(variable)
        if not variable:
            assert ended.stderr.startswith("onnx-ascend: internal error, KeyError: 'first")
            assert len(ended.stderr.splitlines()) == 1
