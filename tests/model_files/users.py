"""Running a part of a test as a user whom file permissions bind."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_NOBODY = 65534


@contextmanager
def unprivileged(folder: Path) -> Iterator[None]:
    """Run the block as nobody where this process is root's, with `folder` and its parents opened for it."""
    if os.geteuid() != 0:
        yield
        return
    temporary = Path(tempfile.gettempdir()).resolve()
    for path in (folder, *folder.parents):
        if temporary in path.parents:
            path.chmod(path.stat().st_mode | 0o055)
    os.seteuid(_NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)
