from __future__ import annotations

from onnx import helper

from onnx_ascend_ext.rewriting.names import FreshNames

from .sites import parse

MODEL = """
<ir_version: 10, opset_import: ["" : 18, "my" : 1]>
g (float[N] x, bool c) => (float[N] z) <float w = {1.0}> {
  [node] y = Add(x, w)
  [branch] z = If(c) <
    then_branch = t () => (float[N] inner) <float v = {1.0}> { [deep] inner = Add(y, v) },
    else_branch = o () => (float[N] q) { q = my.F(y) }
  >
}
<domain: "my", opset_import: ["" : 18]>
F (a) => (b) { [inside] b = Relu(a) }
"""


def test_a_value_name_is_new_in_every_scope():
    model = parse(MODEL)
    model.graph.value_info.append(helper.make_tensor_value_info("stale", 1, ["N"]))
    names = FreshNames(model)
    for taken in ("x", "c", "z", "w", "y", "inner", "v", "q", "a", "b", "stale"):
        assert names.value(taken) == f"{taken}_1"
    assert names.value("free") == "free"
    assert names.value("free") == "free_1", "what was given is taken"


def test_a_number_that_is_taken_is_skipped():
    model = parse(MODEL.replace("inner", "x_1"))
    assert FreshNames(model).value("x") == "x_2"


def test_a_wish_is_numbered_on_past_the_numbers_that_others_took():
    names = FreshNames(parse(MODEL))
    wishes = ("x", "x_2", "x", "x", "x_2")
    assert [names.value(wish) for wish in wishes] == ["x_1", "x_2", "x_3", "x_4", "x_2_1"]


def test_a_node_name_is_new_in_every_scope():
    names = FreshNames(parse(MODEL))
    for taken in ("node", "branch", "deep", "inside"):
        assert names.node(taken) == f"{taken}_1"
    assert names.node("y") == "y", "values and nodes have names of their own"
