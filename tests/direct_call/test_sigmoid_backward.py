from __future__ import annotations

import itertools
import os
import subprocess
import sys
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

import onnx_ascend_ext as ax

BF16 = np.dtype(ml_dtypes.bfloat16)
DTYPES = [np.dtype(name) for name in ("f2", "f4", "f8", "c8", "c16")] + [BF16]
RANDOM = np.random.default_rng(5)

# Promotion of aclnnSigmoidBackward's operands.
PROMOTED = {
    frozenset(pair): result
    for row, results in {
        "float16": "float16 float32 float32 float64 complex64 complex128",
        "bfloat16": "float32 bfloat16 float32 float64 complex64 complex128",
        "float32": "float32 float32 float32 float64 complex64 complex128",
        "float64": "float64 float64 float64 float64 complex128 complex128",
        "complex64": "complex64 complex64 complex64 complex128 complex64 complex128",
        "complex128": "complex128 complex128 complex128 complex128 complex128 complex128",
    }.items()
    for pair, result in zip(
        (
            (row, column)
            for column in ("float16", "bfloat16", "float32", "float64", "complex64", "complex128")
        ),
        results.split(),
        strict=True,
    )
}


def draw(shape: tuple[int, ...], dtype: np.dtype, *, slope: bool = False) -> np.ndarray:
    """Gradients from the normal distribution; values of Sigmoid from (0, 1)."""
    values = RANDOM.uniform(0.01, 0.99, shape) if slope else RANDOM.standard_normal(shape)
    if dtype.kind == "c":
        values = values + 1j * RANDOM.uniform(-0.5, 0.5, shape)
    return values.astype(dtype)


def oracle(grad: np.ndarray, y: np.ndarray, promoted: np.dtype) -> np.ndarray:
    compute = np.dtype(np.float32) if promoted.itemsize == 2 else promoted
    grad, y = grad.astype(promoted).astype(compute), y.astype(promoted).astype(compute)
    one = compute.type(1)  # numpy before 2 computes a scalar with a Python number in float64
    if compute.kind == "c":
        return (np.conj((one - y) * y) * grad).astype(promoted)
    return ((grad * (one - y)) * y).astype(promoted)


def bits(array: np.ndarray) -> bytes:
    return np.ascontiguousarray(array).tobytes()


@pytest.mark.parametrize(("left", "right"), list(itertools.product(DTYPES, DTYPES)))
def test_every_pair_of_dtypes_promotes_as_aclnn_does(left: np.dtype, right: np.dtype) -> None:
    grad, y = draw((3, 7), left), draw((3, 7), right, slope=True)
    promoted = np.dtype(PROMOTED[frozenset((left.name, right.name))])
    result = ax.sigmoid_backward(grad, y)
    assert result.dtype == promoted
    expected = oracle(grad, y, promoted)
    if promoted.kind == "c":
        np.testing.assert_allclose(result, expected, rtol=1e-6)
    else:
        assert bits(result) == bits(expected)


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ((3, 4), (3, 4)),
        ((3, 4), (4,)),
        ((2, 1, 4), (3, 1)),
        ((), (3,)),
        ((), ()),
        ((0, 4), (1, 4)),
        ((1,), (0,)),
    ],
)
def test_shapes_broadcast(left: tuple[int, ...], right: tuple[int, ...]) -> None:
    grad, y = draw(left, np.dtype("f4")), draw(right, np.dtype("f4"), slope=True)
    expected = oracle(grad, y, np.dtype("f4"))
    result = ax.sigmoid_backward(grad, y)
    assert result.shape == expected.shape
    assert bits(result) == bits(expected)


def test_more_than_eight_dimensions_are_no_limit_where_they_coalesce() -> None:
    grad, y = draw((2,) * 12, np.dtype("f4")), draw((2,) * 12, np.dtype("f4"), slope=True)
    assert bits(ax.sigmoid_backward(grad, y)) == bits(oracle(grad, y, np.dtype("f4")))


@pytest.mark.parametrize(
    "view",
    [
        lambda a: a.T,
        lambda a: a[::2, 1:5],
        lambda a: a[::-1],
        lambda a: a[:, ::-2],
        lambda a: np.broadcast_to(a[0], a.shape),
        lambda a: a.astype(">f4"),
    ],
    ids=["transposed", "sliced", "reversed", "negative step", "broadcast", "other byte order"],
)
def test_views_are_read_as_they_are(view) -> None:
    grad, y = view(draw((6, 6), np.dtype("f4"))), view(draw((6, 6), np.dtype("f4"), slope=True))
    result = ax.sigmoid_backward(grad, y)
    assert bits(result) == bits(oracle(grad, y, np.dtype("f4")))


def test_out_takes_the_result_and_is_returned() -> None:
    grad, y = draw((4, 5), np.dtype("f4")), draw((4, 5), np.dtype("f4"), slope=True)
    for dtype in DTYPES:
        out = np.zeros((4, 5), dtype)
        assert ax.sigmoid_backward(grad, y, out=out) is out
        assert bits(out) == bits(oracle(grad, y, np.dtype("f4")).astype(dtype))


def test_out_may_be_a_view_and_its_neighbours_stay() -> None:
    grad, y = draw((4, 3), np.dtype("f4")), draw((4, 3), np.dtype("f4"), slope=True)
    for choose in (np.s_[:, ::2], np.s_[:, ::-2], np.s_[:, 1:4]):
        whole = np.full((4, 6), 7.0, np.float32)
        untouched = np.ones((4, 6), bool)
        untouched[choose] = False
        ax.sigmoid_backward(grad, y, out=whole[choose])
        assert bits(whole[choose]) == bits(oracle(grad, y, np.dtype("f4")))
        assert (whole[untouched] == 7.0).all()


def test_out_may_have_another_byte_order() -> None:
    grad, y = draw((3, 4), np.dtype("f4")), draw((3, 4), np.dtype("f4"), slope=True)
    out = np.zeros((3, 4), ">f4")
    assert ax.sigmoid_backward(grad, y, out=out) is out
    assert bits(out.astype("f4")) == bits(oracle(grad, y, np.dtype("f4")))


def test_out_may_overlap_the_operands() -> None:
    for shift in (0, 1, 3):
        memory = draw((40,), np.dtype("f4"), slope=True)
        grad = draw((30,), np.dtype("f4"))
        y, out = memory[:30], memory[shift : shift + 30]
        expected = oracle(grad, y, np.dtype("f4"))
        ax.sigmoid_backward(grad, y, out=out)
        assert bits(out) == bits(expected)


def test_python_numbers_and_lists_are_taken() -> None:
    y = np.array([0.25, 0.5], np.float32)
    assert ax.sigmoid_backward(2, y).dtype == np.float32
    assert ax.sigmoid_backward(2, y).tolist() == [0.375, 0.5]
    assert ax.sigmoid_backward(2j, y).dtype == np.complex64
    assert ax.sigmoid_backward(np.float64(2), y).dtype == np.float64
    assert ax.sigmoid_backward([1.0, 1.0], [0.5, 0.25]).tolist() == [0.25, 0.1875]


def test_dlpack_and_array_protocols_are_taken() -> None:
    class OnlyDLPack:
        def __init__(self, array: np.ndarray) -> None:
            self.array = array

        def __dlpack__(self, **options: object) -> object:
            return self.array.__dlpack__(**options)

        def __dlpack_device__(self) -> tuple[int, int]:
            return self.array.__dlpack_device__()

    class OnlyArray:
        def __array__(self, dtype: object = None, copy: object = None) -> np.ndarray:
            return np.array([0.5, 0.25], np.float32)

    grad = np.array([1.0, 4.0], np.float32)
    assert ax.sigmoid_backward(OnlyDLPack(grad), OnlyArray()).tolist() == [0.25, 0.75]


def test_special_values_follow_ieee_arithmetic() -> None:
    special = np.array([0.0, -0.0, 1.0, np.nan, np.inf, -np.inf, 1e-40, 3e38, 0.5], np.float32)
    grad, y = np.meshgrid(special, special)
    with np.errstate(all="ignore"):
        expected = oracle(grad, y, np.dtype("f4"))
    result = ax.sigmoid_backward(grad, y)
    assert np.array_equal(np.isnan(result), np.isnan(expected))
    known = ~np.isnan(expected)
    assert bits(result[known]) == bits(expected[known])


@pytest.mark.parametrize("dtype", ["i4", "?", "u1", "O", "U3"])
def test_other_dtypes_are_refused_by_name(dtype: str) -> None:
    with pytest.raises(TypeError, match=r"grad_output has dtype .*; SigmoidBackward takes float32, float16"):
        ax.sigmoid_backward(np.zeros(2, dtype), np.zeros(2, np.float32))
    with pytest.raises(TypeError, match="output has dtype"):
        ax.sigmoid_backward(np.zeros(2, np.float32), np.zeros(2, dtype))


def test_shapes_that_do_not_broadcast_are_refused_with_both() -> None:
    with pytest.raises(ValueError, match=r"\[2, 3\] and output of shape \[4\]"):
        ax.sigmoid_backward(np.zeros((2, 3)), np.zeros(4))


@pytest.mark.parametrize(
    ("out", "error", "message"),
    [
        (np.zeros(3, np.float32), ValueError, r"out has shape \[3\] but the result has shape \[2\]"),
        (np.zeros(2, np.int32), TypeError, "out has dtype int32"),
        ([0.0, 0.0], TypeError, "out is a list"),
        (np.broadcast_to(np.float32(0), 2), ValueError, "read-only"),
    ],
)
def test_an_out_that_does_not_fit_is_refused(out: object, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        ax.sigmoid_backward(np.ones(2, np.float32), np.ones(2, np.float32), out=out)  # type: ignore[arg-type]


def test_a_complex_result_does_not_fit_a_real_out() -> None:
    with pytest.raises(TypeError, match="real dtype float64 but the result is complex64"):
        ax.sigmoid_backward(np.ones(2, np.complex64), np.ones(2, np.float32), out=np.zeros(2))


def test_an_unknown_device_is_refused() -> None:
    with pytest.raises(ax.BackendError, match="there is no NPU 9"):
        ax.sigmoid_backward(np.ones(2), np.ones(2), device_id=9)


def test_a_failing_kernel_names_function_and_code() -> None:
    from onnx_ascend_ext import simulator

    arguments = np.ones((3, 5), np.float32), np.full((3, 5), 0.5, np.float32)
    simulator.fault("aclnnSigmoidBackward", nth=1, code=361001)
    try:
        with pytest.raises(ax.AclError) as caught:
            ax.sigmoid_backward(*arguments)
    finally:
        simulator.reset()
    assert caught.value.code == 361001
    assert caught.value.function == "aclnnSigmoidBackward"
    assert "361001" in caught.value.message
    assert ax.sigmoid_backward(*arguments)[0, 0] == 0.25


def test_a_chip_without_the_kernel_is_a_backend_error(tmp_path: Path) -> None:
    program = (
        "import numpy, onnx_ascend_ext as ax\n"
        "try: ax.sigmoid_backward(numpy.ones(2), numpy.ones(2))\n"
        "except ax.BackendError as error: print(error)"
    )
    ended = subprocess.run(
        [sys.executable, "-c", program],
        env=os.environ | {"ASCEND_SIM_SOC": "Ascend310B1"},
        capture_output=True,
        text=True,
        cwd=tmp_path,
        check=True,
    )
    assert "Ascend310B1" in ended.stdout
