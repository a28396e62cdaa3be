from __future__ import annotations

import numpy as np
import pytest
from searching import main_graph, only, reasons, results
from values import all_values, check

RNG = np.random.default_rng(11)
AXES = "axes = Constant<value_ints: ints = [-1]>() "


def values_of(model, **shapes):
    return all_values(model, {n: RNG.normal(size=s).astype(np.float32) for n, s in shapes.items()})


def test_a_view_of_the_slope_becomes_a_view_of_the_activation():
    model = main_graph(
        AXES + "y = Sigmoid(x) s = Sub(one, y) m = Mul(y, s) u = Unsqueeze(m, axes) r = Mul(g, u)",
        inputs="float[6,N] g, float[6] x",
        outputs="float[6,N] r",
    )
    site = only(model)
    assert site.operands == ("g", "y")
    assert [[site.scope.op_types[index] for index in views] for views in site.views] == [[], ["Unsqueeze"]]
    assert site.match.proven_sigmoid
    check(site, values_of(model, g=(6, 3), x=(6,)))


def chain_of_views(length):
    views = " ".join(f"v{i + 1} = Transpose(v{i})" for i in range(length))
    return main_graph(
        f"y = Sigmoid(x) s = Sub(one, y) v0 = Mul(y, s) {views} r = Mul(g, v{length})",
        inputs="float[N,N] g, float[N,N] x",
        outputs="float[N,N] r",
    )


def test_a_chain_of_views_is_repeated_on_the_activation():
    model = chain_of_views(60)
    site = only(model)
    assert (site.operands, [len(views) for views in site.views]) == (("g", "y"), [0, 60])
    check(site, values_of(model, g=(3, 3), x=(3, 3)))


@pytest.mark.parametrize("length", [62, 65, 5000])
def test_a_chain_of_too_many_views_is_reported(length):
    model = chain_of_views(length)
    assert results(model) == []
    assert reasons(model) == [("Mul(r)", "more than 64 nodes lie between it and its operands")]


def test_a_view_of_the_activation_that_exists_is_used():
    model = main_graph(
        AXES + "y = Sigmoid(x) v = Unsqueeze(y, axes) s = Sub(one, y) m = Mul(y, s) "
        "u = Unsqueeze(m, axes) d = Mul(g, u) r = Add(d, v)",
        inputs="float[6,N] g, float[6] x",
        outputs="float[6,N] r",
    )
    site = only(model)
    assert (site.result, site.operands, site.views) == ("d", ("g", "v"), ())
    check(site, values_of(model, g=(6, 3), x=(6,)))


VIEWS = {
    "Transpose": ("u = Transpose(m)", (4, 6)),
    "Transpose with perm": ("u = Transpose<perm: ints = [1, 0]>(m)", (4, 6)),
    "Reshape": ("h = Constant<value_ints: ints = [4, 6]>() u = Reshape(m, h)", (4, 6)),
    "Flatten": ("u = Flatten<axis: int = 0>(m)", (1, 24)),
    "Expand": ("h = Constant<value_ints: ints = [3, 6, 4]>() u = Expand(m, h)", (3, 6, 4)),
    "Unsqueeze twice": ("a0 = Constant<value_ints: ints = [0, 3]>() u = Unsqueeze(m, a0)", (1, 6, 4, 1)),
    "Squeeze after Unsqueeze": (
        "a0 = Constant<value_ints: ints = [0]>() t = Unsqueeze(m, a0) u = Squeeze(t, a0)",
        (6, 4),
    ),
    "Reshape to a computed shape": ("h = Shape(g) u = Reshape(m, h)", (4, 6)),
}


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("slope", ["s = Sub(one, y) m = Mul(y, s)", "q = Mul(y, y) m = Sub(y, q)"])
def test_every_view_of_the_slope_is_repeated_on_the_activation(view, slope):
    nodes, shape = VIEWS[view]
    dims = ",".join(map(str, shape))
    model = main_graph(
        f"y = Sigmoid(x) {slope} {nodes} r = Mul(g, u)",
        inputs=f"float[{dims}] g, float[6,4] x",
        outputs=f"float[{dims}] r",
    )
    site = only(model)
    assert site.operands == ("g", "y")
    check(site, values_of(model, g=shape, x=(6, 4)))


@pytest.mark.parametrize(
    "nodes",
    [
        # The slope's halves lie in different places, so these are outer products.
        "u = Unsqueeze(y, axes) s = Sub(one, u) m = Mul(y, s) r = Mul(m, g)",
        "u = Transpose(y) s = Sub(one, y) m = Mul(u, s) r = Mul(m, g)",
        "a = Unsqueeze(y, axes) z = Constant<value_ints: ints = [0]>() b = Unsqueeze(y, z) s = Sub(one, b) "
        "m = Mul(a, s) r = Mul(m, g)",
    ],
)
def test_two_different_views_of_the_activation_are_not_one(nodes):
    model = main_graph(
        AXES + "y = Sigmoid(x) " + nodes, inputs="float[4,4] g, float[4,4] x", outputs="float r"
    )
    assert results(model) == []


def test_a_view_of_a_broadcast_product_is_not_taken_apart():
    model = main_graph(
        "h = Constant<value_ints: ints = [4, 3]>() y = Sigmoid(x) s = Sub(one, y) m = Mul(y, s) "
        "p = Mul(a, m) u = Reshape(p, h) q = Mul(u, g) r = Identity(q)",
        inputs="float[4,3] g, float[4] x, float[3,4] a",
        outputs="float[4,3] r",
    )
    # What lies before the view is a gradient of its own.
    assert results(model) == ["p"]


def test_a_broadcast_gradient_keeps_its_shape():
    model = main_graph(
        "y = Sigmoid(x) s = Sub(one, y) m = Mul(y, s) r = Mul(g, m)",
        inputs="float[3,1] g, float[4] x",
        outputs="float[3,4] r",
    )
    check(only(model), values_of(model, g=(3, 1), x=(4,)))


def test_a_cancelled_value_may_not_have_made_the_result_larger():
    nodes = "y = Sigmoid(x) s = Sub(one, y) t = Mul(g, a) u = Mul(t, s) w = Div(u, a) r = Mul(w, y)"
    wide = main_graph(nodes, inputs="float[4] g, float[4] x, float[3,4] a", outputs="float[3,4] r")
    assert results(wide) == []
    assert reasons(wide) == [("Mul(r)", "the shape of `a` may make the result larger")]
    narrow = main_graph(nodes, inputs="float[N,4] g, float[N,4] x, float[4] a")
    assert results(narrow) == ["r"]


@pytest.mark.parametrize("names", ["pq", "qp"])
def test_of_several_values_that_may_have_made_the_result_larger_the_first_by_name_is_told(names):
    first, second = names
    nodes = (
        f"y = Sigmoid(x) s = Sub(one, y) t = Mul(g, {first}) u = Mul(t, {second}) v = Mul(u, s) "
        f"w = Div(v, {first}) d = Div(w, {second}) z = Mul(d, y)"
    )
    shapes = ", ".join(f"float[A{i},4] {name}" for i, name in enumerate(names))
    model = main_graph(nodes, inputs=f"float[4] g, float[4] x, {shapes}", outputs="float[M,4] z")
    assert reasons(model) == [("Mul(z)", "the shape of `p` may make the result larger")]


CASTS = "float16[N,4] g, float16[N,4] x"


def half(model, rows=3):
    return all_values(model, {n: RNG.normal(size=(rows, 4)).astype(np.float16) for n in "gx"})


def test_a_gradient_between_casts_uses_the_widened_values():
    model = main_graph(
        "y = Sigmoid(x) a = Cast<to: int = 1>(y) b = Cast<to: int = 1>(g) s = Sub(one, a) m = Mul(a, s) "
        "d = Mul(b, m) r = Cast<to: int = 10>(d)",
        inputs=CASTS,
        outputs="float16[N,4] r",
    )
    site = only(model)
    assert (site.result, site.operands, site.views) == ("d", ("b", "a"), ())
    assert site.match.proven_sigmoid
    check(site, half(model), 1e-5)


def test_a_widening_cast_of_the_slope_is_repeated_on_the_activation():
    model = main_graph(
        "h = Constant<value: tensor = float16 {15360}>() y = Sigmoid(x) s = Sub(h, y) m = Mul(y, s) "
        "w = Cast<to: int = 1>(m) b = Cast<to: int = 1>(g) d = Mul(b, w) r = Cast<to: int = 10>(d)",
        inputs=CASTS,
        outputs="float16[N,4] r",
    )
    site = only(model)
    assert (site.result, site.operands) == ("d", ("b", "y"))
    assert [[site.scope.op_types[index] for index in views] for views in site.views] == [[], ["Cast"]]
    check(site, half(model), 1e-2)


def test_a_narrowing_cast_is_not_crossed():
    model = main_graph(
        "y = Sigmoid(x) a = Cast<to: int = 1>(y) s = Sub(one, a) n = Cast<to: int = 10>(s) m = Mul(y, n) "
        "r = Mul(g, m)",
        inputs=CASTS,
        outputs="float16[N,4] r",
    )
    assert results(model) == []
    ((node, reason),) = reasons(model)
    assert node == "Mul(r)"
    assert reason == "a narrowing Cast lies inside: `Cast(n)`"


def test_a_narrowing_cast_of_the_constant_leaves_what_it_rounds_to():
    nodes = "y = Sigmoid(x) s = Sub(h, y) m = Mul(y, s) r = Mul(g, m)"
    rounded = "k = Constant<value_float: float = 1.0001>() h = Cast<to: int = 10>(k) "
    kept = "k = Constant<value_float: float = 1.001>() h = Cast<to: int = 10>(k) "
    outputs = "float16[N,4] r"
    assert results(main_graph(rounded + nodes, inputs=CASTS, outputs=outputs)) == ["r"]
    assert results(main_graph(kept + nodes, inputs=CASTS, outputs=outputs)) == []


def test_a_cast_from_an_unknown_type_is_not_crossed():
    nodes = "c = Cast<to: int = 1>(t) s = Sub(one, c) m = Mul(c, s) r = Mul(g, m)"
    site = only(main_graph("t = user.Unknown(x) " + nodes))
    assert site.operands == ("g", "c")
    split = "c = Cast<to: int = 1>(t) d = Cast<to: int = 1>(t) s = Sub(one, c) m = Mul(d, s) r = Mul(g, m)"
    assert results(main_graph("t = user.Unknown(x) " + split)) == []
    assert results(main_graph("t = Sigmoid(x) " + split, inputs="float[N,4] g, float16[N,4] x")) == ["r"]
