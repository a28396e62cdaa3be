"""Files that a training writes: checked before it starts, and written whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import BinaryIO

from onnx_ascend_ext.errors import ModelError
from onnx_ascend_ext.model_files.staging import Transaction, unwinding_on_sigterm
from onnx_ascend_ext.model_files.wording import reason, shown


def check_target(path: str | os.PathLike[str]) -> None:
    """Finds out early that a file cannot be written.

    Raises:
        ModelError: its folder does not exist or may not be written to, or `path` is a folder.
    """
    path = Path(path)
    folder = path.parent
    try:
        if path.is_dir():
            why = "it is a folder"
        elif not folder.exists():
            why = f"the folder {shown(folder)} does not exist"
        elif not folder.is_dir():
            why = f"{shown(folder)} is no folder"
        elif not os.access(folder, os.W_OK | os.X_OK):
            why = f"the folder {shown(folder)} may not be written to"
        else:
            return
    except (OSError, ValueError):
        why = "not a valid file name"
    raise ModelError(f"{shown(path)}: cannot be written: {why}")


def write_files(contents: Mapping[Path, Callable[[BinaryIO], object]]) -> None:
    """Writes files in one step: all appear, or none, and files of the same names are replaced.

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
