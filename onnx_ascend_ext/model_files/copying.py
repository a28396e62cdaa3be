"""Copying and comparing data files in memory that does not depend on their size."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

from onnx_ascend_ext.errors import ModelError
from onnx_ascend_ext.model_files.external_data import DataFile
from onnx_ascend_ext.model_files.wording import shown

_CHUNK = 4 << 20
# One copy_file_range call; a signal or a progress bar waits at most that long.
_KERNEL_CHUNK = 64 << 20

# copy_file_range cannot be used between these two files, while read and write can.
_NEEDS_STREAMING = {
    errno.EXDEV,
    errno.EINVAL,
    errno.ENOSYS,
    errno.EOPNOTSUPP,
    errno.EPERM,
    errno.ETXTBSY,
    errno.EBADF,
}


class Progress(Protocol):
    """What `save` tells about long copies; one `start` … `done` for each."""

    def start(self, total: int, description: str) -> None:
        """A copy of `total` bytes begins."""

    def advance(self, count: int) -> None:
        """`count` more bytes are done."""

    def done(self) -> None:
        """The copy has ended, well or not."""


@contextmanager
def reported(progress: Progress | None, total: int, description: str) -> Iterator[Callable[[int], None]]:
    """Yield the function to call with each number of bytes done."""
    if progress is None or total == 0:
        yield _unheard
        return
    progress.start(total, description)
    try:
        yield progress.advance
    finally:
        progress.done()


def _unheard(_count: int) -> None:
    """Nobody wants to know."""


@contextmanager
def opened(file: DataFile) -> Iterator[int]:
    """Yield a descriptor to read `file`, which must be the file that was checked, and stay as it is.

    Raises:
        ModelError: another file has taken its place, or it was written to within the block.
    """
    fd = os.open(file.path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        before = os.fstat(fd)
        if (before.st_dev, before.st_ino) != file.device_and_inode or before.st_size != file.size:
            raise ModelError(_has_changed(file))
        yield fd
        after = os.fstat(fd)
        if (before.st_size, before.st_mtime_ns) != (after.st_size, after.st_mtime_ns):
            raise ModelError(_has_changed(file))
    finally:
        os.close(fd)


def _has_changed(file: DataFile) -> str:
    return f"{shown(file.path)}: changed while the model was being saved"


def copy(source: int, target: int, size: int, advance: Callable[[int], None]) -> None:
    """Copy the `size` bytes of one descriptor to another, empty one; holes stay holes.

    Raises:
        OSError: reading or writing failed.
    """
    os.ftruncate(target, size)
    done = 0
    for start, end in _extents(source, size):
        if start > done:
            advance(start - done)
        position = start
        while position < end:
            count = _copy_some(source, target, position, end - position)
            position += count
            advance(count)
        done = end
    if size > done:
        advance(size - done)


def is_same_content(source: int, path: Path, size: int, advance: Callable[[int], None]) -> bool:
    """Whether the file `path` holds the same `size` bytes as the descriptor `source`."""
    other = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        position = 0
        while position < size:
            count = min(_CHUNK, size - position)
            if os.pread(source, count, position) != os.pread(other, count, position):
                return False
            position += count
            advance(count)
    finally:
        os.close(other)
    return True


def _extents(fd: int, size: int) -> Iterator[tuple[int, int]]:
    """The parts of a file that hold data; the holes between them read as zeros."""
    position = 0
    while position < size:
        try:
            start = os.lseek(fd, position, os.SEEK_DATA)
            end = min(os.lseek(fd, start, os.SEEK_HOLE), size)
        except OSError as error:
            if error.errno == errno.ENXIO:  # nothing but a hole up to the end
                return
            start, end = position, size
        if start >= size:
            return
        yield start, end
        position = end


def _copy_some(source: int, target: int, position: int, count: int) -> int:
    """Copy up to `count` bytes at `position`; returns how many."""
    try:
        copied = os.copy_file_range(source, target, min(count, _KERNEL_CHUNK), position, position)
    except OSError as error:
        if error.errno not in _NEEDS_STREAMING:
            raise
        copied = 0
    # Some virtual file systems answer 0 instead of an error.
    return copied or _stream_some(source, target, position, count)


def _stream_some(source: int, target: int, position: int, count: int) -> int:
    data = memoryview(os.pread(source, min(count, _CHUNK), position))
    if not data:
        raise OSError(errno.EIO, "the file has become shorter")
    written = 0
    while written < len(data):
        written += os.pwrite(target, data[written:], position + written)
    return len(data)
