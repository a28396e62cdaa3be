"""Computes what a site claims, to compare it with what the model itself computes."""

from __future__ import annotations

import numpy as np
import onnx
import onnxruntime as ort
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator

KERNELS = {
    "SigmoidBackward": lambda g, y: g * (1 - y) * y,
    "TanhBackward": lambda g, y: g * (1 - y * y),
}


def all_values(model, feeds):
    """Every named value of a main graph, as ONNX Runtime computes it without optimisation."""
    wanted = onnx.ModelProto()
    wanted.CopyFrom(model)
    outputs = {output.name for output in wanted.graph.output}
    for node in wanted.graph.node:
        for name in node.output:
            if name and name not in outputs:
                wanted.graph.output.append(onnx.ValueInfoProto(name=name))
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 3
    session = ort.InferenceSession(wanted.SerializeToString(), options, providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    values = dict(zip(names, session.run(None, feeds), strict=True))
    values.update(feeds)
    for tensor in model.graph.initializer:
        values[tensor.name] = onnx.numpy_helper.to_array(tensor)
    return values


def operand(site, position, values):
    value = values[site.operands[position]]
    if site.activated and site.activated[position]:
        value = 1 / (1 + np.exp(-value.astype(np.float64)))
    for index in site.views[position] if site.views else ():
        node = onnx.NodeProto()
        node.CopyFrom(site.scope.nodes[index])
        source = node.input[0]
        rest = {name: values[name] for name in node.input[1:] if name}
        feeds = {source: value, **rest}
        graph = helper.make_graph(
            [node],
            "view",
            [
                helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(v.dtype), None)
                for name, v in feeds.items()
            ],
            [helper.make_tensor_value_info(node.output[0], TensorProto.UNDEFINED, None)],
        )
        opset = site.scope.opset("")
        (value,) = ReferenceEvaluator(
            helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)
        ).run(None, feeds)
    return value


def claimed(site, values):
    """What the site's kernel computes, in double precision, and its element type."""
    operands = [operand(site, position, values) for position in range(2)]
    gradient, activation = operands
    result = KERNELS[site.match.kernel](gradient.astype(np.float64), activation.astype(np.float64))
    for factor in site.factors:
        result = result * values[factor].astype(np.float64)
    return result * float(site.scale), {value.dtype for value in operands}


def check(site, values, tolerance=None):
    """Assert that a site computes the value that it replaces, with its shape and element type."""
    expected = values[site.result]
    result, types = claimed(site, values)
    assert result.shape == expected.shape
    assert site.activated or types == {expected.dtype}
    limit = tolerance or {2: 2e-2, 4: 1e-4, 8: 1e-9}[expected.dtype.itemsize]
    scale = np.abs(values[site.operands[0]].astype(np.float64)).max() + 1e-30
    np.testing.assert_allclose(result, expected.astype(np.float64), rtol=limit, atol=limit * scale)
