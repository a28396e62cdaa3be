"""Walks every list of nodes of a model: graphs, nested bodies, local functions and training graphs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

import onnx

Body: TypeAlias = "onnx.GraphProto | onnx.FunctionProto"
"""What holds a list of nodes."""

Importer: TypeAlias = "onnx.ModelProto | onnx.FunctionProto"
"""What holds the opset imports of its nodes."""


def bodies(model: onnx.ModelProto) -> Iterator[tuple[Body, Importer]]:
    """Every graph and function of a model, each with what holds its opset imports.

    An outer body comes before those it contains. The nodes of a body are looked at after it has been yielded,
    so that it may be edited meanwhile.
    """
    for graph in graphs(model):
        for body in _with_nested(graph):
            yield body, model
    for function in model.functions:
        for body in _with_nested(function):
            yield body, function


def graphs(model: onnx.ModelProto) -> Iterator[onnx.GraphProto]:
    """The outermost graphs of a model: the main graph, then those of `training_info`."""
    yield model.graph
    for training in model.training_info:
        if training.HasField("initialization"):
            yield training.initialization
        if training.HasField("algorithm"):
            yield training.algorithm


def _with_nested(body: Body) -> Iterator[Body]:
    waiting: list[Body] = [body]
    while waiting:
        current = waiting.pop()
        yield current
        nested: list[Body] = []
        for node in current.node:
            for attribute in node.attribute:
                if attribute.HasField("g"):
                    nested.append(attribute.g)
                nested.extend(attribute.graphs)
        waiting.extend(reversed(nested))
