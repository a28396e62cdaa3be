"""Gradients of pooling: ranks 1 to 3, strides, pads, windows that overlap or leave gaps."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper

import onnx_ascend_ext as ax

from .harness import Case, NDArray, TrainingRuntime, assert_close, run_portable, run_stock


@dataclass(frozen=True)
class Pooling:
    """Attributes and sizes of a pooling node."""

    sizes: list[int]
    kernel: list[int]
    strides: list[int]
    pads: list[int]
    count_include_pad: int = 0
    ceil_mode: int = 0
    dilations: list[int] | None = None
    samples: int = 2
    channels: int = 3

    @property
    def rank(self) -> int:
        return len(self.sizes)

    @property
    def attributes(self) -> dict[str, Any]:
        attributes: dict[str, Any] = {} if self.dilations is None else {"dilations": self.dilations}
        return attributes | {
            "kernel_shape": self.kernel,
            "strides": self.strides,
            "pads": self.pads,
            "ceil_mode": self.ceil_mode,
        }

    def forward(self, op_type: str, x: NDArray, opset: int = 17) -> list[NDArray]:
        """What the pooling operator itself gives; its gradient has to fit to that."""
        attributes = dict(self.attributes)
        outputs = ["Y", "Indices"]
        if op_type == "AveragePool":
            attributes["count_include_pad"] = self.count_include_pad
            outputs = ["Y"]
        dtype = helper.np_dtype_to_tensor_dtype(x.dtype)
        graph = helper.make_graph(
            [helper.make_node(op_type, ["X"], outputs, **attributes)],
            "forward",
            [helper.make_tensor_value_info("X", dtype, x.shape)],
            [
                helper.make_tensor_value_info(name, dtype if name == "Y" else onnx.TensorProto.INT64, None)
                for name in outputs
            ],
        )
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)
        results = run_stock(model, {"X": x})
        return [results[name] for name in outputs]


def drawn(seed: int, *, ceil: bool = False) -> Pooling:
    rng = np.random.default_rng(seed)
    rank = int(rng.integers(1, 4))
    kernel = [int(value) for value in rng.integers(1, 4, rank)]
    return Pooling(
        sizes=[size + int(rng.integers(0, 5)) for size in kernel],
        kernel=kernel,
        strides=[int(value) for value in rng.integers(1, 4, rank)],
        pads=[int(rng.integers(0, (size + 1) // 2 + (size > 1)) * (size > 1)) for size in [*kernel, *kernel]],
        count_include_pad=int(rng.integers(0, 2)),
        ceil_mode=int(ceil),
        samples=int(rng.integers(1, 3)),
        channels=int(rng.integers(1, 4)),
    )


def average_case(pool: Pooling, opset: int = 17, dtype: Any = np.float32, seed: int = 0) -> Case:
    x = np.zeros((pool.samples, pool.channels, *pool.sizes), np.float32)
    shape = pool.forward("AveragePool", x, max(opset, 17))[0].shape
    inputs = {"dY": np.asarray(np.random.default_rng(seed).normal(size=shape), dtype)}
    attributes = {**pool.attributes, "count_include_pad": pool.count_include_pad}
    return Case(
        "AveragePoolGrad",
        inputs,
        {"dX": dtype},
        attributes,
        opset,
        "",
        {"dX": ["N", pool.channels, *pool.sizes]},
    )


def average_expected(pool: Pooling, case: Case) -> dict[str, NDArray]:
    """The transpose of the forward operator, which is linear: what it makes of units are its columns."""
    gradient = case.inputs["dY"].astype(np.float64)
    count = int(np.prod(pool.sizes))
    units = np.eye(count, dtype=np.float32).reshape(count, 1, *pool.sizes)
    one = Pooling(**{**pool.__dict__, "samples": count, "channels": 1})
    columns = one.forward("AveragePool", units, max(case.opset, 17))[0].reshape(count, -1).astype(np.float64)
    result = gradient.reshape(pool.samples * pool.channels, -1) @ columns.T
    return {"dX": result.reshape(pool.samples, pool.channels, *pool.sizes).astype(case.inputs["dY"].dtype)}


def average_by_definition(pool: Pooling, case: Case) -> dict[str, NDArray]:
    """As ONNX defines it: releases of ONNX Runtime differ in what counts behind the pads in ceil mode."""
    gradient = case.inputs["dY"].astype(np.float64)
    result = np.zeros((pool.samples, pool.channels, *pool.sizes))
    before, after = pool.pads[: pool.rank], pool.pads[pool.rank :]
    for window in np.ndindex(*gradient.shape[2:]):
        inside, counted = [], 0
        for offset in np.ndindex(*pool.kernel):
            place = tuple(
                number * step + part - pad
                for number, step, part, pad in zip(window, pool.strides, offset, before, strict=True)
            )
            in_input = all(0 <= at < size for at, size in zip(place, pool.sizes, strict=True))
            in_pads = all(
                -low <= at < size + high
                for at, size, low, high in zip(place, pool.sizes, before, after, strict=True)
            )
            counted += in_pads if pool.count_include_pad else in_input
            if in_input:
                inside.append(place)
        for place in inside:
            result[(slice(None), slice(None), *place)] += (
                gradient[(slice(None), slice(None), *window)] / counted
            )
    return {"dX": result.astype(case.inputs["dY"].dtype)}


@pytest.mark.parametrize("seed", range(40))
@pytest.mark.parametrize("opset", [11, 17, 18])
def test_the_gradient_of_average_pooling_is_the_transpose_of_it(seed: int, opset: int) -> None:
    pool = drawn(seed)
    case = average_case(pool, opset, seed=seed)
    assert_close(run_portable(case), average_expected(pool, case))


@pytest.mark.parametrize("seed", range(100, 140))
@pytest.mark.parametrize("opset", [11, 18, 19])
def test_what_ceil_mode_adds_does_not_count(seed: int, opset: int) -> None:
    pool = drawn(seed, ceil=True)
    case = average_case(pool, opset, seed=seed)
    assert_close(run_portable(case), average_by_definition(pool, case))


@pytest.mark.parametrize("seed", range(20))
def test_the_definition_is_that_of_the_forward_operator(seed: int) -> None:
    pool = drawn(seed)
    case = average_case(pool, seed=seed)
    assert_close(average_by_definition(pool, case), average_expected(pool, case))


@pytest.mark.parametrize("dtype", [np.float16, np.float32])
def test_the_gradient_of_average_pooling_in_other_types(dtype: Any) -> None:
    pool = Pooling([5, 6], [2, 3], [2, 1], [1, 0, 0, 1])
    case = average_case(pool, dtype=dtype)
    assert_close(run_portable(case), average_expected(pool, case), 5e-3, 5e-3)


@pytest.mark.parametrize("seed", range(60))
def test_the_kernel_of_average_pooling_computes_the_same(
    seed: int, training_runtime: TrainingRuntime
) -> None:
    pool = drawn(seed)
    if pool.rank == 3:
        pytest.skip("the kernel overwrites where windows overlap, and takes one axis for another")
    case = average_case(pool, seed=seed)
    fixed = Case(**{**case.__dict__, "shapes": {"dX": [pool.samples, pool.channels, *pool.sizes]}})
    expected = training_runtime.run(fixed.model(), case.feeds)
    assert_close(run_portable(case), {"dX": expected["dX"]})


def test_without_the_size_of_its_result_average_pooling_has_no_body() -> None:
    model = average_case(Pooling([5], [2], [2], [0, 0])).model()
    for dim in model.graph.output[0].type.tensor_type.shape.dim:
        dim.dim_param = "unknown"
    report = ax.convert(model, portable=True).portable
    assert report is not None
    assert "sizes of its result are not known" in report.remaining[0].reason


def max_case(pool: Pooling, opset: int = 17, seed: int = 0, dtype: Any = np.float32) -> Case:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(pool.samples, pool.channels, *pool.sizes)).astype(np.float32)
    y, indices = pool.forward("MaxPool", x)
    inputs = {"dY": np.asarray(rng.normal(size=y.shape), dtype), "Indices": indices}
    return Case(
        "MaxPoolGrad",
        inputs,
        {"dX": dtype},
        pool.attributes,
        opset,
        "",
        {"dX": ["N", pool.channels, *pool.sizes]},
    )


def max_expected(pool: Pooling, case: Case) -> dict[str, NDArray]:
    result = np.zeros(pool.samples * pool.channels * int(np.prod(pool.sizes)), np.float64)
    np.add.at(result, case.inputs["Indices"].ravel(), case.inputs["dY"].ravel())
    shape = (pool.samples, pool.channels, *pool.sizes)
    return {"dX": result.reshape(shape).astype(case.inputs["dY"].dtype)}


@pytest.mark.parametrize("seed", range(40))
@pytest.mark.parametrize("opset", [16, 17, 18])
def test_the_gradient_of_max_pooling_goes_to_the_indices(seed: int, opset: int) -> None:
    pool = drawn(seed, ceil=bool(seed % 2))
    case = max_case(pool, opset, seed)
    assert_close(run_portable(case), max_expected(pool, case))


def test_the_gradients_of_windows_that_overlap_through_their_gaps_add_up() -> None:
    pool = Pooling([9, 9], [2, 2], [2, 2], [0] * 4, dilations=[2, 2])
    case = max_case(pool)
    assert len(np.unique(case.inputs["Indices"])) < case.inputs["Indices"].size
    assert_close(run_portable(case), max_expected(pool, case))


@pytest.mark.parametrize("dilations", [[1, 2], [2, 2]])
def test_the_gradient_of_average_pooling_with_gaps(dilations: list[int]) -> None:
    pool = Pooling([7, 8], [2, 3], [2, 1], [1, 0, 0, 1], dilations=dilations)
    case = average_case(pool, opset=19)
    assert_close(run_portable(case), average_expected(pool, case))


@pytest.mark.parametrize("seed", range(40))
@pytest.mark.parametrize("opset", [11, 15])
def test_before_opset_16_windows_that_do_not_meet_go_together(seed: int, opset: int) -> None:
    pool = drawn(seed, ceil=bool(seed % 2))
    case = max_case(pool, opset, seed)
    assert_close(run_portable(case), max_expected(pool, case))


@pytest.mark.parametrize("dilations", [[1, 2], [2, 3]])
def test_before_opset_16_gaps_are_minded(dilations: list[int]) -> None:
    pool = Pooling([9, 9], [2, 3], [1, 2], [0] * 4, dilations=dilations)
    case = max_case(pool, 14)
    assert_close(run_portable(case), max_expected(pool, case))


@pytest.mark.parametrize("dtype", [np.float16, np.float64])
def test_the_gradient_of_max_pooling_in_other_types(dtype: Any) -> None:
    pool = Pooling([7], [3], [1], [1, 1])
    case = max_case(pool, dtype=dtype)
    assert_close(run_portable(case), max_expected(pool, case), 5e-3, 5e-3)


@pytest.mark.parametrize("seed", range(40))
def test_the_kernel_of_max_pooling_computes_the_same(seed: int, training_runtime: TrainingRuntime) -> None:
    pool = drawn(seed)
    case = max_case(pool, seed=seed)
    fixed = Case(**{**case.__dict__, "shapes": {"dX": [pool.samples, pool.channels, *pool.sizes]}})
    expected = training_runtime.run(fixed.model(), case.feeds)
    assert_close(run_portable(case), {"dX": expected["dX"]})


def test_the_drawn_cases_have_overlaps_gaps_pads_and_every_rank() -> None:
    pools = [drawn(seed) for seed in range(40)]
    windows = [list(zip(pool.kernel, pool.strides, strict=True)) for pool in pools]
    assert any(size > step for pool in windows for size, step in pool)
    assert any(size < step for pool in windows for size, step in pool)
    assert any(any(pool.pads) and not pool.count_include_pad for pool in pools)
    assert {pool.rank for pool in pools} == {1, 2, 3}
    assert any(len(set(product(*map(range, pool.sizes)))) > 20 for pool in pools)
