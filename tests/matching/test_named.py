from __future__ import annotations

import onnx
import pytest
from onnx import helper
from searching import main_graph, only, reasons, results, search

ORT = "com.microsoft"
ATEN = "org.pytorch.aten"
TENSORFLOW = "ai.onnx.converters.tensorflow"


def named(op_type, domain, inputs=("a", "b"), outputs=("r",), **attributes):
    model = main_graph("t = Relu(a)", inputs="float[N,4] a, float[N,4] b", outputs="float[N,4] r")
    node = helper.make_node(op_type, list(inputs), list(outputs), domain=domain)
    node.name = "grad"
    node.attribute.extend(helper.make_attribute(key, value) for key, value in attributes.items())
    model.graph.node.append(node)
    return model


GRADIENT_FIRST = [
    named("SigmoidGrad", ORT),
    named("sigmoid_backward", ATEN),
    named("aten::sigmoid_backward", ATEN),
    named("ATen", ATEN, operator="sigmoid_backward"),
    named("ATen", ATEN, operator="aten::sigmoid_backward", overload_name=""),
    named("ATen", ATEN, operator="sigmoid_backward", overload_name="grad_input"),
    named("ATenOp", ORT, name="aten::sigmoid_backward"),
    named("ATen", "", operator="sigmoid_backward"),
    named("SigmoidGrad", ORT, inputs=("a", "b", "", "")),
    named("ATen", ATEN, inputs=("a", "b", ""), operator="sigmoid_backward", overload_name=""),
    named("SigmoidGrad", ORT, outputs=("r", "")),
]


@pytest.mark.parametrize("model", GRADIENT_FIRST)
def test_producers_that_put_the_gradient_first(model):
    site = only(model)
    assert dict(site.match.inputs) == {"grad_output": "a", "output": "b"}
    assert site.operands == ("a", "b")
    assert site.match.origin == "named"
    assert site.match.nodes == ("grad",)
    assert site.covered == (site.root,)


def test_tensorflow_puts_the_activation_first():
    assert only(named("SigmoidGrad", TENSORFLOW)).operands == ("b", "a")


@pytest.mark.parametrize(
    "model",
    [
        named("SigmoidGrad", ""),
        named("SigmoidGrad", "ai.onnx"),
        named("SigmoidGrad", "acme.training"),
        named("sigmoid_backward", "acme.training"),
        named("ATen", ATEN, operator="sigmoid_backward", overload_name="other"),
        named("ATen", "acme.training", operator="sigmoid_backward"),
    ],
)
def test_an_unknown_producer_is_reported_and_not_guessed(model):
    assert results(model) == []
    ((node, reason),) = reasons(model)
    assert node == "grad"
    assert reason.startswith("operand order of this producer is unknown")


@pytest.mark.parametrize(
    "model",
    [
        named("ATen", ATEN, operator="tanh_backward"),
        named("ATen", ATEN, operator="log_sigmoid_backward"),
        named("ATen", ATEN),
        named("TanhGrad", ORT),
        named("SigmoidBackward", "onnx_ascend_ext"),
    ],
)
def test_other_operators_are_left_alone(model):
    assert results(model) == []
    assert reasons(model) == []


@pytest.mark.parametrize(
    ("inputs", "outputs", "reason"),
    [
        (("a",), ("r",), "an operand is missing"),
        (("a", ""), ("r",), "an operand is missing"),
        (("a", "b", "t"), ("r",), "more operands"),
        (("a", "b"), ("r", "q"), "not exactly one output"),
    ],
)
def test_a_node_that_is_not_as_its_producer_writes_it_is_reported(inputs, outputs, reason):
    model = named("SigmoidGrad", ORT, inputs=inputs, outputs=outputs)
    assert results(model) == []
    assert reason in reasons(model)[0][1]


def test_the_sigmoid_of_a_named_node_is_proven_where_it_is_seen():
    model = main_graph("y = Sigmoid(x) i = Identity(y) r = com.microsoft.SigmoidGrad(g, i)")
    assert only(model).match.proven_sigmoid
    model = main_graph("r = com.microsoft.SigmoidGrad(g, x)")
    assert not only(model).match.proven_sigmoid


def test_a_named_gradient_is_a_plain_value_for_the_algebra():
    model = main_graph(
        "y = Sigmoid(x) d = com.microsoft.SigmoidGrad(g, y) s = Sub(one, y) m = Mul(y, s) r = Mul(d, m)"
    )
    sites, _ = search(model)
    assert [(site.match.origin, site.operands) for site in sites] == [
        ("named", ("g", "y")),
        ("algebra", ("d", "y")),
    ]


def own_function(body, domain=ORT):
    model = named("SigmoidGrad", domain)
    text = f'<domain: "{domain}", opset_import: ["": 18]> SigmoidGrad (p, q) => (r) {{ {body} }}'
    model.functions.append(onnx.parser.parse_function(text))
    return model


ONE = "one = Constant<value_float: float = 1.0>() "


def test_a_model_that_defines_the_operator_itself_decides_its_operand_order():
    first = own_function(ONE + "s = Sub(one, q) m = Mul(q, s) r = Mul(p, m)")
    assert [site.operands for site in search(first)[0] if site.scope.path == "main"] == [("a", "b")]
    swapped = own_function(ONE + "s = Sub(one, p) m = Mul(p, s) r = Mul(q, m)")
    assert [site.operands for site in search(swapped)[0] if site.scope.path == "main"] == [("b", "a")]


def test_a_model_that_defines_the_operator_as_something_else_is_reported():
    model = own_function(ONE + "s = Sub(one, q) r = Mul(p, s)")
    assert results(model) == []
    assert reasons(model) == [("grad", "the model defines SigmoidGrad itself, as something else")]


def test_an_operator_of_an_unknown_domain_with_a_definition_needs_no_report():
    model = own_function(ONE + "s = Sub(one, q) m = Mul(q, s) r = Mul(p, m)", "acme.training")
    assert reasons(model) == []
    assert [site.match.scope for site in search(model)[0]] == ["function acme.training::SigmoidGrad"]
