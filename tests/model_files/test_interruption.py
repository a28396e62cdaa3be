"""Whatever ends `save` half-way, the target is the old file or the whole new one, and nothing lies about."""

from __future__ import annotations

import errno
import os
import resource
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from onnx_ascend_ext.errors import ModelError
from onnx_ascend_ext.model_files import load, save, staging

from .models import WEIGHTS, external_tensor, model_with, value_of, write_external_model, write_model

OLD = b"the old file"
STEPS = (
    "pwrite",
    "copy_file_range",
    "write",
    "fsync",
    "link",
    "replace",
    "fchmod",
    "ftruncate",
    "mkdir",
    "open",
)


@pytest.fixture(params=["unnamed", "hidden names"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Files without a name until they are whole, and the way of file systems that have no such files."""
    if request.param == "hidden names":
        monkeypatch.setattr(staging, "_MAX_UNNAMED", 0)
    return str(request.param)


@pytest.fixture
def source(tmp_path: Path) -> Path:
    return write_external_model(tmp_path / "in", "sub/weights.bin")


@pytest.fixture
def target(tmp_path: Path) -> Path:
    (tmp_path / "out").mkdir()
    path = tmp_path / "out" / "model.onnx"
    path.write_bytes(OLD)
    return path


def names(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


def fails_at(count: int, error: BaseException, function: Callable[..., object]) -> Callable[..., object]:
    """`function`, except that its call number `count` raises `error`."""
    calls = 0

    def wrapped(*arguments: object, **keywords: object) -> object:
        nonlocal calls
        calls += 1
        if calls == count:
            raise error
        return function(*arguments, **keywords)

    return wrapped


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("how", ["copy", "link"])
@pytest.mark.parametrize(
    "error", [OSError(errno.ENOSPC, "No space left on device"), KeyboardInterrupt()], ids=type
)
def test_a_failure_of_any_call_leaves_everything_as_it_was(
    source: Path, target: Path, monkeypatch: pytest.MonkeyPatch, how: str, error: BaseException
) -> None:
    model = load(source)
    failures = 0
    for step in STEPS:
        for count in range(1, 20):
            with monkeypatch.context() as patch:
                patch.setattr(os, step, fails_at(count, error, getattr(os, step)))
                try:
                    save(model, target, source=source, external_data=how)  # type: ignore[arg-type]
                except (ModelError, KeyboardInterrupt):
                    failures += 1
                else:
                    break  # fewer calls than `count`, or one whose failure has another way
            if target.read_bytes() != OLD:  # after the model's own rename, which is the last one
                assert load(target) == model
                shutil.rmtree(target.parent / "sub")
                target.write_bytes(OLD)
            assert names(target.parent) == ["model.onnx"], f"after call {count} of os.{step}"
        shutil.rmtree(target.parent / "sub")
        target.write_bytes(OLD)
    assert failures >= 4
    assert load(source) == model


@contextmanager
def child(script: str, *arguments: object) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-c", script, *map(str, arguments)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


SLOW_SAVE = """
import os, sys, time
from onnx_ascend_ext.model_files import load, save, staging
source, target, unnamed = sys.argv[1:]
staging._MAX_UNNAMED = int(unnamed)
class Progress:
    def start(self, total, description): print("start", flush=True)
    def advance(self, count): print("advance", flush=True); time.sleep(0.05)
    def done(self): pass
save(load(source), target, source=source, progress=Progress())
print("saved", flush=True)
"""


@pytest.fixture
def large_source(tmp_path: Path) -> Path:
    """A model whose data takes several steps to copy."""
    source = write_model(
        tmp_path / "in", model_with(*(external_tensor(f"w{i}", f"w{i}.bin") for i in range(40)))
    )
    for i in range(40):
        (source.parent / f"w{i}.bin").write_bytes((WEIGHTS + i).tobytes())
    return source


@pytest.mark.parametrize(
    ("sent", "unnamed", "leaves_nothing"),
    [
        (signal.SIGTERM, 64, True),
        (signal.SIGTERM, 0, True),
        (signal.SIGINT, 64, True),
        (signal.SIGINT, 0, True),
        (signal.SIGKILL, 64, True),
        (signal.SIGKILL, 0, False),
    ],
)
def test_a_signal_while_data_is_copied(
    large_source: Path, target: Path, sent: signal.Signals, unnamed: int, leaves_nothing: bool
) -> None:
    with child(SLOW_SAVE, large_source, target, unnamed) as process:
        assert process.stdout is not None
        for _ in range(5):
            assert process.stdout.readline()
        process.send_signal(sent)
        assert process.wait(30) == -sent
        assert "saved" not in process.stdout.read()
    assert target.read_bytes() == OLD
    if leaves_nothing:
        assert names(target.parent) == ["model.onnx"]
    # Whatever was left, the next try works and does not use it.
    save(load(large_source), target, source=large_source)
    assert len([name for name in names(target.parent) if not name.startswith(".")]) == 41
    assert value_of(target).tolist() == (40 * WEIGHTS + sum(range(40))).tolist()


KILLED_SAVES = """
import sys
from onnx_ascend_ext.model_files import load, save
model, target = load(sys.argv[1]), sys.argv[2]
print("ready", flush=True)
for number in range(100_000):
    model.graph.doc_string = str(number) * 1000
    save(model, target)
"""


def test_kill_at_any_moment_leaves_a_whole_model(tmp_path: Path) -> None:
    source = write_model(tmp_path / "in", model_with(external_tensor("w", "w.bin")))
    for folder in (source.parent, tmp_path):
        (folder / "w.bin").write_bytes(WEIGHTS.tobytes())
    target = tmp_path / "model.onnx"
    for attempt in range(8):
        with child(KILLED_SAVES, source, target) as process:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
            time.sleep(0.05 + 0.007 * attempt)
            process.kill()
            process.wait()
        digits = load(target).graph.doc_string
        assert len(digits) >= 1000
        assert digits == digits[: len(digits) // 1000] * 1000
    # At most the moment between a hidden name and the rename shows.
    assert len([path for path in tmp_path.iterdir() if path.suffix == ".tmp"]) <= 8


def test_a_program_with_its_own_sigterm_handler_keeps_it(source: Path, target: Path) -> None:
    def handler(_number: int, _frame: object) -> None:
        pass

    before = signal.signal(signal.SIGTERM, handler)
    try:
        save(load(source), target, source=source)
        assert signal.getsignal(signal.SIGTERM) is handler
    finally:
        signal.signal(signal.SIGTERM, before)
    save(load(source), target, source=source)
    assert signal.getsignal(signal.SIGTERM) is before


@contextmanager
def largest_file(size: int) -> Iterator[None]:
    """No file of this process can grow beyond `size`: what a full disk or a quota does."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("limit", [0, 20, 100])
def test_a_file_that_cannot_grow(source: Path, target: Path, limit: int) -> None:
    with largest_file(limit), pytest.raises(ModelError, match="cannot be written: file too large"):
        save(load(source), target, source=source)
    assert target.read_bytes() == OLD
    assert names(target.parent) == ["model.onnx"]


@pytest.mark.usefixtures("way")
def test_a_full_disk(tmp_path: Path) -> None:
    small = tmp_path / "small"
    small.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=64k", "none", small], capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip("may not mount a small file system")
    try:
        source = write_model(tmp_path / "in", model_with(external_tensor("w", "w.bin")))
        (source.parent / "w.bin").write_bytes(os.urandom(200_000))
        (small / "model.onnx").write_bytes(OLD)
        with pytest.raises(ModelError, match="no space left on device"):
            save(load(source), small / "model.onnx", source=source)
        assert names(small) == ["model.onnx"]
        assert (small / "model.onnx").read_bytes() == OLD
        inline = load(source)
        inline.graph.initializer[0].ClearField("external_data")
        inline.graph.initializer[0].ClearField("data_location")
        inline.graph.initializer[0].raw_data = os.urandom(200_000)
        with pytest.raises(ModelError, match="no space left on device"):
            save(inline, small / "model.onnx")
        assert names(small) == ["model.onnx"]
        assert (small / "model.onnx").read_bytes() == OLD
    finally:
        subprocess.run(["umount", small], check=True)


def test_two_processes_that_put_the_same_data_into_one_folder(source: Path, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    script = (
        "import sys\nfrom onnx_ascend_ext.model_files import load, save\n"
        "model = load(sys.argv[1])\nprint('ready', flush=True)\nsys.stdin.readline()\n"
        "save(model, sys.argv[2], source=sys.argv[1])"
    )
    targets = [tmp_path / "out" / f"{number}.onnx" for number in range(4)]
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", script, source, target],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for target in targets
    ]
    for process in processes:
        assert process.stdout is not None
        process.stdout.readline()
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("\n")
        process.stdin.flush()
    for process in processes:
        _, words = process.communicate(timeout=60)
        assert process.returncode == 0, words
    assert names(tmp_path / "out") == ["0.onnx", "1.onnx", "2.onnx", "3.onnx", "sub", "sub/weights.bin"]
