from __future__ import annotations

import numpy as np
import onnx
import onnx.defs
import onnxruntime as ort
import pytest
from onnx import TensorProto, helper

from onnx_ascend_ext import DOMAIN, ModelError, catalog, restore
from onnx_ascend_ext.rewriting.function_body import fit_function

from .sites import parse

KERNEL = catalog.load()["SigmoidBackward"]


def with_function(text: str, opset: int = 18, dtype: int = TensorProto.FLOAT) -> onnx.ModelProto:
    model = onnx.parser.parse_model(text)
    model.functions.append(fit_function(KERNEL, opset, [dtype]).function)
    onnx.checker.check_model(model, full_check=True)
    return model


def plain(opset: int = 18, extra: str = "") -> onnx.ModelProto:
    return with_function(
        f'<ir_version: 8, opset_import: ["" : {opset}, "{DOMAIN}" : 1]> '
        "g (float[N] dy, float[N] y) => (float[N] dx) "
        f"{{ e = Relu(y) {extra} [k] dx = {DOMAIN}.SigmoidBackward(dy, e) }}",
        opset,
    )


def run(model: onnx.ModelProto, **feeds: np.ndarray) -> list[np.ndarray]:
    return ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"]).run(
        None, feeds
    )


def drawn(seed: int) -> np.ndarray:
    return np.random.default_rng(seed).uniform(0.01, 0.99, 5).astype(np.float32)


def check(model: onnx.ModelProto, **feeds: np.ndarray) -> onnx.ModelProto:
    before = model.SerializeToString()
    restored = restore(model)
    assert model.SerializeToString() == before, "the argument was changed"
    onnx.checker.check_model(restored, full_check=True)
    assert DOMAIN not in onnx.printer.to_text(restored)
    for one, other in zip(run(model, **feeds), run(restored, **feeds), strict=True):
        np.testing.assert_array_equal(one, other)
    return restored


@pytest.mark.parametrize("opset", range(7, onnx.defs.onnx_opset_version() + 1))
def test_the_body_is_written_out_at_every_opset(opset):
    restored = check(plain(opset), dy=drawn(1), y=drawn(2))
    assert [n.op_type for n in restored.graph.node][-3:] == ["Sub", "Mul", "Mul"]
    assert [(o.domain, o.version) for o in restored.opset_import] == [("", opset)]


def test_the_last_node_keeps_the_name_and_the_metadata_but_for_ours():
    model = plain()
    node = model.graph.node[-1]
    node.metadata_props.add(key=f"{DOMAIN}.rule", value="SigmoidBackward (algebra)")
    node.metadata_props.add(key="origin", value="torch")
    node.doc_string = "a gradient"
    last = check(model, dy=drawn(1), y=drawn(2)).graph.node[-1]
    assert (last.name, last.doc_string, list(last.output)) == ("k", "a gradient", ["dx"])
    assert [(e.key, e.value) for e in last.metadata_props] == [("origin", "torch")]


def test_new_names_collide_with_nothing():
    model = plain(extra="dx_one = Neg(y) [k_one] dx_unit = Neg(dx_one)")
    restored = check(model, dy=drawn(1), y=drawn(2))
    outputs = [name for node in restored.graph.node for name in node.output]
    assert len(set(outputs)) == len(outputs)
    names = [node.name for node in restored.graph.node if node.name]
    assert len(set(names)) == len(names)


def test_bodies_and_functions_are_restored_too():
    model = with_function(
        f"""<ir_version: 8, opset_import: ["" : 18, "my" : 1, "{DOMAIN}" : 1]>
        g (bool c, float[N] dy, float[N] y) => (float[N] z) {{
          z = If(c) <
            then_branch = t () => (float[N] p) {{ p = {DOMAIN}.SigmoidBackward(dy, y) }},
            else_branch = o () => (float[N] q) {{ q = my.F(dy, y) }} > }}
        <domain: "my", opset_import: ["" : 18, "{DOMAIN}" : 1]>
        F (a, b) => (r) {{ r = {DOMAIN}.SigmoidBackward(a, b) }}"""
    )
    for flag in (True, False):
        check(model, c=np.array(flag), dy=drawn(1), y=drawn(2))


@pytest.mark.parametrize(("inner", "outer"), [(14, 18), (18, 14), (18, 21), (21, 18), (15, 23)])
def test_a_function_of_another_opset_gets_a_body_that_the_checker_accepts(inner, outer):
    model = with_function(
        f"""<ir_version: 8, opset_import: ["" : {outer}, "my" : 1, "{DOMAIN}" : 1]>
        g (float[N] dy, float[N] y) => (float[N] z) {{ z = my.F(dy, y) }}
        <domain: "my", opset_import: ["" : {inner}, "{DOMAIN}" : 1]>
        F (a, b) => (r) {{ s = Sigmoid(b) r = {DOMAIN}.SigmoidBackward(a, s) }}""",
        outer,
        TensorProto.UNDEFINED,
    )
    check(model, dy=drawn(1), y=drawn(2))


def test_a_model_without_the_function_is_restored_from_the_catalog():
    model = plain()
    expected = restore(model)
    del model.functions[:]
    assert restore(model) == expected


def test_a_model_without_kernel_nodes_stays_as_it_is():
    model = parse('<ir_version: 8, opset_import: ["" : 18]> g (float[N] x) => (float[N] y) { y = Relu(x) }')
    assert restore(model).SerializeToString() == model.SerializeToString()


def test_the_models_own_body_counts_where_it_differs():
    model = plain()
    model.functions[0].node[-1].op_type = "Add"
    assert [n.op_type for n in check(model, dy=drawn(1), y=drawn(2)).graph.node][-2:] == ["Mul", "Add"]


def test_a_model_that_imports_no_standard_operators_gets_the_import():
    model = onnx.parser.parse_model(
        f'<ir_version: 8, opset_import: ["{DOMAIN}" : 1]> g (float[N] dy, float[N] y) => (float[N] dx) '
        f"{{ dx = {DOMAIN}.SigmoidBackward(dy, y) }}"
    )
    model.functions.append(KERNEL.function())
    restored = check(model, dy=drawn(1), y=drawn(2))
    assert [(o.domain, o.version) for o in restored.opset_import] == [("", 15)]


def test_a_kernel_that_nobody_knows_is_an_error():
    model = plain()
    model.graph.node[-1].op_type = "TanhBackward"
    with pytest.raises(ModelError, match="TanhBackward is not a kernel of this package"):
        restore(model)


def test_a_function_with_attributes_is_an_error():
    model = plain()
    model.functions[0].node[-1].op_type = "Add"
    model.functions[0].attribute.append("alpha")
    model.graph.node[-1].attribute.append(helper.make_attribute("alpha", 1.0))
    with pytest.raises(ModelError, match=r"onnx\.inliner"):
        restore(model)
