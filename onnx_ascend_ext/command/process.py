"""How a process of the command starts, the first one as well as its workers."""

from __future__ import annotations

import gc
import os

from onnx_ascend_ext.command import output
from onnx_ascend_ext.command.deferred_imports import defer_imports

_OBJECTS_BETWEEN_COLLECTIONS = 100_000


def prepare() -> None:
    """Makes this process start fast, and show this package's warnings alone."""
    # As numpy is imported, OpenBLAS starts threads for linear algebra, which no command does: that takes a
    # noticeable part of a second.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    defer_imports()
    # The many objects that imports make all stay, and later on there are few cycles to collect.
    gc.set_threshold(_OBJECTS_BETWEEN_COLLECTIONS)
    output.show_own_warnings()
