"""Files that are written out of sight and appear under their names in one step, or not at all."""

from __future__ import annotations

import errno
import os
import signal
import stat
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from types import FrameType, TracebackType
from typing import BinaryIO

from onnx_ascend_ext.errors import ModelError
from onnx_ascend_ext.model_files.paths import check_target
from onnx_ascend_ext.model_files.wording import reason, shown

# Files without a name cost an open descriptor each; beyond this many, hidden names are used.
_MAX_UNNAMED = 64

_Identity = tuple[int, int]
"""Device and inode of a file."""


@dataclass
class _Staged:
    """A file that is written and not yet visible: an open file without a name, or one with a hidden name."""

    target: Path
    replace: bool
    fd: int
    hidden: Path | None
    identity: _Identity


class Transaction:
    """New files and links that appear in `commit`, in the order in which they were added.

    On Linux file systems that can (`O_TMPFILE`), files have no name until then, so that not even SIGKILL
    leaves anything behind; elsewhere they have a hidden name in the target's folder. When the block is left
    by an exception, KeyboardInterrupt included, before the last file is in its place, everything that it made
    is removed.
    """

    def __init__(self) -> None:
        self._staged: list[_Staged] = []
        self._links: list[tuple[Path, Path]] = []
        self._hidden: list[Path] = []
        self._undo: list[Callable[[], object]] = []

    def __enter__(self) -> Transaction:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for staged in self._staged:
            _close(staged)
        for path in self._hidden:
            with suppress(OSError):
                path.unlink(missing_ok=True)
        if kind is not None and not self._has_taken_place():
            for undo in reversed(self._undo):
                with suppress(OSError):
                    undo()

    def on_failure(self, undo: Callable[[], object]) -> None:
        """Call `undo` when the block is left by an exception, the last one first."""
        self._undo.append(undo)

    @contextmanager
    def new_file(self, target: Path, *, replace: bool, mode: int = 0o666) -> Iterator[int]:
        """Yield a descriptor to write what `target` is to hold; on leaving, the content is on the disk.

        Args:
            target: name of the file from `commit` on.
            replace: whether a file of that name is replaced, whose permission bits stay; otherwise it makes
                `commit` fail.
            mode: permission bits of a file that replaces none, less the process's umask.
        """
        staged = self._open(target, replace, mode)
        self._staged.append(staged)
        if replace and target.is_file() and not target.is_symlink():
            os.fchmod(staged.fd, stat.S_IMODE(target.stat().st_mode))
        yield staged.fd
        os.fsync(staged.fd)
        if staged.hidden is not None:
            _close(staged)

    def new_link(self, source: Path, target: Path) -> None:
        """Make `target` a hard link to `source` in `commit`; a file of that name makes `commit` fail."""
        self._links.append((source, target))

    def make_folder(self, folder: Path) -> None:
        """Make `folder` and its missing parents now."""
        missing = []
        while not folder.exists():
            missing.append(folder)
            folder = folder.parent
        for path in reversed(missing):
            self.on_failure(path.rmdir)  # which spares a folder that holds something
            path.mkdir(exist_ok=True)

    def commit(self) -> None:
        """Give every file its name: links first, then the new files in order.

        Raises:
            OSError: a name is taken, or the file system refuses.
        """
        for source, target in self._links:
            self._undo_making(target, _identity(source.stat()))
            os.link(source, target)
        for staged in self._staged:
            self._publish(staged)
        for folder in {target.parent for target in self._targets()}:
            _sync_folder(folder)

    def _targets(self) -> Iterator[Path]:
        yield from (target for _, target in self._links)
        yield from (staged.target for staged in self._staged)

    def _has_taken_place(self) -> bool:
        last = self._staged[-1:]
        return any(_is_file(staged.target, staged.identity) for staged in last)

    def _undo_making(self, target: Path, identity: _Identity) -> None:
        """Have `target` removed on failure, if it is the file of `identity` by then and not another's."""

        def remove() -> None:
            if _is_file(target, identity):
                target.unlink()

        self.on_failure(remove)

    def _open(self, target: Path, replace: bool, mode: int) -> _Staged:
        unnamed = sum(staged.hidden is None for staged in self._staged)
        if unnamed < _MAX_UNNAMED and hasattr(os, "O_TMPFILE"):
            with suppress(OSError):  # the named way below reports what is really wrong
                fd = os.open(target.parent, os.O_TMPFILE | os.O_WRONLY | os.O_CLOEXEC, mode)
                if Path(_descriptor_path(fd)).exists():
                    return _Staged(target, replace, fd, None, _identity(os.fstat(fd)))
                os.close(fd)
        hidden = self._hidden_name(target.parent)
        fd = os.open(hidden, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, mode)
        return _Staged(target, replace, fd, hidden, _identity(os.fstat(fd)))

    def _hidden_name(self, folder: Path) -> Path:
        path = folder / f".onnx-ascend-{os.urandom(6).hex()}.tmp"
        self._hidden.append(path)
        return path

    def _publish(self, staged: _Staged) -> None:
        target, hidden = staged.target, staged.hidden
        if not (staged.replace and os.path.lexists(target)):
            self._undo_making(target, staged.identity)
        if hidden is None:
            try:
                _link_descriptor(staged.fd, target)
            except FileExistsError:
                if not staged.replace:
                    raise
                hidden = self._hidden_name(target.parent)
                _link_descriptor(staged.fd, hidden)
            else:
                return
        if staged.replace:
            hidden.replace(target)
            return
        try:
            os.link(hidden, target)
        except OSError as error:
            if error.errno not in (errno.EPERM, errno.EOPNOTSUPP) or os.path.lexists(target):
                raise
            hidden.rename(target)  # a file system without hard links


@contextmanager
def unwinding_on_sigterm() -> Iterator[None]:
    """Let SIGTERM unwind the stack within the block, so that clean-up runs, and then end the process.

    Only in the main thread, and only where the program has left SIGTERM's default action in place.
    """
    in_main_thread = threading.current_thread() is threading.main_thread()
    if not in_main_thread or signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL:
        yield
        return
    signal.signal(signal.SIGTERM, _raise_terminated)
    try:
        yield
    except _Terminated:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGTERM)
        raise
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


def write_files(contents: Mapping[Path, Callable[[BinaryIO], object]]) -> None:
    """Write files in one step: all appear, or none, and files of the same names are replaced.

    Args:
        contents: for each file the function that writes what it is to hold.

    Raises:
        ModelError: a file cannot be written.
    """
    last = Path()
    try:
        with unwinding_on_sigterm(), Transaction() as transaction:
            for last, write in contents.items():
                check_target(last)
                with (
                    transaction.new_file(last, replace=True) as descriptor,
                    open(descriptor, "wb", closefd=False) as file,
                ):
                    write(file)
            transaction.commit()
    except OSError as error:
        raise ModelError(f"{shown(last)}: cannot be written: {reason(error)}") from error


class _Terminated(BaseException):
    """SIGTERM has come."""


def _raise_terminated(_signum: int, _frame: FrameType | None) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # a second one must not cut the clean-up short
    raise _Terminated


def _descriptor_path(fd: int) -> str:
    return f"/proc/self/fd/{fd}"


def _link_descriptor(fd: int, target: Path) -> None:
    # Python calls linkat(), which can follow /proc's link to a file without a name, only when it is given a
    # folder's descriptor; the absolute path makes that one irrelevant.
    folder = os.open("/", os.O_PATH | os.O_CLOEXEC)
    try:
        os.link(_descriptor_path(fd), target, src_dir_fd=folder, follow_symlinks=True)
    finally:
        os.close(folder)


def _identity(status: os.stat_result) -> _Identity:
    return status.st_dev, status.st_ino


def _is_file(path: Path, identity: _Identity) -> bool:
    try:
        return _identity(path.lstat()) == identity
    except OSError:
        return False


def _close(staged: _Staged) -> None:
    fd, staged.fd = staged.fd, -1
    if fd >= 0:
        os.close(fd)


def _sync_folder(folder: Path) -> None:
    with suppress(OSError):  # not every file system can, and the files are in place
        fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)
