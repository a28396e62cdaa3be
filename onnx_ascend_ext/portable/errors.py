"""Why a training-only node cannot be given a body; internal to this package."""

from __future__ import annotations


class NoBodyError(Exception):
    """A node cannot be given a portable body; the message is the reason and what to do."""
