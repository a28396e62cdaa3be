from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from onnx_ascend_ext.errors import ModelError
from onnx_ascend_ext.model_files import check_target, open_source, write_files

from .users import unprivileged


def refusal(call: Callable[[], object]) -> str:
    with pytest.raises(ModelError) as caught:
        call()
    return str(caught.value)


def read(path: Path) -> bytes:
    with open_source(path, "a cake") as file:
        return file.read()


class TestSource:
    def test_a_file_is_opened(self, tmp_path: Path) -> None:
        (tmp_path / "file").write_bytes(b"content")
        (tmp_path / "link").symlink_to("file")
        assert read(tmp_path / "file") == read(tmp_path / "link") == b"content"

    def test_what_is_none_is_told_apart(self, tmp_path: Path) -> None:
        os.mkfifo(tmp_path / "pipe")
        for path, words in {
            tmp_path: "is a folder, not a cake",
            tmp_path / "pipe": "is not a regular file",
            Path("/dev/zero"): "is not a regular file",
            tmp_path / "none": "cannot be read: no such file or directory",
            tmp_path / ("x" * 300): "cannot be read: file name too long",
        }.items():
            assert refusal(lambda path=path: read(path)) == f"{path}: {words}"
        assert "not a valid file name" in refusal(lambda: read(Path("a\0b")))

    def test_a_file_that_may_not_be_read(self, tmp_path: Path) -> None:
        (tmp_path / "file").touch(mode=0)
        with unprivileged(tmp_path):
            assert "cannot be read: permission denied" in refusal(lambda: read(tmp_path / "file"))

    def test_an_error_within_the_block_is_told_of_the_file(self, tmp_path: Path) -> None:
        (tmp_path / "file").touch()

        def fail() -> None:
            with open_source(tmp_path / "file", "a cake") as file:
                file.seek(-1)

        assert refusal(fail) == f"{tmp_path / 'file'}: cannot be read: invalid argument"


class TestTarget:
    @pytest.mark.parametrize("name", ["new", "old", "link", "dangling"])
    def test_a_file_new_or_old(self, tmp_path: Path, name: str) -> None:
        (tmp_path / "old").touch()
        (tmp_path / "link").symlink_to("old")
        (tmp_path / "dangling").symlink_to("none")
        check_target(tmp_path / name)

    @pytest.mark.parametrize(
        ("name", "words"),
        [
            ("", "it is a folder"),
            ("none/file", "the folder TMP/none does not exist"),
            ("file/file", "TMP/file is no folder"),
            ("pipe", "it is not a regular file"),
            ("/dev/null", "it is not a regular file"),
            ("/dev/stdout", "it is not a regular file"),
            ("/proc/self/fd/1", "it is not a regular file"),
            ("x" * 300, "file name too long"),
            ("a\0b", "it is no valid file name"),
        ],
    )
    def test_what_is_in_the_way(self, tmp_path: Path, name: str, words: str) -> None:
        (tmp_path / "file").touch()
        os.mkfifo(tmp_path / "pipe")
        words = words.replace("TMP", str(tmp_path))
        assert refusal(lambda: check_target(tmp_path / name)).endswith(f": cannot be written: {words}")


class TestWriteFiles:
    def test_all_appear_and_replaced_ones_keep_their_permissions(self, tmp_path: Path) -> None:
        (tmp_path / "old").write_bytes(b"before")
        (tmp_path / "old").chmod(0o640)
        write_files({tmp_path / name: lambda file: file.write(b"after") for name in ("old", "new")})
        assert sorted(path.name for path in tmp_path.iterdir()) == ["new", "old"]
        assert all(path.read_bytes() == b"after" for path in tmp_path.iterdir())
        assert (tmp_path / "old").stat().st_mode & 0o777 == 0o640

    def test_none_appears_where_one_fails(self, tmp_path: Path) -> None:
        def fail(_: object) -> None:
            raise OSError(28, "No space left on device")

        contents = {tmp_path / "one": lambda file: file.write(b"1"), tmp_path / "two": fail}
        words = refusal(lambda: write_files(contents))
        assert words == f"{tmp_path / 'two'}: cannot be written: no space left on device"
        assert list(tmp_path.iterdir()) == []

    def test_a_device_is_not_replaced(self) -> None:
        assert "it is not a regular file" in refusal(lambda: write_files({Path("/dev/null"): print}))
        assert not Path("/dev/null").is_file()
