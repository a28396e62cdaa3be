"""Gradients of operators that pick elements."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import onnx_ascend_ext as ax

from .harness import Case, NDArray, TrainingRuntime, assert_close, run_portable

OPSETS = [11, 13, 15, 16, 18, 21]


def normal(shape: tuple[int, ...], seed: int, dtype: Any = np.float32) -> NDArray:
    return np.asarray(np.random.default_rng(seed).normal(size=shape), dtype)


SLICES = [
    pytest.param((6,), [1], [4], None, None, id="one axis"),
    pytest.param((4, 5), [1, 0], [3, 5], None, None, id="two axes"),
    pytest.param((4, 5), [-3], [-1], [-1], None, id="from the end"),
    pytest.param((7, 3), [0], [7], [0], [2], id="steps"),
    pytest.param((7, 3), [6], [-100], [0], [-3], id="backwards"),
    pytest.param((3, 4, 5), [1, 4], [2**31 - 1, 0], [2, 1], [2, -1], id="axes in another order"),
    pytest.param((3, 4), [2], [2], [1], None, id="nothing"),
]


def slice_case(
    shape: tuple[int, ...],
    starts: list[int],
    ends: list[int],
    axes: list[int] | None,
    steps: list[int] | None,
    opset: int = 17,
    index: Any = np.int64,
    dtype: Any = np.float32,
) -> Case:
    picked = np.zeros(shape)[slices_of(len(shape), starts, ends, axes, steps)]
    inputs = {
        "dY": (10 * normal(picked.shape, 1, np.float64)).astype(dtype),
        "shape": np.array(shape, np.int64),
        "starts": np.array(starts, index),
        "ends": np.array(ends, index),
        "axes": None if axes is None else np.array(axes, index),
        "steps": None if steps is None else np.array(steps, index),
    }
    return Case("SliceGrad", inputs, {"dX": dtype}, {}, opset)


def slices_of(
    rank: int, starts: list[int], ends: list[int], axes: list[int] | None, steps: list[int] | None
) -> tuple[slice, ...]:
    slices = [slice(None)] * rank
    for position, axis in enumerate(axes or range(len(starts))):
        step = steps[position] if steps else 1
        # A numpy end below 0 counts from the end, also where it is meant to lie before the first element.
        end: int | None = None if step < 0 and ends[position] <= -100 else ends[position]
        slices[axis] = slice(starts[position], end, step)
    return tuple(slices)


@pytest.mark.parametrize(("shape", "starts", "ends", "axes", "steps"), SLICES)
@pytest.mark.parametrize(("opset", "index"), [(11, np.int64), (17, np.int32), (18, np.int64)])
def test_the_gradient_of_a_slice(
    shape: tuple[int, ...],
    starts: list[int],
    ends: list[int],
    axes: list[int] | None,
    steps: list[int] | None,
    opset: int,
    index: Any,
) -> None:
    case = slice_case(shape, starts, ends, axes, steps, opset, index)
    expected = np.zeros(shape, np.float32)
    expected[slices_of(len(shape), starts, ends, axes, steps)] = case.inputs["dY"]
    assert_close(run_portable(case), {"dX": expected}, 0, 0)


@pytest.mark.parametrize("dtype", [np.float16, np.float64, np.int64, np.int32])
def test_the_gradient_of_a_slice_in_other_types(dtype: Any) -> None:
    case = slice_case((4, 5), [1], [3], [1], None, dtype=dtype)
    expected = np.zeros((4, 5), dtype)
    expected[:, 1:3] = case.inputs["dY"]
    assert_close(run_portable(case), {"dX": expected}, 0, 0)


@pytest.mark.parametrize(("shape", "starts", "ends", "axes", "steps"), SLICES[:-1])
def test_the_kernel_of_slice_computes_the_same(
    shape: tuple[int, ...],
    starts: list[int],
    ends: list[int],
    axes: list[int] | None,
    steps: list[int] | None,
    training_runtime: TrainingRuntime,
) -> None:
    case = slice_case(shape, starts, ends, axes, steps)
    expected = training_runtime.run(case.model(), case.feeds)
    assert_close(run_portable(case), {"dX": expected["dX"]})


GATHERS = [
    pytest.param(shape, indices, axis, id=f"{shape}-{indices}-{axis}")
    for shape, indices, axis in [
        ((5,), (3,), 0),
        ((5, 4), (2, 3), 0),
        ((5, 4), (6,), 1),
        ((3, 4, 2), (2, 2), 1),
        ((3, 4, 2), (5,), -1),
        ((3, 4, 2), (), -2),
        ((3, 4), (0,), 0),
    ]
]


def gather_case(
    shape: tuple[int, ...],
    indices: tuple[int, ...],
    axis: int,
    opset: int = 17,
    index: Any = np.int64,
    dtype: Any = np.float32,
    *,
    negative: bool = True,
) -> Case:
    rng = np.random.default_rng(3)
    size = shape[axis]
    chosen = np.asarray(rng.integers(-size if negative else 0, size, indices), index)
    first = axis % len(shape)
    picked = (*shape[:first], *indices, *shape[first + 1 :])
    inputs = {"shape": np.array(shape, np.int64), "indices": chosen, "dY": normal(picked, 4, dtype)}
    return Case("GatherGrad", inputs, {"dX": dtype}, {"axis": axis}, opset)


def gather_expected(case: Case) -> dict[str, Any]:
    axis = case.attributes["axis"] % len(case.inputs["shape"])
    result = np.zeros(case.inputs["shape"], np.float64)
    indices = case.inputs["indices"]
    moved = np.moveaxis(result, axis, 0)
    gradient = case.inputs["dY"].astype(np.float64)
    flat = gradient.reshape(*gradient.shape[:axis], -1, *gradient.shape[axis + indices.ndim :])
    np.add.at(moved, indices.ravel(), np.moveaxis(flat, axis, 0))
    return {"dX": result.astype(case.inputs["dY"].dtype)}


@pytest.mark.parametrize(("shape", "indices", "axis"), GATHERS)
@pytest.mark.parametrize("opset", OPSETS)
def test_the_gradient_of_gather(
    shape: tuple[int, ...], indices: tuple[int, ...], axis: int, opset: int
) -> None:
    if indices == (0,) and opset < 16:
        pytest.skip(
            "before ScatterElements adds, a product of matrices stands for it, and they cannot be empty"
        )
    case = gather_case(shape, indices, axis, opset)
    assert_close(run_portable(case), gather_expected(case))


@pytest.mark.parametrize("index", [np.int32, np.int64])
@pytest.mark.parametrize("dtype", [np.float16, np.float64])
@pytest.mark.parametrize("opset", [14, 17])
def test_the_gradient_of_gather_in_other_types(index: Any, dtype: Any, opset: int) -> None:
    case = gather_case((4, 3), (6,), 0, opset, index, dtype)
    rtol, atol = (5e-3, 5e-3) if dtype == np.float16 else (1e-12, 1e-12)
    assert_close(run_portable(case), gather_expected(case), rtol, atol)


@pytest.mark.parametrize("opset", [13, 17])
def test_the_shape_may_be_of_int32(opset: int) -> None:
    case = gather_case((4, 3), (6,), 0, opset)
    case.inputs["shape"] = case.inputs["shape"].astype(np.int32)
    assert_close(run_portable(case), gather_expected(case))


@pytest.mark.parametrize(("shape", "indices", "axis"), GATHERS[:-1])
@pytest.mark.parametrize("index", [np.int32, np.int64])
def test_the_kernel_of_gather_computes_the_same(
    shape: tuple[int, ...], indices: tuple[int, ...], axis: int, index: Any, training_runtime: TrainingRuntime
) -> None:
    case = gather_case(shape, indices, axis, index=index, negative=False)
    expected = training_runtime.run(case.model(), case.feeds)
    assert_close(run_portable(case), {"dX": expected["dX"]})


ELEMENTS = [
    pytest.param(shape, indices, axis, id=f"{shape}-{indices}-{axis}")
    for shape, indices, axis in [
        ((5,), (7,), 0),
        ((3, 4), (3, 6), 1),
        ((3, 4), (5, 4), 0),
        ((3, 4), (3, 2), -1),
        ((2, 3, 4), (2, 5, 4), -2),
        ((2, 3, 4), (1, 5, 3), 1),
    ]
]


def elements_case(
    shape: tuple[int, ...], indices: tuple[int, ...], axis: int, opset: int = 17, index: Any = np.int64
) -> Case:
    chosen = np.random.default_rng(6).integers(0, shape[axis], indices).astype(index)
    inputs = {"dY": normal(indices, 7), "shape": np.array(shape, np.int64), "indices": chosen}
    return Case("GatherElementsGrad", inputs, {"dX": np.float32}, {"axis": axis}, opset)


def elements_expected(case: Case) -> dict[str, Any]:
    result = np.zeros(case.inputs["shape"], np.float64)
    indices = list(np.indices(case.inputs["indices"].shape))
    indices[case.attributes["axis"]] = case.inputs["indices"]
    np.add.at(result, tuple(indices), case.inputs["dY"])
    return {"dX": result.astype(np.float32)}


@pytest.mark.parametrize(("shape", "indices", "axis"), ELEMENTS)
@pytest.mark.parametrize(
    ("opset", "index"), [(11, np.int64), (13, np.int32), (15, np.int64), (16, np.int32), (18, np.int64)]
)
def test_the_gradient_of_gather_elements(
    shape: tuple[int, ...], indices: tuple[int, ...], axis: int, opset: int, index: Any
) -> None:
    case = elements_case(shape, indices, axis, opset, index)
    assert_close(run_portable(case), elements_expected(case))


@pytest.mark.parametrize(("shape", "indices", "axis"), ELEMENTS)
def test_the_kernel_of_gather_elements_computes_the_same(
    shape: tuple[int, ...], indices: tuple[int, ...], axis: int, training_runtime: TrainingRuntime
) -> None:
    case = elements_case(shape, indices, axis)
    expected = training_runtime.run(case.model(), case.feeds)
    assert_close(run_portable(case), {"dX": expected["dX"]})


TUPLES = [
    pytest.param(shape, outer, width, batch, id=f"{shape}-{outer}-{width}-{batch}")
    for shape, outer, width, batch in [
        ((4,), (3,), 1, 0),
        ((3, 4), (5,), 2, 0),
        ((3, 4), (2, 3), 1, 0),
        ((2, 3, 4), (2, 5), 1, 1),
        ((2, 3, 4), (2, 3, 4), 1, 2),
    ]
]


def tuples_case(
    shape: tuple[int, ...], outer: tuple[int, ...], width: int, batch: int, opset: int = 17
) -> Case:
    rng = np.random.default_rng(8)
    bounds = shape[batch : batch + width]
    indices = np.stack([rng.integers(0, bound, outer) for bound in bounds], axis=-1)
    inputs = {
        "shape": np.array(shape, np.int64),
        "indices": indices,
        "update": normal((*outer, *shape[batch + width :]), 9),
    }
    return Case("GatherNDGrad", inputs, {"output": np.float32}, {"batch_dims": batch}, opset)


def tuples_expected(case: Case) -> dict[str, Any]:
    result = np.zeros(case.inputs["shape"], np.float64)
    batch, indices = case.attributes["batch_dims"], case.inputs["indices"]
    for position in np.ndindex(indices.shape[:-1]):
        place = (*position[:batch], *indices[position])
        result[place] += case.inputs["update"][position]
    return {"output": result.astype(np.float32)}


@pytest.mark.parametrize(("shape", "outer", "width", "batch"), TUPLES)
@pytest.mark.parametrize("opset", [16, 18])
def test_the_gradient_of_gather_nd(
    shape: tuple[int, ...], outer: tuple[int, ...], width: int, batch: int, opset: int
) -> None:
    case = tuples_case(shape, outer, width, batch, opset)
    assert_close(run_portable(case), tuples_expected(case))


@pytest.mark.parametrize(("shape", "outer", "width", "batch"), TUPLES)
def test_the_kernel_of_gather_nd_computes_the_same(
    shape: tuple[int, ...], outer: tuple[int, ...], width: int, batch: int, training_runtime: TrainingRuntime
) -> None:
    case = tuples_case(shape, outer, width, batch)
    expected = training_runtime.run(case.model(), case.feeds)
    assert_close(run_portable(case), {"output": expected["output"]})


def test_before_opset_16_gather_nd_has_no_body() -> None:
    model = tuples_case((3, 4), (5,), 2, 0, opset=15).model()
    report = ax.convert(model, portable=True).portable
    assert report is not None
    assert report.expanded == []
    assert "needs opset 16" in report.remaining[0].reason
