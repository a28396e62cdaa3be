"""Gradients that hold quotients, which the slope cancels: those of losses that divide by the activation."""

from __future__ import annotations

import numpy as np
import pytest
from searching import main_graph, only, results
from values import all_values, check

RNG = np.random.default_rng(11)
INPUTS = "float[N,4] t, float[N,4] x, float[N,4] w"
SLOPE = "y = Sigmoid(x) s = Sub(one, y) "

# Binary cross entropy by autodiff, the same over one denominator, and what logarithms give.
GRADIENTS = {
    "difference of quotients": "a = Div(t, y) o = Sub(one, t) k = Sub(one, y) b = Div(o, k) g = Sub(b, a)",
    "sum of products": (
        "c = Reciprocal(y) p = Mul(t, c) a = Neg(p) o = Sub(one, t) "
        "j = Reciprocal(s) b = Mul(o, j) g = Add(a, b)"
    ),
    "one denominator": "d = Sub(y, t) den = Mul(y, s) g = Div(d, den)",
    "logarithm": "e = Neg(t) g = Div(e, y)",
    "logarithm of the complement": "g = Div(t, s)",
    "mean": (
        "c = Constant<value_float: float = 64.0>() d = Sub(y, t) e = Div(d, c) k = Mul(s, y) g = Div(e, k)"
    ),
}
GROUPINGS = [
    "m = Mul(y, s) r = Mul(g, m)",
    "m = Mul(g, y) r = Mul(m, s)",
    "m = Mul(g, s) r = Mul(m, y)",
    "m = Mul(y, g) n = Neg(m) f = Neg(s) r = Mul(f, n)",
    "m = Mul(g, y) q = Mul(m, y) r = Sub(m, q)",
    "m = Mul(g, y) f = Sub(g, m) r = Mul(f, y)",
    "q = Mul(y, y) m = Sub(y, q) r = Mul(m, g)",
    "i = Reciprocal(y) m = Mul(s, g) r = Div(m, i)",
    "i = Reciprocal(s) m = Div(g, i) h = Identity(m) r = Mul(h, y)",
]


def feeds(rows=3):
    return {
        "t": RNG.uniform(0.02, 0.98, size=(rows, 4)).astype(np.float32),
        "x": RNG.normal(scale=3, size=(rows, 4)).astype(np.float32),
        "w": RNG.normal(size=(rows, 4)).astype(np.float32),
    }


@pytest.mark.parametrize("gradient", GRADIENTS.values(), ids=GRADIENTS)
@pytest.mark.parametrize("grouping", GROUPINGS)
def test_a_quotient_gradient_is_found_in_every_grouping(gradient, grouping):
    model = main_graph(SLOPE + gradient + " " + grouping, inputs=INPUTS)
    site = only(model)
    assert (site.result, site.operands, site.scale, site.factors) == ("r", ("g", "y"), 1, ())
    check(site, all_values(model, feeds()))


@pytest.mark.parametrize("gradient", GRADIENTS.values(), ids=GRADIENTS)
@pytest.mark.parametrize(
    "grouping",
    ["m = Mul(g, y) u = Mul(m, w) r = Mul(u, s)", "m = Mul(g, s) u = Mul(w, m) r = Mul(u, y)"],
)
def test_a_factor_inside_is_split_off(gradient, grouping):
    model = main_graph(SLOPE + gradient + " " + grouping, inputs=INPUTS)
    site = only(model)
    assert {site.operands[0], *site.factors} == {"g", "w"}
    check(site, all_values(model, feeds()))


def test_a_constant_inside_is_split_off():
    model = main_graph(
        SLOPE + GRADIENTS["difference of quotients"] + " m = Mul(g, y) u = Mul(m, k3) r = Mul(u, s)",
        inputs=INPUTS,
        constants=", float k3 = {3}",
    )
    site = only(model)
    assert (site.operands, site.scale) == (("g", "y"), 3)
    check(site, all_values(model, feeds()))


def test_each_quotient_is_a_gradient_where_the_slope_is_distributed():
    model = main_graph(
        SLOPE + "a = Div(t, y) b = Div(w, s) m = Mul(y, s) u = Mul(b, m) v = Mul(a, m) r = Sub(u, v)",
        inputs=INPUTS,
    )
    assert results(model) == ["u", "v"]


@pytest.mark.parametrize("gradient", GRADIENTS.values(), ids=GRADIENTS)
@pytest.mark.parametrize(
    "nodes",
    [
        "m = Mul(g, y) r = Mul(m, w)",
        "m = Mul(g, s) r = Mul(m, w)",
        "m = Mul(g, s) r = Mul(m, s)",
        "q = Add(one, y) m = Mul(y, q) r = Mul(g, m)",
        "z = Sigmoid(w) m = Mul(z, s) r = Mul(g, m)",
        "m = Add(y, s) r = Mul(g, m)",
    ],
)
def test_a_quotient_without_the_whole_slope_is_not_matched(gradient, nodes):
    assert results(main_graph(SLOPE + gradient + " " + nodes, inputs=INPUTS)) == []


@pytest.mark.parametrize(
    "nodes",
    [
        # Equal to g * y * (1 - y), but computed without g, to more accuracy.
        "r = Sub(y, t)",
        "e = Div(d, s) r = Mul(e, s)",
        "e = Div(d, y) f = Mul(e, y) h = Div(f, s) r = Mul(h, s)",
        "o = Sub(one, t) u = Mul(o, y) v = Mul(t, s) r = Sub(u, v)",
    ],
)
def test_what_is_not_computed_from_the_quotient_is_not_matched(nodes):
    model = main_graph(
        SLOPE + "d = Sub(y, t) den = Mul(y, s) g = Div(d, den) z = Tanh(g) " + nodes,
        inputs=INPUTS,
        outputs="float[N,4] r, float[N,4] z",
    )
    assert results(model) == []


def test_a_quotient_gradient_is_found_in_a_body():
    model = main_graph(
        SLOPE + GRADIENTS["difference of quotients"] + " m = Mul(g, y) r = If (c) <"
        "then_branch = then () => (float[N,4] u) { u = Mul(m, s) }, "
        "else_branch = otherwise () => (float[N,4] v) { v = Identity(m) }>",
        inputs=INPUTS + ", bool c",
    )
    assert results(model) == ["u"]
