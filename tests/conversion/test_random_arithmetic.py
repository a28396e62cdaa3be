"""Random arithmetic with broadcasting, views, factors and hidden constants keeps its values and shapes."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import onnx
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from onnx import TensorProto, helper, numpy_helper

from .checking import check, check_same_values

DOUBLE = TensorProto.DOUBLE
# Each of these shapes broadcasts to the next one.
SHAPES: list[list[int | str]] = [[], [1], [4], [1, 4], ["N", 4], [1, "N", 4]]


@dataclass
class Arithmetic:
    """Writes random nodes on values whose shapes are known."""

    draw: st.DrawFn
    values: list[tuple[str, int]]
    nodes: list[onnx.NodeProto] = field(default_factory=list)
    initializers: list[onnx.TensorProto] = field(default_factory=list)

    def add(self, op_type: str, inputs: list[str], shape: int, **attributes) -> str:
        name = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(op_type, inputs, [name], **attributes))
        self.values.append((name, shape))
        return name

    def pick(self) -> tuple[str, int]:
        # The last values are the likeliest, so that expressions grow deep.
        back = self.draw(st.integers(0, len(self.values) - 1))
        return self.values[-1 - min(back, self.draw(st.integers(0, len(self.values) - 1)))]

    def constant(self, value: float, shape: int | None = None) -> tuple[str, int]:
        shape = self.draw(st.integers(0, 3)) if shape is None else shape
        array = np.full([int(d) for d in SHAPES[shape]], value, np.float64)
        kind = self.draw(st.sampled_from(["initializer", "Constant", "Identity", "Cast"]))
        if kind == "Constant":
            return self.add("Constant", [], shape, value=numpy_helper.from_array(array)), shape
        name = f"c{len(self.initializers)}"
        if kind == "Cast" and float(value).is_integer():
            self.initializers.append(numpy_helper.from_array(array.astype(np.int64), name))
            return self.add("Cast", [name], shape, to=DOUBLE), shape
        self.initializers.append(numpy_helper.from_array(array, name))
        if kind == "Identity":
            return self.add("Identity", [name], shape), shape
        return name, shape

    def binary(self, op_type: str, one: tuple[str, int], other: tuple[str, int]) -> tuple[str, int]:
        if op_type in ("Mul", "Add") and self.draw(st.booleans()):
            one, other = other, one
        shape = max(one[1], other[1])
        return self.add(op_type, [one[0], other[0]], shape), shape

    def view(self, value: tuple[str, int]) -> tuple[str, int]:
        """The value in the next shape where that is one more dimension of 1, else once more."""
        name, shape = value
        if SHAPES[shape] in ([], [4], ["N", 4]):
            axes = f"c{len(self.initializers)}"
            self.initializers.append(numpy_helper.from_array(np.array([0], np.int64), axes))
            return self.add("Unsqueeze", [name, axes], shape + 1), shape + 1
        return self.add("Identity", [name], shape), shape

    def gradient(self, g: tuple[str, int], y: tuple[str, int]) -> None:
        """`g * y * (1 - y)` in one of many spellings, perhaps with a factor, perhaps with a mistake."""
        one = self.constant(self.draw(st.sampled_from([1, 1, 1, 1, 1, 0.5, 2])))
        difference = self.binary(
            *self.draw(st.sampled_from([("Sub", one, y), ("Sub", one, y), ("Sub", y, one)]))
        )
        if self.draw(st.integers(0, 3)) == 0:
            difference = self.view(difference)
        factors = [g, y, difference]
        if self.draw(st.integers(0, 2)) == 0:
            factors.append(self.pick())
        if self.draw(st.integers(0, 3)) == 0:
            factors.append(self.constant(self.draw(st.sampled_from([-1, 0.5, 3]))))
        factors = self.draw(st.permutations(factors))
        while len(factors) > 1:
            at = self.draw(st.integers(0, len(factors) - 2))
            factors[at : at + 2] = [self.binary("Mul", factors[at], factors[at + 1])]

    def step(self) -> None:
        kind = self.draw(
            st.sampled_from(["gradient", "gradient", "Mul", "Add", "Sub", "Neg", "Sigmoid", "view"])
        )
        if kind == "gradient":
            self.gradient(self.pick(), self.pick())
        elif kind in ("Neg", "Sigmoid"):
            name, shape = self.pick()
            self.add(kind, [name], shape)
        elif kind == "view":
            self.view(self.pick())
        else:
            self.binary(kind, self.pick(), self.pick())


@st.composite
def models(draw: st.DrawFn) -> onnx.ModelProto:
    opset = draw(st.sampled_from([13, 14, 15, 18, 21]))
    inputs = [("g", 4), ("y", 4), ("x", 4), ("d", 2), ("e", 0)]
    arithmetic = Arithmetic(draw, list(inputs))
    arithmetic.add("Sigmoid", ["x"], 4)
    for _ in range(draw(st.integers(1, 4))):
        arithmetic.step()
    outputs = draw(st.lists(st.sampled_from(arithmetic.values[len(inputs) :]), min_size=1, max_size=3))
    outputs.append(arithmetic.values[-1])
    graph = helper.make_graph(
        arithmetic.nodes,
        "arithmetic",
        [helper.make_tensor_value_info(name, DOUBLE, SHAPES[shape]) for name, shape in inputs],
        [helper.make_tensor_value_info(name, DOUBLE, SHAPES[shape]) for name, shape in outputs],
        arithmetic.initializers,
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)


@settings(max_examples=200, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(models(), st.booleans(), st.sampled_from([1, 3]))
def test_values_and_shapes_are_kept(model, relaxed, rows):
    conversion = check(model, relaxed=relaxed)
    check_same_values(model, conversion, N=rows)


@settings(max_examples=60, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(models())
def test_inferred_shapes_are_kept(model):
    model = onnx.shape_inference.infer_shapes(model)
    converted = check(model).model
    inferred = onnx.shape_inference.infer_shapes(converted, data_prop=True)
    known = {value.name: value for value in model.graph.value_info}
    for value in inferred.graph.value_info:
        if value.name in known:
            assert value.type == known[value.name].type
