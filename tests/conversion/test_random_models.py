"""Random models with nested bodies, functions, captured values, dead code and odd names keep their values."""

from __future__ import annotations

from dataclasses import dataclass, field

import onnx
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from onnx import TensorProto, helper

from .checking import check, check_same_values

ODD = ["a", "módulo::f", "/layer/0/Mul", "with space", "🙂", "x.y:0", "名前", "SigmoidBackward_a", "_1"]
SHAPE = ["N", 4]

# Each is a gradient of `y` that is to be found: operator type, inputs, output.
SPELLINGS: list[list[tuple[str, list[str], str]]] = [
    [("Sub", ["one", "y"], "d"), ("Mul", ["d", "y"], "s"), ("Mul", ["s", "g"], "z")],
    [("Sub", ["one", "y"], "d"), ("Mul", ["g", "d"], "s"), ("Mul", ["y", "s"], "z")],
    [("Mul", ["y", "y"], "d"), ("Sub", ["y", "d"], "s"), ("Mul", ["g", "s"], "z")],
    [("Neg", ["y"], "n"), ("Add", ["n", "one"], "d"), ("Mul", ["g", "y"], "s"), ("Mul", ["s", "d"], "z")],
    [("Sub", ["y", "one"], "d"), ("Mul", ["d", "y"], "s"), ("Mul", ["s", "g"], "t"), ("Neg", ["t"], "z")],
]


@dataclass
class Writer:
    """Writes random nodes; names are taken from `ODD` and made unique by a number."""

    draw: st.DrawFn
    functions: list[str]
    count: int = 0
    gradients: int = 0
    names: set[str] = field(default_factory=set)

    def fresh(self) -> str:
        self.count += 1
        name = self.draw(st.sampled_from(ODD))
        name = name if name not in self.names else f"{name}_{self.count}"
        self.names.add(name)
        return name

    def node(self, op_type: str, inputs: list[str], output: str | None = None, **more) -> onnx.NodeProto:
        output = output or self.fresh()
        name = self.draw(st.sampled_from(["", f"{output} node"]))
        node = helper.make_node(op_type, inputs, [output], name=name, **more)
        if self.draw(st.booleans()):
            node.metadata_props.add(key="from", value=output)
        return node

    def body(self, visible: list[str], constants: dict[str, str], depth: int) -> list[onnx.NodeProto]:
        """Random nodes on the visible values, whose results are added to them."""
        written: list[onnx.NodeProto] = []
        for _ in range(self.draw(st.integers(1, 4))):
            kind = self.draw(st.sampled_from(["plain", "gradient", "gradient", "named", "If", "call"]))
            pick = st.sampled_from(visible)
            if kind == "gradient":
                written.extend(self.gradient(self.draw(pick), self.draw(pick), constants["one"], visible))
            elif kind == "named":
                inputs = [self.draw(pick), self.draw(pick)]
                written.append(self.node("SigmoidGrad", inputs, domain="com.microsoft"))
                visible.append(written[-1].output[0])
            elif kind == "If" and depth and "condition" in constants:
                written.append(self.branches(visible, constants, depth - 1))
                visible.append(written[-1].output[0])
            elif kind == "call" and self.functions:
                name = self.draw(st.sampled_from(self.functions))
                written.append(self.node(name, [self.draw(pick), self.draw(pick)], domain="my"))
                visible.append(written[-1].output[0])
            else:
                op_type, arity = self.draw(
                    st.sampled_from([("Sigmoid", 1), ("Relu", 1), ("Tanh", 1), ("Mul", 2), ("Sub", 2)])
                )
                written.append(self.node(op_type, [self.draw(pick) for _ in range(arity)]))
                visible.append(written[-1].output[0])
        return written

    def gradient(self, y: str, g: str, one: str, visible: list[str]) -> list[onnx.NodeProto]:
        names = {"y": y, "g": g, "one": one}
        written = []
        for op_type, inputs, output in self.draw(st.sampled_from(SPELLINGS)):
            names[output] = self.fresh()
            operands = [names[name] for name in inputs]
            if op_type in ("Mul", "Add") and self.draw(st.booleans()):
                operands.reverse()
            written.append(self.node(op_type, operands, names[output]))
            if self.draw(st.integers(0, 5)) == 0:
                visible.append(names[output])
        visible.append(names["z"])
        self.gradients += 1
        return written

    def branches(self, visible: list[str], constants: dict[str, str], depth: int) -> onnx.NodeProto:
        graphs = {}
        for branch in ("then_branch", "else_branch"):
            inner = list(visible)
            nodes = self.body(inner, constants, depth)
            own = [name for node in nodes for name in node.output]
            result = helper.make_tensor_value_info(self.draw(st.sampled_from(own)), TensorProto.FLOAT, SHAPE)
            graphs[branch] = helper.make_graph(nodes, f"{branch} of {self.count}", [], [result])
        return self.node("If", [constants["condition"]], **graphs)


@st.composite
def models(draw: st.DrawFn) -> onnx.ModelProto:
    functions = []
    names: list[str] = []
    for name in ("F", "G"):
        if draw(st.booleans()):
            writer = Writer(draw, list(names))
            visible = ["p", "q"]
            one = helper.make_node("Constant", [], ["k"], value_float=1.0)
            nodes = [one, *writer.body(visible, {"one": "k"}, 0)]
            result = draw(st.sampled_from([n for n in visible if n not in "pq"]))
            imports = [helper.make_opsetid(d, v) for d, v in (("", 18), ("my", 1), ("com.microsoft", 1))]
            functions.append(helper.make_function("my", name, ["p", "q"], [result], nodes, imports))
            names.append(name)
    writer = Writer(draw, names)
    writer.names.update(["in", "g in", "flag"])
    visible = ["in", "g in"]
    nodes = writer.body(visible, {"one": "unit", "condition": "flag"}, 2)
    results = draw(st.lists(st.sampled_from(visible[2:]), min_size=1, max_size=3))
    graph = helper.make_graph(
        nodes,
        "random",
        [
            helper.make_tensor_value_info("in", TensorProto.FLOAT, SHAPE),
            helper.make_tensor_value_info("g in", TensorProto.FLOAT, SHAPE),
            helper.make_tensor_value_info("flag", TensorProto.BOOL, []),
        ],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, SHAPE) for name in results],
        [helper.make_tensor("unit", TensorProto.FLOAT, [], [1.0])],
    )
    imports = [helper.make_opsetid(d, v) for d, v in (("", 18), ("my", 1), ("com.microsoft", 1))]
    return helper.make_model(graph, functions=functions, opset_imports=imports, ir_version=10)


@settings(max_examples=150, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(models())
def test_they_convert_and_keep_their_values(model):
    conversion = check(model)
    check_same_values(model, conversion)


@settings(max_examples=50, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(models(), st.randoms(use_true_random=False))
def test_nodes_in_any_order_convert_too(model, random):
    shuffled = list(model.graph.node)
    random.shuffle(shuffled)
    del model.graph.node[:]
    model.graph.node.extend(shuffled)
    conversion = check(model)
    check_same_values(model, conversion)
    kept = [node.output[0] for node in conversion.model.graph.node]
    order = [node.output[0] for node in shuffled]
    assert [name for name in order if name in kept] == [name for name in kept if name in order]
