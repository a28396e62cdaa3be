"""Graphs that the converter's speed is measured on, each with the number of gradients in it.

`python converter_graphs.py list` prints them as JSON, `make NAME FILE` writes one, and `count FILE` prints
how many `SigmoidBackward` nodes a file has.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import onnx
from onnx import GraphProto, ModelProto, TensorProto, helper, numpy_helper

WIDTH = 4
DEPTH = 200
"""Layers of one network; a graph has as many networks side by side as it takes."""
NODES_PER_LAYER = 6


@dataclass(frozen=True)
class Graph:
    """A generated graph."""

    make: Callable[[], ModelProto]
    nodes: int
    gradients: int


def training_graph(layers: int, activation: str = "Sigmoid") -> ModelProto:
    """Networks of DEPTH layers, unrolled with shared weights, and their gradients by the input.

    Each layer is a MatMul and its activation going forward, and the activation's slope in two nodes, the
    gradient's product with it and a MatMul going backward: `d * (y * (1 - y))` for Sigmoid,
    `d * (1 - y * y)` for Tanh, which has no Sigmoid gradient.
    """
    graph = GraphProto(name="training")
    weight = np.random.default_rng(0).standard_normal((WIDTH, WIDTH)).astype(np.float32)
    for name, array in (("w", weight), ("w_t", weight.T.copy()), ("one", np.ones((), np.float32))):
        graph.initializer.append(numpy_helper.from_array(array, name))

    def add(op_type: str, inputs: list[str], output: str) -> str:
        graph.node.add(op_type=op_type, input=inputs, output=[output], name=f"node_{output}")
        return output

    for network in range(-(-layers // DEPTH)):
        depth = min(DEPTH, layers - network * DEPTH)
        value = _input(graph, f"x_{network}")
        values = []
        for layer in range(depth):
            value = add(
                activation, [add("MatMul", [value, "w"], f"z_{network}_{layer}")], f"y_{network}_{layer}"
            )
            values.append(value)
        gradient = _input(graph, f"dy_{network}")
        for layer in reversed(range(depth)):
            value, suffix = values[layer], f"{network}_{layer}"
            if activation == "Sigmoid":
                slope = add("Mul", [value, add("Sub", ["one", value], f"rest_{suffix}")], f"slope_{suffix}")
            else:
                slope = add("Sub", ["one", add("Mul", [value, value], f"square_{suffix}")], f"slope_{suffix}")
            gradient = add("Mul", [gradient, slope], f"dz_{suffix}")
            gradient = add("MatMul", [gradient, "w_t"], f"dx_{suffix}")
        _output(graph, gradient)
    return _model(graph)


def power_chain(length: int) -> ModelProto:
    """`x * x * x * ...`, one Mul for each factor, and one gradient beside it."""
    graph = GraphProto(name="power")
    graph.initializer.append(numpy_helper.from_array(np.ones((), np.float32), "one"))
    x = _input(graph, "x")
    value = x
    for position in range(length):
        graph.node.add(op_type="Mul", input=[value, x], output=[f"power_{position}"], name=f"mul_{position}")
        value = f"power_{position}"
    _output(graph, value)
    _shared_slope(graph, 1)
    return _model(graph)


def shared_slope(users: int) -> ModelProto:
    """One slope `y * (1 - y)` that `users` gradients are multiplied by."""
    graph = GraphProto(name="shared")
    graph.initializer.append(numpy_helper.from_array(np.ones((), np.float32), "one"))
    _shared_slope(graph, users)
    return _model(graph)


def _shared_slope(graph: GraphProto, users: int) -> None:
    graph.node.add(op_type="Sigmoid", input=[_input(graph, "z")], output=["y"], name="sigmoid")
    graph.node.add(op_type="Sub", input=["one", "y"], output=["rest"], name="rest")
    graph.node.add(op_type="Mul", input=["y", "rest"], output=["slope"], name="slope")
    for user in range(users):
        gradient = _input(graph, f"dy_{user}")
        graph.node.add(op_type="Mul", input=[gradient, "slope"], output=[f"dx_{user}"], name=f"dx_{user}")
        _output(graph, f"dx_{user}")


def _input(graph: GraphProto, name: str) -> str:
    graph.input.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, [WIDTH, WIDTH]))
    return name


def _output(graph: GraphProto, name: str) -> None:
    graph.output.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, [WIDTH, WIDTH]))


def _model(graph: GraphProto) -> ModelProto:
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def graphs(scale: float = 1) -> dict[str, Graph]:
    """Every graph by name; `scale` makes them smaller for tests."""

    def training(layers: int, activation: str = "Sigmoid") -> Graph:
        layers = max(1, int(layers * scale))
        gradients = layers if activation == "Sigmoid" else 0
        return Graph(lambda: training_graph(layers, activation), layers * NODES_PER_LAYER, gradients)

    length, users = max(1, int(10_000 * scale)), max(1, int(2_000 * scale))
    return {
        "training": training(20_000),
        "training x10": training(200_000),
        "no gradient": training(20_000, "Tanh"),
        "power chain": Graph(lambda: power_chain(length), length + 4, 1),
        "shared slope": Graph(lambda: shared_slope(users), users + 3, users),
    }


def main(arguments: list[str]) -> None:
    match arguments:
        case ["list"]:
            print(json.dumps({name: [graph.nodes, graph.gradients] for name, graph in graphs().items()}))
        case ["make", name, path]:
            onnx.save(graphs()[name].make(), path)
        case ["count", path]:
            print(sum(node.op_type == "SigmoidBackward" for node in onnx.load(path).graph.node))
        case _:
            sys.exit(__doc__)


if __name__ == "__main__":
    main(sys.argv[1:])
