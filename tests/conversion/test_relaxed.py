"""Spellings that keep the tail which `1 - y` rounds away are converted on request only."""

from __future__ import annotations

import numpy as np
import pytest

from onnx_ascend_ext import convert

from .checking import check, check_same_values, op_types
from .patterns import graph

NEGATED = "y = Sigmoid(x) n = Neg(x) w = Sigmoid(n) s = Mul(y, w) dx = Mul(s, dy)"
EXP = "n = Neg(x) e = Exp(n) p = Add(one, e) q = Mul(p, p) r = Div(e, q) dx = Mul(r, dy)"
IN = "float[N,4] dy, float[N,4] x"


@pytest.mark.parametrize("body", [NEGATED, EXP])
def test_they_stay_and_are_reported(body):
    model = graph(body, inputs=IN)
    conversion = check(model)
    assert conversion.matches == []
    assert any("relaxed" in miss.reason for miss in conversion.near_misses)


@pytest.mark.parametrize(
    ("body", "expected"),
    [(NEGATED, ["Sigmoid", "SigmoidBackward"]), (EXP, ["Sigmoid", "SigmoidBackward"])],
)
def test_they_are_converted_on_request(body, expected):
    model = graph(body, inputs=IN)
    conversion = check(model, relaxed=True)
    assert op_types(conversion.model) == expected
    rng = np.random.default_rng(5)
    feeds = {name: rng.normal(size=(3, 4)).astype(np.float32) for name in ("dy", "x")}
    check_same_values(model, conversion, feeds=feeds)


def test_an_exact_spelling_is_converted_either_way():
    model = graph()
    assert convert(model).model == convert(model, relaxed=True).model
