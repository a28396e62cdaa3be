"""Host and device mode, asynchrony, and what happens when the process forks or ends."""

from __future__ import annotations

import signal
from collections.abc import Callable
from typing import Any

import pytest

Child = Callable[..., Any]

# A kernel on 4 floats in device memory: tensors, buffers and a stream.
SETUP = """
import time
import numpy as np
acl.start()
stream = acl.made("aclrtCreateStream")
N = 4
pinned = [acl.made("aclrtMallocHost", 4 * N) for _ in range(3)]
host = [np.frombuffer((ctypes.c_float * N).from_address(p), np.float32) for p in pinned]
device = [acl.made("aclrtMalloc", 4 * N, 0) for _ in range(3)]
host[0][:] = 2
host[1][:] = 0.25
def upload():
    for i in (0, 1):
        acl.ok("aclrtMemcpyAsync", device[i], 4 * N, pinned[i], 4 * N, 1, stream)
def launch():
    made = [acl.tensor(p, [N], 0) for p in device]
    status, size, executor = acl.phase_one(*made)
    assert status == 0, acl.message()
    status = acl.aclnnSigmoidBackward(None, 0, executor, stream)
    for tensor in made:
        acl.ok("aclDestroyTensor", tensor)
    assert status == 0, acl.message()
def download():
    acl.ok("aclrtMemcpyAsync", pinned[2], 4 * N, device[2], 4 * N, 2, stream)
def sync():
    return acl.aclrtSynchronizeStream(stream)
"""


def with_setup(text: str) -> str:
    return SETUP + "\n".join(line[8:] for line in text.splitlines())


def test_the_run_mode_is_device_unless_asked_otherwise(child: Child) -> None:
    ask = 'print(acl.asked("aclrtGetRunMode", ctypes.c_int))'
    assert child(ask).stdout == "0\n"
    assert child(ask, ASCEND_SIM_RUN_MODE="device").stdout == "0\n"
    assert child(ask, ASCEND_SIM_RUN_MODE="host").stdout == "1\n"


@pytest.mark.parametrize(
    "environment", [{}, {"ASCEND_SIM_ASYNC": "1"}, {"ASCEND_SIM_RUN_MODE": "host"}], ids=str
)
def test_the_whole_way_of_a_kernel(child: Child, environment: dict[str, str]) -> None:
    child(
        with_setup(
            """
        for _ in range(50):
            host[2][:] = 0
            upload(); launch(); download()
            assert sync() == 0
            assert (host[2] == 0.375).all()
        """
        ),
        **environment,
    )


@pytest.mark.parametrize(
    "access", ["ctypes.memmove(pinned[0], device[0], 4)", "ctypes.memset(device[0], 0, 4)"]
)
def test_the_host_cannot_touch_device_memory_in_host_mode(child: Child, access: str) -> None:
    ended = child(SETUP + access, check=False, ASCEND_SIM_RUN_MODE="host")
    assert ended.returncode == -signal.SIGSEGV
    assert child(SETUP + access, check=False).returncode == 0


def test_a_missing_synchronisation_shows(child: Child) -> None:
    text = with_setup(
        """
        upload(); launch(); download()
        early = host[2].copy()
        assert sync() == 0
        print((early == 0.375).all(), (host[2] == 0.375).all())
        """
    )
    assert child(text, ASCEND_SIM_RUN_MODE="host", ASCEND_SIM_LATENCY_US="20000").stdout == "False True\n"
    assert child(text, ASCEND_SIM_LATENCY_US="20000").stdout == "False True\n"


def test_a_kernel_on_host_memory_raises_an_exception_of_the_device_in_host_mode(child: Child) -> None:
    text = with_setup(
        """
        device[1] = pinned[1]
        upload = None
        launch()
        print(sync(), "outside" in acl.message(), sync())
        """
    )
    assert child(text, ASCEND_SIM_RUN_MODE="host").stdout == "507015 True 0\n"
    assert child(text).stdout == "0 False 0\n"


@pytest.mark.parametrize("mode", ["device", "host"])
def test_a_kernel_on_freed_memory_raises_an_exception_of_the_device(child: Child, mode: str) -> None:
    child(
        with_setup(
            """
        upload()
        assert sync() == 0
        acl.ok("aclrtFree", device[1])
        launch()
        assert sync() == 507015
        assert "aclnnSigmoidBackward: an operand lies outside" in acl.message()
        assert acl.aclrtSynchronizeDevice() == 0
        """
        ),
        ASCEND_SIM_RUN_MODE=mode,
    )


def test_memory_that_a_launch_still_uses_cannot_be_freed(child: Child) -> None:
    child(
        with_setup(
            """
        upload()
        assert acl.aclrtFreeHost(pinned[0]) == 207002
        launch()
        assert acl.aclrtFree(device[2]) == 207002
        assert "synchronise first" in acl.message()
        assert sync() == 0
        acl.ok("aclrtFree", device[2])
        device[2] = acl.made("aclrtMalloc", 4 * N, 0)
        launch()
        acl.ok("aclrtFreeWithDevSync", device[2])
        acl.ok("aclrtFreeHost", pinned[0])
        """
        ),
        ASCEND_SIM_RUN_MODE="host",
        ASCEND_SIM_LATENCY_US="30000",
    )


def test_copies_in_host_mode_go_by_kind_or_by_pointer(child: Child) -> None:
    child(
        with_setup(
            """
        size = 4 * N
        upload()
        assert sync() == 0
        # Asynchronous: the kind has to fit.
        assert acl.aclrtMemcpyAsync(device[0], size, pinned[0], size, 2, stream) == 107000
        assert "dst is device memory, src is host memory" in acl.message()
        assert acl.aclrtMemcpyAsync(pinned[2], size, pinned[0], size, 1, stream) == 107000
        assert acl.aclrtMemcpyAsync(pinned[2], size, pinned[0], size, 0, stream) == 207000
        acl.ok("aclrtMemcpyAsync", device[2], size, device[0], size, 3, stream)
        acl.ok("aclrtMemcpyAsync", pinned[2], size, device[2], size, 4, stream)
        assert sync() == 0
        assert (host[2] == 2).all()
        # Synchronous: the pointers decide.
        host[2][:] = 0
        acl.ok("aclrtMemcpy", pinned[2], size, device[0], size, 1)
        assert (host[2] == 2).all()
        assert acl.aclrtMemset(pinned[2], size, 0, size) == 107000
        """
        ),
        ASCEND_SIM_RUN_MODE="host",
    )


def test_a_copy_of_pageable_memory_blocks_and_one_of_pinned_memory_does_not(child: Child) -> None:
    child(
        with_setup(
            """
        pageable = (ctypes.c_float * N)()
        start = time.monotonic()
        acl.ok("aclrtMemcpyAsync", device[0], 4 * N, pinned[0], 4 * N, 1, stream)
        not_blocked = time.monotonic() - start
        acl.ok("aclrtMemcpyAsync", ctypes.addressof(pageable), 4 * N, device[0], 4 * N, 2, stream)
        blocked = time.monotonic() - start
        assert list(pageable) == [2] * N
        assert not_blocked < 0.1 < blocked, (not_blocked, blocked)
        """
        ),
        ASCEND_SIM_RUN_MODE="host",
        ASCEND_SIM_LATENCY_US="100000",
    )


def test_streams_run_side_by_side_and_wait_for_events(child: Child) -> None:
    child(
        with_setup(
            """
        other = acl.made("aclrtCreateStream")
        event, later = acl.made("aclrtCreateEvent"), acl.made("aclrtCreateEvent")
        status = ctypes.c_int()
        upload(); launch()
        acl.ok("aclrtRecordEvent", event, stream)
        acl.ok("aclrtQueryEventStatus", event, c.address_of(status))
        assert status.value == 0
        acl.ok("aclrtStreamQuery", stream, c.address_of(status))
        assert status.value == 1
        assert acl.aclrtSynchronizeEventWithTimeout(event, 1) == 507047
        assert acl.aclrtSynchronizeStreamWithTimeout(stream, 1) == 507046
        assert acl.aclrtSynchronizeDeviceWithTimeout(1) == 507046
        acl.ok("aclrtStreamWaitEvent", other, event)
        acl.ok("aclrtQueryEventWaitStatus", event, c.address_of(status))
        assert status.value == 1
        acl.ok("aclrtMemcpyAsync", pinned[2], 4 * N, device[2], 4 * N, 2, other)
        acl.ok("aclrtRecordEvent", later, other)
        acl.ok("aclrtDestroyEvent", event)  # legal before it completes
        acl.ok("aclrtSynchronizeEvent", later)
        assert (host[2] == 0.375).all()
        acl.ok("aclrtStreamQuery", stream, c.address_of(status))
        assert status.value == 0
        """
        ),
        ASCEND_SIM_RUN_MODE="host",
        ASCEND_SIM_LATENCY_US="20000",
    )


def test_destroying_a_stream_waits_for_its_work_unless_forced(child: Child) -> None:
    child(
        with_setup(
            """
        upload(); launch(); download()
        acl.ok("aclrtDestroyStream", stream)
        assert (host[2] == 0.375).all()
        host[2][:] = 0
        stream = acl.made("aclrtCreateStream")
        upload(); launch(); download()
        acl.ok("aclrtDestroyStreamForce", stream)
        assert not host[2].any()
        for memory in device:
            acl.ok("aclrtFree", memory)
        """
        ),
        ASCEND_SIM_RUN_MODE="host",
        ASCEND_SIM_LATENCY_US="20000",
    )


@pytest.mark.parametrize("block", [0, 1])
def test_callbacks_run_on_the_thread_that_subscribed(child: Child, block: int) -> None:
    child(
        with_setup(
            f"""
        import threading
        seen = []
        callback = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(
            lambda data: seen.append((data, threading.get_ident(), float(host[2][0]))))
        function = ctypes.cast(callback, ctypes.c_void_p)
        assert acl.aclrtLaunchCallback(function, 7, {block}, stream) == 107015
        ready, done = threading.Event(), threading.Event()
        subscriber = []
        def serve():
            assert acl.aclrtProcessReport(1) == 507012
            subscriber.append(threading.get_ident())
            ready.set()
            acl.ok("aclrtProcessReport", 10000)
            done.set()
        thread = threading.Thread(target=serve)
        thread.start()
        ready.wait()
        acl.ok("aclrtSubscribeReport", subscriber[0], stream)
        assert acl.aclrtSubscribeReport(subscriber[0], stream) == 107011
        upload(); launch(); download()
        acl.ok("aclrtLaunchCallback", function, 7, {block}, stream)
        assert sync() == 0
        if {block}:
            assert seen
        assert done.wait(10)
        thread.join()
        assert seen == [(7, subscriber[0], 0.375)]
        acl.ok("aclrtUnSubscribeReport", subscriber[0], stream)
        assert acl.aclrtUnSubscribeReport(subscriber[0], stream) == 107012
        assert acl.aclrtLaunchCallback(None, 7, 0, stream) == 100000
        """
        )
    )


def test_a_forked_child_is_refused_and_the_parent_goes_on(child: Child) -> None:
    ended = child(
        with_setup(
            """
        import os
        upload(); launch()
        pid = os.fork()
        if pid == 0:
            out = ctypes.c_void_p()
            answers = {
                acl.aclInit(None), acl.aclrtSetDevice(0), acl.aclrtMalloc(c.address_of(out), 8, 0),
                acl.aclrtFree(device[0]), sync(), acl.aclrtDestroyStream(stream),
                acl.aclnnSigmoidBackward(None, 0, None, stream), acl.aclrtSynchronizeDevice(),
                acl.aclFinalize(),
                acl.aclrtDestroyEvent(None), acl.aclDestroyTensor(None),
            }
            assert "forked" in acl.message()
            assert acl.aclCreateTensor(acl.dims([1]), 1, 0, None, 0, 2, acl.dims([1]), 1, None) is None
            assert acl.aclrtGetSocName() is None
            print(answers, flush=True)
            os._exit(0)
        assert os.waitpid(pid, 0)[1] == 0
        download()
        assert sync() == 0
        assert (host[2] == 0.375).all()
        """
        ),
        ASCEND_SIM_RUN_MODE="host",
        ASCEND_SIM_LATENCY_US="5000",
    )
    assert ended.stdout == "{507033}\n"


def test_a_child_of_a_process_that_did_not_initialise_is_not_refused(child: Child) -> None:
    ended = child(
        """
        import os
        assert acl.aclrtGetSocName() == b"Ascend910B1"
        pid = os.fork()
        if pid == 0:
            acl.start()
            print("started", flush=True)
            os._exit(0)
        assert os.waitpid(pid, 0)[1] == 0
        """
    )
    assert ended.stdout == "started\n"


@pytest.mark.parametrize("how", ["sys.exit(3)", "raise SystemExit(3)", "import os; os._exit(3)"])
@pytest.mark.parametrize("mode", ["device", "host"])
def test_a_process_may_end_with_work_under_way(child: Child, mode: str, how: str) -> None:
    text = SETUP + "for _ in range(20):\n    upload(); launch(); download()\n" + how
    ended = child(text, check=False, ASCEND_SIM_RUN_MODE=mode, ASCEND_SIM_LATENCY_US="2000")
    assert ended.returncode == 3, ended.stderr
    assert ended.stderr == ""


def test_many_threads_launch_on_streams_of_their_own(child: Child) -> None:
    for mode in ("device", "host"):
        child(
            with_setup(
                """
        import threading
        faults = []
        def body(seed):
            try:
                acl.ok("aclrtSetDevice", 0)
                own = acl.made("aclrtCreateStream")
                count = 5000 + seed
                source = np.full(count, 2 + seed, np.float32), np.full(count, 0.25, np.float32)
                back = np.zeros(count, np.float32)
                memory = [acl.made("aclrtMalloc", 4 * count, 0) for _ in range(3)]
                for _ in range(30):
                    for i in (0, 1):
                        host = source[i].ctypes.data
                        acl.ok("aclrtMemcpyAsync", memory[i], 4 * count, host, 4 * count, 1, own)
                    made = [acl.tensor(p, [count], 0) for p in memory]
                    status, _, executor = acl.phase_one(*made)
                    assert status == 0
                    assert acl.aclnnSigmoidBackward(None, 0, executor, own) == 0
                    for tensor in made:
                        acl.ok("aclDestroyTensor", tensor)
                    acl.ok("aclrtMemcpyAsync", back.ctypes.data, 4 * count, memory[2], 4 * count, 2, own)
                    acl.ok("aclrtSynchronizeStream", own)
                    assert (back == (2 + seed) * 0.1875).all()
                    back[:] = 0
                for p in memory:
                    acl.ok("aclrtFree", p)
                acl.ok("aclrtDestroyStream", own)
            except BaseException as fault:
                faults.append(repr(fault))
        threads = [threading.Thread(target=body, args=(seed,)) for seed in range(5)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not faults, faults
        """
            ),
            ASCEND_SIM_RUN_MODE=mode,
        )


def test_an_operand_that_is_not_aligned_to_its_elements_raises_an_exception_of_the_device(
    child: Child,
) -> None:
    child(
        with_setup(
            """
        device[0] += 2
        N = 3
        launch()
        assert sync() == 507015
        assert "not aligned" in acl.message()
        """
        )
    )
