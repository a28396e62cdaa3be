"""The gradient of any value is found, however arithmetic computes the value itself."""

from __future__ import annotations

import numpy as np
import pytest
from searching import main_graph, only, results
from values import all_values, check

RNG = np.random.default_rng(11)
FEEDS = {name: RNG.uniform(0.5, 2, (3, 4)).astype(np.float32) for name in "gxzw"}
INPUTS = "float[N,4] g, float[N,4] x, float[N,4] z, float[N,4] w"
CONSTANTS = ", float half = {0.5}"

ACTIVATIONS = {
    "sigmoid plus constant": "s = Sigmoid(x) y = Add(s, half)",
    "constant minus value": "y = Sub(half, x)",
    "value plus constant": "y = Add(x, half)",
    "twice a value": "y = Add(x, x)",
    "square of a difference": "d = Sub(x, z) y = Mul(d, d)",
    "square of a complement": "d = Sub(one, x) y = Mul(d, d)",
    "product of sums": "d = Add(x, z) e = Add(x, w) y = Mul(d, e)",
    "product of complements": "d = Sub(one, z) e = Sub(one, x) y = Mul(d, e)",
    "value minus one": "y = Sub(x, one)",
    "interpolation": "d = Sub(x, z) e = Mul(d, w) y = Add(e, z)",
    "share": "d = Add(x, z) y = Div(x, d)",
    "odds": "d = Add(x, one) y = Div(x, d)",
    "softmax of two": "e = Exp(x) f = Exp(z) d = Add(e, f) y = Div(e, d)",
}

GRADIENTS = {
    "slope first": "a = Sub(one, y) b = Mul(a, y) r = Mul(b, g)",
    "gradient first": "p = Mul(g, y) a = Sub(one, y) r = Mul(a, p)",
    "distributed": "p = Mul(g, y) q = Mul(p, y) r = Sub(p, q)",
    "slope distributed": "q = Mul(y, y) p = Sub(y, q) r = Mul(p, g)",
}


@pytest.mark.parametrize("gradient", GRADIENTS.values(), ids=GRADIENTS)
@pytest.mark.parametrize("activation", ACTIVATIONS.values(), ids=ACTIVATIONS)
def test_the_gradient_of_a_composite_value_is_found(activation, gradient):
    model = main_graph(f"{activation} {gradient}", inputs=INPUTS, constants=CONSTANTS)
    site = only(model)
    assert site.result == "r"
    check(site, all_values(model, FEEDS))


@pytest.mark.parametrize("gradient", GRADIENTS.values(), ids=GRADIENTS)
@pytest.mark.parametrize("activation", ACTIVATIONS.values(), ids=ACTIVATIONS)
def test_a_like_product_of_another_value_is_none(activation, gradient):
    # The complement is that of `v`, which differs from `y` by an unrelated input.
    other = gradient.replace("Sub(one, y)", "Sub(one, v)").replace("Mul(p, y)", "Mul(p, v)")
    other = other.replace("Mul(y, y)", "Mul(y, v)")
    assert other != gradient
    model = main_graph(
        f"{activation} v = Add(y, u) {other}", inputs=f"{INPUTS}, float[N,4] u", constants=CONSTANTS
    )
    assert results(model) == []
