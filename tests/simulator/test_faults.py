"""Injected faults and counters."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import pytest

from onnx_ascend_ext import simulator
from simulator.acl import Acl, address_of, prototypes

Child = Callable[..., Any]

# The three functions that answer with text or a number, and cannot report a code.
WITHOUT_CODE = {"aclrtGetSocName", "aclGetRecentErrMsg", "aclDataTypeSize"}

LIFE = """
import numpy as np

class Failed(Exception):
    pass

def step(name, *arguments):
    status = getattr(acl, name)(*arguments)
    if status != 0:
        text = acl.message()
        raise Failed(name, status, text)

def made(name, *arguments):
    out = ctypes.c_void_p()
    step(name, c.address_of(out), *arguments)
    return out.value

def life():
    undo = []
    try:
        step("aclrtSetDevice", 0)
        undo.append(lambda: acl.aclrtResetDevice(0))
        stream = made("aclrtCreateStream")
        undo.append(lambda: acl.aclrtDestroyStream(stream))
        event = made("aclrtCreateEvent")
        undo.append(lambda: acl.aclrtDestroyEvent(event))
        pinned = made("aclrtMallocHost", 64)
        undo.append(lambda: acl.aclrtFreeHost(pinned))
        memory = []
        for _ in range(3):
            memory.append(made("aclrtMalloc", 64, 0))
            undo.append(lambda p=memory[-1]: acl.aclrtFree(p))
        (ctypes.c_float * 16).from_address(pinned)[:] = [0.25] * 16
        for p in memory[:2]:
            step("aclrtMemcpyAsync", p, 64, pinned, 64, 1, stream)
        tensors = []
        for p in memory:
            tensor = acl.aclCreateTensor(acl.dims([16]), 1, 0, None, 0, 2, acl.dims([16]), 1, p)
            if tensor is None:
                raise Failed("aclCreateTensor", 0, acl.message())
            tensors.append(tensor)
            undo.append(lambda t=tensor: acl.aclDestroyTensor(t))
        status, size, executor = acl.phase_one(*tensors)
        if status != 0:
            raise Failed("aclnnSigmoidBackwardGetWorkspaceSize", status, acl.message())
        step("aclnnSigmoidBackward", None, 0, executor, stream)
        step("aclrtMemcpyAsync", pinned, 64, memory[2], 64, 2, stream)
        step("aclrtRecordEvent", event, stream)
        step("aclrtSynchronizeEvent", event)
        step("aclrtSynchronizeStream", stream)
        return (ctypes.c_float * 16).from_address(pinned)[:]
    finally:
        acl.aclrtSynchronizeDevice()
        for release in reversed(undo):
            release()

import json
def counters():
    text = ctypes.create_string_buffer(1 << 16)
    acl.onnx_ascend_sim_counters(text, len(text))
    return json.loads(text.value)

def live():
    return {name: n for name, n in counters().items() if name.startswith("live_") and n}

acl.ok("aclInit", None)
"""


@pytest.mark.parametrize("mode", ["device", "host"])
def test_a_fault_at_every_call_of_a_life_is_reported_and_leaks_nothing(child: Child, mode: str) -> None:
    """The failure is seen, nothing stays alive, and the next life is right."""
    ended = child(
        LIFE
        + """
expected = [0.25 * 0.75 * 0.25] * 16
acl.onnx_ascend_sim_reset()
assert life() == expected
calls = {name: n for name, n in counters().items() if name[:3] in ("acl", "Acl") and n}
calls.pop("aclGetRecentErrMsg", None)
sweeps = 0
for name, count in calls.items():
    for nth in range(1, count + 1):
        acl.library.onnx_ascend_sim_fault(name.encode(), ctypes.c_uint64(nth), 507899)
        try:
            life()
            failed = None
        except Failed as failure:
            failed = failure.args
        if failed is not None:
            assert failed[0] == name and failed[1] in (507899, 0) and "injected fault" in failed[2], failed
        else:
            # Only functions that release, destroy or wait go unnoticed by this program.
            assert any(word in name for word in ("Free", "Destroy", "Reset", "SynchronizeDevice")), name
        acl.onnx_ascend_sim_reset()
        assert not live(), (name, nth, live())
        assert life() == expected, (name, nth)
        sweeps += 1
print(sweeps)
""",
        ASCEND_SIM_RUN_MODE=mode,
    )
    assert int(ended.stdout) > 25


@pytest.mark.parametrize("function", sorted(set(prototypes()) - WITHOUT_CODE))
def test_every_function_can_be_made_to_fail(acl: Acl, function: str) -> None:
    if function in ("aclFinalize", "aclFinalizeReference", "aclrtResetDevice", "aclrtResetDeviceForce"):
        pytest.skip("would end ACL for this process; the sweep has it in a process of its own")
    before = simulator.counters()[function]
    with simulator.fault(function, code=123456):
        called = getattr(acl.library, function)
        answer = called(*(None if t in (ctypes.c_void_p, ctypes.c_char_p) else 0 for t in called.argtypes))
        if called.restype is ctypes.c_void_p:
            assert answer is None
        else:
            assert answer == 123456
        if function not in ("aclrtGetLastError", "aclrtPeekAtLastError"):
            assert acl.message() == f"{function}: injected fault"
    assert simulator.counters()[function] == before + 1


def test_the_nth_call_fails_and_only_that(acl: Acl) -> None:
    out = ctypes.c_int()
    ask = lambda: acl.aclrtGetRunMode(address_of(out))  # noqa: E731
    with simulator.fault("aclrtGetRunMode", 2, code=5), simulator.fault("aclrtGetRunMode", 4, code=6):
        assert [ask() for _ in range(6)] == [0, 5, 0, 6, 0, 0]
    with simulator.fault("aclrtGetRunMode", 2, code=5):
        ask()
    assert ask() == 0, "cleared at the end of the block"
    fault = simulator.fault("aclrtGetRunMode", code=7)
    fault.clear()
    assert ask() == 0
    simulator.fault("aclrtGetRunMode")
    assert ask() == 500000
    simulator.fault("aclrtGetRunMode", code=7)
    simulator.reset()
    assert ask() == 0
    acl.message()


def test_a_releasing_function_releases_before_it_fails(acl: Acl) -> None:
    memory = acl.made("aclrtMalloc", 64, 0)
    with simulator.fault("aclrtFree", code=507899):
        assert acl.aclrtFree(memory) == 507899
    assert acl.aclrtFree(memory) == 107000
    acl.message()


def test_faults_of_the_environment(child: Child) -> None:
    text = """
        out = ctypes.c_void_p()
        assert acl.aclInit(None) == 0
        acl.ok("aclrtSetDevice", 0)
        print([acl.aclrtMalloc(c.address_of(out), 8, 0) for _ in range(4)], acl.aclrtSetDevice(0))
        """
    faults = "aclrtMalloc:2:207001,aclrtSetDevice:2:507033,aclrtMalloc:4:5"
    assert child(text, ASCEND_SIM_FAULT=faults).stdout == "[0, 207001, 0, 5] 507033\n"
    for wrong in ("aclrtMallocs:1:5", "aclrtMalloc:0:5", "aclrtMalloc:1", "aclrtMalloc:1:0", "x"):
        ended = child(text, ASCEND_SIM_FAULT=wrong)
        assert f"'{wrong}' is not function:nth:code" in ended.stderr
        assert ended.stdout == "[0, 0, 0, 0] 0\n"


@pytest.mark.parametrize(
    ("function", "nth", "code"), [("aclrtNoSuch", 1, 5), ("aclrtMalloc", 0, 5), ("aclrtMalloc", 1, 0)]
)
def test_a_fault_that_cannot_happen_is_refused(function: str, nth: int, code: int) -> None:
    with pytest.raises(ValueError, match=function):
        simulator.fault(function, nth, code)


def test_counters_count_calls_copies_and_launches(acl: Acl) -> None:
    memory, host = acl.made("aclrtMalloc", 64, 0), acl.made("aclrtMallocHost", 64)
    simulator.reset()
    acl.ok("aclrtMemcpy", memory, 64, host, 64, 1)
    acl.ok("aclrtMemcpy", host, 64, memory, 64, 2)
    acl.ok("aclrtMemcpyAsync", host, 64, memory, 64, 2, None)
    made = [acl.tensor(memory, [16], 0) for _ in range(3)]
    _, _, executor = acl.phase_one(*made)
    acl.ok("aclnnSigmoidBackward", None, 0, executor, None)
    now = simulator.counters()
    assert now["aclrtMemcpy"] == 2
    assert now["aclrtMemcpyAsync"] == 1
    assert now["aclCreateTensor"] == 3
    assert now["launches"] == 1
    assert (now["copies_host_to_device"], now["copies_device_to_host"]) == (1, 2)
    assert now["live_tensors"] >= 3
    assert now["live_device_allocations"] >= 1
    assert now["bytes_in_use"] >= 64
    for tensor in made:
        acl.ok("aclDestroyTensor", tensor)
    acl.ok("aclrtFree", memory)
    acl.ok("aclrtFreeHost", host)
    after = simulator.counters()
    assert after["bytes_in_use"] == now["bytes_in_use"] - 64
    assert set(prototypes()) <= set(after), "every function is counted"
    simulator.reset()
    assert simulator.counters()["aclrtMemcpy"] == 0


def test_counters_are_cut_off_at_the_capacity(acl: Acl) -> None:
    function = acl.library.onnx_ascend_sim_counters
    whole = function(None, ctypes.c_size_t(0))
    small = ctypes.create_string_buffer(b"#" * 16, 16)
    assert function(small, ctypes.c_size_t(8)) == whole
    assert small.raw[7:9] == b"\0#"
