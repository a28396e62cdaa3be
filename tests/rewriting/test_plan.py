from __future__ import annotations

from dataclasses import replace

import onnx
import pytest
from onnx import helper

from onnx_ascend_ext import catalog
from onnx_ascend_ext.errors import ModelError
from onnx_ascend_ext.graph import ModelIndex
from onnx_ascend_ext.rewriting import plan

from .sites import parse, rewrite, site


def gradients(opset: int, *dtypes: str, declared: bool = True) -> onnx.ModelProto:
    """A model with one gradient for each element type."""
    head = [f"{dtype}[N] dy{i}, {dtype}[N] y{i}" for i, dtype in enumerate(dtypes)]
    results = [f"{dtype}[N] r{i}" for i, dtype in enumerate(dtypes)]
    ones = [f"{dtype} one{i} = {{1.0}}" for i, dtype in enumerate(dtypes)]
    body = [
        f"a{i} = Identity(y{i}) b{i} = Identity(dy{i}) d{i} = Sub(one{i}, a{i}) s{i} = Mul(d{i}, a{i}) "
        f"dx{i} = Mul(s{i}, b{i}) r{i} = Identity(dx{i})"
        for i in range(len(dtypes))
    ]
    model = onnx.parser.parse_model(
        f'<ir_version: 8, opset_import: ["" : {opset}]> g ({", ".join(head)}) => ({", ".join(results)}) '
        f"<{', '.join(ones)}> {{ {' '.join(body)} }}"
    )
    if not declared:
        model.opset_import.append(helper.make_opsetid("com.example", 1))
        for node in model.graph.node:
            if node.op_type == "Identity":
                node.domain = "com.example"
        for i in range(len(dtypes)):
            model.graph.node.insert(
                0, helper.make_node("One", [], [f"hidden{i}"], name="one", domain="com.example")
            )
            for node in model.graph.node:
                if node.op_type == "Sub" and node.input[0] == f"one{i}":
                    node.input[0] = f"hidden{i}"
    onnx.checker.check_model(model, full_check=True)
    return model


def sites_of(index: ModelIndex) -> list:
    count = sum(name.startswith("dx") for name in index.main.producer)
    return [site(index.main, f"dx{i}", f"b{i}", f"a{i}", [f"d{i}", f"s{i}"]) for i in range(count)]


@pytest.mark.parametrize("opset", [7, 11, 12, 14, 15, 18])
def test_the_constant_that_is_replaced_tells_the_type(opset):
    model = gradients(opset, "double")
    index = ModelIndex(model)
    planned, _ = rewrite(index, *sites_of(index))
    assert planned.refused == []
    onnx.checker.check_model(model, full_check=True)


def test_types_that_differ_share_one_function_from_opset_12_on():
    model = gradients(12, "double", "float")
    index = ModelIndex(model)
    planned, _ = rewrite(index, *sites_of(index))
    assert planned.refused == []
    assert [node.op_type for node in model.functions[0].node].count("Pow") == 1
    onnx.checker.check_model(model, full_check=True)


def test_before_opset_12_a_second_type_is_refused_with_a_reason():
    model = gradients(11, "double", "float", "double")
    index = ModelIndex(model)
    planned, _ = rewrite(index, *sites_of(index))
    assert [s.result for s, _ in planned.sites] == ["dx0", "dx2"]
    ((refused, reason),) = planned.refused
    assert refused.result == "dx1"
    assert "opset 11" in reason
    assert "onnx.version_converter" in reason
    onnx.checker.check_model(model, full_check=True)


def test_before_opset_12_an_unknown_type_is_refused_with_a_reason():
    model = gradients(11, "double", declared=False)
    before = model.SerializeToString()
    index = ModelIndex(model)
    planned, _ = rewrite(index, *sites_of(index))
    assert (planned.sites, len(planned.refused)) == ([], 1)
    assert model.SerializeToString() == before


def test_an_opset_without_broadcasting_is_refused_with_a_reason():
    model = gradients(18, "float")
    model.opset_import[0].version = 6
    index = ModelIndex(model)
    planned = plan(index, sites_of(index), catalog.load())
    assert planned.sites == []
    assert "opset 6 is too old" in planned.refused[0][1]


def test_a_second_conversion_extends_the_function_of_the_first():
    model = gradients(13, "double", "float")
    index = ModelIndex(model)
    rewrite(index, sites_of(index)[0])
    assert "Pow" not in [node.op_type for node in model.functions[0].node]
    index = ModelIndex(model)
    rewrite(index, site(index.main, "dx1", "b1", "a1", ["d1", "s1"]))
    assert [f.name for f in model.functions] == ["SigmoidBackward"]
    assert "Pow" in [node.op_type for node in model.functions[0].node]
    onnx.checker.check_model(model, full_check=True)


def test_another_version_of_our_domain_is_an_error():
    model = gradients(18, "float")
    model.opset_import.append(helper.make_opsetid(catalog.DOMAIN, 2))
    index = ModelIndex(model)
    with pytest.raises(ModelError, match="imports onnx_ascend_ext version 2"):
        plan(index, sites_of(index), catalog.load())


def test_another_definition_of_the_kernel_is_an_error():
    model = gradients(18, "float")
    function = catalog.load()["SigmoidBackward"].function()
    function.node[-1].op_type = "Add"
    model.functions.append(function)
    index = ModelIndex(model)
    with pytest.raises(ModelError, match="with another body"):
        plan(index, sites_of(index), catalog.load())


@pytest.mark.parametrize("domain", ["", "ai.onnx"])
def test_both_spellings_of_the_default_domain_are_known(domain):
    model = gradients(13, "float")
    model.opset_import[0].domain = domain
    index = ModelIndex(model)
    rewrite(index, *sites_of(index))
    assert [(o.domain, o.version) for o in model.opset_import] == [(domain, 13), (catalog.DOMAIN, 1)]
    assert model.functions[0].opset_import[0].version == 13
    onnx.checker.check_model(model, full_check=True)


def test_a_model_without_the_default_domain_gets_a_function_of_its_own_opset():
    model = onnx.parser.parse_model(
        '<ir_version: 8, opset_import: ["com.microsoft" : 1]> '
        "g (float[N] dy0, float[N] y0) => (float[N] dx0) { dx0 = com.microsoft.SigmoidGrad(dy0, y0) }"
    )
    index = ModelIndex(model)
    rewrite(index, site(index.main, "dx0", "dy0", "y0", []))
    assert [(o.domain, o.version) for o in model.opset_import] == [("com.microsoft", 1), (catalog.DOMAIN, 1)]
    onnx.checker.check_model(model, full_check=True)
    assert parse(onnx.printer.to_text(model)).graph.node[0].op_type == "SigmoidBackward"


@pytest.mark.parametrize(("opset", "scale", "refused"), [(13, 3, 1), (13, -1, 0), (15, 3, 0)])
def test_a_scale_of_unknown_type_needs_cast_like(opset, scale, refused):
    index = ModelIndex(gradients(opset, "double", declared=False))
    scaled = [replace(site, scale=scale) for site in sites_of(index)]
    planned = plan(index, scaled, catalog.load())
    assert len(planned.refused) == refused
    assert all("element type is not known" in reason for _, reason in planned.refused)
    assert len(planned.functions) == 1 - refused
