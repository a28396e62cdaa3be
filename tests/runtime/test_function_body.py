"""A converted model without this package's library: any ONNX Runtime runs it from its function body."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest

import onnx_ascend_ext as ax

from .support import DTYPES, assert_close, expected, one_node, operands, parse, run

MODELS = Path(__file__).parents[2] / "models"


def stock_session(model: onnx.ModelProto) -> onnxruntime.InferenceSession:
    return onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])


@pytest.mark.parametrize(
    "dtype", sorted(set(DTYPES) - {"bfloat16"})
)  # the CPU provider has no Sub of bfloat16
def test_the_body_computes_the_gradient(dtype):
    g, y = operands(dtype, (9, 5), (5,))
    assert_close(run(stock_session(one_node(dtype, "N,M", "M", "N,M")), g, y), expected(g, y), dtype)


def test_without_the_body_the_operator_is_unknown():
    model = one_node()
    del model.functions[:]
    with pytest.raises(Exception, match="onnx_ascend_ext"):
        stock_session(model)


def test_a_body_inside_a_branch():
    model = parse(
        "g (bool c, float[N] g, float[N] y) => (float[N] z) { z = If (c) <"
        "then_branch = then () => (float[N] a) { a = onnx_ascend_ext.SigmoidBackward (g, y) }, "
        "else_branch = other () => (float[N] b) { b = Neg (g) }> }"
    )
    g, y = operands("float", (7,), (7,))
    result = stock_session(model).run(None, {"c": np.array(True), "g": g, "y": y})[0]
    assert_close(np.asarray(result), expected(g, y), "float")


@pytest.mark.parametrize("name", ["torch_mlp", "torch_mlp_f16", "torch_glu", "torch_lstm_cell", "onnxad_mlp"])
def test_a_converted_training_graph_has_its_stored_outputs(name):
    conversion = ax.convert(MODELS / name / "model.onnx")
    assert conversion.matches
    assert {node.op_type for node in conversion.model.graph.node if node.domain} == {"SigmoidBackward"}
    # The newest that ONNX Runtime 1.17 takes; the graph has nothing that needs more.
    conversion.model.ir_version = 9
    session = stock_session(conversion.model)
    with np.load(MODELS / name / "inputs.npz") as inputs, np.load(MODELS / name / "outputs.npz") as outputs:
        results = session.run(list(outputs), dict(inputs))
        tolerance = 2e-2 if name.endswith("f16") else 1e-4
        for wanted, result in zip(outputs.values(), results, strict=True):
            np.testing.assert_allclose(result, wanted, rtol=tolerance, atol=tolerance * 1e-1)
