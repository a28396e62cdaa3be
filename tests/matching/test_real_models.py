from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import onnx
import pytest
from searching import main_graph, reasons, search
from values import all_values, check

MODELS = Path(__file__).parents[2] / "models"
CASES = sorted(path.parent for path in MODELS.glob("*/case.json"))
NAMED = {"ort_mnist_mlp": 2, "ort_lenet_sigmoid": 2, "ort_deep": 8}


@pytest.mark.parametrize("case", CASES, ids=lambda path: path.name)
def test_every_gradient_of_a_real_training_graph_is_found(case):
    expected = json.loads((case / "case.json").read_text())["expect"]["SigmoidBackward"]
    model = onnx.load(case / "model.onnx")
    sites, findings = search(model)
    assert len(sites) == expected
    assert findings.near_misses == []
    assert all(site.match.proven_sigmoid for site in sites)
    if (case / "inputs.npz").exists():
        values = all_values(model, dict(np.load(case / "inputs.npz")))
        for site in sites:
            check(site, values)


@pytest.mark.parametrize("case", NAMED)
def test_every_named_gradient_is_found(case):
    model = onnx.load(MODELS / case / "training_model.onnx")
    sites, findings = search(model)
    assert len(sites) == NAMED[case]
    assert {site.match.origin for site in sites} == {"named"}
    assert findings.near_misses == []


@pytest.mark.parametrize(
    "nodes",
    [
        # A gated recurrent unit and a long short-term memory, forward only.
        "r = Sigmoid(x) z = Sigmoid(g) h = Tanh(x) c = Sub(one, z) a = Mul(c, h) b = Mul(z, x) o = Add(a, b)",
        "i = Sigmoid(x) f = Sigmoid(g) t = Tanh(x) a = Mul(i, t) b = Mul(f, g) c = Add(a, b) "
        "u = Tanh(c) o = Mul(u, i)",
        # Swish, softplus, a residual block and a layer norm's epsilon.
        "s = Sigmoid(x) o = Mul(x, s)",
        "e = Exp(x) a = Add(e, one) o = Log(a)",
        "a = Relu(x) b = Mul(a, g) o = Add(b, x)",
        "e = Constant<value_float: float = 1e-5>() q = Mul(x, x) a = Add(q, e) b = Sqrt(a) o = Div(x, b)",
        "k = Constant<value_float: float = 0.99>() a = Mul(x, k) c = Sub(one, k) b = Mul(g, c) o = Add(a, b)",
    ],
)
def test_ordinary_forward_graphs_give_no_report(nodes):
    model = main_graph(nodes, outputs="float[N,4] o")
    sites, findings = search(model)
    assert (sites, findings.near_misses, findings.warnings) == ([], [], [])


def test_the_report_is_in_the_models_order():
    model = main_graph(
        "y = Sigmoid(x) near = Constant<value_float: float = 1.000009>() a = Sub(near, y) b = Mul(a, y) "
        "c = Mul(g, b) d = com.acme.SigmoidGrad(g, y) e = Sub(near, y) f = Mul(e, y) r = Mul(d, f)"
    )
    assert [node for node, _ in reasons(model)] == ["Mul(c)", "SigmoidGrad(d)", "Mul(r)"]
