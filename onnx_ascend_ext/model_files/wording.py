"""How paths and the operating system's errors are worded in this package's one-line messages."""

from __future__ import annotations

import os
from pathlib import Path


def shown(text: str | Path) -> str:
    """`text` itself, or its repr where it holds line breaks or other characters that do not print."""
    text = str(text)
    return text if text.isprintable() else repr(text)


def reason(error: OSError) -> str:
    """The operating system's words for `error`, without its number and paths."""
    words = os.strerror(error.errno) if error.errno else str(error)
    return words[:1].lower() + words[1:]
