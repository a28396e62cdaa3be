"""What a user is told of an exception that ended the work."""

from __future__ import annotations

import os
from typing import Any

from onnx_ascend_ext.errors import AscendExtError

# Set to show the Python traceback of an error that is a fault of this package.
_TRACEBACK_VARIABLE = "ONNX_ASCEND_TRACEBACK"


def reason(error: Exception, source: str = "") -> str:
    """One line for any exception.

    Args:
        error: the exception.
        source: the file that was worked on, where the line is to name it.

    Raises:
        Exception: `error` itself, where it is a fault of this package and the user asked to see it.
    """
    if isinstance(error, AscendExtError):
        return " ".join(str(error).split())
    if isinstance(error, OSError):
        if not error.errno:
            return str(error)
        # What is written to standard output has no name; neither has a pipe or a new process, which fail
        # while a file is worked on.
        return f"{error.filename or source or 'standard output'}: {error.strerror}"
    label = f"{source}: " if source else ""
    if isinstance(error, MemoryError):
        return f"{label}out of memory"
    if os.environ.get(_TRACEBACK_VARIABLE):
        raise error
    words = " ".join(str(error).split())
    return (
        f"{label}internal error, {type(error).__name__}: {words}; please report it with the output of the "
        f"same command under {_TRACEBACK_VARIABLE}=1"
    )


def document(message: str, source: str | None = None) -> dict[str, Any]:
    """The JSON of work that failed: on `source`, where it was on one of several files."""
    return {"schema": 1, "ok": False, "source": source, "error": message}
