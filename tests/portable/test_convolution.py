"""The gradient of convolution: ranks 1 to 3, strides, dilations, groups, pads."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import product
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper

import onnx_ascend_ext as ax

from .harness import Case, NDArray, TrainingRuntime, assert_close, run_portable, run_stock


@dataclass(frozen=True)
class Convolution:
    """Attributes and sizes of a Conv node."""

    sizes: list[int]
    kernel: list[int]
    strides: list[int]
    dilations: list[int]
    pads: list[int]
    auto_pad: str = "NOTSET"
    group: int = 1
    samples: int = 2
    channels: int = 2
    features: int = 3
    left_out: set[str] = field(default_factory=set)
    written: bool = True

    @property
    def rank(self) -> int:
        return len(self.sizes)

    def all_pads(self) -> list[tuple[int, int]]:
        if self.auto_pad == "NOTSET":
            return list(zip(self.pads[: self.rank], self.pads[self.rank :], strict=True))
        pads = []
        for size, kernel, stride, dilation in zip(
            self.sizes, self.kernel, self.strides, self.dilations, strict=True
        ):
            total = max((-(-size // stride) - 1) * stride + (kernel - 1) * dilation + 1 - size, 0)
            total = 0 if self.auto_pad == "VALID" else total
            small = total // 2
            pads.append((small, total - small) if self.auto_pad == "SAME_UPPER" else (total - small, small))
        return pads

    def output_sizes(self) -> list[int]:
        return [
            (size + sum(pads) - (kernel - 1) * dilation - 1) // stride + 1
            for size, kernel, stride, dilation, pads in zip(
                self.sizes, self.kernel, self.strides, self.dilations, self.all_pads(), strict=True
            )
        ]


def case_of(
    conv: Convolution, seed: int = 0, opset: int = 17, dtype: Any = np.float32, hide: bool = False
) -> Case:
    rng = np.random.default_rng(seed)
    features, channels = conv.features * conv.group, conv.channels * conv.group

    def normal(*shape: int) -> NDArray:
        return np.asarray(rng.normal(size=shape), dtype)

    inputs = {
        "dY": normal(conv.samples, features, *conv.output_sizes()),
        "X": normal(conv.samples, channels, *conv.sizes),
        "W": normal(features, conv.channels, *conv.kernel),
    }
    attributes: dict[str, Any] = {"group": conv.group, "auto_pad": conv.auto_pad}
    attributes["strides"], attributes["dilations"] = conv.strides, conv.dilations
    if conv.written:
        attributes["kernel_shape"] = conv.kernel
    if conv.auto_pad == "NOTSET":
        attributes["pads"] = conv.pads
    outputs = {name: None if name in conv.left_out else dtype for name in ("dX", "dW", "dB")}
    return Case("ConvGrad", inputs, outputs, attributes, opset, hide_shapes=hide)


def expected_of(conv: Convolution, case: Case) -> dict[str, NDArray]:
    gradient, x, w = (case.inputs[name].astype(np.float64) for name in ("dY", "X", "W"))
    pads = conv.all_pads()
    padded = np.pad(x, [(0, 0), (0, 0), *pads])
    d_padded, d_w = np.zeros_like(padded), np.zeros_like(w)
    for place in np.ndindex(*conv.output_sizes()):
        for offset in product(*(range(size) for size in conv.kernel)):
            source = tuple(
                p * stride + o * dilation
                for p, o, stride, dilation in zip(place, offset, conv.strides, conv.dilations, strict=True)
            )
            for group in range(conv.group):
                inside = slice(group * conv.channels, (group + 1) * conv.channels)
                outside = slice(group * conv.features, (group + 1) * conv.features)
                here = gradient[(slice(None), outside, *place)]
                d_padded[(slice(None), inside, *source)] += here @ w[(outside, slice(None), *offset)]
                d_w[(outside, slice(None), *offset)] += here.T @ padded[(slice(None), inside, *source)]
    inner = tuple(slice(before, before + size) for (before, _), size in zip(pads, conv.sizes, strict=True))
    spatial = tuple(range(2, 2 + conv.rank))
    results = {
        "dX": d_padded[(slice(None), slice(None), *inner)],
        "dW": d_w,
        "dB": gradient.sum(axis=(0, *spatial)),
    }
    dtype = case.inputs["X"].dtype
    return {name: value.astype(dtype) for name, value in results.items() if name not in conv.left_out}


def drawn(seed: int) -> Convolution:
    rng = np.random.default_rng(seed)
    rank = int(rng.integers(1, 4))

    def numbers(low: int, high: int, count: int = rank) -> list[int]:
        return [int(value) for value in rng.integers(low, high + 1, count)]

    kernel, dilations = numbers(1, 3), numbers(1, 2)
    reach = [(size - 1) * gap + 1 for size, gap in zip(kernel, dilations, strict=True)]
    auto_pad = ["NOTSET", "NOTSET", "NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID"][int(rng.integers(0, 6))]
    return Convolution(
        sizes=[extent + int(rng.integers(0, 4)) for extent in reach],
        kernel=kernel,
        strides=numbers(1, 3),
        dilations=dilations if not auto_pad.startswith("SAME") else [1] * rank,
        pads=[int(rng.integers(0, extent)) for extent in [*reach, *reach]],
        auto_pad=auto_pad,
        group=int(rng.integers(1, 4)),
        samples=int(rng.integers(1, 4)),
        channels=int(rng.integers(1, 3)),
        features=int(rng.integers(1, 3)),
        written=bool(rng.integers(0, 2)),
    )


@pytest.mark.parametrize("seed", range(40))
@pytest.mark.parametrize("opset", [11, 17, 18])
def test_the_gradient_of_a_convolution(seed: int, opset: int) -> None:
    conv = drawn(seed)
    case = case_of(conv, seed, opset)
    assert_close(run_portable(case), expected_of(conv, case), 1e-4, 1e-4)


@pytest.mark.parametrize("seed", range(0, 40, 2))
def test_the_sizes_need_not_be_stated(seed: int) -> None:
    conv = drawn(seed)
    case = case_of(Convolution(**{**conv.__dict__, "written": True}), seed, hide=True)
    assert_close(run_portable(case), expected_of(conv, case), 1e-4, 1e-4)


@pytest.mark.parametrize("left_out", [{"dX"}, {"dW"}, {"dB"}, {"dX", "dB"}])
def test_a_gradient_may_be_left_out(left_out: set[str]) -> None:
    conv = Convolution([5, 5], [3, 3], [2, 2], [1, 1], [1, 1, 1, 1], left_out=left_out)
    case = case_of(conv)
    found = run_portable(case)
    assert_close(found, expected_of(conv, case), 1e-4, 1e-4)
    assert set(found) == {"dX", "dW", "dB"} - left_out


def test_a_convolution_of_float64_has_no_less_precision() -> None:
    conv = Convolution([6], [3], [2], [1], [1, 1])
    case = case_of(conv, dtype=np.float64)
    try:
        found = run_portable(case)
    except Exception as error:  # stock ONNX Runtime has no Conv of float64 in every release
        pytest.skip(f"no kernel of Conv for float64: {type(error).__name__}")
    assert_close(found, expected_of(conv, case), 1e-12, 1e-12)


@pytest.mark.parametrize("seed", range(60))
def test_the_kernel_of_convolution_computes_the_same(seed: int, training_runtime: TrainingRuntime) -> None:
    conv = drawn(seed)
    if conv.auto_pad != "NOTSET":
        pytest.skip("the kernel pads by attribute alone")
    case = case_of(conv, seed)
    expected = training_runtime.run(case.model(), case.feeds)
    assert_close(run_portable(case), {name: expected[name] for name in ("dX", "dW", "dB")}, 1e-4, 1e-4)


def transposed_case(conv: Convolution, seed: int, output_padding: list[int], opset: int = 17) -> Case:
    """The gradient of a ConvTranspose whose windows are those of a convolution."""
    rng = np.random.default_rng(seed)
    channels, features = conv.features * conv.group, conv.channels * conv.group
    sizes = [
        (size - 1) * stride + (kernel - 1) * dilation + 1 - sum(pads) + extra
        for size, stride, kernel, dilation, pads, extra in zip(
            conv.sizes,
            conv.strides,
            conv.kernel,
            conv.dilations,
            conv.all_pads(),
            output_padding,
            strict=True,
        )
    ]
    inputs = {
        "dY": rng.normal(size=(conv.samples, features, *sizes)).astype(np.float32),
        "X": rng.normal(size=(conv.samples, channels, *conv.sizes)).astype(np.float32),
        "W": rng.normal(size=(channels, conv.channels, *conv.kernel)).astype(np.float32),
    }
    attributes = {
        "kernel_shape": conv.kernel,
        "strides": conv.strides,
        "dilations": conv.dilations,
        "pads": conv.pads,
        "group": conv.group,
        "output_padding": output_padding,
    }
    return Case("ConvTransposeGrad", inputs, dict.fromkeys(("dX", "dW", "dB"), np.float32), attributes, opset)


def transposed(case: Case, x: NDArray, w: NDArray) -> NDArray:
    """ConvTranspose itself, on stock ONNX Runtime."""
    graph = helper.make_graph(
        [helper.make_node("ConvTranspose", ["x", "w"], ["y"], **case.attributes)],
        "forward",
        [
            helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, value.shape)
            for name, value in (("x", x), ("w", w))
        ],
        [helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, None)],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    result: NDArray = run_stock(model, {"x": x, "w": w})["y"]
    return result


@pytest.mark.parametrize("seed", range(24))
@pytest.mark.parametrize("opset", [11, 18])
def test_the_gradient_of_a_transposed_convolution_is_its_transpose(seed: int, opset: int) -> None:
    conv = drawn(seed)
    conv = Convolution(
        **{**conv.__dict__, "auto_pad": "NOTSET", "sizes": [size + 2 for size in conv.sizes]}
        | {"pads": [min(pad, 1) for pad in conv.pads]}
    )
    case = transposed_case(conv, seed, [stride - 1 for stride in conv.strides], opset)
    found = run_portable(case)
    rng = np.random.default_rng(seed + 100)
    gradient = case.inputs["dY"].astype(np.float64)
    # The operator is linear in each operand: its transpose gives the same product with any direction.
    for name, other in (("X", "W"), ("W", "X")):
        direction = rng.normal(size=case.inputs[name].shape).astype(np.float32)
        operands = {name: direction, other: case.inputs[other]}
        moved = transposed(case, operands["X"], operands["W"]).astype(np.float64)
        expected = np.sum(gradient * moved)
        scale = np.sqrt(np.sum(gradient**2) * np.sum(moved**2))
        assert abs(np.sum(found[f"d{name}"] * direction) - expected) < 1e-5 * scale
        assert found[f"d{name}"].shape == case.inputs[name].shape
    np.testing.assert_allclose(
        found["dB"], gradient.sum(axis=(0, *range(2, gradient.ndim))), rtol=1e-4, atol=1e-4
    )


def test_a_transposed_convolution_of_a_given_size_has_no_body() -> None:
    conv = Convolution([4], [3], [2], [1], [0, 0])
    case = transposed_case(conv, 0, [0])
    case.attributes["output_shape"] = [9]
    report = ax.convert(case.model(), portable=True).portable
    assert report is not None
    assert "size of its output" in report.remaining[0].reason
