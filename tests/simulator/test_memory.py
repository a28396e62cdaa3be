"""Memory of devices and of the host, copies and fills, and what is left at the end."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import pytest

from simulator.acl import Acl, address_of

Child = Callable[..., Any]
FOREIGN = ctypes.create_string_buffer(4096)


def foreign() -> int:
    return ctypes.addressof(FOREIGN) + 64


def test_memory(acl: Acl) -> None:
    out = ctypes.c_void_p()
    for name in ("aclrtMalloc", "aclrtMallocAlign32", "aclrtMallocCached"):
        function = getattr(acl, name)
        assert function(address_of(out), 0, 0) == 100000
        assert function(None, 64, 0) == 100000
        assert function(address_of(out), 64, 77) == 100000
        memory = acl.made(name, 100, 0)
        assert memory % 64 == 0
        acl.ok("aclrtFree", memory)
        assert acl.aclrtFree(memory) == 107000
        assert "freed before, or never allocated" in acl.message()
    assert acl.aclrtFree(None) == 100000
    assert acl.aclrtFree(foreign()) == 107000
    memory = acl.made("aclrtMalloc", 1000, 2)
    assert acl.aclrtFree(memory + 64) == 107000, "only the start of an allocation can be freed"
    acl.ok("aclrtFreeWithDevSync", memory)
    assert acl.aclrtMallocHost(address_of(out), 0) == 100000
    host = acl.made("aclrtMallocHost", 100)
    assert host % 64 == 0
    assert acl.aclrtFree(host) == 107000, "host memory is freed by aclrtFreeHost"
    acl.ok("aclrtFreeHost", host)
    assert acl.aclrtFreeHost(host) == 107000
    assert acl.aclrtFreeHost(None) == 100000
    acl.message()


def test_a_pointer_tells_where_it_points(acl: Acl) -> None:
    class Attributes(ctypes.Structure):
        _fields_ = (
            ("id", ctypes.c_uint32),
            ("type", ctypes.c_int),
            ("page_size", ctypes.c_uint32),
            ("reserved", ctypes.c_uint32 * 4),
        )

    def kind(pointer: int) -> int:
        answer = Attributes()
        acl.ok("aclrtPointerGetAttributes", pointer, address_of(answer))
        return int(answer.type)

    device, host = acl.made("aclrtMalloc", 100, 0), acl.made("aclrtMallocHost", 100)
    assert [kind(p) for p in (device, device + 99, host, foreign())] == [1, 1, 0, 2]
    acl.ok("aclrtFree", device)
    acl.ok("aclrtFreeHost", host)
    assert [kind(device), kind(host)] == [2, 2]


@pytest.mark.parametrize("name", ["aclrtMemcpy", "aclrtMemcpyAsync"])
def test_copies(acl: Acl, name: str) -> None:
    stream = (None,) if name.endswith("Async") else ()

    def copy(*arguments: Any) -> int:
        status: int = getattr(acl, name)(*arguments, *stream)
        acl.ok("aclrtSynchronizeStream", None)
        return status

    memory = acl.made("aclrtMalloc", 64, 0)
    source, back = ctypes.create_string_buffer(b"abcdefgh" * 8, 64), ctypes.create_string_buffer(64)
    assert copy(None, 0, None, 0, 99) == 0, "nothing to copy: nothing is looked at"
    assert copy(None, 64, ctypes.addressof(source), 64, 1) == 100000
    assert copy(memory, 64, None, 64, 1) == 100000
    assert copy(memory, 64, ctypes.addressof(source), 64, 99) == 100000
    assert copy(memory, 63, ctypes.addressof(source), 64, 1) == 107000
    assert copy(memory + 32, 64, ctypes.addressof(source), 64, 1) == 107000
    assert "not inside one live device allocation" in acl.message()
    assert copy(memory, 64, ctypes.addressof(source), 64, 1) == 0
    assert copy(ctypes.addressof(back), 64, memory, 64, 2) == 0
    assert back.raw == source.raw
    h2h = copy(ctypes.addressof(back), 64, ctypes.addressof(source), 64, 0)
    assert h2h == (207000 if stream else 0)
    acl.ok("aclrtFree", memory)
    assert copy(memory, 64, ctypes.addressof(source), 64, 1) == 107000
    acl.message()


def test_fills(acl: Acl) -> None:
    memory, back = acl.made("aclrtMalloc", 64, 0), ctypes.create_string_buffer(64)
    assert acl.aclrtMemset(None, 0, 1, 0) == 0
    assert acl.aclrtMemset(None, 64, 1, 64) == 100000
    assert acl.aclrtMemset(memory, 63, 1, 64) == 107000
    acl.ok("aclrtMemset", memory, 64, 0x5A, 64)
    acl.ok("aclrtMemsetAsync", memory, 64, 0x21, 32, None)
    acl.ok("aclrtSynchronizeStream", None)
    acl.ok("aclrtMemcpy", ctypes.addressof(back), 64, memory, 64, 2)
    assert back.raw == b"!" * 32 + b"Z" * 32
    acl.ok("aclrtFree", memory)
    acl.message()


def test_memory_is_limited(child: Child) -> None:
    child(
        """
        acl.start()
        free, total = ctypes.c_size_t(), ctypes.c_size_t()
        acl.ok("aclrtGetMemInfo", 1, c.address_of(free), c.address_of(total))
        assert (free.value, total.value) == (1 << 20, 1 << 20)
        out = ctypes.c_void_p()
        assert acl.aclrtMalloc(c.address_of(out), 1 << 20, 0) == 207001  # the guard has to fit in as well
        assert "of 1048576 free" in acl.message()
        half = acl.made("aclrtMalloc", 1 << 19, 0)
        assert acl.aclrtMalloc(c.address_of(out), 1 << 19, 0) == 207001
        acl.ok("aclrtFree", half)
        for _ in range(100):
            acl.ok("aclrtFree", acl.made("aclrtMalloc", (1 << 20) - 64, 0))
        # Gaps of many sizes grow together again.
        some = [acl.made("aclrtMalloc", 1000 * n, 0) for n in range(1, 40)]
        for memory in some[::2] + some[1::2]:
            acl.ok("aclrtFree", memory)
        acl.ok("aclrtFree", acl.made("aclrtMalloc", (1 << 20) - 64, 0))
        acl.ok("aclrtGetMemInfo", 1, c.address_of(free), c.address_of(total))
        assert free.value == 1 << 20
        acl.ok("aclrtGetMemInfo", 0, c.address_of(free), c.address_of(total))
        assert (free.value, total.value) == (0, 0), "no DDR where there is HBM"
        """,
        ASCEND_SIM_MEMORY="1M",
    )


def test_arrays_scalars_and_lists(acl: Acl) -> None:
    numbers = acl.dims([1, 2, 3])
    for kind in ("Int", "Float", "Bool"):
        made = getattr(acl, f"aclCreate{kind}Array")(numbers, 3)
        assert acl.asked(f"aclGet{kind}ArraySize", ctypes.c_uint64, made) == 3
        acl.ok(f"aclDestroy{kind}Array", made)
        assert getattr(acl, f"aclDestroy{kind}Array")(made) == 161002
        acl.ok(f"aclDestroy{kind}Array", None)
        assert getattr(acl, f"aclCreate{kind}Array")(None, 3) is None
    scalars = [acl.aclCreateScalar(numbers, dtype) for dtype in (0, 9, 17)]
    assert acl.aclCreateScalar(numbers, 13) is None
    assert acl.aclCreateScalar(None, 0) is None
    acl.ok("aclDestroyScalar", scalars.pop())
    together = acl.aclCreateScalarList((ctypes.c_void_p * 2)(*scalars), 2)
    assert acl.asked("aclGetScalarListSize", ctypes.c_uint64, together) == 2
    acl.ok("aclDestroyScalarList", together)
    assert acl.aclDestroyScalar(scalars[0]) == 161002
    acl.message()


def test_leaks_are_listed_at_finalise_when_asked_for(child: Child) -> None:
    text = """
        acl.start()
        acl.made("aclrtMalloc", 4711, 0)
        acl.made("aclrtMallocHost", 815)
        acl.made("aclrtCreateStream")
        acl.made("aclrtCreateEvent")
        acl.tensor(4096, [1], 0)
        acl.ok("aclFinalize")
        """
    stderr = child(text, ASCEND_SIM_LEAKS="1").stderr
    for part in (
        "device 0: 4711 bytes",
        "pinned host memory: 815 bytes",
        "leak: stream",
        "leak: event",
        "leak: tensor",
    ):
        assert part in stderr
    assert child(text).stderr == ""
    tidy = 'acl.start()\nacl.ok("aclrtResetDevice", 0)\nacl.ok("aclFinalize")'
    assert child(tidy, ASCEND_SIM_LEAKS="1").stderr == "simulator: 0 leaks at finalise\n"
