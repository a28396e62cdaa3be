"""Devices, contexts, streams and events: their handles, order of life and codes."""

from __future__ import annotations

import ctypes
import threading
import time
from collections.abc import Callable
from typing import Any

import simulator.acl as c
from onnx_ascend_ext import simulator
from simulator.acl import Acl, address_of

Child = Callable[..., Any]
FOREIGN = ctypes.create_string_buffer(4096)


def foreign() -> int:
    return ctypes.addressof(FOREIGN) + 64


def in_thread(body: Callable[[], Any]) -> Any:
    answers: list[Any] = []
    thread = threading.Thread(target=lambda: answers.append(body()))
    thread.start()
    thread.join()
    assert answers
    return answers[0]


def test_every_use_of_a_device_before_initialisation_is_refused(child: Child) -> None:
    child(
        """
        out = ctypes.c_void_p()
        for name, arguments in [
            ("aclrtSetDevice", (0,)),
            ("aclrtResetDevice", (0,)),
            ("aclrtCreateContext", (c.address_of(out), 0)),
            ("aclrtMalloc", (c.address_of(out), 64, 0)),
            ("aclrtMallocHost", (c.address_of(out), 64)),
            ("aclrtFree", (4096,)),
            ("aclrtCreateStream", (c.address_of(out),)),
            ("aclrtSynchronizeStream", (None,)),
            ("aclrtCreateEvent", (c.address_of(out),)),
            ("aclrtMemcpy", (4096, 8, 8192, 8, 0)),
        ]:
            assert getattr(acl, name)(*arguments) == 100001, name
            assert "call aclInit first" in acl.message(), name
        # Questions about the machine need no initialisation.
        assert acl.asked("aclrtGetDeviceCount", ctypes.c_uint32) == 1
        assert acl.aclrtGetSocName() == b"Ascend910B1"
        acl.start()
        acl.made("aclrtCreateStream")
        """
    )


def test_initialisation_is_counted_and_finalising_ignores_the_count(child: Child) -> None:
    child(
        """
        count = ctypes.c_uint64()
        assert acl.aclFinalizeReference(c.address_of(count)) == 100037
        assert acl.aclInit(b"/no/such/file.json") == 100003
        assert [acl.aclInit(None) for _ in range(3)] == [0, 100002, 100002]
        assert acl.aclFinalizeReference(c.address_of(count)) == 0 and count.value == 2
        assert acl.aclrtSetDevice(0) == 0
        assert acl.aclFinalize() == 0
        assert acl.aclFinalize() == 100037
        assert acl.aclrtSetDevice(0) == 100001
        assert acl.aclInit(None) == 0
        assert acl.aclrtSetDevice(0) == 0
        assert acl.aclFinalizeReference(None) == 0
        assert acl.aclFinalizeReference(None) == 100037
        # aclnn's own, lighter pair may be mixed in.
        assert acl.aclnnInit(None) == 0
        assert acl.aclrtSetDevice(0) == 0
        assert acl.aclnnFinalize() == 0
        assert acl.aclrtSetDevice(0) == 100001
        """
    )


def test_a_thread_without_a_device_is_refused(acl: Acl) -> None:
    stream = acl.made("aclrtCreateStream")
    event = acl.made("aclrtCreateEvent")
    memory = acl.made("aclrtMalloc", 64, 0)

    def body() -> dict[str, int]:
        out = ctypes.c_void_p()
        return {
            "aclrtMalloc": acl.aclrtMalloc(address_of(out), 64, 0),
            "aclrtMallocHost": acl.aclrtMallocHost(address_of(out), 64),
            "aclrtCreateStream": acl.aclrtCreateStream(address_of(out)),
            "aclrtCreateEvent": acl.aclrtCreateEvent(address_of(out)),
            "aclrtRecordEvent": acl.aclrtRecordEvent(event, stream),
            "aclrtMemcpy": acl.aclrtMemcpy(memory, 64, foreign(), 64, 1),
            "aclrtMemcpyAsync": acl.aclrtMemcpyAsync(memory, 64, foreign(), 64, 1, stream),
            "aclrtMemset": acl.aclrtMemset(memory, 64, 0, 64),
            "aclrtGetDevice": acl.aclrtGetDevice(address_of(out)),
            "aclrtGetCurrentContext": acl.aclrtGetCurrentContext(address_of(out)),
            "aclrtSynchronizeDevice": acl.aclrtSynchronizeDevice(),
            "aclrtFree": acl.aclrtFree(memory),
        }

    answers = in_thread(body)
    assert answers == dict.fromkeys(answers, 107002)
    # A stream may be awaited from anywhere.
    assert in_thread(lambda: acl.aclrtSynchronizeStream(stream)) == 0
    acl.ok("aclrtFree", memory)
    acl.ok("aclrtDestroyEvent", event)
    acl.ok("aclrtDestroyStream", stream)


def test_a_kernel_in_a_thread_without_a_device(acl: Acl) -> None:
    memory = (ctypes.c_float * 8)()
    made = [acl.tensor(ctypes.addressof(memory), [8], 0) for _ in range(3)]
    half = [acl.tensor(ctypes.addressof(memory), [8], 27) for _ in range(3)]
    status, _, executor = acl.phase_one(*made)
    assert status == 0

    def body() -> list[int]:
        return [
            acl.phase_one(*made)[0],
            acl.aclrtGetLastError(0),
            acl.phase_one(*half)[0],
            acl.aclnnSigmoidBackward(None, 0, executor, None),
            acl.aclrtPeekAtLastError(0),
            acl.aclrtGetLastError(0),
            acl.aclrtGetLastError(0),
        ]

    assert in_thread(body) == [361001, 107002, 161002, 361001, 107002, 107002, 0]
    for tensor in made + half:
        acl.ok("aclDestroyTensor", tensor)


def test_work_for_a_stream_of_another_context_is_refused(acl: Acl) -> None:
    stream = acl.made("aclrtCreateStream")
    event = acl.made("aclrtCreateEvent")
    primary = acl.asked("aclrtGetCurrentContext", ctypes.c_void_p)
    other = acl.made("aclrtCreateContext", 0)
    assert acl.asked("aclrtGetCurrentContext", ctypes.c_void_p) == other
    memory = (ctypes.c_float * 8)()
    made = [acl.tensor(ctypes.addressof(memory), [8], 0) for _ in range(3)]
    status, _, executor = acl.phase_one(*made)
    assert status == 0
    assert acl.aclnnSigmoidBackward(None, 0, executor, stream) == 361001
    assert acl.aclrtGetLastError(0) == 107003
    assert "another context" in acl.message()
    assert acl.aclrtRecordEvent(event, stream) == 107003
    assert acl.aclrtStreamWaitEvent(stream, event) == 107003
    assert acl.aclrtMemsetAsync(foreign(), 8, 0, 8, stream) == 107003
    assert acl.aclrtMemcpyAsync(foreign(), 8, foreign(), 8, 3, stream) == 107003
    assert acl.aclrtDestroyStream(stream) == 107003
    assert acl.aclrtSynchronizeStream(stream) == 0
    acl.ok("aclrtSetCurrentContext", primary)
    acl.ok("aclrtDestroyStream", stream)
    acl.ok("aclrtDestroyEvent", event)
    acl.ok("aclrtDestroyContext", other)
    for tensor in made:
        acl.ok("aclDestroyTensor", tensor)
    acl.message()


def test_contexts(acl: Acl) -> None:
    primary = acl.asked("aclrtGetCurrentContext", ctypes.c_void_p)
    assert acl.aclrtDestroyContext(primary) == 107000
    assert acl.aclrtSetCurrentContext(None) == 100000
    assert acl.aclrtSetCurrentContext(foreign()) == 107017
    context = acl.made("aclrtCreateContext", 0)
    acl.ok("aclrtDestroyContext", context)
    # The thread's context is gone.
    assert acl.aclrtMalloc(address_of(ctypes.c_void_p()), 8, 0) == 107002
    assert acl.aclrtDestroyContext(context) == 107017
    assert acl.aclrtSetCurrentContext(context) == 107017
    assert "was destroyed before" in acl.message()
    acl.ok("aclrtSetCurrentContext", primary)
    assert acl.aclrtCreateContext(address_of(ctypes.c_void_p()), 1) == 107001
    active, flags = ctypes.c_int32(), ctypes.c_uint32()
    acl.ok("aclrtGetPrimaryCtxState", 0, address_of(flags), address_of(active))
    assert active.value == 1
    acl.message()


def test_a_device_is_counted_by_its_settings(child: Child) -> None:
    child(
        """
        acl.start()
        acl.ok("aclrtSetDevice", 0)
        stream = acl.made("aclrtCreateStream")
        memory = acl.made("aclrtMalloc", 64, 0)
        acl.ok("aclrtResetDevice", 0)
        acl.ok("aclrtSynchronizeStream", stream)
        acl.ok("aclrtResetDevice", 0)
        # The last reset takes the primary context, its streams and the memory along.
        assert acl.aclrtSynchronizeStream(stream) == 107017
        assert acl.aclrtFree(memory) == 107002
        assert acl.aclrtResetDevice(0) == 107002
        acl.ok("aclrtSetDevice", 0)
        assert acl.aclrtFree(memory) == 107000
        acl.ok("aclrtSetDevice", 0)
        acl.ok("aclrtResetDeviceForce", 0)
        assert acl.aclrtResetDevice(0) == 107002
        for device in (-1, 1, 99):
            assert acl.aclrtSetDevice(device) == 107001
        """
    )


def test_streams(acl: Acl) -> None:
    stream = acl.made("aclrtCreateStream")
    with_config = acl.made("aclrtCreateStreamWithConfig", 0, 3)
    status = ctypes.c_int(7)
    acl.ok("aclrtStreamQuery", stream, address_of(status))
    assert status.value == 0
    assert acl.aclrtCreateStream(None) == 100000
    assert acl.aclrtDestroyStream(None) == 100000
    assert acl.aclrtDestroyStream(foreign()) == 107017
    assert acl.aclrtSynchronizeStreamWithTimeout(stream, -2) == 107000
    acl.ok("aclrtSynchronizeStreamWithTimeout", stream, -1)
    acl.ok("aclrtSynchronizeStream", None)
    acl.ok("aclrtDestroyStream", stream)
    for name in ("aclrtSynchronizeStream", "aclrtDestroyStream", "aclrtDestroyStreamForce"):
        assert getattr(acl, name)(stream) == 107017
        assert "was destroyed before" in acl.message()
    default = acl.asked("aclrtCtxGetCurrentDefaultStream", ctypes.c_void_p)
    assert acl.aclrtDestroyStream(default) == 107000
    acl.ok("aclrtDestroyStreamForce", with_config)
    acl.message()


def test_a_stream_that_was_destroyed_takes_no_launch(acl: Acl) -> None:
    stream = acl.made("aclrtCreateStream")
    acl.ok("aclrtDestroyStream", stream)
    memory = (ctypes.c_float * 8)()
    made = [acl.tensor(ctypes.addressof(memory), [8], 0) for _ in range(3)]
    _, _, executor = acl.phase_one(*made)
    assert acl.aclnnSigmoidBackward(None, 0, executor, stream) == 361001
    assert "was destroyed before" in acl.message()
    assert acl.aclrtGetLastError(0) == 107017
    for tensor in made:
        acl.ok("aclDestroyTensor", tensor)


def test_events(acl: Acl) -> None:
    stream = acl.made("aclrtCreateStream")
    start, end = acl.made("aclrtCreateEvent"), acl.made("aclrtCreateEvent")
    recorded = ctypes.c_int()
    acl.ok("aclrtQueryEventStatus", start, address_of(recorded))
    assert recorded.value == 1, "before the first record a question says complete"
    ms = ctypes.c_float()
    assert acl.aclrtEventElapsedTime(address_of(ms), start, end) == 507006
    for event in (start, end):
        acl.ok("aclrtRecordEvent", event, stream)
    acl.ok("aclrtStreamWaitEvent", stream, start)
    acl.ok("aclrtSynchronizeEvent", end)
    acl.ok("aclrtSynchronizeEventWithTimeout", end, 10)
    acl.ok("aclrtEventElapsedTime", address_of(ms), start, end)
    assert 0 <= ms.value < 1000
    waits = ctypes.c_int(9)
    acl.ok("aclrtSynchronizeStream", stream)
    acl.ok("aclrtQueryEventWaitStatus", start, address_of(waits))
    assert waits.value == 0
    acl.ok("aclrtResetEvent", start, stream)
    assert acl.aclrtEventElapsedTime(address_of(ms), start, end) == 507006
    acl.ok("aclrtDestroyEvent", start)
    assert acl.aclrtDestroyEvent(start) == 107017
    assert acl.aclrtRecordEvent(start, stream) == 107017
    assert acl.aclrtDestroyEvent(None) == 100000
    assert acl.aclrtDestroyEvent(foreign()) == 107017
    acl.ok("aclrtDestroyEvent", end)
    acl.ok("aclrtDestroyStream", stream)
    acl.message()


def test_what_an_event_may_be_used_for_depends_on_how_it_was_made(acl: Acl) -> None:
    flags = c.constants()
    timed = acl.made("aclrtCreateEventWithFlag", flags["ACL_EVENT_TIME_LINE"])
    assert acl.aclrtStreamWaitEvent(None, timed) == 107000
    synced = acl.made("aclrtCreateEventWithFlag", flags["ACL_EVENT_SYNC"])
    acl.ok("aclrtRecordEvent", synced, None)
    acl.ok("aclrtStreamWaitEvent", None, synced)
    ms = ctypes.c_float()
    assert acl.aclrtEventElapsedTime(address_of(ms), synced, timed) == 107006
    extended = acl.made("aclrtCreateEventExWithFlag", flags["ACL_EVENT_SYNC"])
    assert acl.aclrtResetEvent(extended, None) == 107000
    assert acl.aclrtCreateEventWithFlag(address_of(ctypes.c_void_p()), 0) == 107000
    assert acl.aclrtCreateEventWithFlag(address_of(ctypes.c_void_p()), 0x8000) == 107000
    for event in (timed, synced, extended):
        acl.ok("aclrtDestroyEvent", event)
    acl.message()


def test_messages_belong_to_their_thread_and_are_cleared_by_asking(acl: Acl) -> None:
    assert acl.aclrtFree(None) == 100000
    assert in_thread(acl.message) == ""
    assert acl.message() == "aclrtFree: devPtr is nullptr"
    assert acl.message() == ""
    assert acl.aclGetRecentErrMsg() is None


def test_violations_are_counted_apart_from_plain_errors(acl: Acl) -> None:
    before = simulator.counters()["violations"]
    assert acl.aclrtFree(None) == 100000
    assert simulator.counters()["violations"] == before
    assert acl.aclrtFree(foreign()) == 107000
    assert simulator.counters()["violations"] == before + 1
    acl.message()


def test_handles_made_and_destroyed_by_many_threads(acl: Acl) -> None:
    faults: list[Any] = []

    def body() -> None:
        try:
            acl.ok("aclrtSetDevice", 0)
            for round_ in range(60):
                stream, event = acl.made("aclrtCreateStream"), acl.made("aclrtCreateEvent")
                memory, host = acl.made("aclrtMalloc", 100 + round_, 0), acl.made("aclrtMallocHost", 64)
                acl.ok("aclrtMemcpyAsync", memory, 64, host, 64, 1, stream)
                acl.ok("aclrtRecordEvent", event, stream)
                tensor = acl.tensor(memory, [4], 0)
                acl.ok("aclrtSynchronizeEvent", event)
                acl.ok("aclDestroyTensor", tensor)
                acl.ok("aclrtFree", memory)
                acl.ok("aclrtFreeHost", host)
                acl.ok("aclrtDestroyEvent", event)
                acl.ok("aclrtDestroyStream", stream)
            acl.ok("aclrtResetDevice", 0)
        except BaseException as fault:
            faults.append(fault)

    threads = [threading.Thread(target=body) for _ in range(6)]
    started = time.monotonic()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not faults
    assert time.monotonic() - started < 30
