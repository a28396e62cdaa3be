"""Whatever is found in a random graph must have the value, shape and type of what it replaces."""

from __future__ import annotations

import random

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper
from searching import search
from values import all_values, check

INPUT_SHAPES = [(3, 4), (4,), (3, 1), (1, 4), (), (1,), (3, 4)]
NUMBERS = [1.0, 1.0, 1.0, -1.0, 2.0, 0.5, 0.0]
CONSTANT_SHAPES = [(), (), (), (1,), (1, 1), (4,), (1, 1, 1), (3, 4)]


class Grower:
    """Adds random nodes, mostly arithmetic on recent values, so that slopes and gradients come about."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.values = []
        self.nodes = []
        self.initializers = []
        self.inputs = []
        for i in range(self.random.randint(2, 4)):
            shape = self.random.choice(INPUT_SHAPES)
            self.inputs.append(helper.make_tensor_value_info(f"x{i}", TensorProto.FLOAT, shape))
            self.values.append(f"x{i}")
        self.shapes = {v.name: tuple(d.dim_value for d in v.type.tensor_type.shape.dim) for v in self.inputs}

    def pick(self):
        recent = self.values[-6:]
        return self.random.choice(recent if self.random.random() < 0.8 else self.values)

    def constant(self):
        name = f"c{len(self.initializers)}"
        number = self.random.choice(NUMBERS)
        array = np.full(self.random.choice(CONSTANT_SHAPES), number, dtype=np.float32)
        self.initializers.append(numpy_helper.from_array(array, name))
        self.shapes[name] = array.shape
        return name

    def integers(self, numbers):
        name = f"i{len(self.initializers)}"
        self.initializers.append(numpy_helper.from_array(np.array(numbers, dtype=np.int64), name))
        return name

    def add(self, op_type, inputs, shape, **attributes):
        name = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(op_type, inputs, [name], **attributes))
        self.values.append(name)
        self.shapes[name] = shape
        return name

    def binary(self, op_type, a, b):
        try:
            shape = np.broadcast_shapes(self.shapes[a], self.shapes[b])
        except ValueError:
            return None
        return self.add(op_type, [a, b], shape)

    def complement(self, y):
        one = self.constant() if self.random.random() < 0.3 else self.one()
        if self.random.random() < 0.7:
            return self.binary("Sub", one, y)
        negative = self.add("Neg", [y], self.shapes[y])
        return self.binary("Add", negative, one)

    def one(self):
        name = f"c{len(self.initializers)}"
        self.initializers.append(numpy_helper.from_array(np.ones((), dtype=np.float32), name))
        self.shapes[name] = ()
        return name

    def view(self, value):
        shape = self.shapes[value]
        way = self.random.choice(["Transpose", "Unsqueeze", "Reshape", "Flatten", "Expand"])
        if way == "Transpose":
            return self.add(way, [value], shape[::-1])
        if way == "Unsqueeze":
            axis = self.random.randint(-len(shape) - 1, len(shape))
            wide = list(shape)
            wide.insert(axis if axis >= 0 else axis + len(shape) + 1, 1)
            return self.add(way, [value, self.integers([axis])], tuple(wide))
        if way == "Reshape":
            return self.add(way, [value, self.integers([-1])], (int(np.prod(shape)),))
        if way == "Flatten":
            return (
                self.add(way, [value], (int(np.prod(shape[:1])), int(np.prod(shape[1:])))) if shape else None
            )
        return self.add(way, [value, self.integers((1, *shape))], (1, *shape))

    def grow(self):
        way = self.random.choice(
            ["Mul"] * 6
            + ["Sub", "Sub", "Add", "Add", "slope", "slope", "slope", "Neg", "view", "square", "scale"]
            + ["Sigmoid", "Identity"]
        )
        if way in ("Mul", "Sub", "Add"):
            self.binary(way, self.pick(), self.pick())
        elif way == "slope":
            y = self.pick()
            s = self.complement(y)
            if s is not None and self.random.random() < 0.7:
                m = self.binary("Mul", y, s)
                if m is not None and self.random.random() < 0.5:
                    self.binary("Mul", m, self.pick())
        elif way == "view":
            self.view(self.pick())
        elif way == "square":
            y = self.pick()
            q = self.binary("Mul", y, y)
            self.binary("Sub", y, q)
        elif way == "scale":
            self.binary(self.random.choice(["Mul", "Add", "Sub"]), self.pick(), self.constant())
        else:
            value = self.pick()
            self.add(way, [value], self.shapes[value])

    def model(self):
        used = {name for node in self.nodes for name in node.input}
        ends = [node.output[0] for node in self.nodes if node.output[0] not in used]
        outputs = [helper.make_tensor_value_info(n, TensorProto.FLOAT, self.shapes[n]) for n in ends]
        graph = helper.make_graph(self.nodes, "random", self.inputs, outputs, initializer=self.initializers)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8)

    def feeds(self):
        rng = np.random.default_rng(self.random.randint(0, 10**6))
        return {
            value.name: rng.uniform(0.05, 0.95, self.shapes[value.name]).astype(np.float32)
            for value in self.inputs
        }


def grown(seed):
    grower = Grower(seed)
    for _ in range(grower.random.randint(4, 14)):
        grower.grow()
    return grower


@pytest.mark.parametrize("first", range(0, 300, 20))
def test_what_is_found_in_random_graphs_has_its_value(first):
    for seed in range(first, first + 20):
        grower = grown(seed)
        if not grower.nodes:
            continue
        model = grower.model()
        for relaxed in (False, True):
            sites, _ = search(model, relaxed=relaxed)
            if not sites:
                continue
            values = all_values(model, grower.feeds())
            for site in sites:
                check(site, values)
                assert all(site.scope.position(i) <= site.scope.position(site.root) for i in site.covered)


def test_random_graphs_do_have_gradients():
    assert sum(len(search(grown(seed).model())[0]) for seed in range(100)) > 30
