from __future__ import annotations

import numpy as np
import onnx
import pytest
from searching import main_graph, only, reasons, results
from values import all_values, check

GRADIENT = " s = Sub(one, y) m = Mul(s, y) r = Mul(g, m)"
SPELLINGS = [
    "y = Sigmoid(x)",
    "n = Neg(x) e = Exp(n) a = Add(one, e) y = Div(one, a)",
    "n = Neg(x) e = Exp(n) a = Add(e, one) y = Reciprocal(a)",
    "n = Neg(x) e = Exp(n) a = Add(e, one) "
    "k = Constant<value_int: int = -1>() f = Cast<to: int = 1>(k) y = Pow(a, f)",
    "z = Sub(one, one) n = Sub(z, x) e = Exp(n) a = Add(e, one) y = Reciprocal(a)",
    "k = Constant<value_float: float = -1.0>() n = Mul(x, k) e = Exp(n) a = Add(e, one) y = Reciprocal(a)",
    "e = Exp(x) a = Add(one, e) y = Div(e, a)",
    "e = Exp(x) i = Reciprocal(e) a = Add(one, i) y = Reciprocal(a)",
    "y0 = Sigmoid(x) y = Identity(y0)",
    "y = user.Logistic(x)",
    "y = user.Outer(x)",
]
FUNCTIONS = [
    '<domain: "user", opset_import: ["": 18]> Logistic (a) => (b) '
    "{ n = Neg(a) e = Exp(n) one = Constant<value_float: float = 1.0>() d = Add(one, e) b = Div(one, d) }",
    '<domain: "user", opset_import: ["": 18, "user": 1]> Outer (a) => (b) { b = user.Logistic(a) }',
]


def with_functions(model):
    model.functions.extend(onnx.parser.parse_function(text) for text in FUNCTIONS)
    return model


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_a_sigmoid_is_proven_in_every_spelling(spelling):
    model = with_functions(main_graph(spelling + GRADIENT))
    site = only(model)
    assert site.match.proven_sigmoid
    assert site.operands[0] == "g"
    feeds = {name: np.linspace(-4, 4, 12, dtype=np.float32).reshape(3, 4) for name in "gx"}
    check(site, all_values(model, feeds))


@pytest.mark.parametrize(
    "spelling",
    [
        "y = Tanh(x)",
        "e = Exp(x) a = Add(one, e) b = Mul(a, a) y = Div(e, b)",
        "n = Neg(x) e = Exp(n) t = Add(one, one) a = Add(t, e) y = Div(one, a)",
        "y = HardSigmoid(x)",
    ],
)
def test_another_activation_is_not_called_a_sigmoid(spelling):
    assert not only(main_graph(spelling + GRADIENT)).match.proven_sigmoid


@pytest.mark.parametrize("first", SPELLINGS[:3])
@pytest.mark.parametrize("second", ["z = Sigmoid(x)", "i = Identity(x) z = Sigmoid(i)"])
def test_two_sigmoids_of_one_value_are_one(first, second):
    model = main_graph(first + " " + second + " s = Sub(one, z) m = Mul(s, y) r = Mul(g, m)")
    assert only(model).match.proven_sigmoid


MORE = ", float zero = {0}, float two = {2}, float three = {3}, float minus = {-2}"


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("x", "b = Mul(x, one)"),
        ("x", "b = Div(x, one)"),
        ("x", "b = Add(zero, x)"),
        ("x", "b = Sub(x, zero)"),
        ("x", "n = Neg(x) b = Sub(zero, n)"),
        ("x", "n = Neg(x) b = Neg(n)"),
        ("x", "n = Mul(x, two) b = Div(n, two)"),
        ("a", "b = Mul(two, x)"),
        ("a", "b = Add(x, x)"),
        ("a", "n = Mul(x, minus) b = Neg(n)"),
        ("d", "b = Sub(x, g)"),
        ("d", "n = Neg(g) b = Add(n, x)"),
        ("d", "n = Sub(g, x) b = Neg(n)"),
        ("f", "t = Mul(x, two) u = Mul(g, two) b = Sub(t, u)"),
    ],
)
def test_sigmoids_of_one_value_in_two_spellings_are_one(first, second):
    nodes = f"a = Mul(x, two) d = Sub(x, g) f = Mul(d, two) y = Sigmoid({first}) {second} z = Sigmoid(b) "
    model = main_graph(nodes + "s = Sub(one, z) m = Mul(s, y) r = Mul(g, m)", constants=MORE)
    site = only(model)
    assert site.match.proven_sigmoid
    feeds = {name: np.linspace(-4, 4, 12, dtype=np.float32).reshape(3, 4) for name in "gx"}
    check(site, all_values(model, feeds))


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("x", "b = Mul(x, zero)"),
        ("x", "b = Mul(x, two)"),
        ("x", "b = Add(x, one)"),
        ("x", "b = Mul(x, g)"),
        ("a", "b = Mul(x, three)"),
        ("a", "b = Mul(g, two)"),
        ("d", "b = Add(x, g)"),
        ("d", "n = Mul(g, two) b = Sub(x, n)"),
        # Equal in exact arithmetic, and far apart where `x` and `g` are large and close.
        ("e", "t = Mul(x, three) u = Mul(g, three) b = Sub(t, u)"),
        ("x", "t = Mul(x, three) b = Sub(t, a)"),
    ],
)
@pytest.mark.parametrize("relaxed", [False, True])
def test_sigmoids_of_two_values_in_such_spellings_are_two(first, second, relaxed):
    nodes = f"a = Mul(x, two) d = Sub(x, g) e = Mul(d, three) y = Sigmoid({first}) {second} z = Sigmoid(b) "
    model = main_graph(nodes + "s = Sub(one, z) m = Mul(s, y) r = Mul(g, m)", constants=MORE)
    assert results(model, relaxed=relaxed) == []


@pytest.mark.parametrize("nodes", ["c = Mul(x, huge) b = Mul(c, tiny)", "c = Mul(x, tiny) b = Mul(c, huge)"])
def test_a_multiple_that_may_leave_the_range_of_the_element_type_is_another_value(nodes):
    slope = " y = Sigmoid(x) z = Sigmoid(b) s = Sub(one, z) m = Mul(s, y) r = Mul(g, m)"
    for huge, found in ((4.0, ["r"]), (2.0**100, [])):
        constants = f", float huge = {{{huge}}}, float tiny = {{{1 / huge}}}"
        assert results(main_graph(nodes + slope, constants=constants)) == found


def test_sigmoids_of_two_values_are_two():
    assert (
        results(main_graph("y = Sigmoid(x) z = Sigmoid(g) s = Sub(one, z) m = Mul(s, y) r = Mul(g, m)")) == []
    )


ACCURATE = {
    "sigmoid": "y = Sigmoid(x) n = Neg(x) z = Sigmoid(n) m = Mul(y, z) r = Mul(g, m)",
    "sigmoid, regrouped": "n = Neg(x) z = Sigmoid(n) m = Mul(g, z) y = Sigmoid(x) r = Mul(y, m)",
    "exp": "n = Neg(x) e = Exp(n) a = Add(one, e) y = Div(one, a) q = Mul(y, y) p = Mul(e, q) r = Mul(g, p)",
    "a multiple": "t = Constant<value_float: float = 2.0>() n = Constant<value_float: float = -2.0>() "
    "a = Mul(x, t) b = Mul(n, x) y = Sigmoid(a) z = Sigmoid(b) m = Mul(y, z) r = Mul(g, m)",
    "a difference": "a = Sub(x, g) b = Sub(g, x) z = Sigmoid(b) y = Sigmoid(a) m = Mul(y, z) r = Mul(g, m)",
    "a sum with a negative": "a = Sub(x, g) n = Neg(x) b = Add(g, n) y = Sigmoid(a) z = Sigmoid(b) "
    "m = Mul(y, z) r = Mul(g, m)",
    "exp, a sum": "e = Exp(x) n = Neg(x) f = Exp(n) two = Add(one, one) t = Sum(e, two, f) i = Reciprocal(t) "
    "r = Mul(g, i)",
    "exp, two sums": "e = Exp(x) a = Add(one, e) n = Neg(x) f = Exp(n) b = Add(one, f) p = Div(one, a) "
    "q = Div(p, b) r = Mul(g, q)",
    "exp, squared": "n = Neg(x) e = Exp(n) a = Add(one, e) q = Mul(a, a) p = Div(e, q) r = Mul(g, p)",
}


@pytest.mark.parametrize("way", ACCURATE)
def test_a_more_accurate_spelling_is_converted_only_when_asked(way):
    model = main_graph(ACCURATE[way])
    assert results(model) == []
    ((node, reason),) = reasons(model)
    assert node == "Mul(r)"
    assert "`1 - y`" in reason
    assert "`--relaxed` would convert it" in reason
    site = only(model, relaxed=True)
    assert site.match.proven_sigmoid
    assert reasons(model, relaxed=True) == []
    feeds = {name: np.linspace(-3, 3, 12, dtype=np.float32).reshape(3, 4) for name in "gx"}
    check(site, all_values(model, feeds))


def test_the_reason_names_the_sigmoid_of_the_negative():
    ((_, reason),) = reasons(main_graph(ACCURATE["sigmoid"]))
    assert reason == "the factor `1 - y` is computed as `Sigmoid(-x)`: `--relaxed` would convert it"


def test_a_sigmoid_that_is_computed_nowhere_is_applied_to_its_argument():
    site = only(main_graph(ACCURATE["exp, squared"]), relaxed=True)
    assert site.activated == (False, True)
    assert site.operands == ("g", "x")


def test_one_minus_the_sigmoid_of_the_negative_is_a_gradient_of_that_sigmoid():
    model = main_graph("n = Neg(x) y = Sigmoid(n) s = Sub(one, y) m = Mul(s, y) r = Mul(g, m)")
    assert only(model).operands == ("g", "y")


@pytest.mark.parametrize(
    "nodes",
    [
        "n = Neg(x) y = Sigmoid(x) z = Sigmoid(n) r = Add(y, z)",
        "y = Sigmoid(x) n = Neg(g) z = Sigmoid(n) m = Mul(y, z) r = Mul(g, m)",
        "e = Exp(x) a = Add(one, e) l = Log(a) r = Mul(l, g)",
        "m = ReduceMax<keepdims: int = 1>(x) d = Sub(x, m) e = Exp(d) "
        "t = ReduceSum<keepdims: int = 1>(e) r = Div(e, t)",
    ],
)
def test_other_uses_of_sigmoid_and_exp_give_no_report(nodes):
    for relaxed in (False, True):
        model = main_graph(nodes)
        assert results(model, relaxed=relaxed) == []
        assert reasons(model, relaxed=relaxed) == []
