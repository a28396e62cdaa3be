"""Faults that users of other rewriters reported about what became of their models: what must not happen here.

The numbers are rows of the project's list of such reports; the pattern is `dy * (y * (1 - y))`.
"""

from __future__ import annotations

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from onnx import TensorProto, helper, numpy_helper

from onnx_ascend_ext import DOMAIN, ModelError, convert

from .checking import check, check_same_values, kernel_nodes, nodes, op_types, problem_of
from .patterns import IN, PATTERN, graph


class TestA1NamesThatAreTakenAlready:
    BODY = """
      SigmoidBackward_dx = Neg(y)
      [SigmoidBackward_dx] SigmoidBackward_dx_1 = Neg(SigmoidBackward_dx)
      d = Sub(one, SigmoidBackward_dx_1) s = Mul(d, SigmoidBackward_dx_1) dx = Mul(s, dy)
      z = If(c) <
        then_branch = t () => (float[N,4] u) {
          [SigmoidBackward_u] h = Sub(one, y) k = Mul(h, y) u = Mul(k, dx) },
        else_branch = o () => (float[N,4] v) { [SigmoidBackward_dx_1] v = Relu(dx) }
      >
    """

    def test_fresh_names_collide_with_nothing_in_any_scope(self):
        model = graph(self.BODY, inputs=f"{IN}, bool c", outputs="float[N,4] dx, float[N,4] z")
        conversion = check(model)
        assert len(conversion.matches) == 2
        names = [node.name for node in nodes(conversion.model) if node.name]
        assert len(set(names)) == len(names)
        check_same_values(model, conversion)

    def test_a_second_conversion_of_a_model_that_grew_still_finds_free_names(self):
        converted = convert(graph()).model
        for text in ("e = Sub(one, dx)", "f = Mul(e, dx)", "q = Mul(f, y)"):
            converted.graph.node.append(onnx.parser.parse_node(text))
        converted.graph.initializer.append(numpy_helper.from_array(np.float32(1), "one"))
        converted.graph.output[0].name = "q"
        conversion = check(converted)
        assert len(conversion.matches) == 1
        assert len({node.name for node in kernel_nodes(conversion.model)}) == 2
        assert len(conversion.model.functions) == 1
        check_same_values(converted, conversion)


class TestA3InnerValueFeedsOthers:
    @pytest.mark.parametrize("inner", ["d", "s"])
    def test_it_stays(self, inner):
        model = graph(f"{PATTERN} z = Relu({inner})", outputs="float[N,4] dx, float[N,4] z")
        conversion = check(model)
        assert len(conversion.matches) == 1
        assert "Relu" in op_types(conversion.model)
        check_same_values(model, conversion)


class TestA4GraphOutputs:
    @pytest.mark.parametrize(
        "outputs",
        [
            "float[N,4] dx, float[N,4] s",
            "float[N,4] s, float[N,4] d, float[N,4] dx",
            "float[N,4] dx, float[N,4] dx",
            "float[N,4] s, float[N,4] dx, float[N,4] s",
            "float[N,4] y, float[N,4] dx",
        ],
    )
    def test_names_order_and_types_stay(self, outputs):
        model = graph(outputs=outputs)
        conversion = check(model)
        assert len(conversion.matches) == 1
        assert list(conversion.model.graph.output) == list(model.graph.output)
        check_same_values(model, conversion)


class TestA5CapturedValues:
    def test_what_a_branch_reads_stays(self):
        body = f"""{PATTERN} z = If(c) <
          then_branch = t () => (float[N,4] p) {{ p = Relu(s) }},
          else_branch = o () => (float[N,4] q) {{ q = Relu(dy) }} >"""
        model = graph(body, inputs=f"{IN}, bool c", outputs="float[N,4] dx, float[N,4] z")
        conversion = check(model)
        assert op_types(conversion.model) == ["Sub", "Mul", "SigmoidBackward", "If"]
        check_same_values(model, conversion, feeds=None)

    def test_a_loop_reads_the_result(self):
        body = f"""{PATTERN} z = Loop(n, keep, dx) <
          body = b (int64 i, bool k, float[N,4] a) => (bool k2, float[N,4] a2) {{
            k2 = Identity(k) a2 = Add(a, dx) }} >"""
        model = graph(body, inputs=f"{IN}, int64 n, bool keep", outputs="float[N,4] z")
        conversion = check(model)
        assert len(conversion.matches) == 1
        check_same_values(model, conversion)

    def test_two_levels_deep(self):
        body = f"""{PATTERN} z = If(c) <
          then_branch = t () => (float[N,4] p) {{
            p = If(c) <
              then_branch = tt () => (float[N,4] pp) {{ pp = Add(d, dx) }},
              else_branch = to () => (float[N,4] pq) {{ pq = Relu(dy) }} > }},
          else_branch = o () => (float[N,4] q) {{ q = Relu(dy) }} >"""
        model = graph(body, inputs=f"{IN}, bool c", outputs="float[N,4] z")
        conversion = check(model)
        assert op_types(conversion.model) == ["Sub", "SigmoidBackward", "If"]
        check_same_values(model, conversion)

    def test_a_pattern_in_a_body_that_uses_outer_values_is_rewritten_there(self):
        body = """e = Sigmoid(y) z = If(c) <
          then_branch = t () => (float[N,4] dx) { d = Sub(one, e) s = Mul(d, e) dx = Mul(s, dy) },
          else_branch = o () => (float[N,4] q) { q = Relu(dy) } >"""
        model = graph(body, inputs=f"{IN}, bool c", outputs="float[N,4] z")
        conversion = check(model)
        (match,) = conversion.matches
        assert match.scope.endswith("then_branch")
        assert match.inputs == {"grad_output": "dy", "output": "e"}
        branch = conversion.model.graph.node[-1].attribute[0].g
        assert [node.op_type for node in branch.node] == ["SigmoidBackward"]
        check_same_values(model, conversion)

    def test_a_pattern_in_loop_and_scan_bodies(self):
        body = """z, zs = Loop(n, keep, y) <
          body = b (int64 i, bool k, float[N,4] a) => (bool k2, float[N,4] a2, float[N,4] out) {
            k2 = Identity(k) d = Sub(one, a) s = Mul(d, a) a2 = Mul(s, dy) out = Identity(a2) } >
          w = Scan <num_scan_inputs: int = 1, body = sb (float[4] row) => (float[4] r) {
            dd = Sub(one, row) ss = Mul(dd, row) r = Mul(ss, row) }>(y)"""
        model = graph(
            body,
            inputs=f"{IN}, int64 n, bool keep",
            outputs="float[N,4] z, float[M,N,4] zs, float[N,4] w",
        )
        conversion = check(model)
        assert len(conversion.matches) == 2
        check_same_values(model, conversion)


FUNCTION = """
<domain: "my", opset_import: ["" : 18]>
F (dy, y) => (dx) {
  one = Constant<value_float: float = 1.0>() d = Sub(one, y) s = Mul(d, y) dx = Mul(s, dy) }
"""
OUTER = """
<domain: "my", opset_import: ["" : 18, "my" : 1]>
G (a, b) => (r) { p = my.F(a, b) q = my.F(p, b) r = Add(p, q) }
"""
UNUSED = '<domain: "my", opset_import: ["" : 18]> H (a) => (r) { r = Relu(a) }'


class TestA7ModelLocalFunctions:
    def test_they_are_kept_and_rewritten_inside(self):
        model = graph(
            "p = my.F(dy, y) q = my.G(p, y) dx = my.F(q, y)",
            values="",
            head='ir_version: 8, opset_import: ["" : 18, "my" : 1]',
            functions=FUNCTION + OUTER + UNUSED,
        )
        conversion = check(model)
        assert [match.scope for match in conversion.matches] == ["function my::F"]
        assert [f.name for f in conversion.model.functions] == ["F", "G", "H", "SigmoidBackward"]
        assert len(kernel_nodes(conversion.model)) == 1
        check_same_values(model, conversion)


class TestA8ImportsOfFunctions:
    def test_a_rewritten_function_and_the_model_import_our_domain(self):
        model = graph(
            "dx = my.F(dy, y)",
            values="",
            head='ir_version: 8, opset_import: ["" : 18, "my" : 1]',
            functions=FUNCTION + UNUSED,
        )
        converted = check(model).model
        assert (DOMAIN, 1) in [(o.domain, o.version) for o in converted.opset_import]
        assert (DOMAIN, 1) in [(o.domain, o.version) for o in converted.functions[0].opset_import]
        assert converted.functions[1] == model.functions[1], "a function without gradients stays as it is"

    def test_a_named_node_inside_a_function(self):
        model = graph(
            "dx = my.F(dy, y)",
            values="",
            head='ir_version: 8, opset_import: ["" : 18, "my" : 1, "com.microsoft" : 1]',
            functions='<domain: "my", opset_import: ["" : 18, "com.microsoft" : 1]> '
            "F (a, b) => (r) { r = com.microsoft.SigmoidGrad(a, b) }",
        )
        conversion = check(model)
        assert conversion.matches[0].inputs == {"grad_output": "a", "output": "b"}
        assert problem_of(conversion.model) is None
        check_same_values(model, conversion)


class TestA9OpsetImports:
    @pytest.mark.parametrize(
        "imports",
        [
            [("", 18), ("", 18)],
            [("", 18), ("ai.onnx", 17)],
            [("ai.onnx", 18)],
            [("", 18), (DOMAIN, 1)],
            [("", 18), ("com.example", 3)],
        ],
    )
    def test_none_is_doubled_lowered_or_moved(self, imports):
        model = graph()
        del model.opset_import[:]
        model.opset_import.extend(helper.make_opsetid(*entry) for entry in imports)
        conversion = check(model)
        assert len(conversion.matches) == 1
        expected = imports if (DOMAIN, 1) in imports else [*imports, (DOMAIN, 1)]
        assert [(o.domain, o.version) for o in conversion.model.opset_import] == expected
        check_same_values(model, conversion)

    @pytest.mark.parametrize("version", [2, 7])
    def test_another_version_of_our_domain_is_an_error(self, version):
        model = graph()
        model.opset_import.append(helper.make_opsetid(DOMAIN, version))
        with pytest.raises(ModelError, match=f"imports {DOMAIN} version {version}.*knows version 1"):
            convert(model)


class TestA10ImportsThatAreMissing:
    def test_a_foreign_domain_that_is_not_imported(self):
        model = graph("dx = com.microsoft.SigmoidGrad(dy, y)", values="")
        assert problem_of(model) is not None
        conversion = check(model)
        assert [(o.domain, o.version) for o in conversion.model.opset_import] == [("", 18), (DOMAIN, 1)]
        assert problem_of(conversion.model) is None
        check_same_values(model, conversion)

    def test_operands_and_outputs_that_are_left_out_go(self):
        model = graph("dx = com.microsoft.SigmoidGrad(dy, y)", values="")
        model.graph.node[0].input.append("")
        model.graph.node[0].output.append("")
        conversion = check(model)
        (node,) = conversion.model.graph.node
        assert (list(node.input), list(node.output)) == (["dy", "y"], ["dx"])
        assert problem_of(conversion.model) is None

    def test_a_stale_import_stays(self):
        model = graph(
            "dx = com.microsoft.SigmoidGrad(dy, y)",
            values="",
            head='ir_version: 8, opset_import: ["" : 18, "com.microsoft" : 1]',
        )
        imports = [(o.domain, o.version) for o in check(model).model.opset_import]
        assert imports == [("", 18), ("com.microsoft", 1), (DOMAIN, 1)]


class TestA11IrVersions:
    @pytest.mark.parametrize("version", [4, 6, 7, 8, 9, 10, 13])
    def test_it_is_raised_to_that_of_functions_only(self, version):
        model = graph()
        model.ir_version = version
        conversion = check(model)
        assert conversion.model.ir_version == max(version, 8)
        assert any("IR version raised" in text for text in conversion.warnings) == (version < 8)
        check_same_values(model, conversion)

    def test_it_stays_where_nothing_is_converted(self):
        model = graph("dx = Mul(y, dy)", values="")
        model.ir_version = 3
        assert check(model).model.ir_version == 3

    def test_in_ir_version_3_initializers_are_inputs_and_stay_constant(self):
        model = graph(inputs=f"{IN}, float one", head='ir_version: 3, opset_import: ["" : 9]')
        conversion = check(model)
        check_same_values(model, conversion)
        options = ort.SessionOptions()
        options.log_severity_level = 3
        session = ort.InferenceSession(conversion.model.SerializeToString(), options)
        assert [value.name for value in session.get_overridable_initializers()] == []


class TestA19Metadata:
    def test_what_the_nodes_said_is_merged(self):
        model = graph(head='ir_version: 10, opset_import: ["" : 18]')
        for node in model.graph.node:
            node.metadata_props.add(key="pkg.origin", value=f"from {node.op_type} {node.output[0]}")
            node.metadata_props.add(key=f"only.{node.output[0]}", value="yes")
            node.doc_string = f"computes {node.output[0]}"
        model.metadata_props.add(key="author", value="someone")
        model.graph.metadata_props.add(key="graph", value="kept")
        model.graph.doc_string = "the graph"
        model.doc_string = "the model"
        conversion = check(model)
        (node,) = conversion.model.graph.node
        metadata = {entry.key: entry.value for entry in node.metadata_props}
        for name in ("d", "s", "dx"):
            assert metadata[f"only.{name}"] == "yes"
            assert f" {name}" in metadata["pkg.origin"]
            assert f"computes {name}" in node.doc_string

    def test_nodes_that_stay_keep_theirs(self):
        model = graph(f"{PATTERN} z = Relu(d)", outputs="float[N,4] dx, float[N,4] z")
        for node in model.graph.node:
            node.metadata_props.add(key="k", value=node.output[0])
        kept = {n.output[0]: n for n in check(model).model.graph.node}
        assert [e.value for e in kept["d"].metadata_props] == ["d"]
        assert [e.value for e in kept["z"].metadata_props] == ["z"]


class TestA21TrainingInfo:
    def test_it_is_kept_and_rewritten_inside(self):
        model = graph(
            "z = Relu(x)",
            inputs="float[4] x",
            outputs="float[4] z",
            values="float[4] w = {0.1, 0.2, 0.3, 0.9}",
        )
        training = model.training_info.add()
        training.algorithm.CopyFrom(
            onnx.parser.parse_graph(
                "step (float[4] grad) => (float[4] new_w) <float one = {1.0}> "
                "{ d = Sub(one, w) s = Mul(w, d) new_w = Mul(grad, s) }"
            )
        )
        training.initialization.CopyFrom(
            onnx.parser.parse_graph(
                "init () => (float[4] first) { first = Constant<value_floats = [1.0, 1.0, 1.0, 1.0]>() }"
            )
        )
        training.update_binding.add(key="w", value="new_w")
        training.initialization_binding.add(key="w", value="first")
        conversion = check(model)
        (match,) = conversion.matches
        assert match.scope == "training_info[0].algorithm"
        new = conversion.model.training_info[0]
        assert [node.op_type for node in new.algorithm.node] == ["SigmoidBackward"]
        assert new.initialization == training.initialization
        assert list(new.update_binding) == list(training.update_binding)
        assert conversion.model.graph == model.graph


class TestA28ValueInfo:
    def test_entries_of_dead_values_go_and_the_rest_stays(self):
        model = onnx.shape_inference.infer_shapes(
            graph("e = Sigmoid(y) d = Sub(one, e) s = Mul(d, e) dx = Mul(s, dy)")
        )
        assert {value.name for value in model.graph.value_info} == {"d", "s", "e"}
        conversion = check(model)
        assert [value.name for value in conversion.model.graph.value_info] == ["e"]
        check_same_values(model, conversion)

    def test_a_wrong_entry_of_an_inner_value_does_no_harm(self):
        model = graph()
        model.graph.value_info.append(helper.make_tensor_value_info("s", TensorProto.FLOAT, [7, 7, 7]))
        conversion = check(model)
        if conversion.matches:
            assert list(conversion.model.graph.value_info) == []


class TestA30Checker:
    def test_the_node_lies_in_its_own_domain_that_is_imported_once(self):
        converted = check(graph()).model
        assert problem_of(converted) is None
        assert [node.domain for node in converted.graph.node] == [DOMAIN]
        assert [o.domain for o in converted.opset_import].count(DOMAIN) == 1
