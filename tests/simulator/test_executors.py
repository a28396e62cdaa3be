"""The executor rules of libnnopbase: one-shot, cached and repeatable executors."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import simulator.acl as c
from onnx_ascend_ext import simulator
from simulator.acl import Acl

Child = Callable[..., Any]


class Call:
    """Three tensors of one shape that no other test uses, so that their executor is not cached yet."""

    shapes = iter(range(40_009, 60_000))

    def __init__(self, acl: Acl, dtype: str = "f4") -> None:
        self.acl = acl
        self.count = next(self.shapes)
        self.dy = np.full(self.count, 2.0, dtype)
        self.y = np.full(self.count, 0.25, dtype)
        self.out = np.zeros(self.count, dtype)
        acl_type = {"f4": c.constants()["ACL_FLOAT"], "f8": 11, "c8": 16, "c16": 17}[dtype]
        self.tensors = [
            acl.tensor(array.ctypes.data, [self.count], acl_type) for array in (self.dy, self.y, self.out)
        ]

    def one(self) -> int:
        """Phase 1, which has to succeed; the executor."""
        status, size, executor = self.acl.phase_one(*self.tensors)
        assert (status, size) == (0, 0), self.acl.message()
        return executor

    def two(self, executor: int) -> int:
        status: int = self.acl.aclnnSigmoidBackward(None, 0, executor, None)
        self.acl.ok("aclrtSynchronizeStream", None)
        return status

    def computed(self) -> bool:
        """Whether the result was written since the last time."""
        done = bool((self.out == 0.375).all())
        self.out[:] = 0
        return done

    def end(self) -> None:
        for tensor in self.tensors:
            self.acl.ok("aclDestroyTensor", tensor)
        self.tensors = []


@pytest.fixture
def call(acl: Acl) -> Iterator[Call]:
    made = Call(acl)
    yield made
    made.end()


def hits() -> int:
    return simulator.counters()["executor_cache_hits"]


def test_phase_two_consumes_its_executor(acl: Acl, call: Call) -> None:
    executor = call.one()
    assert call.two(executor) == 0
    assert call.computed()
    assert call.two(executor) == 561000
    assert "consumed" in acl.message()
    assert not call.computed()


def test_phase_two_consumes_its_executor_also_when_it_fails(acl: Acl, call: Call) -> None:
    executor = call.one()
    assert acl.aclnnSigmoidBackward(None, 64, executor, None) == 161001
    assert call.two(executor) == 561000
    executor = call.one()
    with simulator.fault("aclnnSigmoidBackward", code=361001):
        assert call.two(executor) == 361001
    assert call.two(executor) == 561000
    acl.message()


def test_a_call_is_a_cache_hit_once_a_launch_of_it_succeeded(call: Call) -> None:
    before = hits()
    first, second = call.one(), call.one()
    assert hits() == before
    assert call.two(first) == 0
    assert hits() == before
    third = call.one()
    assert hits() == before + 1
    for executor in (second, third):
        assert call.two(executor) == 0
        assert call.computed()


def test_an_executor_that_never_ran_leaves_nothing_in_the_cache(acl: Acl, call: Call) -> None:
    before = hits()
    acl.ok("aclDestroyAclOpExecutor", call.one())
    assert call.two(call.one()) == 0
    assert hits() == before
    assert call.two(call.one()) == 0
    assert hits() == before + 1


def test_the_cache_tells_apart_everything_but_addresses(acl: Acl, call: Call) -> None:
    assert call.two(call.one()) == 0
    before = hits()
    n = call.count
    for change in (
        {"form": 0},
        {"storage": [n + 1]},
        {"offset": 1, "storage": [n + 1]},
        {"strides": [2], "storage": [2 * n]},
    ):
        other = acl.tensor(call.y.ctypes.data, [n], 0, **change)
        status, _, executor = acl.phase_one(call.tensors[0], other, call.tensors[2])
        assert status == 0
        acl.ok("aclDestroyAclOpExecutor", executor)
        acl.ok("aclDestroyTensor", other)
    # The same tensor twice is another call than two tensors alike.
    status, _, executor = acl.phase_one(call.tensors[0], call.tensors[0], call.tensors[2])
    acl.ok("aclDestroyAclOpExecutor", executor)
    assert hits() == before
    moved = acl.tensor(call.y.ctypes.data + 0, [n], 0)
    status, _, executor = acl.phase_one(call.tensors[0], moved, call.tensors[2])
    acl.ok("aclDestroyAclOpExecutor", executor)
    acl.ok("aclDestroyTensor", moved)
    assert hits() == before + 1


def test_every_thread_has_a_cache_of_its_own(acl: Acl, call: Call) -> None:
    assert call.two(call.one()) == 0
    before = hits()

    def elsewhere() -> None:
        acl.ok("aclrtSetDevice", 0)
        assert call.two(call.one()) == 0
        acl.ok("aclrtResetDevice", 0)

    thread = threading.Thread(target=elsewhere)
    thread.start()
    thread.join()
    assert hits() == before
    assert call.two(call.one()) == 0
    assert hits() == before + 1


@pytest.mark.parametrize("dtype", ["f8", "c8", "c16"])
def test_doubles_and_complex_numbers_are_never_cached_and_never_repeatable(acl: Acl, dtype: str) -> None:
    call = Call(acl, dtype)
    before = hits()
    for _ in range(3):
        executor = call.one()
        assert acl.aclSetAclOpExecutorRepeatable(executor) == 561000
        assert call.two(executor) == 0
        assert call.computed()
    assert hits() == before
    call.end()


def test_a_repeatable_executor_runs_until_it_is_destroyed(acl: Acl, call: Call) -> None:
    executor = call.one()
    acl.ok("aclSetAclOpExecutorRepeatable", executor)
    for _ in range(3):
        assert call.two(executor) == 0
        assert call.computed()
    acl.ok("aclDestroyAclOpExecutor", executor)
    assert call.two(executor) == 561000
    assert acl.aclDestroyAclOpExecutor(executor) == 561000
    assert "destroyed before" in acl.message()


def test_a_repeatable_executor_survives_a_failed_launch(acl: Acl, call: Call) -> None:
    executor = call.one()
    acl.ok("aclSetAclOpExecutorRepeatable", executor)
    with simulator.fault("aclnnSigmoidBackward", code=361001):
        assert call.two(executor) == 361001
    assert call.two(executor) == 0
    # Only a missing workspace takes it along.
    assert acl.aclnnSigmoidBackward(None, 64, executor, None) == 161001
    assert call.two(executor) == 561000
    acl.message()


def test_repeatability_is_refused_out_of_the_cache_and_grants_a_new_executor_afterwards(
    acl: Acl, call: Call
) -> None:
    assert call.two(call.one()) == 0
    hit = call.one()
    assert acl.aclSetAclOpExecutorRepeatable(hit) == 561000
    assert "cache" in acl.message()
    assert call.two(hit) == 0
    assert call.computed()


def test_a_granted_repeatability_takes_the_entry_out_of_the_cache(acl: Acl, call: Call) -> None:
    executor = call.one()
    acl.ok("aclSetAclOpExecutorRepeatable", executor)
    assert call.two(executor) == 0
    before = hits()
    other = call.one()
    assert hits() == before
    acl.ok("aclSetAclOpExecutorRepeatable", other)
    for made in (executor, other):
        acl.ok("aclDestroyAclOpExecutor", made)


def test_repeatability_is_refused_after_another_phase_one_or_on_another_thread(acl: Acl, call: Call) -> None:
    first, second = call.one(), call.one()
    assert acl.aclSetAclOpExecutorRepeatable(first) == 561000
    answers: list[int] = []
    thread = threading.Thread(target=lambda: answers.append(acl.aclSetAclOpExecutorRepeatable(second)))
    thread.start()
    thread.join()
    assert answers == [561000]
    acl.ok("aclSetAclOpExecutorRepeatable", second)
    for executor in (first, second):
        acl.ok("aclDestroyAclOpExecutor", executor)
    acl.message()


SETTERS = ["aclSetInputTensorAddr", "aclSetOutputTensorAddr", "aclSetTensorAddr"]
SETTERS += [name.replace("acl", "Acl", 1) for name in SETTERS]


@pytest.mark.parametrize("setter", SETTERS)
def test_addresses_can_be_set_on_a_repeatable_executor_whatever_the_index(
    acl: Acl, call: Call, setter: str
) -> None:
    executor = call.one()
    acl.ok("aclSetAclOpExecutorRepeatable", executor)
    elsewhere = np.zeros(call.count, "f4")
    acl.ok(setter, executor, 17, call.tensors[2], elsewhere.ctypes.data)
    assert call.two(executor) == 0
    assert (elsewhere == 0.375).all()
    assert not call.computed()
    acl.ok("aclDestroyAclOpExecutor", executor)


def test_setting_an_address_does_nothing_to_an_executor_out_of_the_cache(acl: Acl, call: Call) -> None:
    assert call.two(call.one()) == 0
    call.computed()
    executor = call.one()
    elsewhere = np.zeros(call.count, "f4")
    acl.ok("aclSetOutputTensorAddr", executor, 0, call.tensors[2], elsewhere.ctypes.data)
    assert call.two(executor) == 0
    assert not elsewhere.any()
    assert call.computed()


def test_a_hit_takes_the_addresses_of_its_own_phase_one(acl: Acl, call: Call) -> None:
    assert call.two(call.one()) == 0
    call.computed()
    elsewhere = np.zeros(call.count, "f4")
    acl.ok("aclSetRawTensorAddr", call.tensors[2], elsewhere.ctypes.data)
    assert call.two(call.one()) == 0
    assert (elsewhere == 0.375).all()
    assert not call.computed()


def test_lists_set_the_address_of_their_tensor(acl: Acl, call: Call) -> None:
    executor = call.one()
    elsewhere = np.zeros(call.count, "f4")
    handles = (ctypes.c_void_p * 1)(call.tensors[2])
    tensors = acl.aclCreateTensorList(handles, 1)
    assert acl.asked("aclGetTensorListSize", ctypes.c_uint64, tensors) == 1
    assert acl.aclSetDynamicTensorAddr(executor, 0, 1, tensors, elsewhere.ctypes.data) == 161002
    acl.ok("AclSetDynamicOutputTensorAddr", executor, 0, 0, tensors, elsewhere.ctypes.data)
    assert call.two(executor) == 0
    assert (elsewhere == 0.375).all()
    acl.ok("aclDestroyTensorList", tensors)
    assert acl.aclDestroyTensor(call.tensors[2]) == 161002, "the list destroys its tensors"
    call.tensors.pop()
    acl.message()


@pytest.mark.parametrize("cached", [False, True])
def test_a_tensor_that_is_destroyed_between_the_phases_is_noticed(acl: Acl, call: Call, cached: bool) -> None:
    if cached:
        assert call.two(call.one()) == 0
    executor = call.one()
    acl.ok("aclDestroyTensor", call.tensors.pop(1))
    assert call.two(executor) == 561103
    assert "output was destroyed between the two phases" in acl.message()
    assert call.two(executor) == 561000


def test_a_repeatable_executor_needs_its_tensors(acl: Acl, call: Call) -> None:
    executor = call.one()
    acl.ok("aclSetAclOpExecutorRepeatable", executor)
    acl.ok("aclDestroyTensor", call.tensors.pop(0))
    assert call.two(executor) == 561103
    acl.ok("aclDestroyAclOpExecutor", executor)
    acl.message()


def test_tensors_may_go_as_soon_as_phase_two_has_returned(acl: Acl) -> None:
    call = Call(acl)
    assert acl.aclnnSigmoidBackward(None, 0, call.one(), None) == 0
    call.end()
    acl.ok("aclrtSynchronizeStream", None)
    assert call.computed()


def test_missing_and_foreign_executors(acl: Acl, call: Call) -> None:
    assert acl.aclnnSigmoidBackward(None, 0, None, None) == 161001
    assert acl.aclSetAclOpExecutorRepeatable(None) == 561103
    assert acl.aclDestroyAclOpExecutor(None) == 561103
    assert acl.aclSetInputTensorAddr(None, 0, call.tensors[0], 0) == 561103
    assert acl.aclSetInputTensorAddr(None, 0, None, 0) == 561103
    foreign = ctypes.addressof(ctypes.create_string_buffer(64))
    assert acl.aclnnSigmoidBackward(None, 0, foreign, None) == 561000
    assert acl.aclSetAclOpExecutorRepeatable(call.tensors[0]) == 561000
    assert acl.aclDestroyAclOpExecutor(foreign) == 561000
    assert "is not an executor" in acl.message()


def test_foreign_and_destroyed_tensors(acl: Acl, call: Call) -> None:
    foreign = ctypes.addressof(ctypes.create_string_buffer(64))
    status, _, _ = acl.phase_one(call.tensors[0], foreign, call.tensors[2])
    assert status == 161002
    assert "output: tensor" in acl.message()
    gone = call.tensors.pop(1)
    acl.ok("aclDestroyTensor", gone)
    status, _, _ = acl.phase_one(call.tensors[0], gone, call.tensors[1])
    assert status == 161002
    assert "was destroyed before" in acl.message()
    assert acl.aclDestroyTensor(gone) == 161002
    acl.ok("aclDestroyTensor", None)
    acl.message()


def test_workspace_smaller_than_asked_for_is_refused(acl: Acl) -> None:
    dy, y, out = np.full((3, 1), 2.0, "f4"), np.full((1, 5), 0.25, "f4"), np.zeros((3, 5), "f4")
    made = [acl.tensor(a.ctypes.data, a.shape, 0) for a in (dy, y, out)]
    for given, expected in [(-1, 161002), (0, 0), (100, 0)]:
        status, size, executor = acl.phase_one(*made)
        assert status == 0
        assert size > 0
        workspace = np.zeros(size + 100, np.uint8)
        assert acl.aclnnSigmoidBackward(workspace.ctypes.data, size + given, executor, None) == expected
        acl.ok("aclrtSynchronizeStream", None)
        assert bool(out.any()) == (expected == 0)
    for tensor in made:
        acl.ok("aclDestroyTensor", tensor)
    acl.message()


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({}, 3),
        ({"DISABLE_L2_CACHE": "1"}, 0),
        ({"ACLNN_CACHE_LIMIT": "0"}, 0),
        ({"ACLNN_CACHE_LIMIT": "2"}, 0),
    ],
    ids=str,
)
def test_the_cache_is_bounded_and_forgets_what_was_used_least_recently(
    child: Child, environment: dict[str, str], expected: int
) -> None:
    child(
        f"""
        import json
        acl.start()
        memory = (ctypes.c_float * 64)()
        def run(count):
            made = [acl.tensor(ctypes.addressof(memory), [count], 0) for _ in range(3)]
            status, size, executor = acl.phase_one(*made)
            assert status == 0
            assert acl.aclnnSigmoidBackward(None, 0, executor, None) == 0
            for tensor in made:
                acl.ok("aclDestroyTensor", tensor)
        for _ in range(2):
            for count in (4, 5, 6):
                run(count)
        text = ctypes.create_string_buffer(1 << 16)
        acl.onnx_ascend_sim_counters(text, len(text))
        hits = json.loads(text.value)["executor_cache_hits"]
        assert hits == {expected}, hits
        """,
        **environment,
    )
