"""A progress bar on stderr for long copies, on a terminal only."""

from __future__ import annotations

import sys
from types import TracebackType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID


class CopyProgress:
    """Implements `model_files.Progress` with rich; a context manager that ends the bar on the way out."""

    def __init__(self) -> None:
        self._bar: Progress | None = None
        self._task: TaskID | None = None

    def __enter__(self) -> CopyProgress:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.done()

    def start(self, total: int, description: str) -> None:
        """Shows a bar for `total` bytes."""
        if not sys.stderr.isatty():
            return
        from rich.console import Console
        from rich.markup import escape
        from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            DownloadColumn(binary_units=True),
            TimeRemainingColumn(),
            console=Console(stderr=True),
            transient=True,
        )
        self._task = self._bar.add_task(escape(description), total=total)
        self._bar.start()

    def advance(self, count: int) -> None:
        """Moves the bar on by `count` bytes."""
        if self._bar is not None and self._task is not None:
            self._bar.advance(self._task, count)

    def done(self) -> None:
        """Takes the bar away."""
        if self._bar is not None:
            self._bar.stop()
            self._bar = None
