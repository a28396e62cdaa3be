"""Loads onnx's own modules at their first use: `import onnx` imports all of them.

They bring numpy and ml_dtypes along, whose start takes longer than the conversion of most models, which needs
neither of them.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Sequence
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from importlib.util import LazyLoader
from types import ModuleType


class _LazyFinder:
    """Finds the modules in the package `onnx`, which load at their first attribute.

    For most of them that is later than `import onnx`, which takes names from few. Before Python 3.12 two
    threads must not be the first ones at once, so that this is for a command, not for a library.
    """

    @staticmethod
    def find_spec(
        name: str,
        path: Sequence[str] | None = None,
        target: ModuleType | None = None,
    ) -> ModuleSpec | None:
        if not name.startswith("onnx."):
            return None
        spec = PathFinder.find_spec(name, path, target)
        if spec is not None and type(spec.loader) is SourceFileLoader:
            spec.loader = LazyLoader(spec.loader)
        return spec


def defer_imports() -> None:
    """Makes this process, if it has one thread, load the modules of `onnx` at their first use from now on."""
    if threading.active_count() == 1 and _LazyFinder not in sys.meta_path:
        sys.meta_path.insert(0, _LazyFinder)
