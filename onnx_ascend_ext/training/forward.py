"""Tells the network from the loss in an evaluation model."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx

from onnx_ascend_ext.errors import ModelError

Array = npt.NDArray[Any]

# How onnxruntime-training names the values of the loss that it appends to a network.
_OF_LOSS_BLOCK = re.compile(r"onnx::.+::\d+")
_CLASSIFICATION_LOSSES = ("SoftmaxCrossEntropyLoss", "NegativeLogLikelihoodLoss")


@dataclass(frozen=True)
class Classifier:
    """What a classification loss compares.

    Attributes:
        scores: value of the scores, of shape (N, C, ...).
        labels: value of the class indices, of shape (N, ...).
        ignored: the class index that does not count, or None.
    """

    scores: str
    labels: str
    ignored: int | None

    def accuracy(self, scores: Array, labels: Array) -> float:
        """The share of the labels that count whose score is the highest; NaN where none counts."""
        counted = np.ones(labels.shape, dtype=bool) if self.ignored is None else labels != self.ignored
        right = (scores.argmax(axis=1) == labels) & counted
        total = int(counted.sum())
        return int(right.sum()) / total if total else float("nan")


def classifier(model: onnx.ModelProto) -> Classifier | None:
    """The scores and labels of a model with exactly one classification loss, None otherwise."""
    losses = [node for node in model.graph.node if node.op_type in _CLASSIFICATION_LOSSES and not node.domain]
    if len(losses) != 1:
        return None
    ignored = [entry.i for entry in losses[0].attribute if entry.name == "ignore_index"]
    return Classifier(losses[0].input[0], losses[0].input[1], ignored[0] if ignored else None)


def network_outputs(model: onnx.ModelProto, parameters: Iterable[str]) -> list[str]:
    """The outputs of the network in an evaluation model, without the loss.

    The inputs that meet no parameter on their way, such as labels, are the targets. What is computed from
    them, and what onnxruntime-training's names mark as such, is the loss. The network's outputs are the
    values that the loss begins with, or the one value that all of these are computed from without a further
    parameter; and the model's outputs that are not the loss.

    Raises:
        ModelError: the model has no input like that, so that its loss cannot be told from its outputs.
    """
    graph = model.graph
    targets = _targets(graph, set(parameters))
    made = {name for node in graph.node for name in node.output}
    in_loss = _reached(graph, targets) | {name for name in made if _OF_LOSS_BLOCK.fullmatch(name)}
    constants = {tensor.name for tensor in graph.initializer}
    inputs = {value.name for value in graph.input} - targets - constants - set(parameters)
    from_input = _reached(graph, inputs)
    compared = [
        name
        for node in graph.node
        if in_loss.intersection(node.output)
        for name in node.input
        if name in from_input and name not in in_loss
    ]
    outputs = [value.name for value in graph.output if value.name not in in_loss]
    compared = _first(graph, compared)
    if len(compared) > 1:
        compared = _common_source(graph, set(compared), inputs | set(parameters)) or compared
    found = list(dict.fromkeys([*compared, *outputs]))
    if not targets or not found:
        raise ModelError(
            "the evaluation model's loss cannot be told from its network: name the network's outputs"
        )
    return found


def _targets(graph: onnx.GraphProto, parameters: set[str]) -> set[str]:
    constants = {tensor.name for tensor in graph.initializer}
    meets_parameter = [node for node in graph.node if parameters.intersection(_read(node))]
    inputs = [value.name for value in graph.input if value.name not in constants | parameters]
    reached = {name: _reached(graph, {name}) for name in inputs}
    return {
        name
        for name in inputs
        if not any(reached[name].intersection(_read(node)) for node in meets_parameter)
    }


def _first(graph: onnx.GraphProto, names: Iterable[str]) -> list[str]:
    """Those of some values that are computed from none of the others."""
    names = list(dict.fromkeys(names))
    after: Mapping[str, set[str]] = {name: _reached(graph, {name}) - {name} for name in names}
    return [name for name in names if not any(name in after[other] for other in names if other != name)]


def _common_source(graph: onnx.GraphProto, names: set[str], sources: set[str]) -> list[str]:
    """The last value that all of some values are computed from, and from no source beside it, if any."""
    for node in reversed(graph.node):
        for name in filter(None, node.output):
            if names <= _reached(graph, {name}) and names.isdisjoint(_reached(graph, sources, without=name)):
                return [name]
    return []


def _reached(graph: onnx.GraphProto, start: set[str], without: str = "") -> set[str]:
    """Some values and all that are computed from them, but not by way of one.

    The nodes of a graph stand in their order.
    """
    reached = set(start)
    for node in graph.node:
        if reached.intersection(_read(node)):
            reached.update(name for name in node.output if name and name != without)
    return reached


def _read(node: onnx.NodeProto) -> set[str]:
    """What a node reads, its bodies included."""
    names = {name for name in node.input if name}
    for attribute in node.attribute:
        for body in (attribute.g, *attribute.graphs):
            for inner in body.node:
                names |= _read(inner)
    return names


def inference_model(
    model: onnx.ModelProto, parameters: Mapping[str, onnx.TensorProto], outputs: Iterable[str]
) -> onnx.ModelProto:
    """The part of an evaluation model that computes some outputs, with parameters as its weights.

    Args:
        model: the evaluation model, which is not changed.
        parameters: weights by name; each was an input.
        outputs: values of the model's graph.

    Raises:
        ModelError: an output is no value of the graph.
    """
    inference = onnx.ModelProto()
    inference.CopyFrom(model)
    graph = inference.graph
    outputs = list(outputs)
    made = {name for node in graph.node for name in node.output}
    if missing := [name for name in outputs if name not in made]:
        raise ModelError(f"the evaluation model has no value {', '.join(missing)}")
    needed = set(outputs)
    nodes = []
    for node in reversed(graph.node):
        if needed.intersection(node.output):
            needed |= _read(node)
            nodes.append(node)
    nodes.reverse()
    weights = [tensor for tensor in graph.initializer if tensor.name in needed]
    weights.extend(tensor for name, tensor in parameters.items() if name in needed)
    inputs = [value for value in graph.input if value.name in needed and value.name not in parameters]
    inferred = onnx.shape_inference.infer_shapes(model).graph
    known = {value.name: value for value in (*graph.input, *inferred.value_info, *inferred.output)}
    results = [known.get(name, onnx.ValueInfoProto(name=name)) for name in outputs]
    kept_info = [
        value for value in graph.value_info if value.name in needed and value.name not in set(outputs)
    ]
    for field_name, values in (
        ("node", nodes),
        ("initializer", weights),
        ("input", inputs),
        ("output", results),
        ("value_info", kept_info),
    ):
        copies = [type(value).FromString(value.SerializeToString()) for value in values]
        inference.graph.ClearField(field_name)
        getattr(inference.graph, field_name).extend(copies)
    used = {node.domain for node in inference.graph.node}
    _keep_used_imports(inference, used)
    return inference


def _keep_used_imports(model: onnx.ModelProto, used: set[str]) -> None:
    used = used | {"", "ai.onnx"} | {node.domain for function in model.functions for node in function.node}
    kept = [entry for entry in model.opset_import if entry.domain in used]
    del model.opset_import[:]
    model.opset_import.extend(kept)
