from __future__ import annotations

from fractions import Fraction

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from onnx import TensorProto

from onnx_ascend_ext import catalog
from onnx_ascend_ext.graph import ModelIndex
from onnx_ascend_ext.rewriting import apply, plan

from .sites import drawn, model_of, parse, rewrite, rewritten, run, same_values, site, types

PLAIN = """
<ir_version: 8, opset_import: ["" : 18]>
g (float[N,4] dy, float[N,4] y) => (float[N,4] dx) <float one = {1.0}>
{ [c] d = Sub(one, y)  [s] s = Mul(d, y)  [m] dx = Mul(s, dy) }
"""


def test_the_root_becomes_the_kernel_node_and_keeps_its_name_and_place():
    before = parse(PLAIN)
    after = rewritten(before, ("dx", "dy", "y", ["d", "s"]))
    (node,) = after.graph.node
    assert (node.name, node.op_type, node.domain) == ("m", "SigmoidBackward", "onnx_ascend_ext")
    assert (list(node.input), list(node.output)) == (["dy", "y"], ["dx"])
    assert list(after.graph.initializer) == []
    same_values(before, after, dy=drawn((3, 4), 1), y=drawn((3, 4), 2))


def test_the_node_says_where_it_comes_from():
    (node,) = rewritten(parse(PLAIN), ("dx", "dy", "y", ["d", "s"])).graph.node
    metadata = {entry.key: entry.value for entry in node.metadata_props}
    assert metadata["onnx_ascend_ext.rule"] == "SigmoidBackward (algebra)"
    assert metadata["onnx_ascend_ext.replaces"] == "c, s, m"
    assert metadata["onnx_ascend_ext.version"]


def test_an_unnamed_root_gets_a_name_that_is_new():
    before = model_of(
        "[SigmoidBackward_dx] d = Sub(one, y) s = Mul(d, y) dx = Mul(s, dy) z = Relu(d)",
        head="(float[N,4] dy, float[N,4] y) => (float[N,4] dx, float[N,4] z)",
    )
    after = rewritten(before, ("dx", "dy", "y", ["d", "s"]))
    assert [n.name for n in after.graph.node] == ["SigmoidBackward_dx", "SigmoidBackward_dx_1", ""]


def test_what_something_else_uses_stays():
    before = model_of(
        "d = Sub(one, y) s = Mul(d, y) dx = Mul(s, dy) z = Relu(d)",
        head="(float[N,4] dy, float[N,4] y) => (float[N,4] dx, float[N,4] z)",
    )
    after = rewritten(before, ("dx", "dy", "y", ["d", "s"]))
    assert types(after) == ["Sub", "SigmoidBackward", "Relu"]
    assert [t.name for t in after.graph.initializer] == ["one"]


def test_nodes_that_were_dead_before_stay():
    before = model_of("d = Sub(one, y) unused = Relu(d) s = Mul(d, y) other = Exp(y) dx = Mul(s, dy)")
    after = rewritten(before, ("dx", "dy", "y", ["d", "s"]))
    assert types(after) == ["Sub", "Relu", "Exp", "SigmoidBackward"]


def test_a_slope_that_two_gradients_share_goes_with_the_second():
    before = model_of(
        "d = Sub(one, y) s = Mul(d, y) dx = Mul(s, dy) dz = Mul(s, dw)",
        head="(float[N,4] dy, float[N,4] y, float[N,4] dw) => (float[N,4] dx, float[N,4] dz)",
    )
    first, second = ("dx", "dy", "y", ["d", "s"]), ("dz", "dw", "y", ["d", "s"])
    assert types(rewritten(before, first)) == ["Sub", "Mul", "SigmoidBackward", "Mul"]
    after = rewritten(before, first, second)
    assert types(after) == ["SigmoidBackward", "SigmoidBackward"]
    assert len(after.functions) == 1
    same_values(before, after, dy=drawn((3, 4), 1), y=drawn((3, 4), 2), dw=drawn((3, 4), 3))


def test_a_chain_that_made_the_constant_goes_too():
    before = model_of(
        "shape = Shape(y) k = ConstantOfShape<value: tensor = float[1] {1.0}>(shape) "
        "d = Sub(k, y) s = Mul(d, y) dx = Mul(s, dy)"
    )
    after = rewritten(before, ("dx", "dy", "y", ["shape", "k", "d", "s"]))
    assert types(after) == ["SigmoidBackward"]
    assert [t.name for t in after.graph.initializer] == ["one"], "it was unused before: no business of ours"


def test_value_info_of_dead_values_goes_and_the_rest_stays():
    before = model_of("r = Relu(y) d = Sub(one, r) s = Mul(d, r) dx = Mul(s, dy)")
    before = onnx.shape_inference.infer_shapes(before)
    assert {v.name for v in before.graph.value_info} == {"r", "d", "s"}
    after = rewritten(before, ("dx", "dy", "r", ["d", "s"]))
    assert [v.name for v in after.graph.value_info] == ["r"]


def test_factors_are_multiplied_on_afterwards():
    before = model_of(
        "d = Sub(one, y) s = Mul(d, y) t = Mul(s, dy) [last] dx = Mul(t, w)",
        head="(float[N,4] dy, float[N,4] y, float[N,4] w) => (float[N,4] dx)",
    )
    after = rewritten(before, ("dx", "dy", "y", ["d", "s", "t"]), factors=("w",))
    assert types(after) == ["SigmoidBackward", "Mul"]
    assert [n.name for n in after.graph.node] == ["last_SigmoidBackward", "last"]
    same_values(before, after, dy=drawn((3, 4), 1), y=drawn((3, 4), 2), w=drawn((3, 4), 3))


@pytest.mark.parametrize("opset", [9, 13, 18])
@pytest.mark.parametrize(("scale", "text"), [(-1, "-1"), (Fraction(1, 4), "0.25"), (3, "3")])
def test_a_scale_is_multiplied_on_afterwards(opset, scale, text):
    before = model_of(
        f"k = Constant<value: tensor = float {{{text}}}>() d = Sub(one, y) s = Mul(d, y) t = Mul(s, dy) "
        "dx = Mul(t, k)",
        opset=opset,
    )
    after = rewritten(before, ("dx", "dy", "y", ["k", "d", "s", "t"]), scale=scale)
    expected = {-1: ["SigmoidBackward", "Neg"]}.get(
        scale,
        ["SigmoidBackward", "Constant", "Mul"],
    )
    assert types(after) == expected
    same_values(before, after, dy=drawn((3, 4), 1), y=drawn((3, 4), 2))


def test_factors_and_scale_together():
    before = model_of(
        "d = Sub(one, y) s = Mul(d, y) t = Mul(s, dy) u = Mul(t, w) h = Add(u, u) dx = Neg(h)",
        head="(float[N,4] dy, float[N,4] y, float[N,4] w) => (float[N,4] dx)",
    )
    after = rewritten(before, ("dx", "dy", "y", ["d", "s", "t", "u", "h"]), factors=("w",), scale=-2)
    assert types(after) == ["SigmoidBackward", "Mul", "Constant", "Mul"]
    same_values(before, after, dy=drawn((3, 4), 1), y=drawn((3, 4), 2), w=drawn((3, 4), 3))


def test_a_scale_of_unknown_type_follows_the_result():
    before = parse(
        """<ir_version: 8, opset_import: ["" : 18, "my" : 1]>
        g (double[N,4] dy, double[N,4] y) => (double[N,4] dx) {
          a = my.Same(y) b = my.Same(dy) one = my.One(y) d = Sub(one, a) s = Mul(d, a) t = Mul(s, b)
          u = Add(t, t) v = Add(u, t) dx = my.Same(v) }
        <domain: "my", opset_import: ["" : 18]> Same (p) => (q) { q = Identity(p) }
        <domain: "my", opset_import: ["" : 18]> One (p) => (q) { r = Sub(p, p) q = Exp(r) }"""
    )
    after = rewritten(before, ("v", "b", "a", ["one", "d", "s", "t", "u"]), scale=3)
    assert types(after)[-5:] == ["SigmoidBackward", "Constant", "CastLike", "Mul", "Same"]
    same_values(before, after, dy=drawn((3, 4), 1, np.float64), y=drawn((3, 4), 2, np.float64))


def test_views_are_repeated_on_the_operand():
    before = model_of(
        "d = Sub(one, y) s = Mul(d, y) axes = Constant<value_ints: ints = [0]>() "
        "[view] u = Unsqueeze(s, axes) dx = Mul(u, dy)",
        head="(float[1,N,4] dy, float[N,4] y) => (float[1,N,4] dx)",
    )
    after = rewritten(before, ("dx", "dy", "y", ["d", "s", "u"]), views=[[], ["u"]])
    assert types(after) == ["Constant", "Unsqueeze", "SigmoidBackward"]
    assert after.graph.node[1].input[0] == "y"
    same_values(before, after, dy=drawn((1, 3, 4), 1), y=drawn((3, 4), 2))


def test_a_chain_of_views_ends_in_the_kernel_node():
    before = parse(
        """<ir_version: 8, opset_import: ["" : 18]>
        g (float[1,4,N] dy, float16[N,4] y) => (float[1,4,N] dx) <float one = {1.0}> {
        h = Cast<to = 10>(one) d = Sub(h, y) s = Mul(d, y) c = Cast<to = 1>(s)
        axes = Constant<value_ints: ints = [0]>()
        t = Transpose<perm = [1, 0]>(c) u = Unsqueeze(t, axes) dx = Mul(u, dy) }"""
    )
    after = rewritten(before, ("dx", "dy", "y", ["h", "d", "s", "c", "t", "u"]), views=[[], ["c", "t", "u"]])
    assert types(after) == ["Constant", "Cast", "Transpose", "Unsqueeze", "SigmoidBackward"]
    feeds = {"dy": drawn((1, 4, 3), 1), "y": drawn((3, 4), 2, np.float16)}
    (one,), (other,) = run(before, **feeds), run(after, **feeds)
    np.testing.assert_allclose(other, one, rtol=4e-3)


def test_metadata_and_doc_strings_are_merged():
    before = parse(PLAIN)
    for node, text in zip(before.graph.node, ("sub", "mul", "root"), strict=True):
        node.metadata_props.add(key="origin", value=text)
        node.metadata_props.add(key=f"only in {text}", value="kept")
        node.metadata_props.add(key="same", value="everywhere")
        node.doc_string = f"from {text}"
    (node,) = rewritten(before, ("dx", "dy", "y", ["d", "s"])).graph.node
    metadata = {entry.key: entry.value for entry in node.metadata_props}
    assert metadata["origin"] == "root; sub; mul"
    assert metadata["same"] == "everywhere"
    assert {f"only in {text}" for text in ("sub", "mul", "root")} <= metadata.keys()
    assert node.doc_string == "from root\nfrom sub\nfrom mul"


def test_a_root_without_metadata_takes_that_of_the_others():
    before = parse(PLAIN)
    before.graph.node[0].metadata_props.add(key="origin", value="sub")
    before.graph.node[1].doc_string = "a slope"
    (node,) = rewritten(before, ("dx", "dy", "y", ["d", "s"])).graph.node
    assert {"origin": "sub"}.items() <= {e.key: e.value for e in node.metadata_props}.items()
    assert node.doc_string == "a slope"


def test_training_graphs_keep_what_they_use_of_the_main_graph():
    before = parse(PLAIN)
    training = before.training_info.add()
    training.algorithm.CopyFrom(
        onnx.parser.parse_graph("a (float[N,4] q) => (float[N,4] r) { r = Add(q, one) }")
    )
    index = ModelIndex(before)
    rewrite(index, site(index.main, "dx", "dy", "y", ["d", "s"]))
    assert [t.name for t in before.graph.initializer] == ["one"]


def test_nodes_in_no_topological_order_stay_in_theirs():
    before = onnx.parser.parse_model(
        '<ir_version: 8, opset_import: ["" : 18]> g (float[N,4] dy, float[N,4] y) => (float[N,4] q) '
        "<float one = {1.0}> { q = Relu(dx) dx = Mul(s, dy) s = Mul(d, e) d = Sub(one, e) e = Sigmoid(y) }"
    )
    index = ModelIndex(before)
    rewrite(index, site(index.main, "dx", "dy", "e", ["d", "s"]))
    assert types(before) == ["Relu", "SigmoidBackward", "Sigmoid"]
    got = run(before, dy=drawn((3, 4), 1), y=drawn((3, 4), 2))
    assert got[0].shape == (3, 4)


def test_a_kernel_node_that_nothing_needs_any_more_goes():
    before = model_of(
        "d = Sub(one, y) s = Mul(d, y) [inner] t = Mul(s, dy) [outer] dx = Identity(t)",
    )
    after = rewritten(before, ("t", "dy", "y", ["d", "s"]), ("dx", "dy", "y", ["d", "s", "t"]))
    assert [(n.name, n.op_type) for n in after.graph.node] == [("outer", "SigmoidBackward")]


@pytest.mark.parametrize("ir_version", [4, 5, 7, 8, 9, 10, 13])
def test_the_ir_version_is_raised_to_that_of_functions_only(ir_version):
    model = parse(PLAIN)
    model.ir_version = ir_version
    index = ModelIndex(model)
    _, warnings = rewrite(index, site(index.main, "dx", "dy", "y", ["d", "s"]))
    assert model.ir_version == max(ir_version, 8)
    assert len(warnings) == (ir_version < 8)


def test_initializers_of_ir_version_3_do_not_become_overridable():
    model = parse(PLAIN)
    model.ir_version = 3
    model.graph.input.add().CopyFrom(onnx.helper.make_tensor_value_info("one", TensorProto.FLOAT, []))
    index = ModelIndex(model)
    _, warnings = rewrite(index, site(index.main, "dx", "dy", "y", ["d", "s"]))
    assert model.ir_version == 3
    assert "IR version 3 is kept" in warnings[0]
    assert [t.name for t in model.graph.initializer] == ["one"], "it is an input of the graph"
    onnx.checker.check_model(model, full_check=True)
    options = ort.SessionOptions()
    options.log_severity_level = 3
    session = ort.InferenceSession(model.SerializeToString(), options)
    assert [v.name for v in session.get_overridable_initializers()] == []


def test_nothing_changes_without_sites():
    model = parse(PLAIN)
    before = model.SerializeToString()
    assert rewrite(ModelIndex(model))[1] == ()
    assert model.SerializeToString() == before


def test_a_sigmoid_that_nothing_computes_is_added():
    before = model_of(
        "n = Neg(x) e = Exp(n) p = Add(one, e) q = Mul(p, p) r = Div(e, q) dx = Mul(r, dy)",
        head="(float[N,4] dy, float[N,4] x) => (float[N,4] dx)",
    )
    after = rewritten(before, ("dx", "dy", "x", ["n", "e", "p", "q", "r"]), activated=(False, True))
    assert types(after) == ["Sigmoid", "SigmoidBackward"]
    assert after.graph.node[0].output[0] == after.graph.node[1].input[1] == "x_Sigmoid"
    same_values(before, after, dy=drawn((3, 4), 1), x=drawn((3, 4), 2))


@pytest.mark.parametrize(
    ("outputs", "extra", "stays"),
    [
        ("k, mask", "", False),
        ('k, ""', "", False),
        ("k, mask", "m = Not(mask)", True),
        ("k, mask", "m = Identity(k)", True),
    ],
)
def test_a_node_of_several_outputs_goes_when_none_is_used(outputs, extra, stays):
    before = model_of(f"{outputs} = Dropout(one) d = Sub(k, y) s = Mul(d, y) dx = Mul(s, dy) {extra}")
    after = rewritten(before, ("dx", "dy", "y", ["k", "d", "s"]))
    assert ("Dropout" in types(after)) == stays
    same_values(before, after, dy=drawn((3, 4), 1), y=drawn((3, 4), 2))


def test_optional_inputs_that_are_left_out_are_no_uses():
    before = model_of(
        'c = Clip(y, "", one) d = Sub(one, y) s = Mul(d, y) dx = Mul(s, dy) z = Clip(c, "", one)',
        head="(float[N,4] dy, float[N,4] y) => (float[N,4] dx, float[N,4] z)",
    )
    after = rewritten(before, ("dx", "dy", "y", ["d", "s"]))
    assert types(after) == ["Clip", "SigmoidBackward", "Clip"]
    assert [t.name for t in after.graph.initializer] == ["one"]


@pytest.mark.parametrize(("extra", "again"), [("", False), ("z = Relu(d)", True), ("z = Relu(one)", False)])
def test_it_says_whether_arithmetic_of_a_match_is_left(extra, again):
    model = model_of(f"d = Sub(one, y) s = Mul(d, y) dx = Mul(s, dy) {extra}")
    index = ModelIndex(model)
    planned = plan(index, [site(index.main, "dx", "dy", "y", ["d", "s"])], catalog.load())
    assert apply(planned, index).may_match_again == again


@pytest.mark.parametrize(
    ("extra", "deferred", "again"),
    [
        ("z = Mul(dx, dy)", True, True),
        ("z = Transpose(dx)", True, True),
        ("z = Mul(dx, dy)", False, False),
        ("z = Relu(dx)", True, False),
        ("z = Mul(dy, y)", True, False),
    ],
)
def test_it_says_whether_arithmetic_uses_the_result_of_a_deferred_match(extra, deferred, again):
    index = ModelIndex(model_of(f"d = Sub(one, y) s = Mul(d, y) dx = Mul(s, dy) {extra}"))
    found = site(index.main, "dx", "dy", "y", ["d", "s"], deferred=deferred)
    assert apply(plan(index, [found], catalog.load()), index).may_match_again == again
