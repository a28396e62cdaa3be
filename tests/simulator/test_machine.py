"""Chips, devices and the environment that describes them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

Child = Callable[..., Any]

FIRST_GENERATION = ["Ascend910A", "Ascend910B", "Ascend910ProA", "Ascend910ProB", "Ascend910PremiumA"]
WITH_BFLOAT16 = ["Ascend910B1", "Ascend910B2", "Ascend910B2C", "Ascend910B3", "Ascend910B4", "Ascend910B4-1"]
WITH_BFLOAT16 += ["Ascend910_9362", "Ascend910_9372", "Ascend910_9363", "Ascend910_9381", "Ascend910_9392"]
WITH_BFLOAT16 += [
    "Ascend950DT_9572",
    "Ascend950DT_95A1",
    "Ascend950DT_950x",
    "Ascend950PR_957b",
    "Ascend950PR_9599",
]
INFERENCE = ["Ascend310P1", "Ascend310P3", "Ascend310P5", "Ascend310P7"]
WITHOUT_KERNEL = ["Ascend310B1", "Ascend310B4"]

KERNEL = """
acl.start()
memory = (ctypes.c_double * 8)()
def status(*types):
    made = [acl.tensor(ctypes.addressof(memory), [4], t) for t in types]
    result, _, executor = acl.phase_one(*made)
    return result
FLOAT, HALF, BF16, DOUBLE = 0, 1, 27, 11
print(status(FLOAT, FLOAT, FLOAT), status(HALF, HALF, HALF), status(DOUBLE, DOUBLE, DOUBLE),
      status(BF16, BF16, BF16), status(FLOAT, BF16, FLOAT), status(FLOAT, FLOAT, BF16),
      acl.asked("aclGetCannAttribute", ctypes.c_int32, 1), acl.aclrtGetSocName().decode())
"""


@pytest.mark.parametrize("soc", FIRST_GENERATION + INFERENCE)
def test_chips_without_bfloat16_refuse_it_for_the_gradient_only(child: Child, soc: str) -> None:
    assert child(KERNEL, ASCEND_SIM_SOC=soc).stdout == f"0 0 0 161002 0 0 0 {soc}\n"


@pytest.mark.parametrize("soc", WITH_BFLOAT16)
def test_chips_with_bfloat16(child: Child, soc: str) -> None:
    assert child(KERNEL, ASCEND_SIM_SOC=soc).stdout == f"0 0 0 0 0 0 1 {soc}\n"


@pytest.mark.parametrize("soc", WITHOUT_KERNEL)
def test_chips_without_the_kernel_fail_after_the_checks(child: Child, soc: str) -> None:
    expected = f"561003 561003 561003 161002 561003 561003 0 {soc}\n"
    assert child(KERNEL, ASCEND_SIM_SOC=soc).stdout == expected


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("ASCEND_SIM_SOC", "Ascend910B9", "known chip"),
        ("ASCEND_SIM_SOC", "ascend910b1", "known chip"),
        ("ASCEND_SIM_SOC", "Ascend910_93", "known chip"),
        ("ASCEND_SIM_DEVICES", "many", "from 0 to 64"),
        ("ASCEND_SIM_DEVICES", "65", "from 0 to 64"),
        ("ASCEND_SIM_RUN_MODE", "hosts", "device or host"),
        ("ASCEND_SIM_MEMORY", "12T", "bytes"),
        ("ASCEND_SIM_MEMORY", "0", "bytes"),
        ("ASCEND_SIM_ASYNC", "yes", "0 or 1"),
        ("ASCEND_SIM_LATENCY_US", "-1", "from 0"),
        ("ASCEND_SIM_THREADS", "0", "from 1"),
        ("ASCEND_SIM_ISA", "sse", "portable"),
    ],
)
def test_a_variable_that_cannot_be_read_fails_the_initialisation(
    child: Child, name: str, value: str, expected: str
) -> None:
    text = "print(acl.aclInit(None), acl.message())"
    out = child(text, **{name: value}).stdout
    assert out.startswith(f"100000 aclInit: {name}={value} is not ")
    assert expected in out
    assert child(text, **{name: ""}).stdout == "0 \n"


DEVICES = """
count = ctypes.c_uint32(77)
print(acl.aclrtGetDeviceCount(c.address_of(count)), count.value)
acl.ok("aclInit", None)
print([acl.aclrtSetDevice(i) for i in range(4)], acl.message())
"""


@pytest.mark.parametrize(
    ("devices", "mask", "visible"),
    [
        ("1", None, 1),
        ("4", None, 4),
        ("4", "0", 1),
        ("4", "1,3", 2),
        ("4", "0,1,2,3", 4),
        ("4", "1, 2,3", 1),  # what follows a character that is no digit is not read
        ("4", "1,3,8", 2),  # nor what follows a device that does not exist
        ("4", "2x,3", 1),
        ("4", "x,3", 0),
        ("4", "9", 0),
        ("4", "", 0),
        ("4", "3,1", 0),  # descending
        ("4", "1,1", 0),  # twice
        ("0", None, 0),
    ],
)
def test_devices_are_counted_and_masked_as_by_cann(
    child: Child, devices: str, mask: str | None, visible: int
) -> None:
    environment = {"ASCEND_SIM_DEVICES": devices}
    if mask is not None:
        environment["ASCEND_RT_VISIBLE_DEVICES"] = mask
    counted, settings = child(DEVICES, **environment).stdout.splitlines()
    if visible:
        assert counted == f"0 {visible}"
        expected = [0 if i < visible else 107001 for i in range(4)]
    else:
        assert counted == ("0 0" if devices == "0" else "207004 77")
        expected = [207004] * 4
    assert settings.startswith(str(expected))


def test_devices_have_memory_and_streams_of_their_own(child: Child) -> None:
    child(
        """
        acl.start(0)
        first = acl.made("aclrtMalloc", 32, 0)
        acl.start(1)
        assert acl.asked("aclrtGetDevice", ctypes.c_int32) == 1
        second = acl.made("aclrtMalloc", 32, 0)
        acl.ok("aclrtMemset", second, 32, 0, 32)
        made = [acl.tensor(p, [8], 0) for p in (first, second, second)]
        status, _, executor = acl.phase_one(*made)
        assert status == 0
        # A kernel reaches the memory of its own device only.
        assert acl.aclnnSigmoidBackward(None, 0, executor, None) == 0
        assert acl.aclrtSynchronizeStream(None) == 507015
        acl.ok("aclrtMemcpy", second, 32, first, 32, 3)
        acl.ok("aclrtResetDevice", 1)
        acl.start(0)
        assert acl.aclrtFree(second) == 107000
        acl.ok("aclrtFree", first)
        """,
        ASCEND_SIM_DEVICES="2",
        ASCEND_SIM_RUN_MODE="host",
    )


def test_questions_about_the_machine(child: Child) -> None:
    child(
        """
        numbers = [ctypes.c_int32() for _ in range(3)]
        acl.ok("aclrtGetVersion", *map(c.address_of, numbers))
        assert numbers[0].value == 1
        ask = lambda info: acl.asked("aclGetDeviceCapability", ctypes.c_int64, 0, info)
        assert (ask(0), ask(1)) == (20, 40)
        assert acl.aclGetDeviceCapability(1, 0, c.address_of(ctypes.c_int64())) == 107001
        sizes = [acl.aclDataTypeSize(t) for t in (0, 1, 11, 12, 16, 17, 27, 33, 13, -1)]
        assert sizes == [4, 2, 8, 1, 8, 16, 2, 4, 0, 0]
        acl.start()
        free, total = ctypes.c_size_t(), ctypes.c_size_t()
        acl.ok("aclrtGetMemInfo", 1, c.address_of(free), c.address_of(total))
        assert total.value == 32 << 30
        assert acl.asked("aclrtGetResInCurrentThread", ctypes.c_uint32, 0) == 20
        acl.ok("aclrtSetSysParamOpt", 0, 1)
        assert acl.asked("aclrtGetSysParamOpt", ctypes.c_int64, 0) == 1
        assert acl.asked("aclrtCtxGetSysParamOpt", ctypes.c_int64, 0) == 1
        assert acl.aclrtSetSysParamOpt(9, 1) == 100000
        acl.ok("aclrtSetDeviceSatMode", 1)
        assert acl.aclrtSetDeviceSatMode(0) == 207000
        assert acl.asked("aclrtGetDeviceSatMode", ctypes.c_int) == 1
        """,
        ASCEND_SIM_SOC="Ascend910B4",
    )


def test_plain_memory_is_answered_for_where_a_chip_has_no_other(child: Child) -> None:
    child(
        """
        acl.start()
        free, total = ctypes.c_size_t(), ctypes.c_size_t()
        for attribute in (0, 1):
            acl.ok("aclrtGetMemInfo", attribute, c.address_of(free), c.address_of(total))
            assert total.value == 24 << 30
        """,
        ASCEND_SIM_SOC="Ascend310P3",
    )


@pytest.mark.parametrize(("soc", "expected"), [("Ascend910B1", 0), ("Ascend950PR_9599", 512)])
def test_workspace_depends_on_the_chip_and_the_steps_around_the_kernel(
    child: Child, soc: str, expected: int
) -> None:
    child(
        f"""
        acl.start()
        memory = (ctypes.c_double * 99)()
        def workspace(first, second, out, types=(0, 0, 0), **how):
            shapes = [first, second, out]
            made = [acl.tensor(ctypes.addressof(memory), s, t, **how) for s, t in zip(shapes, types)]
            status, size, _ = acl.phase_one(*made)
            assert status == 0
            return size
        assert workspace([8], [8], [8]) == {expected}
        assert workspace([8], [1], [8]) == {expected} + 2 * 512
        assert workspace([8], [8], [8], (0, 1, 0)) == {expected} + 512
        assert workspace([8], [8], [8], (1, 27, 27)) == {expected} + 3 * 512
        assert workspace([2, 3], [2, 3], [2, 3], strides=[1, 2]) == {expected} + 3 * 512
        """,
        ASCEND_SIM_SOC=soc,
    )


@pytest.mark.parametrize("isa", ["portable", "avx2", "avx512"])
def test_every_instruction_set_computes_the_same(child: Child, isa: str) -> None:
    child(
        """
        import numpy as np
        from simulator import kernel, oracle, test_numerics
        acl.start()
        for of_dy in oracle.DTYPES:
            for of_y in oracle.DTYPES:
                for target in oracle.DTYPES:
                    if not oracle.castable(oracle.promote(of_dy, of_y), target):
                        continue
                    dy, y = test_numerics.values(of_dy, 0), test_numerics.values(of_y, 1)
                    out = np.zeros(dy.shape, target)
                    assert kernel.run(acl, dy, y, out) == 0
                    expected = oracle.sigmoid_backward(dy, y, target)
                    assert (oracle.bits(out) == oracle.bits(expected)).all(), (of_dy, of_y, target)
        """,
        ASCEND_SIM_ISA=isa,
    )


@pytest.mark.parametrize("isa", ["portable", "avx2", "avx512"])
def test_large_tensors_are_computed_as_small_ones_wherever_they_begin(child: Child, isa: str) -> None:
    child(
        """
        import numpy as np
        from simulator import kernel, oracle
        acl.start()
        for dtype in (oracle.F32, oracle.F16, oracle.BF16, oracle.F64):
            size = (64 << 20) // (3 * dtype.itemsize) + 4001
            rng = np.random.default_rng(0)
            dy, y = (rng.standard_normal(size, np.float32).astype(dtype) for _ in range(2))
            whole, parts = np.zeros(size + 1, dtype)[1:], np.zeros(size, dtype)
            assert kernel.run(acl, dy, y, whole) == 0
            for begin in range(0, size, 1 << 18):
                part = slice(begin, begin + (1 << 18))
                assert kernel.run(acl, dy[part], y[part], parts[part]) == 0
            assert (oracle.bits(whole) == oracle.bits(parts)).all(), dtype
            ends = np.r_[0:99, size - 99 : size]
            expected = oracle.sigmoid_backward(dy[ends], y[ends], dtype)
            assert (oracle.bits(whole)[ends] == oracle.bits(expected)).all(), dtype
        """,
        ASCEND_SIM_ISA=isa,
    )
