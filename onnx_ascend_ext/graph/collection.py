"""Python's cyclic garbage collector, held off while many objects are made that all stay alive."""

from __future__ import annotations

import gc
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def paused_collection() -> Iterator[None]:
    """Hold off the collector, which would otherwise walk over a large model's objects again and again."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
