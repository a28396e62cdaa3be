"""Finds the folders of data and libraries that the package is installed with."""

from __future__ import annotations

import importlib.metadata
import importlib.resources
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

_PACKAGE = "onnx_ascend_ext"
_DISTRIBUTION = "onnx-ascend-ext"


def folder(name: str) -> Traversable:
    """The package's folder `name`, in a wheel as in an editable install.

    Where Python runs in a checkout of the installed package, its sources shadow the installed ones and hold
    no such folder; then it is that of the installed distribution.

    Args:
        name: folder below the package.

    Returns:
        The folder; where there is none, the place where it should be.
    """
    expected = importlib.resources.files(_PACKAGE) / name
    if expected.is_dir():
        return expected
    try:
        distribution = importlib.metadata.distribution(_DISTRIBUTION)
    except importlib.metadata.PackageNotFoundError:
        return Path(__file__).parent / name
    return Path(str(distribution.locate_file(f"{_PACKAGE}/{name}")))
