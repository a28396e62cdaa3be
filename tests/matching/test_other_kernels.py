from __future__ import annotations

import numpy as np
import pytest
from searching import KERNELS, main_graph, only, results, search
from values import all_values, check

from onnx_ascend_ext.algebra import Ring
from onnx_ascend_ext.catalog import AclnnBinding, Kernel
from onnx_ascend_ext.matching.pattern import derive


def kernel(name, body, inputs=("grad_output", "output")):
    return Kernel(
        name=name,
        summary=name,
        inputs=inputs,
        outputs=("grad_input",),
        opset=15,
        body="unit = Constant<value_float: float = 1.0>() one = CastLike(unit, output) " + body,
        foreign=(),
        aclnn=AclnnBinding(f"aclnn{name}", (*inputs, "grad_input")),
    )


TANH_BODY = "q = Mul(output, output) s = Sub(one, q) grad_input = Mul(grad_output, s)"
TANH = kernel("TanhBackward", TANH_BODY)
RNG = np.random.default_rng(3)


@pytest.mark.parametrize(
    "nodes",
    [
        "q = Mul(y, y) s = Sub(one, q) r = Mul(g, s)",
        "a = Sub(one, y) b = Add(one, y) m = Mul(a, b) r = Mul(m, g)",
        "a = Sub(one, y) b = Add(one, y) m = Mul(a, g) r = Mul(m, b)",
        "m = Mul(g, y) q = Mul(m, y) r = Sub(g, q)",
        "two = Constant<value_int: int = 2>() q = Pow(y, two) n = Neg(q) s = Add(n, one) r = Mul(s, g)",
    ],
)
def test_another_kernel_needs_no_matcher_code(nodes):
    model = main_graph("y = Tanh(x) " + nodes)
    site = only(model, kernels=[TANH])
    assert site.match.kernel == "TanhBackward"
    assert site.operands == ("g", "y")
    check(site, all_values(model, {n: RNG.normal(size=(3, 4)).astype(np.float32) for n in "gx"}))
    assert results(model) == []


@pytest.mark.parametrize(
    "nodes",
    [
        "q = Mul(y, y) s = Add(one, q) r = Mul(g, s)",
        "s = Sub(one, y) m = Mul(s, y) r = Mul(g, m)",
        "s = Sub(one, y) r = Mul(g, s)",
    ],
)
def test_what_is_not_its_arithmetic_is_not_matched(nodes):
    assert results(main_graph("y = Tanh(x) " + nodes), kernels=[TANH]) == []


def test_two_kernels_are_told_apart():
    model = main_graph(
        "y = Sigmoid(x) t = Tanh(x) s = Sub(one, y) m = Mul(s, y) d = Mul(g, m) "
        "q = Mul(t, t) u = Sub(one, q) r = Mul(d, u)"
    )
    sites, _ = search(model, kernels=[*KERNELS, TANH])
    assert [(site.match.kernel, site.operands) for site in sites] == [
        ("SigmoidBackward", ("g", "y")),
        ("TanhBackward", ("d", "t")),
    ]


def test_the_order_of_the_formal_inputs_is_the_kernels_own():
    swapped = kernel("TanhBackward", TANH_BODY, inputs=("output", "grad_output"))
    model = main_graph("y = Tanh(x) q = Mul(y, y) s = Sub(one, q) r = Mul(g, s)")
    site = only(model, kernels=[swapped])
    assert site.operands == ("y", "g")
    assert dict(site.match.inputs) == {"output": "y", "grad_output": "g"}


@pytest.mark.parametrize(
    "body",
    [
        "e = Exp(output) grad_input = Mul(grad_output, e)",
        "s = Add(grad_output, output) grad_input = Sub(one, s)",
        "q = Mul(output, output) s = Add(one, q) grad_input = Mul(grad_output, s)",
    ],
)
def test_a_kernel_of_another_shape_has_no_pattern(body):
    other = kernel("OtherBackward", body)
    assert derive(other, Ring()) is None
    model = main_graph("y = Tanh(x) q = Mul(y, y) s = Sub(one, q) r = Mul(g, s)")
    assert results(model, kernels=[other]) == []


def test_a_catalog_without_the_kernel_finds_nothing():
    model = main_graph("y = Sigmoid(x) s = Sub(one, y) m = Mul(s, y) r = Mul(g, m)")
    assert results(model, kernels=[]) == []
