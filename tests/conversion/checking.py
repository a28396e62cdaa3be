"""Runs a conversion and checks everything that must hold of every one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import onnx
import onnx.checker
import onnx.parser
import onnxruntime as ort
from onnx import helper

from onnx_ascend_ext import DOMAIN, Conversion, convert

FOREIGN_BODIES = {
    ("com.microsoft", "SigmoidGrad"): ("dy", "y"),
    ("ai.onnx.converters.tensorflow", "SigmoidGrad"): ("y", "dy"),
}
"""Operand order of foreign nodes that stock ONNX Runtime does not know."""

_NUMPY_TYPES = {
    "tensor(float)": np.float32,
    "tensor(float16)": np.float16,
    "tensor(double)": np.float64,
    "tensor(int64)": np.int64,
    "tensor(bool)": np.bool_,
}


def parse(text: str) -> onnx.ModelProto:
    """A model in ONNX's text syntax."""
    return onnx.parser.parse_model(text)


def nodes(model: onnx.ModelProto) -> Iterator[onnx.NodeProto]:
    """Every node of a model, in whatever scope."""
    lists = [model.graph.node, *(function.node for function in model.functions)]
    for training in model.training_info:
        lists.extend([training.initialization.node, training.algorithm.node])
    while lists:
        for node in lists.pop(0):
            yield node
            for attribute in node.attribute:
                lists.extend(graph.node for graph in (attribute.g, *attribute.graphs))


def kernel_nodes(model: onnx.ModelProto) -> list[onnx.NodeProto]:
    """Every kernel node of a model."""
    return [node for node in nodes(model) if node.domain == DOMAIN]


def op_types(model: onnx.ModelProto) -> list[str]:
    """Operator types of the main graph's nodes, in order."""
    return [node.op_type for node in model.graph.node]


def check(model: onnx.ModelProto, **options: Any) -> Conversion:
    """Converts a model and checks what must hold of every conversion; returns it for more."""
    before = model.SerializeToString()
    conversion = convert(model, **options)
    assert model.SerializeToString() == before, "the argument was changed"
    again = convert(model, **options)
    assert again.model.SerializeToString() == conversion.model.SerializeToString()
    second = convert(conversion.model, **options)
    assert second.model.SerializeToString() == conversion.model.SerializeToString()
    assert second.matches == []
    if problem_of(model) is None:
        assert problem_of(conversion.model) is None
    if not conversion.matches:
        assert conversion.model.SerializeToString() == before
    check_kept(model, conversion)
    return conversion


def check_same_values(
    model: onnx.ModelProto, conversion: Conversion, *, feeds: Mapping[str, Any] | None = None, **dims: int
) -> None:
    """Runs both models on ONNX Runtime's CPU provider and compares all outputs."""
    before, after = _session(with_foreign_bodies(model)), _session(conversion.model)
    for session in (before, after):
        assert [(v.name, v.type, v.shape) for v in session.get_inputs()] == [
            (v.name, v.type, v.shape) for v in before.get_inputs()
        ]
    feeds = feeds if feeds is not None else random_feeds(before, **dims)
    expected, got = before.run(None, dict(feeds)), after.run(None, dict(feeds))
    for name, one, other in zip((v.name for v in before.get_outputs()), expected, got, strict=True):
        assert one.dtype == other.dtype, name
        tolerance = {np.float16: 4e-3, np.float32: 1e-5}.get(one.dtype.type, 1e-12)
        scale = np.max(np.abs(one[np.isfinite(one)]), initial=0) if one.dtype.kind == "f" else 0
        np.testing.assert_allclose(other, one, rtol=tolerance, atol=tolerance * scale, err_msg=name)


def random_feeds(session: ort.InferenceSession, **dims: int) -> dict[str, Any]:
    """Inputs that lie in (0, 1), some of them near both ends, times a scale for gradients."""
    rng = np.random.default_rng(11)
    feeds = {}
    for value in session.get_inputs():
        shape = [dims.get(d, 3) if isinstance(d, str) else d for d in value.shape]
        dtype = _NUMPY_TYPES[value.type]
        drawn = 1 / (1 + np.exp(-rng.normal(size=shape, scale=3)))
        if dtype is np.bool_:
            feeds[value.name] = np.asarray(drawn > 0.5)
        elif dtype is np.int64:
            feeds[value.name] = np.asarray(np.ceil(drawn * 3), dtype)
        else:
            sign = -2.5 if value.name.startswith(("d", "g")) else 1
            feeds[value.name] = np.asarray(drawn * sign, dtype)
    return feeds


def _session(model: onnx.ModelProto) -> ort.InferenceSession:
    options = ort.SessionOptions()
    options.log_severity_level = 3
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    return ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])


def with_foreign_bodies(model: onnx.ModelProto) -> onnx.ModelProto:
    """The model with function bodies for the foreign nodes that it uses, so that ONNX Runtime can run it."""
    result = onnx.ModelProto()
    result.CopyFrom(model)
    present = {(function.domain, function.name) for function in model.functions}
    used = {(node.domain, node.op_type) for node in nodes(model)}
    opset = next(entry.version for entry in model.opset_import if entry.domain in ("", "ai.onnx"))
    for domain, op_type in sorted(used & FOREIGN_BODIES.keys() - present):
        operands = ", ".join(FOREIGN_BODIES[domain, op_type])
        result.functions.append(
            onnx.parser.parse_function(
                f'<domain: "{domain}", opset_import: ["": {opset}]> {op_type} ({operands}) => (dx) {{\n'
                "square = Mul(y, y) slope = Sub(y, square) dx = Mul(dy, slope) }"
            )
        )
        for importer in (result, *result.functions):
            if not any(entry.domain == domain for entry in importer.opset_import):
                importer.opset_import.append(helper.make_opsetid(domain, 1))
    return result


def problem_of(model: onnx.ModelProto) -> str | None:
    """What `onnx.checker` has against a model, or None."""
    try:
        onnx.checker.check_model(model, full_check=True)
    except (onnx.checker.ValidationError, onnx.shape_inference.InferenceError) as error:
        return str(error)
    return None


def check_kept(before: onnx.ModelProto, conversion: Conversion) -> None:
    """Checks that what a conversion must not touch is the same, bit for bit."""
    after = conversion.model
    for name in ("producer_name", "producer_version", "domain", "model_version", "doc_string"):
        assert getattr(before, name) == getattr(after, name)
    assert list(before.metadata_props) == list(after.metadata_props)
    assert after.ir_version in (before.ir_version, max(before.ir_version, 8))
    assert list(after.opset_import)[: len(before.opset_import)] == list(before.opset_import)
    assert len(before.training_info) == len(after.training_info)
    results = {match.result for match in conversion.matches}
    _check_graph_kept(before.graph, after.graph, results)
    for one, other in zip(before.training_info, after.training_info, strict=True):
        assert list(one.initialization_binding) == list(other.initialization_binding)
        assert list(one.update_binding) == list(other.update_binding)
        _check_graph_kept(one.initialization, other.initialization, results)
        _check_graph_kept(one.algorithm, other.algorithm, results)
    kept = list(after.functions)[: len(before.functions)]
    for one, other in zip(before.functions, kept, strict=True):
        assert (one.domain, one.name, one.input, one.output) == (
            other.domain,
            other.name,
            other.input,
            other.output,
        )
        assert (one.attribute, one.attribute_proto, one.doc_string) == (
            other.attribute,
            other.attribute_proto,
            other.doc_string,
        )
    assert all(function.domain == DOMAIN for function in list(after.functions)[len(kept) :])
    names = [node.name for node in nodes(before) if node.name]
    if len(set(names)) == len(names):
        new_names = [node.name for node in nodes(after) if node.name]
        assert len(set(new_names)) == len(new_names), "node names are no longer unique"
    assert len(kernel_nodes(after)) == len(kernel_nodes(before)) + len(conversion.matches)


def _check_graph_kept(before: onnx.GraphProto, after: onnx.GraphProto, results: set[str]) -> None:
    assert (before.name, before.doc_string) == (after.name, after.doc_string)
    assert list(before.metadata_props) == list(after.metadata_props)
    assert list(before.input) == list(after.input)
    assert list(before.output) == list(after.output)
    used = {name for node in after.node for name in (*node.input, *node.output)}
    for field in ("initializer", "sparse_initializer", "value_info", "quantization_annotation"):
        new = list(getattr(after, field))
        left = iter(new)
        removed = [old for old in getattr(before, field) if old not in new]
        kept = [old for old in getattr(before, field) if old in new]
        assert all(old == next(left) for old in kept), f"the order of {field} changed"
        assert len(kept) == len(new), f"{field} has something new"
        assert not used & {_name(old) for old in removed}, f"{field} of a living value is gone"
    old_nodes = {output: node for node in before.node for output in node.output if output}
    for node in after.node:
        output = next(filter(None, node.output), "")
        if output in old_nodes and output not in results:
            _check_node_kept(old_nodes[output], node, results)


def _check_node_kept(before: onnx.NodeProto, after: onnx.NodeProto, results: set[str]) -> None:
    for attribute, new in zip(before.attribute, after.attribute, strict=True):
        if attribute.HasField("g"):
            _check_graph_kept(attribute.g, new.g, results)
    if not any(attribute.HasField("g") for attribute in before.attribute):
        assert before == after


def _name(entry: Any) -> str:
    if isinstance(entry, onnx.SparseTensorProto):
        return entry.values.name
    if isinstance(entry, onnx.TensorAnnotation):
        return entry.tensor_name
    return str(entry.name)
