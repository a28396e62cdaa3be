"""Works on several files at a time, each in a worker process."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from onnx_ascend_ext.command.output import show_own_warnings

if TYPE_CHECKING:
    from concurrent.futures import ProcessPoolExecutor

    from onnx_ascend_ext.model_files import PlannedOutput

Outcome = tuple[str, dict[str, Any]]
Work = Callable[["PlannedOutput"], Outcome]


def outcomes(work: Work, plan: Sequence[PlannedOutput], jobs: int) -> Iterator[Outcome]:
    """What `work` gives for each file, in order; a worker process that dies costs its own file alone."""
    if jobs == 1:
        yield from map(work, plan)
        return
    from concurrent.futures.process import BrokenProcessPool

    with _pool(min(jobs, len(plan))) as pool:
        pending = [(planned, pool.submit(work, planned)) for planned in plan]
        try:
            for planned, future in pending:
                try:
                    yield future.result()
                except BrokenProcessPool:
                    # Every unfinished file of the pool gets this, whichever of them was the cause.
                    yield _alone(work, planned)
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _alone(work: Work, planned: PlannedOutput) -> Outcome:
    from concurrent.futures.process import BrokenProcessPool

    try:
        with _pool(1) as pool:
            return pool.submit(work, planned).result()
    except BrokenProcessPool:
        message = f"{planned.source}: the process that worked on it was killed; is memory short?"
        return message, {"schema": 1, "source": str(planned.source), "output": None, "error": message}


def _pool(workers: int) -> ProcessPoolExecutor:
    import multiprocessing
    from concurrent.futures import ProcessPoolExecutor

    # Workers start afresh: ONNX Runtime does not survive a fork.
    return ProcessPoolExecutor(workers, multiprocessing.get_context("spawn"), initializer=_begin)


def _begin() -> None:
    # The parent is interrupted too, and ends its workers.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    show_own_warnings()
