from __future__ import annotations

import numpy as np
import onnx

from onnx_ascend_ext.graph import ModelIndex

from .sites import drawn, parse, rewrite, same_values, scope_of, site, types

NESTED = """
<ir_version: 8, opset_import: ["" : 18]>
g (bool c, float[N] dy, float[N] y) => (float[N] z) <float one = {1.0}> {
  e = Relu(y)
  [branch] z = If(c) <
    then_branch = t () => (float[N] dx) { d = Sub(one, e) s = Mul(d, e) dx = Mul(s, dy) },
    else_branch = o () => (float[N] k) { k = Identity(dy) }
  >
}
"""


def test_a_body_is_rewritten_where_it_lies():
    before = parse(NESTED)
    after = onnx.ModelProto()
    after.CopyFrom(before)
    index = ModelIndex(after)
    scope = scope_of(index, "main/branch.then_branch")
    rewrite(index, site(scope, "dx", "dy", "e", ["d", "s"]))
    onnx.checker.check_model(after, full_check=True)
    assert types(after) == ["Relu", "If"]
    assert [n.op_type for n in scope.container.node] == ["SigmoidBackward"]
    assert list(after.graph.initializer) == [], "the last use was inside the body"
    for flag in (True, False):
        same_values(before, after, c=np.array(flag), dy=drawn((3,), 1), y=drawn((3,), 2))


def test_a_constant_of_the_outer_graph_stays_while_another_body_uses_it():
    before = parse(NESTED.replace("k = Identity(dy)", "k = Add(dy, one)"))
    index = ModelIndex(before)
    rewrite(index, site(scope_of(index, "main/branch.then_branch"), "dx", "dy", "e", ["d", "s"]))
    assert [t.name for t in before.graph.initializer] == ["one"]


def test_a_computation_that_only_a_body_used_goes_with_it():
    before = parse(
        """<ir_version: 8, opset_import: ["" : 18]>
        g (bool c, float[N] dy, float[N] y) => (float[N] z) <float one = {1.0}> {
          d = Sub(one, y)
          s = Mul(d, y)
          [branch] z = If(c) <
            then_branch = t () => (float[N] dx) { dx = Mul(s, dy) },
            else_branch = o () => (float[N] k) { k = Mul(dy, y) }
          > }"""
    )
    after = onnx.ModelProto()
    after.CopyFrom(before)
    index = ModelIndex(after)
    scope = scope_of(index, "main/branch.then_branch")
    captured = tuple((index.main, index.main.producer[name]) for name in ("d", "s"))
    rewrite(index, site(scope, "dx", "dy", "y", [], captured=captured))
    onnx.checker.check_model(after, full_check=True)
    assert types(after) == ["If"]
    same_values(before, after, c=np.array(True), dy=drawn((3,), 1), y=drawn((3,), 2))


def test_a_function_is_rewritten_and_imports_the_domain():
    before = parse(
        """<ir_version: 8, opset_import: ["" : 18, "my" : 1]>
        g (float[N] dy, float[N] y) => (float[N] dx) { dx = my.F(dy, y) }
        <domain: "my", opset_import: ["" : 18]>
        F (a, b) => (z) {
          one = Constant<value_float: float = 1.0>() d = Sub(one, b) s = Mul(d, b) z = Mul(s, a) }"""
    )
    after = onnx.ModelProto()
    after.CopyFrom(before)
    index = ModelIndex(after)
    rewrite(index, site(scope_of(index, "function my::F"), "z", "a", "b", ["one", "d", "s"]))
    onnx.checker.check_model(after, full_check=True)
    assert [(o.domain, o.version) for o in after.functions[0].opset_import][-1] == ("onnx_ascend_ext", 1)
    assert [(o.domain, o.version) for o in after.opset_import][-1] == ("onnx_ascend_ext", 1)
    assert [f.name for f in after.functions] == ["F", "SigmoidBackward"]
    same_values(before, after, dy=drawn((3,), 1), y=drawn((3,), 2))


def test_an_outer_value_stays_while_a_body_has_its_name_too():
    before = parse(
        """<ir_version: 8, opset_import: ["" : 18]>
        g (bool c, float[N] dy, float[N] y) => (float[N] dx, float[N] z) <float one = {1.0}> {
          d = Sub(one, y)
          s = Mul(d, y)
          dx = Mul(s, dy)
          z = If(c) <
            then_branch = t () => (float[N] k) { k = Add(dy, y) },
            else_branch = o () => (float[N] l) { l = Identity(dy) }
          >
        }"""
    )
    for name, kept in {"two": [], "one": ["one"]}.items():
        after = onnx.ModelProto()
        after.CopyFrom(before)
        then = after.graph.node[-1].attribute[0].g
        then.initializer.append(onnx.helper.make_tensor(name, onnx.TensorProto.FLOAT, [], [2.0]))
        then.node[0].input[1] = name
        index = ModelIndex(after)
        rewrite(index, site(index.main, "dx", "dy", "y", ["d", "s"]))
        assert [tensor.name for tensor in after.graph.initializer] == kept
