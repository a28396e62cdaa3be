from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from onnx_ascend_ext.errors import ModelError
from onnx_ascend_ext.model_files import load, save
from onnx_ascend_ext.model_files.copying import copy, is_same_content, opened
from onnx_ascend_ext.model_files.external_data import DataFile, data_files, external_tensors

from .models import external_tensor, model_with, value_of, write_external_model, write_model

SPARSE_BYTES = 10 << 20


class Recorder:
    """A progress bar for tests."""

    def __init__(self) -> None:
        self.events: list[tuple[str, object]] = []

    def start(self, total: int, description: str) -> None:
        self.events.append((description, total))

    def advance(self, count: int) -> None:
        assert count >= 0
        self.events.append(("advance", count))

    def done(self) -> None:
        self.events.append(("done", None))

    @property
    def advanced(self) -> int:
        return sum(count for event, count in self.events if event == "advance" and isinstance(count, int))


def nothing(_count: int) -> None:
    pass


def copied(source: Path, target: Path) -> None:
    with source.open("rb") as reader, target.open("wb") as writer:
        copy(reader.fileno(), writer.fileno(), source.stat().st_size, nothing)


@pytest.fixture
def sparse(tmp_path: Path) -> Path:
    """Ten megabytes with data at the start, in the middle and just before the end, which is a hole."""
    path = tmp_path / "sparse"
    with path.open("wb") as file:
        for position in (0, 5 << 20, SPARSE_BYTES - 70_000):
            file.seek(position)
            file.write(os.urandom(5000))
        file.truncate(SPARSE_BYTES)
    return path


class TestCopy:
    def test_holes_stay_holes(self, sparse: Path, tmp_path: Path) -> None:
        copied(sparse, tmp_path / "copy")
        assert (tmp_path / "copy").read_bytes() == sparse.read_bytes()
        if sparse.stat().st_blocks * 512 < SPARSE_BYTES // 2:  # else this file system has no holes
            assert (tmp_path / "copy").stat().st_blocks * 512 < SPARSE_BYTES // 2

    @pytest.mark.parametrize("size", [0, 1, 4 << 20, (4 << 20) + 1])
    @pytest.mark.parametrize("failure", [None, errno.EXDEV, errno.ENOSYS, errno.EOPNOTSUPP, 0])
    def test_with_and_without_copy_file_range(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int, failure: int | None
    ) -> None:
        def fail(*_: object) -> int:
            if failure:
                raise OSError(failure, os.strerror(failure))
            return 0  # what some virtual file systems answer

        if failure is not None:
            monkeypatch.setattr(os, "copy_file_range", fail)
        (tmp_path / "a").write_bytes(os.urandom(size))
        copied(tmp_path / "a", tmp_path / "b")
        assert (tmp_path / "b").read_bytes() == (tmp_path / "a").read_bytes()

    def test_without_seeking_holes(
        self, sparse: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def refuse(*_: object) -> int:
            raise OSError(errno.EINVAL, "Invalid argument")

        monkeypatch.setattr(os, "lseek", refuse)
        copied(sparse, tmp_path / "copy")
        monkeypatch.undo()
        assert (tmp_path / "copy").read_bytes() == sparse.read_bytes()

    def test_another_error_is_not_hidden(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        def fail(*_: object) -> int:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

        monkeypatch.setattr(os, "copy_file_range", fail)
        (tmp_path / "a").write_bytes(b"x")
        with pytest.raises(OSError, match="No space left"):
            copied(tmp_path / "a", tmp_path / "b")


class TestCompare:
    def test_equal_and_unequal(self, sparse: Path, tmp_path: Path) -> None:
        copied(sparse, tmp_path / "same")
        copied(sparse, tmp_path / "other")
        with (tmp_path / "other").open("r+b") as file:
            file.seek(SPARSE_BYTES - 1)
            file.write(b"\x01")
        with sparse.open("rb") as file:
            assert is_same_content(file.fileno(), tmp_path / "same", SPARSE_BYTES, nothing)
            assert not is_same_content(file.fileno(), tmp_path / "other", SPARSE_BYTES, nothing)


class TestOpened:
    def test_a_file_that_was_exchanged_since_the_check(self, tmp_path: Path) -> None:
        path = write_external_model(tmp_path)
        (file,) = data_files(external_tensors(load(path)), path)
        with opened(file) as fd:
            assert os.fstat(fd).st_size == file.size
        for kind in ("other file", "symlink", "longer"):
            data = tmp_path / "weights.bin"
            exchanged = exchange(data, kind, file)
            with pytest.raises((ModelError, OSError)), opened(exchanged):
                pass

    @pytest.mark.parametrize("size", [0, 27, 29])
    def test_a_file_that_changes_meanwhile(self, tmp_path: Path, size: int) -> None:
        path = write_external_model(tmp_path)
        (file,) = data_files(external_tensors(load(path)), path)
        with pytest.raises(ModelError, match="changed while"), opened(file):
            os.truncate(file.path, size)


def exchange(path: Path, kind: str, file: DataFile) -> DataFile:
    content = path.read_bytes()
    if kind == "longer":
        path.write_bytes(content + b"x")
        return DataFile(file.location, path, file.size, (path.stat().st_dev, path.stat().st_ino))
    other = path.with_name("other")
    other.write_bytes(content)
    if kind == "symlink":
        path.unlink()
        path.symlink_to(other)
    else:
        other.replace(path)
    return file


class TestProgress:
    def test_a_copy_is_told_to_the_end(self, tmp_path: Path) -> None:
        model = model_with(external_tensor("a", "a.bin"), external_tensor("b", "b.bin"))
        source = write_model(tmp_path / "in", model)
        (source.parent / "a.bin").write_bytes(bytes(100))
        with (source.parent / "b.bin").open("wb") as file:
            file.truncate(SPARSE_BYTES)
        (tmp_path / "out").mkdir()
        progress = Recorder()
        save(load(source), tmp_path / "out" / "model.onnx", source=source, progress=progress)
        assert progress.events[0] == ("Copying external data", SPARSE_BYTES + 100)
        assert progress.events[-1] == ("done", None)
        assert progress.advanced == SPARSE_BYTES + 100
        again = Recorder()
        save(load(source), tmp_path / "out" / "model.onnx", source=source, progress=again)
        assert [event for event, _ in again.events if event.startswith("Comp")] == [
            "Comparing a.bin",
            "Comparing b.bin",
        ]
        assert again.advanced == SPARSE_BYTES + 100
        assert len(value_of(tmp_path / "out" / "model.onnx")) == 4

    def test_nothing_is_told_where_nothing_is_copied(self, tmp_path: Path) -> None:
        source = write_external_model(tmp_path)
        progress = Recorder()
        save(load(source), source, source=source, progress=progress)
        assert progress.events == []

    def test_a_failed_copy_is_done_too(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        def fail(*_: object) -> int:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

        monkeypatch.setattr(os, "copy_file_range", fail)
        source = write_external_model(tmp_path / "in")
        (tmp_path / "out").mkdir()
        progress = Recorder()
        with pytest.raises(ModelError, match="no space left on device"):
            save(load(source), tmp_path / "out" / "model.onnx", source=source, progress=progress)
        assert [event for event, _ in progress.events] == ["Copying external data", "done"]
        assert list((tmp_path / "out").iterdir()) == []
