"""What is done for places that are all alike grows in proportion to their number."""

from __future__ import annotations

import sys
from types import FrameType
from typing import Any

import onnx
import pytest

import onnx_ascend_ext as ax
from onnx_ascend_ext.matching import obstacles
from onnx_ascend_ext.rewriting import liveness, names

from .checking import parse

FILES = frozenset(module.__file__ for module in (obstacles, liveness, names))


def steps(model: onnx.ModelProto) -> int:
    """How many bytecodes these modules take to convert a model."""
    count = 0

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal count
        if frame.f_code.co_filename not in FILES:
            return None
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        count += event == "opcode"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        ax.convert(model)
    finally:
        sys.settrace(before)
    return count


def gradients_of_one_view(count: int) -> onnx.ModelProto:
    inputs = ", ".join(f"float[4,N] g{i}" for i in range(count))
    results = ", ".join(f"float[4,N] o{i}" for i in range(count))
    uses = " ".join(f"o{i} = Mul(t, g{i})" for i in range(count))
    return parse(
        f'<ir_version: 8, opset_import: ["": 18]> main (float[N,4] y, {inputs}) => ({results}) '
        f"<float one = {{1}}> {{ a = Sub(one, y) b = Mul(a, y) t = Transpose<perm = [1, 0]>(b) {uses} }}"
    )


def bodies_side_by_side(count: int) -> onnx.ModelProto:
    results = ", ".join(f"float[N] o{i}" for i in range(count))
    branches = " ".join(
        f"o{i} = If(c) <then_branch = t () => (float[N] d{i}) "
        f"{{ a{i} = Sub(one, y) b{i} = Mul(a{i}, y) d{i} = Mul(b{i}, g) }}, "
        f"else_branch = e () => (float[N] n{i}) {{ n{i} = Neg(g) }}>"
        for i in range(count)
    )
    return parse(
        f'<ir_version: 8, opset_import: ["": 18]> main (float[N] y, float[N] g, bool c) => ({results}) '
        f"<float one = {{1}}> {{ {branches} }}"
    )


@pytest.mark.parametrize("model_of", [gradients_of_one_view, bodies_side_by_side])
def test_four_times_the_places_take_about_four_times_the_steps(model_of):
    few, many = steps(model_of(50)), steps(model_of(200))
    assert few > 50
    assert many < 5 * few
