from __future__ import annotations

import itertools
import platform
import re
import shutil
import subprocess
from typing import Any

import numpy as np
import pytest

from onnx_ascend_ext import simulator as product
from simulator import kernel, oracle
from simulator.acl import Acl
from simulator.oracle import BF16, C64, C128, DTYPES, F16, F32, F64

Array = np.ndarray[Any, Any]

SPECIAL = [0.0, -0.0, 1.0, -1.0, np.nan, np.inf, -np.inf, 0.5, 2.0, 1e-45, -1e-45, 1e-40, 6e-8, 1e-5, 65504.0]
SPECIAL += [65520.0, 70000.0, 3.3e38, -3.4e38, 1.0 - 2**-24, 2.0**-24, 5e-324, 1e-310, 1e300, 2.0**-133]


def real_values(count: int, seed: int) -> tuple[Array, Array]:
    """Gradients of several scales with sigmoids in (0, 1), then everything special in pairs."""
    rng = np.random.default_rng(seed)
    dy = rng.standard_normal(count) * 10.0 ** rng.integers(-6, 7, count)
    y = 1 / (1 + np.exp(-rng.normal(0, 6, count)))
    pairs = np.array(list(itertools.product(SPECIAL, SPECIAL)))
    return np.concatenate([dy, pairs[:, 0]]), np.concatenate([y, pairs[:, 1]])


def values(dtype: np.dtype[Any], part: int, seed: int = 0) -> Array:
    """Operand 0 (gradients) or 1 (sigmoids) of the type."""
    drawn = real_values(700, seed)[part]
    with np.errstate(all="ignore"):
        if dtype.kind != "c":
            return oracle.cast(drawn, dtype)
        imaginary = np.random.default_rng(seed + 7).permutation(drawn)
        result = np.empty(drawn.shape, dtype)
        result.real, result.imag = drawn, imaginary
        return result


@pytest.mark.parametrize("target", DTYPES, ids=str)
@pytest.mark.parametrize("of_y", DTYPES, ids=str)
@pytest.mark.parametrize("of_dy", DTYPES, ids=str)
def test_every_combination_of_types_is_computed_bit_for_bit_or_refused(
    acl: Acl, of_dy: np.dtype[Any], of_y: np.dtype[Any], target: np.dtype[Any]
) -> None:
    dy, y = values(of_dy, 0), values(of_y, 1)
    out = np.full(dy.shape, 7, target)
    status = kernel.run(acl, dy, y, out)
    if not oracle.castable(oracle.promote(of_dy, of_y), target):
        assert status == 161002
        assert "cannot be cast" in acl.message()
        assert (out == 7).all()
        return
    assert status == 0, acl.message()
    expected = oracle.sigmoid_backward(dy, y, target)
    np.testing.assert_array_equal(oracle.bits(out), oracle.bits(expected))


@pytest.mark.parametrize("dtype", [F16, BF16], ids=str)
def test_every_half_precision_number_survives_a_widening_and_a_narrowing(
    acl: Acl, dtype: np.dtype[Any]
) -> None:
    y = np.arange(65536, dtype=np.uint16).view(dtype)
    dy = np.ones(1, dtype)
    for target in (dtype, F32):
        out = np.zeros(y.shape, target)
        assert kernel.run(acl, np.broadcast_to(dy, y.shape), y, out) == 0
        np.testing.assert_array_equal(oracle.bits(out), oracle.bits(oracle.sigmoid_backward(dy, y, target)))


@pytest.mark.parametrize("target", [F16, BF16, F32], ids=str)
def test_a_double_is_rounded_once_where_twice_would_differ(acl: Acl, target: np.dtype[Any]) -> None:
    # dy * (1 - y) * y with y = -1 is -2 dy, exactly. Ties of the target, a hair above and below.
    places = {F16: 10, BF16: 7, F32: 23}[target]
    ulp = 2.0**-places
    ties = 1.0 + np.arange(64) * ulp + ulp / 2
    hair = 2.0**-50
    wanted = np.concatenate([ties, ties + hair, ties - hair])
    dy, y = wanted / -2, np.full(wanted.shape, -1.0)
    out = np.zeros(wanted.shape, target)
    assert kernel.run(acl, dy, y, out) == 0
    np.testing.assert_array_equal(oracle.bits(out), oracle.bits(oracle.cast(wanted, target)))
    twice = wanted.astype(F32).astype(target)
    assert (oracle.bits(twice) != oracle.bits(out)).any() or target == F32


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_a_length_that_fills_no_vector_is_computed_to_its_end_and_no_further(
    acl: Acl, dtype: np.dtype[Any]
) -> None:
    dy, y = values(dtype, 0, 3), values(dtype, 1, 3)
    for count in [*range(1, 70), 511, 512, 513]:
        out = np.full(count + 3, 7, dtype)
        assert kernel.run(acl, dy[:count], y[:count], out[:count]) == 0
        expected = oracle.sigmoid_backward(dy[:count], y[:count], dtype)
        np.testing.assert_array_equal(oracle.bits(out[:count]), oracle.bits(expected))
        assert (out[count:] == 7).all()


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_a_large_tensor_is_computed_the_same_on_many_threads(acl: Acl, dtype: np.dtype[Any]) -> None:
    count = (20 << 20) // dtype.itemsize + 3
    rng = np.random.default_rng(5)
    part = rng.random(4096, np.float32)
    y = np.resize(part, count).astype(dtype)
    dy = np.resize(rng.standard_normal(4093, np.float32), count).astype(dtype)
    out = np.zeros(count, dtype)
    assert kernel.run(acl, dy, y, out) == 0
    for sample in (slice(0, 3000), slice(count // 2, count // 2 + 3000), slice(count - 3000, count)):
        expected = oracle.sigmoid_backward(dy[sample], y[sample], dtype)
        np.testing.assert_array_equal(oracle.bits(out[sample]), oracle.bits(expected))
    halves = [slice(0, count // 2), slice(count // 2, count)]
    pieces = np.concatenate([oracle.sigmoid_backward(dy[half], y[half], dtype) for half in halves])
    np.testing.assert_array_equal(oracle.bits(out), oracle.bits(pieces))


def test_in_place_on_either_operand_gives_the_same(acl: Acl) -> None:
    for dtype in DTYPES:
        dy, y = values(dtype, 0, 9), values(dtype, 1, 9)
        expected = oracle.sigmoid_backward(dy, y, dtype)
        for operand in (dy.copy(), y.copy()):
            into_dy = operand.tobytes() == dy.tobytes()
            pair = (operand, y) if into_dy else (dy, operand)
            assert kernel.run(acl, *pair, operand) == 0
            np.testing.assert_array_equal(oracle.bits(operand), oracle.bits(expected))


@pytest.mark.parametrize("dtype", [C64, C128], ids=str)
def test_a_complex_slope_is_conjugated(acl: Acl, dtype: np.dtype[Any]) -> None:
    dy, y = np.array([1 + 0j, 2j], dtype), np.array([2 + 1j, 0.5 + 1j], dtype)
    out = np.zeros(2, dtype)
    assert kernel.run(acl, dy, y, out) == 0
    np.testing.assert_allclose(out, np.conj((1 - y) * y) * dy)
    assert not np.allclose(out, (1 - y) * y * dy)


@pytest.mark.parametrize("dtype", [F32, F64], ids=str)
def test_a_thread_that_flushes_subnormals_gets_them_all_the_same(child: Any, dtype: np.dtype[Any]) -> None:
    # The C library's switch for it lies behind -ffast-math objects only, so the bits are set by machine code.
    tiny = 1e-40 if dtype == F32 else 1e-310
    child(
        f"""
        import ctypes, mmap, platform
        import numpy as np
        from simulator import kernel
        if platform.machine() != "x86_64":
            sys.exit()
        # sub rsp,8; stmxcsr [rsp]; or dword [rsp],0x8040; ldmxcsr [rsp]; add rsp,8; ret
        code = bytes.fromhex("4883ec08" "0fae1c24" "810c2440800000" "0fae1424" "4883c408" "c3")
        page = mmap.mmap(-1, len(code), prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
        page.write(code)
        address = ctypes.addressof(ctypes.c_char.from_buffer(page))
        acl.start()
        dy, y = np.full(3, {tiny}, "{dtype}"), np.full(3, 0.5, "{dtype}")
        out = np.zeros(3, "{dtype}")
        expected = dy / 4
        ctypes.CFUNCTYPE(None)(address)()
        assert kernel.run(acl, dy, y, out) == 0
        assert out.tobytes() == expected.tobytes(), (out.tobytes(), expected.tobytes())
        """
    )


@pytest.mark.skipif(shutil.which("objdump") is None, reason="objdump is not installed")
@pytest.mark.skipif(platform.machine() != "x86_64", reason="names instructions of x86")
def test_the_library_has_no_fused_multiply_add() -> None:
    """A compiler that fuses where it was told not to changes results only here and there."""
    library = product.library_dir() / "libascendcl.so"
    code = subprocess.run(["objdump", "-d", library], capture_output=True, text=True, check=True).stdout
    assert "mulps" in code
    assert not re.findall(r"\bvfn?m(?:add|sub)\w*", code)
