"""The network is told from the loss, whatever the loss is."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import numpy_helper
from onnx.reference import ReferenceEvaluator

from onnx_ascend_ext.errors import ModelError
from onnx_ascend_ext.training.forward import Classifier, classifier, inference_model, network_outputs

NETWORK = """
    h = MatMul (x, w)
    s = Sigmoid (h)
    y = Add (s, b)
"""
# As onnxruntime-training's onnxblock builds them, and one that its authors did not think of.
LOSSES = {
    "cross entropy": 'loss = SoftmaxCrossEntropyLoss <reduction = "mean"> (y, labels)',
    "squared error": """
        difference = Sub (y, t)
        square = Mul (difference, difference)
        loss = ReduceMean <keepdims = 0> (square)
    """,
    "binary cross entropy of logits": """
        zero = Constant <value = float {0.0}> ()
        one = Constant <value = float {1.0}> ()
        positive = Max (y, zero)
        product = Mul (y, t)
        first = Sub (positive, product)
        magnitude = Abs (y)
        negative = Neg (magnitude)
        power = Exp (negative)
        raised = Add (one, power)
        logarithm = Log (raised)
        sum = Add (first, logarithm)
        loss = ReduceMean <keepdims = 0> (sum)
    """,
    "binary cross entropy": """
        one = Constant <value = float {1.0}> ()
        p = Sigmoid (y)
        logarithm = Log (p)
        first = Mul (logarithm, t)
        q = Sub (one, p)
        other_logarithm = Log (q)
        r = Sub (one, t)
        second = Mul (other_logarithm, r)
        sum = Add (first, second)
        loss = ReduceMean <keepdims = 0> (sum)
    """,
    "weighted by an input": """
        difference = Sub (t, y)
        magnitude = Abs (difference)
        weighted = Mul (weights, magnitude)
        loss = ReduceMean <keepdims = 0> (weighted)
    """,
}


def model(loss: str, outputs: str = "float loss") -> onnx.ModelProto:
    parsed = onnx.parser.parse_model(f"""
        <ir_version: 8, opset_import: ["": 17, "com.microsoft": 1]>
        g (float[N, 4] x, int64[N] labels, float[N, 3] t, float[N, 3] weights, float[4, 3] w, float[3] b)
            => ({outputs}) {{ {NETWORK} {loss} }}
    """)
    used = {name for node in parsed.graph.node for name in node.input}
    for value in [value for value in parsed.graph.input if value.name not in used]:
        parsed.graph.input.remove(value)
    return parsed


ENDS = dict.fromkeys(LOSSES, "y") | {"binary cross entropy": "p"}
"""A loss of probabilities may be one of logits: the last value that it is computed from counts."""


@pytest.mark.parametrize("loss", LOSSES)
def test_the_network_ends_where_the_loss_begins(loss: str) -> None:
    assert network_outputs(model(LOSSES[loss]), ["w", "b"]) == [ENDS[loss]]


def test_the_names_of_a_loss_block_tell_its_values() -> None:
    named = model(
        LOSSES["binary cross entropy"]
        .replace("p =", '"onnx::sigmoid_output::5" =')
        .replace("(p)", '("onnx::sigmoid_output::5")')
        .replace("(one, p)", '(one, "onnx::sigmoid_output::5")')
    )
    assert network_outputs(named, ["w", "b"]) == ["y"]


def test_further_outputs_of_the_network_are_kept_and_those_of_the_loss_are_not() -> None:
    found = model(LOSSES["squared error"], "float loss, float[N, 3] s, float[N, 3] square")
    assert network_outputs(found, ["w", "b"]) == ["y", "s"]


def test_a_network_with_two_heads_has_two_outputs() -> None:
    loss = """
        first = Sub (y, t)
        head = Tanh (h)
        second = Mul (head, t)
        both = Add (first, second)
        loss = ReduceMean <keepdims = 0> (both)
    """
    assert network_outputs(model(loss), ["w", "b"]) == ["y", "head"]


def test_a_loss_without_targets_is_not_told_from_the_network() -> None:
    with pytest.raises(ModelError, match="name the network's outputs"):
        network_outputs(model("loss = ReduceMean <keepdims = 0> (y)"), ["w", "b"])


def test_a_classifier_is_known_by_its_loss() -> None:
    assert classifier(model(LOSSES["cross entropy"])) == Classifier("y", "labels", None)
    assert classifier(model(LOSSES["squared error"])) is None
    twice = model(LOSSES["cross entropy"])
    twice.graph.node.append(twice.graph.node[-1])
    assert classifier(twice) is None


def test_accuracy_of_scores_with_more_dimensions() -> None:
    scores = np.array([[[0.1, 0.9], [0.2, 0.1]], [[0.3, 0.2], [0.4, 0.8]]])
    labels = np.array([[1, 0], [1, 0]])
    assert Classifier("y", "labels", None).accuracy(scores, labels) == 0.75
    assert Classifier("y", "labels", 0).accuracy(scores, labels) == 1.0


def test_the_inference_model_computes_the_same_with_its_own_weights() -> None:
    draw = np.random.default_rng(2)
    weights = {
        "w": draw.normal(size=(4, 3)).astype(np.float32),
        "b": draw.normal(size=3).astype(np.float32),
        "unused": draw.normal(size=3).astype(np.float32),
    }
    source = model(LOSSES["cross entropy"], "float loss, float[N, 3] y")
    before = source.SerializeToString()
    tensors = {name: numpy_helper.from_array(array, name) for name, array in weights.items()}
    found = inference_model(source, tensors, ["y"])
    onnx.checker.check_model(found, full_check=True)
    assert source.SerializeToString() == before
    assert [value.name for value in found.graph.input] == ["x"]
    assert [tensor.name for tensor in found.graph.initializer] == ["w", "b"]
    assert [entry.domain for entry in found.opset_import] == [""]
    x = draw.normal(size=(5, 4)).astype(np.float32)
    feeds = {"x": x, "labels": np.zeros(5, np.int64), "w": weights["w"], "b": weights["b"]}
    expected = ReferenceEvaluator(source).run(["y"], feeds)[0]
    np.testing.assert_array_equal(ReferenceEvaluator(found).run(None, {"x": x})[0], expected)
