"""Operators that join, split, reduce and scale."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from .harness import Case, NDArray, TrainingRuntime, assert_close, run_portable

SHAPES = [
    ((2, 3), (2, 3)),
    ((2, 3), (3,)),
    ((3,), (2, 3)),
    ((1,), (2, 3)),
    ((), (2, 3)),
    ((2, 3), ()),
    ((), ()),
    ((1, 3), (2, 1)),
    ((4, 1, 3), (2, 1)),
    ((1, 1, 3), (3,)),
    ((3,), (1, 1, 3)),
    ((1, 1), (5, 1, 1)),
    ((0, 1), (1, 4)),
]


def axes_case(a: tuple[int, ...], b: tuple[int, ...], opset: int = 17, left_out: str | None = None) -> Case:
    outputs = {name: None if name == left_out else np.int64 for name in ("a_axes", "b_axes")}
    inputs = {"a_shape": np.array(a, np.int64), "b_shape": np.array(b, np.int64)}
    return Case("BroadcastGradientArgs", inputs, outputs, {}, opset)


def axes_expected(a: tuple[int, ...], b: tuple[int, ...]) -> dict[str, NDArray]:
    rank = max(len(a), len(b))
    found: dict[str, list[int]] = {"a_axes": [], "b_axes": []}
    for axis in reversed(range(rank)):
        in_a, in_b = axis - rank + len(a), axis - rank + len(b)
        if in_a < 0 or in_b < 0:
            found["a_axes" if in_a < 0 else "b_axes"].append(axis)
        elif a[in_a] != b[in_b]:
            found["a_axes" if a[in_a] == 1 else "b_axes"].append(axis)
    return {name: np.array(axes, np.int64) for name, axes in found.items()}


@pytest.mark.parametrize(("a", "b"), SHAPES)
@pytest.mark.parametrize("opset", [13, 17, 18, 21])
def test_the_axes_to_sum_over(a: tuple[int, ...], b: tuple[int, ...], opset: int) -> None:
    assert_close(run_portable(axes_case(a, b, opset)), axes_expected(a, b))


@pytest.mark.parametrize("left_out", ["a_axes", "b_axes"])
def test_one_of_the_lists_may_be_left_out(left_out: str) -> None:
    expected = axes_expected((4, 1, 3), (2, 1))
    del expected[left_out]
    found = run_portable(axes_case((4, 1, 3), (2, 1), left_out=left_out))
    assert_close(found, expected)
    assert set(found) == set(expected)


@pytest.mark.parametrize(("a", "b"), SHAPES)
def test_the_kernel_finds_the_same_axes(
    a: tuple[int, ...], b: tuple[int, ...], training_runtime: TrainingRuntime
) -> None:
    case = axes_case(a, b)
    expected = training_runtime.run(case.model(), case.feeds)
    assert_close(run_portable(case), {name: expected[name] for name in ("a_axes", "b_axes")})


def reduce_case(axes: list[int], keepdims: int, noop: int, dtype: Any = np.float32) -> Case:
    data = np.random.default_rng(1).integers(-9, 9, (2, 3, 4)).astype(dtype)
    attributes = {"keepdims": keepdims, "noop_with_empty_axes": noop}
    inputs = {"data": data, "axes": np.array(axes, np.int64)}
    return Case("ReduceSumTraining", inputs, {"reduced": dtype}, attributes)


@pytest.mark.parametrize("axes", [[], [0], [2, 0], [-1], [0, 1, 2]])
@pytest.mark.parametrize("keepdims", [0, 1])
@pytest.mark.parametrize("noop", [0, 1])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32, np.int64])
def test_a_sum_over_axes_that_are_an_input(axes: list[int], keepdims: int, noop: int, dtype: Any) -> None:
    case = reduce_case(axes, keepdims, noop, dtype)
    along = tuple(axes) if axes or noop else None
    expected = case.inputs["data"].sum(axis=along, keepdims=bool(keepdims), dtype=dtype)
    assert_close(run_portable(case), {"reduced": expected})


@pytest.mark.parametrize("axes", [[], [0], [2, 0], [-1]])
@pytest.mark.parametrize("keepdims", [0, 1])
@pytest.mark.parametrize("noop", [0, 1])
def test_the_kernel_sums_the_same(
    axes: list[int], keepdims: int, noop: int, training_runtime: TrainingRuntime
) -> None:
    case = reduce_case(axes, keepdims, noop)
    expected = training_runtime.run(case.model(), case.feeds)
    assert_close(run_portable(case), {"reduced": expected["reduced"]})


def concat_case(axis: int, count: int, dtype: Any = np.float32, opset: int = 17) -> Case:
    rng = np.random.default_rng(2)
    inputs = {}
    for position in range(count):
        shape = [2, 3, 4]
        shape[axis] = position + 1
        inputs[f"part_{position}"] = (9 * rng.normal(size=shape)).astype(dtype)
    outputs = {"concat_result": dtype, "per_input_length": np.int64}
    return Case("ConcatTraining", inputs, outputs, {"axis": axis}, opset)


@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("count", [1, 3])
@pytest.mark.parametrize(
    ("opset", "dtype"), [(11, np.float32), (13, np.int32), (17, np.float64), (18, np.float16)]
)
def test_joining_gives_the_sizes_of_the_parts(axis: int, count: int, opset: int, dtype: Any) -> None:
    case = concat_case(axis, count, dtype, opset)
    expected = {
        "concat_result": np.concatenate(list(case.inputs.values()), axis=axis),
        "per_input_length": np.arange(1, count + 1),
    }
    assert_close(run_portable(case), expected, 0, 0)


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_the_kernel_joins_the_same(axis: int, training_runtime: TrainingRuntime) -> None:
    case = concat_case(axis, 3)
    expected = training_runtime.run(case.model(), case.feeds)
    assert_close(run_portable(case), {name: expected[name] for name in case.outputs}, 0, 0)


def split_case(axis: int, sizes: list[int], opset: int = 17, left_out: int | None = None) -> Case:
    shape = [2, 3, 4]
    shape[axis] = sum(sizes)
    inputs = {
        "input": np.random.default_rng(3).normal(size=shape).astype(np.float32),
        "split": np.array(sizes, np.int64),
    }
    outputs = {
        f"part_{position}": None if position == left_out else np.float32 for position in range(len(sizes))
    }
    return Case("SplitTraining", inputs, outputs, {"axis": axis}, opset)


@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("sizes", [[5], [2, 3], [1, 4, 2], [0, 3]])
@pytest.mark.parametrize("opset", [11, 13, 17, 18])
def test_splitting_by_sizes_that_are_an_input(axis: int, sizes: list[int], opset: int) -> None:
    case = split_case(axis, sizes, opset)
    parts = np.split(case.inputs["input"], np.cumsum(sizes)[:-1], axis=axis)
    assert_close(run_portable(case), {f"part_{i}": part for i, part in enumerate(parts)}, 0, 0)


@pytest.mark.parametrize("opset", [11, 17])
def test_a_part_may_be_left_out(opset: int) -> None:
    case = split_case(0, [1, 4, 2], opset, left_out=1)
    data = case.inputs["input"]
    assert_close(run_portable(case), {"part_0": data[:1], "part_2": data[5:]}, 0, 0)


@pytest.mark.parametrize("axis", [0, -1])
def test_the_kernel_splits_the_same(axis: int, training_runtime: TrainingRuntime) -> None:
    case = split_case(axis, [1, 4, 2])
    expected = training_runtime.run(case.model(), case.feeds)
    assert_close(run_portable(case), {name: expected[name] for name in case.outputs}, 0, 0)


def scale_case(down: int, factor: Any, dtype: Any = np.float32, opset: int = 17) -> Case:
    data = np.random.default_rng(4).normal(size=(3, 4)).astype(dtype)
    return Case("Scale", {"input": data, "scale": factor}, {"output": dtype}, {"scale_down": down}, opset)


FACTORS = [
    np.array(2.5, np.float32),
    np.array(-3.0, np.float64),
    np.array(7, np.int64),
    np.array([3], np.int32),
]


@pytest.mark.parametrize("down", [0, 1])
@pytest.mark.parametrize("factor", FACTORS, ids=repr)
@pytest.mark.parametrize(("opset", "dtype"), [(11, np.float32), (17, np.float64), (17, np.float16)])
def test_scaling_by_a_number_of_another_type(down: int, factor: Any, opset: int, dtype: Any) -> None:
    case = scale_case(down, factor, dtype, opset)
    number = float(factor.item())
    wide = case.inputs["input"].astype(np.float64)
    expected = (wide / number if down else wide * number).astype(dtype)
    assert_close(run_portable(case), {"output": expected}, 2e-3 if dtype == np.float16 else 1e-6)


@pytest.mark.parametrize("down", [0, 1])
@pytest.mark.parametrize("factor", FACTORS[:3], ids=repr)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_kernel_scales_the_same(
    down: int, factor: Any, dtype: Any, training_runtime: TrainingRuntime
) -> None:
    case = scale_case(down, factor, dtype)
    expected = training_runtime.run(case.model(), case.feeds)
    assert_close(run_portable(case), {"output": expected["output"]})


def test_passing_through_changes_nothing() -> None:
    inputs = {"first": np.arange(3.0), "second": np.array([True, False])}
    case = Case("PassThrough", inputs, {"one": np.float64, "two": np.bool_})
    assert_close(run_portable(case), {"one": inputs["first"], "two": inputs["second"]}, 0, 0)
