"""The C API, from Python and from a C program. `test_host_mode` runs this file again."""

from __future__ import annotations

import ctypes
import itertools
import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import onnx_ascend_ext as ax

from .support import DTYPES, assert_close, expected, operands

ONNX_DTYPES = {
    np.dtype(np.float32): 1,
    np.dtype(np.float16): 10,
    np.dtype(ml_dtypes.bfloat16): 16,
    np.dtype(np.float64): 11,
    np.dtype(np.complex64): 14,
    np.dtype(np.complex128): 15,
    np.dtype(np.int32): 6,
}


class CTensor(ctypes.Structure):
    _fields_ = (
        ("data", ctypes.c_void_p),
        ("dtype", ctypes.c_int32),
        ("rank", ctypes.c_int32),
        ("dims", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
    )


class CError(ctypes.Structure):
    _fields_ = (("code", ctypes.c_int32), ("function", ctypes.c_char * 64), ("message", ctypes.c_char * 4096))


@pytest.fixture(scope="module")
def library() -> ctypes.CDLL:
    loaded = ctypes.CDLL(ax.get_library_path())
    loaded.onnx_ascend_version.restype = ctypes.c_char_p
    loaded.onnx_ascend_ep_name.restype = ctypes.c_char_p
    loaded.onnx_ascend_describe.restype = ctypes.c_size_t
    loaded.onnx_ascend_describe.argtypes = (ctypes.c_char_p, ctypes.c_size_t)
    loaded.onnx_ascend_call.argtypes = (
        ctypes.c_char_p,
        ctypes.POINTER(CTensor),
        ctypes.c_size_t,
        ctypes.POINTER(CTensor),
        ctypes.c_size_t,
        ctypes.c_int32,
        ctypes.POINTER(CError),
    )
    return loaded


def tensor(array: np.ndarray) -> CTensor:
    dims = (ctypes.c_int64 * max(array.ndim, 1))(*array.shape)
    steps = [stride // array.itemsize for stride in array.strides]
    strides = (ctypes.c_int64 * max(array.ndim, 1))(*steps)
    return CTensor(array.ctypes.data, ONNX_DTYPES[array.dtype], array.ndim, dims, strides)


def call(library: ctypes.CDLL, inputs, output, kernel=b"SigmoidBackward", device=0) -> CError:
    error = CError()
    made = (CTensor * len(inputs))(*map(tensor, inputs))
    returned = library.onnx_ascend_call(
        kernel, made, len(inputs), ctypes.byref(tensor(output)), 1, device, ctypes.byref(error)
    )
    assert returned == error.code
    return error


def computed(library: ctypes.CDLL, g: np.ndarray, y: np.ndarray, out: np.ndarray) -> np.ndarray:
    error = call(library, (g, y), out)
    assert error.code == 0, error.message
    assert error.message == b""
    return out


def test_names(library):
    assert library.onnx_ascend_ep_name() == ax.get_ep_name().encode()
    import importlib.metadata

    assert library.onnx_ascend_version().decode() == importlib.metadata.version("onnx-ascend-ext")


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(
    "shapes", [((4, 5), (4, 5)), ((4, 5), (5,)), ((), ()), ((0, 3), (3,)), ((2, 1), (1, 3))]
)
def test_computes(library, dtype, shapes):
    g, y = operands(dtype, *shapes)
    out = np.empty(np.broadcast_shapes(*shapes), g.dtype)
    assert_close(computed(library, g, y, out), expected(g, y), dtype)


@pytest.mark.parametrize("numpy_type", [np.complex64, np.complex128])
def test_computes_complex_numbers_with_the_conjugate_of_the_slope(library, numpy_type):
    rng = np.random.default_rng(3)
    g, y = ((rng.normal(size=20) + 1j * rng.normal(size=20)).astype(numpy_type) for _ in range(2))
    result = computed(library, g, y, np.empty(20, numpy_type))
    np.testing.assert_allclose(
        result, np.conj((1 - y) * y) * g, rtol=1e-5 if numpy_type == np.complex64 else 1e-13
    )


def test_promotes_mixed_types(library):
    g, _ = operands("float", (30,), (30,))
    _, y = operands("float16", (30,), (30,))
    result = computed(library, g, y, np.empty(30, np.float64))
    np.testing.assert_allclose(result, expected(g, y), rtol=1e-6)


def layouts(array: np.ndarray) -> dict[str, np.ndarray]:
    """The same elements under other strides."""
    wide = np.zeros((array.shape[0] * 2, array.shape[1] * 3), array.dtype)
    wide[::2, ::3] = array
    return {
        "dense": array,
        "strided": wide[::2, ::3],
        "transposed": np.ascontiguousarray(array.T).T,
        "reversed": np.ascontiguousarray(array[::-1, ::-1])[::-1, ::-1],
    }


@pytest.mark.parametrize("dtype", ["float", "float16", "double"])
def test_takes_any_strides(library, dtype):
    g, y = operands(dtype, (5, 7), (5, 7))
    wanted = expected(g, y)
    for (_, a), (_, b), name in itertools.product(
        layouts(g).items(), layouts(y).items(), ("dense", "strided", "transposed", "reversed")
    ):
        out = layouts(np.zeros((5, 7), g.dtype))[name]
        surroundings = out.base.copy() if out.base is not None else None
        assert_close(computed(library, a, b, out), wanted, dtype)
        if name == "strided":
            assert surroundings is not None
            untouched = np.ones(out.base.shape, bool)
            untouched[::2, ::3] = False
            np.testing.assert_array_equal(out.base[untouched], surroundings[untouched])


def test_takes_repeated_elements(library):
    g, y = operands("float", (6, 1), (4,))
    wide_g, wide_y = np.broadcast_to(g, (6, 4)), np.broadcast_to(y, (6, 4))
    assert_close(
        computed(library, wide_g, wide_y, np.empty((6, 4), np.float32)), expected(wide_g, wide_y), "float"
    )
    both = np.broadcast_to(g[:1, :1], (6, 4))
    assert_close(computed(library, both, both, np.empty((6, 4), np.float32)), expected(both, both), "float")


@pytest.mark.parametrize("dtype", ["float", "float16", "double"])
@pytest.mark.parametrize(
    ("g_shape", "y_shape"),
    [
        ((2, 3, 2, 2, 2, 2, 2, 2), (2, 3, 2, 2, 2, 2, 2, 2)),
        ((2, 3, 2, 2, 2, 2, 2, 2, 2, 3), (2, 3, 2, 2, 2, 2, 2, 2, 2, 3)),
        ((2, 1, 2, 1, 2, 1, 2, 1, 2, 1), (1, 3, 1, 2, 1, 2, 1, 2, 1, 2)),
    ],
)
def test_takes_any_number_of_dimensions_that_do_not_merge(library, dtype, g_shape, y_shape):
    g, y = operands(dtype, g_shape, y_shape)
    shape = np.broadcast_shapes(g_shape, y_shape)
    assert_close(computed(library, g, y, np.empty(shape, g.dtype)), expected(g, y), dtype)
    transposed = computed(library, g.T, y.T, np.empty(shape[::-1], g.dtype))
    assert_close(transposed, expected(g.T, y.T), dtype)
    into_transposed = np.empty(shape, g.dtype).T
    assert_close(computed(library, g.T, y.T[::-1], into_transposed), expected(g.T, y.T[::-1]), dtype)


def test_output_may_be_an_input(library):
    g, y = operands("float", (40, 3), (40, 3))
    wanted = expected(g, y)
    assert_close(computed(library, g.copy(), y, g), wanted, "float")
    g, y = operands("float", (40, 3), (40, 3))
    assert_close(computed(library, g, y, g), wanted, "float")


def test_output_may_overlap_an_input(library):
    memory = np.zeros(1001, np.float32)
    g, y = operands("float", (1000,), (1000,))
    for source, target in ((slice(0, 1000), slice(1, 1001)), (slice(1, 1001), slice(0, 1000))):
        memory[source] = g
        assert_close(computed(library, memory[source], y, memory[target]), expected(g, y), "float")
    memory[:1000] = g
    assert_close(computed(library, memory[:1000], y, memory[:1000][::-1]), expected(g, y), "float")


@pytest.mark.parametrize(
    ("g_shape", "y_shape", "out_shape", "message"),
    [
        ((3,), (4,), (4,), b"grad_output float32[3] and output float32[4] do not broadcast"),
        ((3,), (3,), (4,), b"give [3], but grad_input is float32[4]"),
        ((3,), (3,), (1, 3), b"grad_input is float32[1,3]"),
        ((2, 3), (3,), (3,), b"grad_output float32[2,3] and output float32[3] give [2,3]"),
        ((0,), (2,), (2,), b"do not broadcast"),
    ],
)
def test_shapes_that_do_not_fit_are_named(library, g_shape, y_shape, out_shape, message):
    g, y = operands("float", g_shape, y_shape)
    error = call(library, (g, y), np.empty(out_shape, np.float32))
    assert error.code == -1
    assert error.function == b""
    assert message in error.message


def test_types_that_do_not_fit_are_named(library):
    g, y = operands("float", (3,), (3,))
    error = call(library, (g.astype(np.int32), y), np.empty(3, np.float32))
    assert error.code == -1
    assert b"grad_output has data type 6" in error.message
    error = call(library, (g.astype(np.complex64), y), np.empty(3, np.float32))
    assert error.code == -1
    assert b"a complex result does not fit a real tensor" in error.message


def test_kernel_count_and_device_are_checked(library):
    g, y = operands("float", (3,), (3,))
    out = np.empty(3, np.float32)
    assert b"no kernel 'Sigmoid'" in call(library, (g, y), out, kernel=b"Sigmoid").message
    assert b"takes 2 inputs and 1 output, not 1 and 1" in call(library, (g,), out).message
    error = call(library, (g, y), out, device=9)
    assert error.code == -1
    assert b"no device 9: ACL shows 1" in error.message


def test_null_pointers_and_nonsense_are_refused(library):
    error = CError()
    dims = (ctypes.c_int64 * 1)(3)
    good = tensor(np.zeros(3, np.float32))
    bad = {
        b"has no data": CTensor(None, 1, 1, dims, None),
        b"has no dims": CTensor(good.data, 1, 1, None, None),
        b"dimensions; 0 to 64": CTensor(good.data, 1, -1, dims, None),
        b"negative size": CTensor(good.data, 1, 1, (ctypes.c_int64 * 1)(-3), None),
        b"larger than memory": CTensor(good.data, 1, 2, (ctypes.c_int64 * 2)(1 << 40, 1 << 40), None),
    }
    for message, broken in bad.items():
        inputs = (CTensor * 2)(good, broken)
        assert (
            library.onnx_ascend_call(
                b"SigmoidBackward", inputs, 2, ctypes.byref(good), 1, 0, ctypes.byref(error)
            )
            == -1
        )
        assert message in error.message
    assert library.onnx_ascend_call(None, None, 0, None, 0, 0, None) == -1
    repeated = np.broadcast_to(np.zeros(1, np.float32), (3,))
    g, y = operands("float", (3,), (3,))
    assert b"stride of 0" in call(library, (g, y), repeated).message


def describe(library: ctypes.CDLL) -> Any:
    size = library.onnx_ascend_describe(None, 0)
    buffer = ctypes.create_string_buffer(size)
    assert library.onnx_ascend_describe(buffer, size) <= size
    return json.loads(buffer.value)


def test_describes_the_machine(library):
    found = describe(library)
    assert found["backend"] == "simulator"
    assert found["error"] is None
    assert found["run_mode"] == os.environ.get("ASCEND_SIM_RUN_MODE", "device")
    assert found["devices"][0]["simulated"] is True
    assert found["devices"][0]["memory_total"] >= found["devices"][0]["memory_free"] > 0
    (kernel,) = found["kernels"]
    assert kernel["name"] == "SigmoidBackward"
    assert kernel["available"] is True
    assert kernel["devices"][0]["dtypes"] == [
        "float32",
        "float16",
        "bfloat16",
        "float64",
        "complex64",
        "complex128",
    ]
    assert Path(found["libraries"]["opapi"]).name == "libopapi.so"
    assert any(place["found"] for place in found["searched"])


def test_a_buffer_that_is_too_small_is_not_written_beyond(library):
    buffer = ctypes.create_string_buffer(b"\x7f" * 64)
    assert library.onnx_ascend_describe(buffer, 16) > 16
    assert set(buffer.raw[16:64]) == {0x7F}


PROGRAM = r"""
#include <math.h>
#include <stdio.h>
#include "onnx_ascend_ext.h"

int main(void) {
    float g[6] = {1, -2, 3, -4, 5, 600}, y[3] = {0.25f, 0.5f, 0.999f}, z[6];
    int64_t wide[2] = {2, 3}, narrow[1] = {3};
    onnx_ascend_tensor inputs[2] = {{g, 1, 2, wide, NULL}, {y, 1, 1, narrow, NULL}};
    onnx_ascend_tensor output = {z, 1, 2, wide, NULL};
    onnx_ascend_error error;
    if (onnx_ascend_call("SigmoidBackward", inputs, 2, &output, 1, 0, &error) != ONNX_ASCEND_OK) {
        fprintf(stderr, "%s\n", error.message);
        return 1;
    }
    for (int i = 0; i < 6; ++i)
        if (fabsf(z[i] - g[i] * y[i % 3] * (1 - y[i % 3])) > 1e-4f) return 2;
    output.dims = narrow;
    output.rank = 1;
    if (onnx_ascend_call("SigmoidBackward", inputs, 2, &output, 1, 0, &error) != ONNX_ASCEND_INVALID_ARGUMENT)
        return 3;
    printf("%s %s\n%s\n", onnx_ascend_ep_name(), onnx_ascend_version(), error.message);
    return onnx_ascend_describe(NULL, 0) > 100 ? 0 : 4;
}
"""


def test_a_c_program(tmp_path):
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        pytest.skip("there is no C compiler")
    folder = Path(ax.get_library_path()).parent
    (tmp_path / "program.c").write_text(PROGRAM)
    subprocess.run(
        [
            *(compiler, "-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic", "program.c", "-o", "program"),
            *(
                f"-I{ax.get_include()}",
                f"-L{folder}",
                "-lonnx_ascend_ext",
                f"-Wl,-rpath,{folder}",
                "-lm",
            ),
        ],
        cwd=tmp_path,
        check=True,
    )
    ended = subprocess.run([tmp_path / "program"], capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended
    assert ended.stdout.startswith("AscendExecutionProvider 0.")
    assert "give [2,3], but grad_input is float32[3]" in ended.stdout
