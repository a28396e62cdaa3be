"""What stands in the way of reading a file or of writing one."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from onnx_ascend_ext.errors import ModelError
from onnx_ascend_ext.model_files.wording import reason, shown


@contextmanager
def open_source(path: Path, what: str) -> Iterator[BinaryIO]:
    """Yield a file to read; what goes wrong within the block is told of the file.

    Args:
        path: the file.
        what: what it should be, for the messages: such as "a model file".

    Raises:
        ModelError: it is missing, unreadable, a folder, or no regular file, which may be endless or silent.
    """
    if "\0" in str(path):
        raise ModelError(f"{shown(path)}: cannot be read: not a valid file name")
    try:
        mode = path.stat().st_mode
        if stat.S_ISDIR(mode):
            raise ModelError(f"{shown(path)}: is a folder, not {what}")
        if not stat.S_ISREG(mode):
            raise ModelError(f"{shown(path)}: is not a regular file")
        with path.open("rb") as file:
            yield file
    except OSError as error:
        raise ModelError(f"{shown(path)}: cannot be read: {reason(error)}") from error


def check_target(path: str | os.PathLike[str]) -> None:
    """Find out early that a file cannot be written.

    Raises:
        ModelError: its folder is missing or read-only, or `path` is something else than a regular file, which
            replacing it would destroy.
    """
    path = Path(path)
    try:
        obstacle = _obstacle(path)
    except OSError as error:
        obstacle = reason(error)
    if obstacle:
        raise ModelError(f"{shown(path)}: cannot be written: {obstacle}")


def _obstacle(path: Path) -> str:
    """Why the file `path` cannot be written; "" if nothing shows."""
    if "\0" in str(path):
        return "it is no valid file name"
    # A link such as /dev/stdout may lead to a regular file, and would itself be replaced.
    folder = os.path.realpath(path.parent)
    if folder == "/dev" or folder.startswith(("/proc/", "/sys/")):
        return "it is not a regular file"
    if path.is_dir():
        return "it is a folder"
    if not path.parent.exists():
        return f"the folder {shown(path.parent)} does not exist"
    if not path.parent.is_dir():
        return f"{shown(path.parent)} is no folder"
    if not os.access(path.parent, os.W_OK | os.X_OK, effective_ids=True):
        return f"the folder {shown(path.parent)} is read-only"
    # /dev/null and /dev/stdout among others: replacing them by a file would do harm.
    if path.exists() and not path.is_file():
        return "it is not a regular file"
    if path.exists() and not os.access(path, os.W_OK, effective_ids=True):
        return "it is read-only"
    return ""
