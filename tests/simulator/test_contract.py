"""The checks of aclnnSigmoidBackwardGetWorkspaceSize, their order and codes."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import simulator.acl as c
from simulator import kernel, oracle
from simulator.acl import Acl, address_of
from simulator.oracle import BF16, C64, DTYPES, F16, F32, F64

FORMATS = [
    value for name, value in c.constants().items() if "FORMAT_" in name or name.startswith("ACL_FRACTAL")
]
UNSUPPORTED = [2, 3, 4, 6, 7, 8, 9, 10, 12, 13, 29, 30, 33, 34, 35, 36, -1]


class Tensors:
    """Tensors that are destroyed at the end of a test."""

    def __init__(self, acl: Acl) -> None:
        self.acl = acl
        self.made: list[int] = []
        self.memory = (ctypes.c_double * 4096)()

    def __call__(self, shape: Any, dtype: int = 0, **how: Any) -> int:
        made = self.acl.tensor(ctypes.addressof(self.memory), shape, dtype, **how)
        self.made.append(made)
        return made


@pytest.fixture
def tensors(acl: Acl) -> Iterator[Tensors]:
    made = Tensors(acl)
    yield made
    for tensor in made.made:
        acl.ok("aclDestroyTensor", tensor)


def check(acl: Acl, *tensors: int | None) -> int:
    """The status of phase 1; an executor is destroyed again."""
    status, _, executor = acl.phase_one(*tensors)
    assert (status == 0) == (executor != 0)
    if executor:
        acl.ok("aclDestroyAclOpExecutor", executor)
    else:
        assert acl.message().startswith("aclnnSigmoidBackwardGetWorkspaceSize: ")
    return status


def test_missing_out_pointers_are_refused_before_anything_else(acl: Acl) -> None:
    size, executor = ctypes.c_uint64(), ctypes.c_void_p()
    phase_one = acl.aclnnSigmoidBackwardGetWorkspaceSize
    assert phase_one(None, None, None, None, address_of(executor)) == 161001
    assert "workspaceSize" in acl.message()
    assert phase_one(None, None, None, address_of(size), None) == 161001
    assert "executor" in acl.message()


def test_missing_tensors_are_refused_in_the_order_of_the_arguments(acl: Acl, tensors: Tensors) -> None:
    given = tensors([4], 3)  # a type that the next check would refuse
    for arguments, name in [
        ((None, None, None), "gradOutput"),
        ((given, None, None), "output"),
        ((given, given, None), "gradInput"),
    ]:
        status, _, _ = acl.phase_one(*arguments)
        assert status == 161001
        assert f": {name} is nullptr" in acl.message()


@pytest.mark.parametrize("dtype", UNSUPPORTED)
@pytest.mark.parametrize("position", [0, 1, 2])
def test_a_type_that_is_not_one_of_the_six_is_refused(
    acl: Acl, tensors: Tensors, position: int, dtype: int
) -> None:
    shapes: list[Any] = [[4]] * 3
    operands = [tensors(shapes[i], dtype if i == position else 0) for i in range(3)]
    status, _, _ = acl.phase_one(*operands)
    assert status == 161002
    assert ["gradOutput", "output", "gradInput"][position] in acl.message()


def test_the_type_is_checked_before_the_rank_and_the_rank_before_the_promotion(
    acl: Acl, tensors: Tensors
) -> None:
    deep = [1] * 9
    assert check(acl, tensors(deep, 3), tensors(deep), tensors(deep)) == 161002
    acl.phase_one(tensors(deep, 3), tensors(deep), tensors(deep))
    assert "data type" in acl.message()
    acl.phase_one(tensors(deep, 16), tensors([1]), tensors([1]))
    assert "9 dimensions" in acl.message()
    acl.phase_one(tensors([1]), tensors(deep, 16), tensors([1]))
    assert "output has 9 dimensions" in acl.message()
    acl.phase_one(tensors([2], 16), tensors([3]), tensors([1]))
    assert "cannot be cast" in acl.message()
    acl.phase_one(tensors([2]), tensors([3]), tensors([1]))
    assert "cannot be broadcast" in acl.message()


@pytest.mark.parametrize("rank", range(10))
def test_ranks_up_to_eight_pass(acl: Acl, tensors: Tensors, rank: int) -> None:
    shape = [2] * rank
    status = check(acl, tensors(shape), tensors(shape), tensors(shape))
    assert status == (0 if rank <= 8 else 161002)


@pytest.mark.parametrize(
    ("dy", "y", "out"),
    [
        ([1, 16, 1, 1], [1, 16, 1, 1], [1, 16, 1, 1]),
        ([1, 16, 1, 1], [1, 1, 4, 4], [1, 16, 4, 4]),
        ([1, 4, 1, 1], [1, 1, 4, 4], [1, 4, 4, 4]),
        ([], [3], [3]),
        ([3], [], [3]),
        ([2, 1, 3], [4, 1], [2, 4, 3]),
        ([0], [0], [0]),
        ([0], [1], [0]),
        ([1, 0], [5, 1], [5, 0]),
        ([], [], []),
    ],
)
def test_operands_broadcast_and_the_result_has_exactly_their_shape(
    acl: Acl, tensors: Tensors, dy: list[int], y: list[int], out: list[int]
) -> None:
    assert check(acl, tensors(dy), tensors(y), tensors(out)) == 0
    assert check(acl, tensors(dy), tensors(y), tensors([1, *out])) == 161002
    assert check(acl, tensors(dy), tensors(y), tensors([*out, 2])) == 161002


@pytest.mark.parametrize(
    ("dy", "y", "out"),
    [
        ([1, 16, 1, 1], [1, 1, 4, 4], [1, 16, 1, 1]),
        ([2], [3], [3]),
        ([0], [2], [2]),
        ([0], [2], [0]),
        ([1], [1], []),
    ],
)
def test_shapes_that_do_not_fit_are_refused(
    acl: Acl, tensors: Tensors, dy: list[int], y: list[int], out: list[int]
) -> None:
    assert check(acl, tensors(dy), tensors(y), tensors(out)) == 161002


@pytest.mark.parametrize("form", FORMATS)
def test_every_format_passes_and_formats_may_differ(acl: Acl, tensors: Tensors, form: int) -> None:
    shape = [2, 3, 4, 5]
    assert check(acl, *(tensors(shape, form=form) for _ in range(3))) == 0
    assert check(acl, tensors(shape), tensors(shape, form=form), tensors(shape, form=0)) == 0


def test_an_empty_tensor_needs_no_workspace_and_its_launch_is_a_no_op(acl: Acl, tensors: Tensors) -> None:
    empty = [tensors([0, 3]) for _ in range(3)]
    status, size, executor = acl.phase_one(*empty)
    assert (status, size) == (0, 0)
    assert acl.aclnnSigmoidBackward(None, 0, executor, None) == 0
    assert acl.aclnnSigmoidBackward(None, 0, executor, None) == 561000
    assert "consumed" in acl.message()


@pytest.mark.parametrize("position", [0, 1, 2])
@pytest.mark.parametrize(
    "view",
    [
        {"storage": [11]},
        {"offset": 1},
        {"offset": -1},
        {"strides": [4, 2]},
        {"strides": [-4, 1], "offset": 8},
        {"storage": []},
    ],
    ids=str,
)
def test_a_view_that_leaves_its_storage_fails_when_the_launch_is_built(
    acl: Acl, tensors: Tensors, view: dict[str, Any], position: int
) -> None:
    operands = [tensors([3, 4], **(view if i == position else {})) for i in range(3)]
    assert check(acl, *operands) == 561103
    # The checks of the arguments come first.
    operands[2] = tensors([3, 5])
    assert check(acl, *operands) == 161002


@pytest.mark.parametrize("shape", [[1 << 40, 1 << 40], [1 << 62, 4], [(1 << 63) - 1], [3] * 8], ids=str)
@pytest.mark.parametrize("strides", [None, "broadcast", "huge"])
def test_sizes_that_no_memory_has_are_refused(
    acl: Acl, tensors: Tensors, shape: list[int], strides: str | None
) -> None:
    how: dict[str, Any] = {"strides": {"broadcast": [0], "huge": [(1 << 63) - 1], None: None}[strides]}
    if how["strides"] is not None:
        how["strides"] *= len(shape)
    expected = 0 if shape == [3] * 8 and strides == "broadcast" else 561103
    assert check(acl, *(tensors(shape, storage=[8], **how) for _ in range(3))) == expected


@pytest.mark.parametrize(
    "view",
    [
        {"storage": [12]},
        {"storage": [14], "offset": 2},
        {"strides": [1, 3]},
        {"strides": [8, 2], "storage": [100]},
        {"strides": [0, 0], "storage": [1]},
        {"strides": [0, 1], "storage": [4]},
    ],
    ids=str,
)
def test_a_strided_view_within_its_storage_passes(acl: Acl, tensors: Tensors, view: dict[str, Any]) -> None:
    assert check(acl, tensors([3, 4], **view), tensors([3, 4]), tensors([3, 4])) == 0


def test_dimensions_of_one_do_not_count_whatever_their_stride(acl: Acl, tensors: Tensors) -> None:
    plain = tensors([1, 3])
    odd = tensors([1, 3], strides=[-77, 1])
    assert check(acl, plain, odd, plain) == 0
    _, size, executor = acl.phase_one(plain, odd, plain)
    acl.ok("aclDestroyAclOpExecutor", executor)
    assert size == 0


@pytest.mark.parametrize("missing", ["view", "storage"])
def test_a_tensor_without_its_dimensions_is_not_made(acl: Acl, missing: str) -> None:
    dims = acl.dims([2])
    arguments = [dims, 1, 0, None, 0, 2, dims, 1, None]
    arguments[0 if missing == "view" else 6] = None
    assert acl.aclCreateTensor(*arguments) is None
    assert "missing" in acl.message()
    long = acl.dims([1] * 26)
    assert acl.aclCreateTensor(long, 26, 0, None, 0, 2, dims, 1, None) is None
    made = acl.aclCreateTensor(long, 25, 0, None, 0, 2, dims, 1, None)
    acl.ok("aclDestroyTensor", made)


def test_what_a_tensor_was_made_of_can_be_asked(acl: Acl, tensors: Tensors) -> None:
    tensor = tensors([3, 4], 11, strides=[1, 3], offset=2, storage=[20], form=1)
    delete_array = acl.library._ZdaPv  # CANN's arrays come from new[]
    delete_array.argtypes = [ctypes.c_void_p]
    for name, expected in [
        ("aclGetViewShape", [3, 4]),
        ("aclGetViewStrides", [1, 3]),
        ("aclGetStorageShape", [20]),
    ]:
        values, count = ctypes.POINTER(ctypes.c_int64)(), ctypes.c_uint64()
        acl.ok(name, tensor, address_of(values), address_of(count))
        assert values[: count.value] == expected
        delete_array(values)
    assert acl.asked("aclGetViewOffset", ctypes.c_int64, tensor) == 2
    assert acl.asked("aclGetDataType", ctypes.c_int, tensor) == 11
    assert acl.asked("aclGetFormat", ctypes.c_int, tensor) == 1
    assert acl.asked("aclGetRawTensorAddr", ctypes.c_void_p, tensor) == ctypes.addressof(tensors.memory)
    acl.ok("aclSetRawTensorAddr", tensor, 4096)
    assert acl.asked("aclGetRawTensorAddr", ctypes.c_void_p, tensor) == 4096
    assert acl.aclGetDataType(None, None) == 161001
    assert acl.aclGetDataType(tensor, None) == 161001
    acl.message()


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize(
    ("dy_shape", "y_shape"),
    [((), ()), ((1,), (5, 1)), ((7, 1, 3), (2, 1)), ((2, 1, 2, 1, 3), (1, 4, 1, 5, 1)), ((33, 1), (1, 40))],
    ids=str,
)
def test_broadcast_operands_are_computed(
    acl: Acl, dtype: np.dtype[Any], dy_shape: tuple[int, ...], y_shape: tuple[int, ...]
) -> None:
    rng = np.random.default_rng(3)
    dy = rng.standard_normal(dy_shape).astype(dtype)
    y = rng.random(y_shape).astype(dtype)
    out = np.zeros(np.broadcast_shapes(dy_shape, y_shape), dtype)
    assert kernel.run(acl, np.asarray(dy), np.asarray(y), out) == 0
    expected = oracle.sigmoid_backward(np.asarray(dy), np.asarray(y), dtype)
    np.testing.assert_array_equal(oracle.bits(out), oracle.bits(expected))


def strided(values: Any, how: str) -> Any:
    """The values in an array with other strides."""
    if how == "contiguous":
        return values
    if how == "transposed":
        return np.ascontiguousarray(values.T).T
    if how == "sliced":
        wide = np.full((values.shape[0] * 2, values.shape[1] * 3 + 1), 9, values.dtype)
        view = wide[::2, 1::3]
        view[...] = values
        return view
    if how == "padded":
        wide = np.full((values.shape[0], values.shape[1] + 5), 9, values.dtype)
        view = wide[:, : values.shape[1]]
        view[...] = values
        return view
    raise ValueError(how)


@pytest.mark.parametrize("dtype", [F16, F32, F64, C64, np.dtype(np.complex128)], ids=str)
@pytest.mark.parametrize("of_out", ["contiguous", "transposed", "sliced", "padded"])
@pytest.mark.parametrize("of_dy", ["contiguous", "transposed", "sliced", "padded"])
def test_strided_views_are_read_and_written_in_place(
    acl: Acl, of_dy: str, of_out: str, dtype: np.dtype[Any]
) -> None:
    rng = np.random.default_rng(4)
    dy = strided(rng.standard_normal((37, 41)).astype(dtype), of_dy)
    y = strided(rng.random((37, 41)).astype(dtype), "transposed" if of_dy == "sliced" else "contiguous")
    out = strided(np.zeros((37, 41), dtype), of_out)
    around = out.base.copy() if of_out in ("sliced", "padded") else None
    assert kernel.run(acl, dy, y, out) == 0
    expected = oracle.sigmoid_backward(dy, y, dtype)
    np.testing.assert_array_equal(oracle.bits(out), oracle.bits(expected))
    if around is not None:
        # What lies between the elements of the view is untouched.
        assert (out.base == 9).sum() == (around == 9).sum()


def test_strides_offsets_and_casts_go_together(acl: Acl) -> None:
    rng = np.random.default_rng(6)
    dy = np.broadcast_to(rng.standard_normal((1, 9, 1)).astype(F16), (8, 9, 6))[:, ::2]
    y = rng.random((8, 6, 9)).astype(BF16).transpose(0, 2, 1)[:, ::2]
    out = np.zeros((6, 5, 8), F64).transpose(2, 1, 0)
    assert kernel.run(acl, dy, y, out) == 0
    np.testing.assert_array_equal(oracle.bits(out), oracle.bits(oracle.sigmoid_backward(dy, y, F64)))


def test_an_offset_is_counted_in_elements_from_the_storage(acl: Acl) -> None:
    storage = np.arange(20, dtype=F32) / 20
    dy, out = np.ones(4, F32), np.zeros(4, F32)
    tensors = [
        kernel.tensor_over(acl, dy),
        acl.tensor(storage.ctypes.data, [4], 0, strides=[3], offset=2, storage=[20]),
        kernel.tensor_over(acl, out),
    ]
    status, size, executor = acl.phase_one(*tensors)
    assert status == 0
    workspace = np.zeros(size, np.uint8)
    assert acl.aclnnSigmoidBackward(workspace.ctypes.data, size, executor, None) == 0
    for tensor in tensors:
        acl.ok("aclDestroyTensor", tensor)
    np.testing.assert_array_equal(out, oracle.sigmoid_backward(dy, storage[2:12:3], F32))


def test_six_alternating_broadcast_dimensions_of_doubles_fail_on_the_device_only(acl: Acl) -> None:
    dy_shape, y_shape = (2, 1, 2, 1, 2, 1), (1, 2, 1, 2, 1, 2)
    for dtype, expected in [(F32, 0), (F64, 507018), (C64, 507018)]:
        dy, y = np.ones(dy_shape, dtype), np.full(y_shape, 0.5, dtype)
        out = np.zeros((2,) * 6, dtype)
        tensors = [kernel.tensor_over(acl, array) for array in (dy, y, out)]
        status, size, executor = acl.phase_one(*tensors)
        assert status == 0
        workspace = np.zeros(size, np.uint8)
        assert acl.aclnnSigmoidBackward(workspace.ctypes.data, size, executor, None) == 0
        assert acl.aclrtSynchronizeStream(None) == expected
        assert acl.aclrtSynchronizeStream(None) == 0
        for tensor in tensors:
            acl.ok("aclDestroyTensor", tensor)
    merged = np.ones((2, 2, 2, 1, 2, 1), F64)
    assert kernel.run(acl, merged, np.full((2, 2, 2, 2, 2, 2), 0.5), np.zeros((2,) * 6, F64)) == 0
    acl.message()


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_results_lie_within_the_error_bound_of_the_formula(acl: Acl, dtype: np.dtype[Any]) -> None:
    """Another oracle: the exact value in extended precision, with a bound in units of the last place."""
    rng = np.random.default_rng(11)
    y = (1 / (1 + np.exp(-rng.normal(0, 4, 4000)))).astype(dtype)
    dy = (rng.standard_normal(4000) * 10.0 ** rng.integers(-2, 3, 4000)).astype(dtype)
    out = np.zeros(4000, dtype)
    assert kernel.run(acl, dy, y, out) == 0
    wide = np.clongdouble if dtype.kind == "c" else np.longdouble
    exact_y, exact_dy = y.astype(wide), dy.astype(wide)
    exact = np.conj(exact_y * (1 - exact_y)) * exact_dy
    unit = {F16: 2.0**-10, BF16: 2.0**-7, F32: 2.0**-23, C64: 2.0**-23}.get(dtype, 2.0**-52)
    # Half formats round once; the others three times (1 - y, and two products), complex ones a little more.
    units = 0.51 if dtype in (F16, BF16) else 2.0 if dtype.kind != "c" else 3.0
    tiny = {F16: 2.0**-24}.get(dtype, 0.0)
    error = np.abs(out.astype(wide) - exact)
    assert (error <= units * unit * np.abs(exact) + tiny).all()
