"""Works on several files at a time, each in a worker process."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from onnx_ascend_ext.command import failure, process

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

    with _pool(min(jobs, len(plan), os.cpu_count() or 1)) as pool:
        with _interrupts_held_back():
            pending = [(planned, pool.submit(work, planned)) for planned in plan]
        for planned, future in pending:
            try:
                yield future.result()
            except BrokenProcessPool:
                # Every unfinished file of the pool gets this, whichever of them was the cause.
                yield _alone(work, planned)


def _alone(work: Work, planned: PlannedOutput) -> Outcome:
    from concurrent.futures.process import BrokenProcessPool

    try:
        with _pool(1) as pool:
            with _interrupts_held_back():
                future = pool.submit(work, planned)
            return future.result()
    except BrokenProcessPool:
        return failed(
            planned, f"{planned.source}: the process that worked on it was killed; is memory short?"
        )


def failed(planned: PlannedOutput, message: str) -> Outcome:
    """The outcome of a file that nothing was written for."""
    return message, {**failure.document(message, str(planned.source)), "output": None}


@contextmanager
def _pool(workers: int) -> Iterator[ProcessPoolExecutor]:
    """Yield a pool, whose workers are ended where the block is left by an exception."""
    import multiprocessing
    from concurrent.futures import ProcessPoolExecutor

    # Workers start afresh: ONNX Runtime does not survive a fork.
    context = multiprocessing.get_context("spawn")
    others = set(multiprocessing.active_children())
    with ProcessPoolExecutor(workers, context, initializer=process.prepare) as pool:
        try:
            yield pool
        except BaseException:
            for worker in set(multiprocessing.active_children()) - others:
                worker.terminate()
            raise


@contextmanager
def _interrupts_held_back() -> Iterator[None]:
    """Keep SIGINT for the end of the block; processes that are started within it never get one.

    A terminal sends it to all of them, and they would complain: this process is what ends its workers.
    """
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
