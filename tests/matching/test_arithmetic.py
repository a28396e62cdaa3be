from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from searching import main_graph, only, reasons, results, search
from spellings import Speller
from values import all_values, check

from onnx_ascend_ext.graph import Constants, ModelIndex

RNG = np.random.default_rng(7)


def feeds(rows=3):
    return {
        "g": RNG.normal(size=(rows, 4)).astype(np.float32),
        "x": RNG.normal(scale=3, size=(rows, 4)).astype(np.float32),
    }


SLOPE = "y = Sigmoid(x) s = Sub(one, y) "


@pytest.mark.parametrize(
    "nodes",
    [
        "m = Mul(y, s) r = Mul(g, m)",
        "m = Mul(s, y) r = Mul(m, g)",
        "m = Mul(g, y) r = Mul(m, s)",
        "m = Mul(y, g) r = Mul(s, m)",
        "m = Mul(g, s) r = Mul(m, y)",
        "m = Mul(s, g) r = Mul(y, m)",
    ],
)
def test_the_literal_product_is_found_in_every_order(nodes):
    model = main_graph(SLOPE + nodes)
    site = only(model)
    assert dict(site.match.inputs) == {"grad_output": "g", "output": "y"}
    assert site.match.origin == "algebra"
    assert site.match.proven_sigmoid
    assert [site.scope.op_types[index] for index in site.covered] == ["Sub", "Mul", "Mul"]
    assert site.root == site.covered[-1]
    check(site, all_values(model, feeds()))


@pytest.mark.parametrize(
    "nodes",
    [
        "q = Mul(y, y) s = Sub(y, q) r = Mul(g, s)",
        "n = Neg(y) s = Add(one, n) m = Mul(s, y) r = Mul(m, g)",
        "s = Sub(y, one) n = Neg(s) m = Mul(n, y) r = Mul(m, g)",
        "s = Sub(y, one) m = Mul(s, y) n = Neg(g) r = Mul(m, n)",
        "s = Sub(y, one) m = Mul(s, y) d = Mul(m, g) r = Neg(d)",
        "a = Mul(g, y) b = Mul(a, y) r = Sub(a, b)",
        "a = Mul(g, y) b = Sub(g, a) r = Mul(b, y)",
        "two = Constant<value_int: int = 2>() q = Pow(y, two) s = Sub(y, q) r = Mul(g, s)",
        "s = Sub(one, y) i = Reciprocal(y) d = Mul(g, s) r = Div(d, i)",
        "s = Sub(one, y) i = Reciprocal(s) d = Mul(g, y) r = Div(d, i)",
        "n = Neg(y) s = Sum(n, one) m = Mul(s, y) r = Mul(g, m)",
        "a = Mul(g, y) q = Mul(y, y) n = Neg(q) b = Mul(n, g) r = Sum(b, a)",
        "i = Identity(y) s = Sub(one, i) j = Identity(s) m = Mul(y, j) k = Identity(m) r = Mul(g, k)",
    ],
)
def test_other_spellings_of_the_arithmetic_are_found(nodes):
    model = main_graph("y = Sigmoid(x) " + nodes)
    site = only(model)
    assert dict(site.match.inputs) == {"grad_output": "g", "output": "y"}
    check(site, all_values(model, feeds()))


@pytest.mark.parametrize(
    "nodes",
    [
        "s = Sub(y, one) m = Mul(s, y) r = Mul(m, g)",
        "s = Sub(one, g) m = Mul(s, y) r = Mul(m, x)",
        "s = Add(one, y) m = Mul(s, y) r = Mul(m, g)",
        "s = Sub(one, y) m = Mul(s, s) r = Mul(m, g)",
        "q = Mul(y, y) s = Sub(one, q) r = Mul(g, s)",
        "q = Mul(y, y) s = Sub(one, q) m = Mul(s, y) r = Mul(g, m)",
        "q = Mul(y, y) c = Mul(q, y) s = Sub(y, c) r = Mul(g, s)",
        "s = Sub(one, y) m = Mul(s, y) r = Add(m, g)",
        "s = Sub(one, y) m = Div(s, y) r = Mul(m, g)",
        "s = Sub(one, y) r = Mul(s, y)",
        "s = Sub(one, y) m = Mul(s, y) r = Mul(m, one)",
        "a = Mul(g, y) b = Mul(x, y) c = Mul(b, y) r = Sub(a, c)",
        "h = Constant<value_float: float = 0.5>() s = Sub(h, y) m = Mul(s, y) r = Mul(m, g)",
        "t = Tanh(x) s = Sub(one, t) m = Mul(s, y) r = Mul(m, g)",
        "s = Sub(one, y) a = Abs(s) m = Mul(a, y) r = Mul(m, g)",
        "h = Constant<value_float: float = 2.5>() q = Pow(y, h) s = Sub(y, q) r = Mul(g, s)",
    ],
)
def test_what_is_no_gradient_is_not_matched(nodes):
    assert results(main_graph("y = Sigmoid(x) " + nodes)) == []


def test_a_gradient_times_minus_one_is_named_but_not_converted():
    model = main_graph("y = Sigmoid(x) s = Sub(y, one) m = Mul(s, y) r = Mul(m, g)")
    ((node, reason),) = reasons(model)
    assert node == "Mul(r)"
    assert "-1 times the gradient" in reason


def test_the_smallest_node_wins_when_the_product_goes_on():
    model = main_graph(
        SLOPE + "m = Mul(y, s) d = Mul(a, m) r = Mul(d, g)",
        inputs="float[N,4] g, float[N,4] x, float[N,4] a",
    )
    site = only(model)
    assert (site.result, site.operands) == ("d", ("a", "y"))


def test_factors_without_a_value_of_their_own_are_split_off():
    model = main_graph(
        SLOPE + "p = Mul(a, y) q = Mul(p, g) r = Mul(q, s)", inputs="float[N,4] g, float[N,4] x, float[N,4] a"
    )
    site = only(model)
    assert site.result == "r"
    assert {site.operands[0], *site.factors} == {"a", "g"}
    check(site, all_values(model, {**feeds(), "a": RNG.normal(size=(3, 4)).astype(np.float32)}))


def test_a_composite_gradient_is_found_wherever_it_is_computed():
    model = main_graph(
        SLOPE + "p = Mul(a, y) ag = Mul(g, a) q = Mul(p, g) d = Mul(q, s) r = Add(d, ag)",
        inputs="float[N,4] g, float[N,4] x, float[N,4] a",
    )
    site = only(model)
    assert (site.result, site.operands, site.factors) == ("d", ("ag", "y"), ())


def test_a_gradient_that_is_computed_later_is_not_used():
    model = main_graph(
        SLOPE + "p = Mul(a, y) q = Mul(p, g) d = Mul(q, s) ag = Mul(g, a) r = Add(d, ag)",
        inputs="float[N,4] g, float[N,4] x, float[N,4] a",
    )
    assert only(model).factors != ()


@pytest.mark.parametrize("constant", [2.0, -1.0, 0.1, -3.0])
def test_a_constant_factor_is_split_off_where_that_saves_nodes(constant):
    model = main_graph(
        f"c = Constant<value_float: float = {constant}>() "
        + SLOPE
        + "p = Mul(c, y) q = Mul(p, g) r = Mul(q, s)"
    )
    site = only(model)
    assert (site.result, site.operands) == ("r", ("g", "y"))
    assert float(site.scale) == np.float32(constant)
    check(site, all_values(model, feeds()))


def test_a_sign_that_a_later_node_takes_back_is_not_split_off():
    model = main_graph("y = Sigmoid(x) n = Neg(y) s = Add(one, n) m = Mul(n, s) p = Mul(g, m) r = Neg(p)")
    site = only(model)
    assert (site.result, site.operands, site.scale) == ("r", ("g", "y"), 1)
    check(site, all_values(model, feeds()))


def test_a_constant_factor_is_split_off_once_although_the_product_goes_on():
    model = main_graph(
        "c = Constant<value_float: float = 3.0>() " + SLOPE + "p = Mul(c, y) q = Mul(p, g) d = Mul(q, s) "
        "e = Mul(d, a) r = Mul(e, a)",
        inputs="float[N,4] g, float[N,4] x, float[N,4] a",
    )
    site = only(model)
    assert (site.result, site.operands, site.scale) == ("d", ("g", "y"), 3)


def test_a_constant_tensor_is_a_gradient_too():
    model = main_graph(
        SLOPE + "m = Mul(y, s) r = Mul(c, m)", constants=", float[1,4] c = {0.5, 0.5, 0.5, 0.5}"
    )
    site = only(model)
    assert (site.result, site.operands) == ("r", ("c", "y"))
    check(site, all_values(model, feeds()))


def test_a_constant_factor_does_not_hide_the_gradient_behind_it():
    model = main_graph(
        SLOPE + "m = Mul(y, s) n = Mul(c, m) r = Mul(g, n)", constants=", float[1,4] c = {0.5, 0.5, 0.5, 0.5}"
    )
    site = only(model)
    assert (site.result, site.operands[1]) == ("r", "y")
    check(site, all_values(model, feeds()))


def test_a_zero_gradient_is_a_gradient():
    model = main_graph(
        SLOPE + "z = Mul(g, zeros) m = Mul(y, s) r = Mul(z, m)", constants=", float[4] zeros = {0, 0, 0, 0}"
    )
    assert only(model).operands == ("z", "y")


@pytest.mark.parametrize(
    ("activation", "names"),
    [
        ("y = Mul(a, b)", "ab"),
        ("u = Mul(a, b) v = Mul(c, e) y = Add(u, v)", "abce"),
        ("t = Tanh(a) h = Constant<value_float: float = 0.5>() u = Mul(t, h) y = Add(u, h)", "a"),
        ("i = Reciprocal(a) y = Mul(i, b)", "ab"),
        ("y = Sub(one, a)", "a"),
        ("y = Mul(a, a)", "a"),
        ("k = Constant<value_float: float = 3.0>() y = Pow(a, k)", "a"),
        ("u = Mul(a, a) v = Mul(b, b) y = Mul(u, v)", "ab"),
        ("u = Mul(a, a) y = Mul(u, u)", "a"),
    ],
)
@pytest.mark.parametrize(
    "gradient",
    [
        "s = Sub(one, y) m = Mul(s, y) r = Mul(g, m)",
        "s = Sub(one, y) m = Mul(g, y) r = Mul(m, s)",
        "q = Mul(y, y) s = Sub(y, q) r = Mul(g, s)",
    ],
)
def test_the_activation_may_be_a_composite_value(activation, names, gradient):
    inputs = ", ".join(f"float[N,4] {name}" for name in "g" + names)
    model = main_graph(f"{activation} {gradient}", inputs=inputs)
    site = only(model)
    assert site.operands[0] == "g"
    assert not site.match.proven_sigmoid
    values = {name: RNG.uniform(0.1, 0.9, size=(3, 4)).astype(np.float32) for name in "g" + names}
    check(site, all_values(model, values))


@pytest.mark.parametrize(
    "nodes",
    [
        "y = Mul(a, a) k = Mul(y, y) s = Sub(one, k) m = Mul(s, y) r = Mul(g, m)",
        "y = Mul(a, a) s = Add(one, y) m = Mul(s, y) r = Mul(g, m)",
        "y = Mul(a, a) k = Mul(a, y) s = Sub(one, k) m = Mul(s, y) r = Mul(g, m)",
    ],
)
def test_a_slope_at_another_power_of_a_value_is_not_matched(nodes):
    assert results(main_graph(nodes, inputs="float[N,4] g, float[N,4] a")) == []


@pytest.mark.parametrize(
    "nodes",
    ["m = Mul(y, s) r = Mul(s, m)", "m = Mul(s, s) r = Mul(m, y)", "m = Mul(s, y) r = Mul(m, s)"],
)
def test_the_gradient_may_be_a_factor_of_the_slope(nodes):
    model = main_graph(SLOPE + nodes)
    site = only(model)
    assert (site.result, site.operands) == ("r", ("s", "y"))
    check(site, all_values(model, feeds()))


@pytest.mark.parametrize(
    "nodes", ["m = Mul(y, s) r = Mul(m, m)", "m = Mul(s, s) r = Mul(m, s)", "m = Mul(y, y) r = Mul(m, y)"]
)
def test_other_products_of_the_slope_s_factors_are_not_matched(nodes):
    assert results(main_graph(SLOPE + nodes)) == []


def test_a_distributed_composite_gradient_is_found():
    model = main_graph(
        "t = Add(g, x) a = Mul(g, y) b = Mul(x, y) c = Mul(a, y) d = Mul(b, y) "
        "e = Add(a, b) f = Sub(e, c) k = Sub(f, d) r = Add(k, t)",
        inputs="float[N,4] g, float[N,4] x, float[N,4] y",
    )
    site = only(model)
    assert (site.result, site.operands) == ("k", ("t", "y"))


def test_a_saved_activation_needs_no_proof():
    model = main_graph("s = Sub(one, y) m = Mul(s, y) r = Mul(g, m)", inputs="float[N,4] g, float[N,4] y")
    assert not only(model).match.proven_sigmoid


def test_one_slope_serves_many_gradients():
    inputs = ", ".join(f"float[N,4] g{i}" for i in range(5))
    uses = " ".join(f"r{i} = Mul(g{i}, m)" for i in range(5))
    outputs = ", ".join(f"float[N,4] r{i}" for i in range(5))
    model = main_graph(SLOPE + "m = Mul(y, s) " + uses, inputs=f"float[N,4] x, {inputs}", outputs=outputs)
    sites, _ = search(model)
    assert [site.operands for site in sites] == [(f"g{i}", "y") for i in range(5)]


def test_gradients_follow_each_other():
    model = main_graph(
        "y = Sigmoid(x) z = Sigmoid(y) s = Sub(one, z) m = Mul(s, z) d = Mul(g, m) "
        "t = Sub(one, y) n = Mul(t, y) r = Mul(d, n)"
    )
    sites, _ = search(model)
    assert [(site.result, site.operands) for site in sites] == [("d", ("g", "z")), ("r", ("d", "y"))]


@pytest.mark.parametrize(
    "nodes",
    [
        "i = Constant<value_int: int = 1>() s = Sub(i, y) m = Mul(s, y) r = Mul(g, m)",
        "q = Mul(y, y) s = Sub(y, q) r = Mul(g, s)",
    ],
)
def test_integers_are_not_converted(nodes):
    for kind, expected in (("int64", []), ("float", ["r"])):
        spelled = nodes.replace("value_int: int = 1", "value_float: float = 1.0") if expected else nodes
        inputs = f"{kind}[N,4] g, {kind}[N,4] y"
        assert results(main_graph(spelled, inputs=inputs, outputs=f"{kind}[N,4] r")) == expected


SPELLER_TYPES = ["float", "float", "float16", "double"]


def assert_found(draw, seed):
    speller = Speller(draw, draw(SPELLER_TYPES), draw([0, 1, 2]))
    model = speller.model(speller.gradient())
    values = all_values(model, speller.feeds(np.random.default_rng(seed)))
    sites, _ = search(model)
    for site in sites:
        check(site, values)
    # A slope that the spelling multiplies by one is the gradient of a constant as well.
    index = ModelIndex(model)
    constants = Constants(index)
    (_,) = [site for site in sites if constants.uniform(index.main, site.operands[0]) is None]


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_every_random_spelling_is_found_and_has_its_value(data):
    assert_found(lambda choices: data.draw(st.sampled_from(choices)), 0)


@pytest.mark.parametrize("seed", range(200))
def test_seeded_spellings_are_found_and_have_their_values(seed):
    assert_found(random.Random(seed).choice, seed)


@pytest.mark.parametrize("seed", range(200))
def test_a_random_spelling_with_another_constant_is_not_found(seed):
    draw = random.Random(seed).choice
    wrong = draw([1 + 2**-20, 1 - 2**-20, 1.5, 0.25, -3])

    class Wrong(Speller):
        def complement(self):
            return self.node("Sub", self.initializer(wrong, self.numpy), self.y())

    speller = Wrong(draw, draw(["float", "double"]), draw([0, 1, 2]))
    factors = [speller.incoming(), speller.disguised(speller.y()), speller.complement()]
    assert results(speller.model(speller.product(factors))) == []


ROUNDED = "s = Sub(one, w) m = Mul(w, s) r = Mul(g, m)"


@pytest.mark.parametrize(
    ("nodes", "constant"),
    [
        ("z = Add(y, k) w = Sub(z, k)", 8388608.0),
        ("z = Sub(y, k) w = Sum(k, z)", 12582912.0),
        ("z = Sub(k, y) w = Sub(k, z)", 16.0),
        ("q = Mul(y, k) z = Add(q, one) p = Sub(z, one) w = Div(p, k)", 1e-6),
        ("z = Add(y, g) w = Sub(z, g)", 0.0),
        ("z = Add(y, x) w = Sub(z, x)", 0.0),
        ("z = Sum(g, y, x) v = Sub(z, x) w = Sub(v, g)", 0.0),
        ("p = Mul(y, x) z = Add(y, g) q = Mul(x, z) v = Mul(x, g) u = Sub(q, v) w = Div(u, x)", 0.0),
    ],
)
def test_a_value_that_is_added_and_subtracted_again_rounds(nodes, constant):
    model = main_graph(f"y = Sigmoid(x) {nodes} {ROUNDED}", constants=f", float k = {{{constant}}}")
    sites, _ = search(model)
    assert [site.operands for site in sites] in ([], [("g", "w")])
    slope = main_graph(
        f"y = Sigmoid(x) {nodes} s = Sub(one, w) m = Mul(y, s) r = Mul(g, m)",
        constants=f", float k = {{{constant}}}",
    )
    assert results(slope) == []


@pytest.mark.parametrize(
    "nodes",
    [
        "z = Add(y, one) w = Sub(z, one)",
        "z = Sub(y, k) w = Add(z, k)",
        "z = Sub(one, y) w = Sub(one, z)",
        "q = Mul(y, y) z = Sub(y, q) w = Add(q, z)",
    ],
)
def test_a_small_number_that_is_added_and_subtracted_again_does_not_matter(nodes):
    rest = "s = Sub(one, w) m = Mul(y, s) r = Mul(g, m)"
    assert results(main_graph(f"y = Sigmoid(x) {nodes} {rest}", constants=", float k = {2}")) == ["r"]
