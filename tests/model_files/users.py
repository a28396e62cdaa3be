"""Running a part of a test as a user whom file permissions bind."""

from __future__ import annotations

import os
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
    for path in (folder, *folder.parents[:2]):
        path.chmod(path.stat().st_mode | 0o055)
    os.seteuid(_NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)
