from __future__ import annotations

import random
import time

import onnx
import pytest
from onnx import TensorProto, helper
from searching import main_graph, only, parse, reasons, results, search

from onnx_ascend_ext.errors import ModelError

GRADIENT = "y = Sigmoid(x) s = Sub(one, y) m = Mul(y, s) r = Mul(g, m)"


def graph(nodes, name="body", outputs=("r",), initializers=()):
    """A body that captures whatever it does not define."""
    parsed = main_graph(nodes).graph.node
    values = [helper.make_tensor_value_info(o, TensorProto.FLOAT, None) for o in outputs]
    return helper.make_graph(list(parsed), name, [], values, initializer=list(initializers))


def conditional(outer, then, otherwise="e = Identity(g)", outputs=("r",), name=""):
    model = main_graph(outer + " end = Identity(one)", inputs="bool b, float[N,4] g, float[N,4] x")
    node = helper.make_node("If", ["b"], ["out"], name=name)
    node.attribute.append(helper.make_attribute("then_branch", graph(then, outputs=outputs)))
    node.attribute.append(helper.make_attribute("else_branch", graph(otherwise, outputs=["e"])))
    model.graph.node.append(node)
    return model


def test_a_gradient_inside_a_body_is_found_there():
    site = only(conditional("", GRADIENT, name="If_3"))
    assert site.match.scope == "main/If_3.then_branch"
    assert site.operands == ("g", "y")
    assert site.captured == ()


def test_a_body_uses_outer_values():
    site = only(conditional("y = Sigmoid(x)", "s = Sub(one, y) m = Mul(y, s) r = Mul(g, m)"))
    assert site.match.scope == "main/If(out).then_branch"
    assert site.operands == ("g", "y")
    assert site.match.proven_sigmoid


def test_a_gradient_may_begin_outside_of_its_body():
    site = only(conditional("y = Sigmoid(x) s = Sub(one, y)", "m = Mul(y, s) r = Mul(g, m)"))
    assert [site.scope.op_types[index] for index in site.covered] == ["Mul", "Mul"]
    assert [scope.op_types[index] for scope, index in site.captured] == ["Sub"]


def test_a_matched_outer_value_is_a_plain_value_in_a_body():
    model = conditional(GRADIENT, "t = Sub(one, r) k = Mul(r, t) d = Mul(g, k)", outputs=["d"])
    sites, _ = search(model)
    assert [(site.match.scope, site.operands) for site in sites] == [
        ("main", ("g", "y")),
        ("main/If(out).then_branch", ("g", "r")),
    ]


def test_an_outer_value_that_is_computed_after_the_body_is_not_an_operand():
    body = "p = Mul(g, y) q = Mul(p, x) r = Mul(q, s)"
    outer = "y = Sigmoid(x) s = Sub(one, y) gx = Mul(g, x) w = Mul(gx, y) v = Mul(w, s) z = Relu(v)"
    early = conditional(outer, body)
    late = conditional("y = Sigmoid(x) s = Sub(one, y)", body)
    late.graph.node.extend(main_graph("gx = Mul(g, x) w = Mul(gx, y) v = Mul(w, s) z = Relu(v)").graph.node)
    inner = {site.scope.path: site for site in search(early)[0]}
    assert inner["main/If(out).then_branch"].operands == ("gx", "y")
    inner = {site.scope.path: site for site in search(late)[0]}
    assert inner["main/If(out).then_branch"].operands != ("gx", "y")


def test_a_name_that_a_body_defines_hides_the_outer_one():
    hidden = helper.make_tensor("one", TensorProto.FLOAT, [], [2.0])
    model = conditional("y = Sigmoid(x)", "s = Sub(one, y) m = Mul(y, s) r = Mul(g, m)")
    body = model.graph.node[-1].attribute[0].g
    assert results(model) == ["r"]
    body.initializer.append(hidden)
    assert results(model) == []


def test_two_levels_of_bodies():
    model = conditional("y = Sigmoid(x)", "s = Sub(one, y) k = Identity(g)", outputs=["k"], name="outer")
    body = model.graph.node[-1].attribute[0].g
    inner = helper.make_node("If", ["b"], ["deep"], name="inner")
    inner.attribute.append(helper.make_attribute("then_branch", graph("m = Mul(y, s) r = Mul(g, m)")))
    inner.attribute.append(helper.make_attribute("else_branch", graph("e = Identity(g)", outputs=["e"])))
    body.node.append(inner)
    site = only(model)
    assert site.match.scope == "main/outer.then_branch/inner.then_branch"
    assert [scope.path for scope, _ in site.captured] == ["main/outer.then_branch"]


FUNCTION = (
    '<domain: "user", opset_import: ["": 18]> Backward (g, x) => (r) '
    "{ one = Constant<value_float: float = 1.0>() " + GRADIENT + " }"
)
CALLER = '<domain: "user", opset_import: ["": 18, "user": 1]> Outer (a, b) => (c) { c = user.Backward(a, b) }'


def test_a_gradient_inside_a_function_is_found_once():
    model = main_graph("a = user.Outer(g, x) r = user.Backward(a, x)")
    model.functions.extend(onnx.parser.parse_function(text) for text in (FUNCTION, CALLER))
    site = only(model)
    assert site.match.scope == "function user::Backward"
    assert site.operands == ("g", "y")


def test_the_body_of_our_own_function_is_left_alone():
    model = main_graph("r = onnx_ascend_ext.SigmoidBackward(g, x)")
    own = FUNCTION.replace('"user"', '"onnx_ascend_ext"', 1).replace("Backward (g", "SigmoidBackward (g")
    model.functions.append(onnx.parser.parse_function(own))
    assert results(model) == []


def test_functions_that_call_each_other_do_not_hang():
    texts = [
        '<domain: "user", opset_import: ["": 18, "user": 1]> A (a) => (b) { b = user.B(a) }',
        '<domain: "user", opset_import: ["": 18, "user": 1]> B (a) => (b) { b = user.A(a) }',
    ]
    model = main_graph("y = user.A(x) s = Sub(one, y) m = Mul(y, s) r = Mul(g, m)")
    model.functions.extend(onnx.parser.parse_function(text) for text in texts)
    with pytest.raises(ModelError, match="depends on itself"):
        search(model)


def test_training_graphs_see_the_initializers_of_the_main_graph():
    model = main_graph("r = Add(g, x)")
    training = model.training_info.add()
    training.algorithm.CopyFrom(main_graph(GRADIENT).graph)
    del training.algorithm.initializer[:]
    training.initialization.CopyFrom(main_graph(GRADIENT).graph)
    sites, _ = search(model)
    assert [site.match.scope for site in sites] == [
        "training_info[0].initialization",
        "training_info[0].algorithm",
    ]


def test_training_graphs_do_not_see_computed_values_of_the_main_graph():
    model = main_graph("one2 = Identity(one) r = Add(g, x)")
    training = model.training_info.add()
    training.algorithm.CopyFrom(main_graph(GRADIENT.replace("one", "one2")).graph)
    del training.algorithm.initializer[:]
    assert results(model) == []


def test_nodes_in_any_order_are_accepted():
    model = main_graph(GRADIENT)
    expected = only(model).match.inputs
    for seed in range(20):
        shuffled = onnx.ModelProto()
        shuffled.CopyFrom(model)
        nodes = list(model.graph.node)
        random.Random(seed).shuffle(nodes)
        del shuffled.graph.node[:]
        shuffled.graph.node.extend(nodes)
        site = only(shuffled)
        assert site.match.inputs == expected
        assert site.scope.outputs[site.root][0] == "r"


@pytest.mark.parametrize(
    "nodes",
    [
        "a = Mul(b, g) b = Mul(a, x) r = Identity(a)",
        "s = Sub(one, y) y = Mul(s, g) r = Mul(s, y)",
        "a = Relu(b) b = Relu(a) r = Identity(g)",
        "a = Mul(a, g) r = Identity(a)",
    ],
)
def test_a_cycle_is_an_error(nodes):
    with pytest.raises(ModelError, match="depends on itself"):
        search(main_graph(nodes))


def test_a_value_that_is_computed_twice_is_an_error():
    with pytest.raises(ModelError, match="two nodes compute the value 'a'"):
        search(main_graph("a = Relu(g) a = Relu(x) r = Identity(a)"))


def test_a_cycle_through_a_body_is_an_error():
    model = conditional("z = Relu(out)", "r = Mul(z, g)")
    with pytest.raises(ModelError, match="depends on itself"):
        search(model)


@pytest.mark.parametrize("opset", [6, 7])
def test_the_oldest_opset(opset):
    model = main_graph(GRADIENT)
    model.opset_import[0].version = opset
    sites, findings = search(model)
    assert len(sites) == (opset >= 7)
    assert bool(findings.warnings) == (opset < 7)


@pytest.mark.parametrize("domain", ["ai.onnx", ""])
def test_the_default_domain_has_two_names(domain):
    model = main_graph(GRADIENT)
    model.opset_import[0].domain = domain
    for node in model.graph.node:
        node.domain = domain
    assert results(model) == ["r"]


def test_an_operator_of_another_domain_is_not_arithmetic():
    for op in ("Sub(one", "Mul(y", "Mul(g"):
        assert results(main_graph(GRADIENT.replace(op, "user." + op))) == []


def chain(count, op, other, start="g"):
    nodes = []
    current = start
    for i in range(count):
        nodes.append(helper.make_node(op, [current, other] if other else [current], [f"c{i}"]))
        current = f"c{i}"
    return nodes, current


@pytest.mark.parametrize(
    ("op", "other"), [("Mul", "x"), ("Add", "x"), ("Neg", ""), ("Identity", ""), ("Sub", "one"), ("Mul", "s")]
)
def test_a_deep_chain_is_searched_in_linear_time(op, other):
    seconds = []
    for count in (2_000, 40_000):
        model = main_graph("y = Sigmoid(x) s = Sub(one, y)")
        nodes, last = chain(count, op, other)
        model.graph.node.extend(nodes)
        model.graph.node.extend(main_graph(f"m = Mul(y, s) r = Mul({last}, m)").graph.node)
        started = time.process_time()
        assert "r" in results(model)
        seconds.append(time.process_time() - started)
    assert seconds[1] < 60 * max(seconds[0], 0.05)


def test_a_deep_chain_of_constants_does_not_recurse():
    model = main_graph("y = Sigmoid(x)")
    nodes, last = chain(100_000, "Identity", "", "one")
    model.graph.node.extend(nodes)
    model.graph.node.extend(main_graph(f"s = Sub({last}, y) m = Mul(y, s) r = Mul(g, m)").graph.node)
    assert results(model) == ["r"]


def test_a_long_product_before_the_gradient_does_not_hide_it():
    for length in range(20, 50):
        inputs = ", ".join(f"float[N,4] a{i}" for i in range(length))
        nodes = "p0 = Identity(a0) "
        nodes += " ".join(f"p{i} = Mul(p{i - 1}, a{i})" for i in range(1, length))
        model = main_graph(
            f"{nodes} y = Sigmoid(x) s = Sub(one, y) q = Mul(p{length - 1}, y) r = Mul(q, s)",
            inputs=f"float[N,4] x, {inputs}",
        )
        assert only(model).operands == (f"p{length - 1}", "y")


def test_a_slope_with_two_thousand_gradients():
    count = 2_000
    inputs = ", ".join(f"float[N,4] g{i}" for i in range(count))
    uses = " ".join(f"r{i} = Mul(g{i}, m)" for i in range(count))
    model = parse(
        f'<ir_version: 8, opset_import: ["": 18]> main (float[N,4] x, {inputs}) => (float[N,4] r0) '
        f"<float one = {{1}}> {{ y = Sigmoid(x) s = Sub(one, y) m = Mul(y, s) {uses} }}"
    )
    started = time.process_time()
    assert len(results(model)) == count
    assert time.process_time() - started < 5


def test_nodes_that_lack_operands_or_outputs_are_no_gradients_and_no_crash():
    text = (
        "n = Neg(x) e = Exp(n) a = Add(one, e) y = Div(one, a) h = Constant<value_ints: ints = [-1]>() "
        "k = Expand(one, h) s = Sub(k, y) c = Cast<to: int = 1>(s) m = Mul(y, c) u = Unsqueeze(m, h) "
        "z = Sigmoid(n) q = Pow(y, one) t = Transpose(u) w = MatMul(x, t) v = Gemm(x, x) b = Shape(x) "
        "o = CastLike(one, b) i = Identity(o) d = Mul(g, t) "
        "p = com.microsoft.SigmoidGrad(d, y) f = Reshape(p, b) r = Mul(f, z)"
    )
    for seed in range(300):
        draw = random.Random(seed)
        model = main_graph(text)
        for node in model.graph.node:
            for names in (node.input, node.output):
                if names and draw.random() < 0.15:
                    if draw.random() < 0.5:
                        names.pop()
                    else:
                        names[draw.randrange(len(names))] = ""
            if node.attribute and draw.random() < 0.15:
                del node.attribute[:]
        for relaxed in (False, True):
            search(model, relaxed=relaxed)


def test_a_name_of_two_meanings_hinders_all_bodies_of_its_node():
    body = "s{0} = Sub(one, y) m{0} = Mul(y, s{0}) {1} = Mul(g, m{0})"
    model = conditional("y = Sigmoid(x)", body.format("", "r"), body.format("2", "e"))
    assert sorted(results(model)) == ["e", "r"]
    then = model.graph.node[-1].attribute[0].g
    then.initializer.append(helper.make_tensor("one", TensorProto.FLOAT, [], [2.0]))
    sites, findings = search(model)
    assert not sites
    assert [miss.reason for miss in findings.near_misses] == [
        "a nested graph has another value of the name `one`: rename it"
    ]
    then.initializer[0].name = "two"
    assert sorted(results(model)) == ["e", "r"]


def test_a_gradient_in_the_body_of_a_sequence_map_stays():
    nodes = "s = Sub(one, y) m = Mul(y, s) r = Mul(g, m)"
    model = parse(
        '<ir_version: 8, opset_import: ["": 17]> main (float[2] g, float[2] y) => (float[2] o) '
        "<float one = {1}, int64 i = {0}> { q = SequenceConstruct(y, g) "
        f"w = SequenceMap(q) <body: graph = b (float[2] y2) => (float[2] r) {{ {nodes} }}> "
        "o = SequenceAt(w, i) }"
    )
    assert results(model) == []
    ((node, reason),) = reasons(model)
    assert node == "Mul(r)"
    assert "SequenceMap" in reason
    assert results(conditional("y = Sigmoid(x)", nodes)) == ["r"]
