"""Files that are written out of sight and appear under their names in one step, or not at all."""

from __future__ import annotations

import errno
import os
import secrets
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from types import FrameType, TracebackType

# Files without a name cost an open descriptor each; beyond this many, hidden names are used.
_MAX_UNNAMED = 64


@dataclass
class _Staged:
    """A file that is written and not yet visible: an open file without a name, or one with a hidden name."""

    target: Path
    replace: bool
    fd: int | None
    hidden: Path | None


class Transaction:
    """New files and links that appear in `commit`, in the order in which they were added.

    On Linux file systems that can (`O_TMPFILE`), files have no name until then, so that not even SIGKILL
    leaves anything behind; elsewhere they have a hidden name in the target's folder. When the block is left
    by an exception, KeyboardInterrupt included, everything that it made is removed.
    """

    def __init__(self) -> None:
        self._staged: list[_Staged] = []
        self._links: list[tuple[Path, Path]] = []
        self._undo: list[Callable[[], object]] = []

    def __enter__(self) -> Transaction:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for staged in self._staged:
            if staged.fd is not None:
                os.close(staged.fd)
            if staged.hidden is not None:
                staged.hidden.unlink(missing_ok=True)
        if kind is not None:
            for undo in reversed(self._undo):
                with suppress(OSError):
                    undo()

    def on_failure(self, undo: Callable[[], object]) -> None:
        """Call `undo` when the block is left by an exception."""
        self._undo.append(undo)

    @contextmanager
    def new_file(self, target: Path, *, replace: bool, mode: int = 0o666) -> Iterator[int]:
        """Yield a descriptor to write what `target` is to hold; on leaving, the content is on the disk.

        Args:
            target: name of the file from `commit` on.
            replace: whether a file of that name is replaced; otherwise it makes `commit` fail.
            mode: permission bits, less the process's umask.
        """
        staged = self._open(target, replace, mode)
        self._staged.append(staged)
        assert staged.fd is not None
        yield staged.fd
        os.fsync(staged.fd)
        if staged.hidden is not None:
            os.close(staged.fd)
            staged.fd = None

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
            path.mkdir(exist_ok=True)
            self.on_failure(path.rmdir)

    def commit(self) -> None:
        """Give every file its name: links first, then the new files in order.

        Raises:
            OSError: a name is taken, or the file system refuses.
        """
        for source, target in self._links:
            os.link(source, target)
            self.on_failure(target.unlink)
        for staged in self._staged:
            self._publish(staged)
        for folder in {target.parent for target in self._targets()}:
            _sync_folder(folder)

    def _targets(self) -> Iterator[Path]:
        yield from (target for _, target in self._links)
        yield from (staged.target for staged in self._staged)

    def _open(self, target: Path, replace: bool, mode: int) -> _Staged:
        unnamed = sum(staged.hidden is None for staged in self._staged)
        if unnamed < _MAX_UNNAMED and hasattr(os, "O_TMPFILE"):
            with suppress(OSError):  # the named way below reports what is really wrong
                fd = os.open(target.parent, os.O_TMPFILE | os.O_WRONLY | os.O_CLOEXEC, mode)
                if Path(_descriptor_path(fd)).exists():
                    return _Staged(target, replace, fd, None)
                os.close(fd)
        hidden = _hidden_name(target.parent)
        fd = os.open(hidden, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, mode)
        return _Staged(target, replace, fd, hidden)

    def _publish(self, staged: _Staged) -> None:
        target = staged.target
        if staged.hidden is None:
            assert staged.fd is not None
            try:
                _link_descriptor(staged.fd, target)
            except FileExistsError:
                if not staged.replace:
                    raise
                staged.hidden = _hidden_name(target.parent)
                _link_descriptor(staged.fd, staged.hidden)
            else:
                self.on_failure(target.unlink)
                return
        if staged.replace:
            is_new = not os.path.lexists(target)
            staged.hidden.replace(target)
            staged.hidden = None
            if is_new:
                self.on_failure(target.unlink)
            return
        try:
            os.link(staged.hidden, target)
        except OSError as error:
            if error.errno not in (errno.EPERM, errno.EOPNOTSUPP) or os.path.lexists(target):
                raise
            staged.hidden.rename(target)  # a file system without hard links
            staged.hidden = None
        self.on_failure(target.unlink)


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


def _hidden_name(folder: Path) -> Path:
    return folder / f".onnx-ascend-{secrets.token_hex(6)}.tmp"


def _sync_folder(folder: Path) -> None:
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        with suppress(OSError):  # not every file system can
            os.fsync(fd)
    finally:
        os.close(fd)
