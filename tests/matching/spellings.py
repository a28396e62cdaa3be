"""Random spellings of `g * y * (1 - y)` as ONNX nodes."""

from __future__ import annotations

import numpy as np
from onnx import TensorProto, helper, numpy_helper

TYPES = {"float": TensorProto.FLOAT, "float16": TensorProto.FLOAT16, "double": TensorProto.DOUBLE}


class Speller:
    """Writes nodes; every method returns the name of the value that it computes.

    `draw(choices)` picks one of some choices, so that the same code serves hypothesis and plain seeds.
    """

    def __init__(self, draw, dtype="float", rank=2):
        self.draw = draw
        self.kind = TYPES[dtype]
        self.numpy = helper.tensor_dtype_to_np_dtype(self.kind)
        self.nodes = []
        self.initializers = []
        self.inputs = {"g": ["N", 4][-rank:] if rank else [], "x": ["N", 4][-rank:] if rank else []}
        self.functions = []
        self.rank = rank
        self.count = 0
        self.activation = draw(["node", "input", "exp", "twice", "function"])
        self.saved = None
        self.quotient = draw([None, None, None, "cross entropy", "fraction", "logarithm", "complement"])

    # Nodes

    def fresh(self, hint):
        self.count += 1
        return f"{hint}_{self.count}"

    def node(self, op_type, *inputs, domain="", **attributes):
        output = self.fresh(op_type.lower())
        self.nodes.append(helper.make_node(op_type, list(inputs), [output], domain=domain, **attributes))
        return output

    def initializer(self, value, dtype, shape=()):
        name = self.fresh("c")
        self.initializers.append(numpy_helper.from_array(np.full(shape, value, dtype=dtype), name))
        return name

    # Constants

    def constant(self, value):
        shapes = [(), (), (1,), (1,) * self.rank] if self.rank else [()]
        if self.rank == 2:
            shapes.append((4,))
        whole = float(value).is_integer()
        ways = ["initializer", "initializer", "value", "expand", "of_shape", "identity", "cast", "reshape"]
        ways += ["unsqueeze"] if self.rank else []
        if self.kind == TensorProto.FLOAT:
            ways += ["value_float"] + (["value_floats"] if self.rank else [])
        if whole:
            ways += ["value_int", "cast_like", "expand_shape"]
        way = self.draw(ways)
        if way == "initializer":
            return self.initializer(value, self.numpy, self.draw(shapes))
        if way == "value":
            tensor = numpy_helper.from_array(np.full(self.draw(shapes), value, dtype=self.numpy))
            return self.node("Constant", value=tensor)
        if way == "value_float":
            return self.node("Constant", value_float=float(value))
        if way == "value_floats":
            return self.node("Constant", value_floats=[float(value)])
        if way == "value_int":
            return self.node("Cast", self.node("Constant", value_int=int(value)), to=self.kind)
        if way == "identity":
            return self.node("Identity", self.constant(value))
        if way == "cast":
            other = self.draw([np.float64, np.float32] if self.numpy != np.float64 else [np.float64])
            return self.node("Cast", self.initializer(value, other), to=self.kind)
        if way == "cast_like":
            number = self.initializer(value, self.draw([np.int64, np.float32]))
            return self.node("CastLike", number, self.draw(["g", self.y()]))
        if way == "expand":
            shape = self.initializer(1, np.int64, (self.rank,))
            return self.node("Expand", self.initializer(value, self.numpy), shape)
        if way == "expand_shape":
            return self.node("Expand", self.initializer(value, self.numpy), self.node("Shape", self.y()))
        if way == "of_shape":
            tensor = numpy_helper.from_array(np.array([value], dtype=self.numpy))
            shape = self.draw([self.node("Shape", "g"), self.initializer(1, np.int64, (self.rank,))])
            return self.node("ConstantOfShape", shape, value=tensor)
        if way == "reshape":
            shape = self.initializer(1, np.int64, (self.rank,))
            return self.node("Reshape", self.initializer(value, self.numpy, (1,)), shape)
        axes = self.initializer(0, np.int64, (1,))
        return self.node("Unsqueeze", self.initializer(value, self.numpy), axes)

    # Values

    def y(self):
        """The activation; where it is computed twice, any of the two."""
        if self.activation == "input":
            self.inputs["y"] = self.inputs["g"]
            return "y"
        if self.activation == "twice":
            return self.sigmoid()
        if self.saved is None:
            self.saved = ""  # constants inside must not ask for it
            self.saved = self.sigmoid()
        return self.saved or "x"

    def sigmoid(self):
        if self.activation == "function":
            if not self.functions:
                body = [helper.make_node("Sigmoid", ["a"], ["b"])]
                imports = [helper.make_opsetid("", 18)]
                self.functions.append(helper.make_function("user", "Logistic", ["a"], ["b"], body, imports))
            return self.node("Logistic", "x", domain="user")
        if self.activation != "exp":
            return self.node("Sigmoid", "x")
        one = self.initializer(1, self.numpy)
        power = self.node("Exp", self.draw([self.node("Neg", "x"), self.minus("x")]))
        total = self.node("Add", *self.shuffled([one, power]))
        way = self.draw(["div", "reciprocal", "pow"])
        if way == "div":
            return self.node("Div", one, total)
        if way == "reciprocal":
            return self.node("Reciprocal", total)
        return self.node("Pow", total, self.initializer(-1, self.numpy))

    def minus(self, value):
        return self.node("Mul", value, self.initializer(-1, self.numpy))

    def shuffled(self, items):
        items = list(items)
        result = []
        while items:
            result.append(items.pop(self.draw(list(range(len(items))))))
        return result

    def disguised(self, value, depth=2):
        """A value in another spelling of the same number."""
        if not depth:
            return value
        way = self.draw(
            ["plain"] * 8 + ["identity", "negneg", "one", "zero", "inverse", "pow", "half", "sum"]
        )
        if way == "identity":
            return self.node("Identity", value)
        if way == "negneg":
            return self.negated(self.negated(value))
        if way == "one":
            return self.node(*self.draw([("Mul",), ("Div",)]), value, self.constant(1))
        if way == "zero":
            return self.node(*self.draw([("Add",), ("Sub",)]), value, self.constant(0))
        if way == "inverse":
            return self.node("Reciprocal", self.node("Reciprocal", value))
        if way == "pow":
            return self.node("Pow", value, self.constant(1))
        if way == "half":
            return self.node("Mul", self.node("Add", value, value), self.constant(0.5))
        if way == "sum":
            return self.node("Sum", value)
        return value

    def negated(self, value):
        way = self.draw(["neg", "mul", "sub", "div"])
        if way == "neg":
            return self.node("Neg", value)
        if way == "mul":
            return self.node("Mul", *self.shuffled([value, self.constant(-1)]))
        if way == "sub":
            return self.node("Sub", self.constant(0), value)
        return self.node("Div", value, self.constant(-1))

    def complement(self):
        """`1 - y`."""
        y = self.disguised(self.y())
        way = self.draw(["sub", "sub", "add", "neg", "sum", "two", "half", "minus"])
        if way == "sub":
            return self.node("Sub", self.constant(1), y)
        if way == "add":
            return self.node("Add", *self.shuffled([self.constant(1), self.negated(y)]))
        if way == "neg":
            return self.negated(self.node("Sub", y, self.constant(1)))
        if way == "sum":
            return self.node("Sum", *self.shuffled([self.constant(1), self.negated(y)]))
        if way == "two":
            return self.node("Sub", self.constant(2), self.node("Add", *self.shuffled([y, self.constant(1)])))
        if way == "half":
            halves = self.node("Sub", self.constant(0.5), y)
            return self.node("Add", halves, self.constant(0.5))
        return self.negated(self.node("Add", y, self.constant(-1)))

    def product(self, factors):
        """The product of some values, grouped and ordered in any way."""
        factors = self.shuffled(factors)
        while len(factors) > 1:
            at = self.draw(list(range(len(factors) - 1)))
            a, b = factors[at : at + 2]
            factors[at : at + 2] = [self.times(a, b)]
        return factors[0]

    def times(self, a, b):
        way = self.draw(["mul"] * 6 + ["div", "signs"])
        if way == "div":
            return self.node("Div", a, self.node("Reciprocal", b))
        if way == "signs":
            return self.node("Mul", self.negated(a), self.negated(b))
        return self.disguised(self.node("Mul", a, b), 1)

    def square(self, value):
        way = self.draw(["mul", "pow", "times"])
        if way == "mul":
            return self.node("Mul", value, value)
        if way == "pow":
            return self.node("Pow", value, self.draw([self.constant(2), self.initializer(2, np.int64)]))
        return self.times(self.disguised(value), self.disguised(value))

    def difference(self, a, b):
        way = self.draw(["sub", "sub", "add", "sum", "neg"])
        if way == "sub":
            return self.node("Sub", a, b)
        if way == "add":
            return self.node("Add", *self.shuffled([a, self.negated(b)]))
        if way == "sum":
            return self.node("Sum", *self.shuffled([a, self.negated(b)]))
        return self.negated(self.node("Sub", b, a))

    def divided(self, a, b):
        way = self.draw(["div", "div", "reciprocal", "pow"])
        if way == "div":
            return self.node("Div", a, b)
        if way == "reciprocal":
            return self.node("Mul", *self.shuffled([a, self.node("Reciprocal", b)]))
        return self.node("Mul", *self.shuffled([a, self.node("Pow", b, self.constant(-1))]))

    def incoming(self):
        """The gradient that comes in: an input, or a quotient that the slope cancels."""
        if self.quotient is None:
            return "g"
        if self.quotient == "logarithm":
            return self.divided("g", self.disguised(self.y()))
        if self.quotient == "complement":
            return self.divided(self.negated("g"), self.complement())
        if self.quotient == "fraction":
            slope = self.node("Mul", *self.shuffled([self.y(), self.complement()]))
            return self.divided(self.difference(self.y(), "g"), slope)
        rest = self.node("Sub", self.constant(1), "g")
        return self.difference(self.divided(rest, self.complement()), self.divided("g", self.y()))

    def gradient(self):
        """The whole gradient."""
        incoming = self.incoming()
        g = self.disguised(incoming)
        y = self.disguised(self.y())
        way = self.draw(["factors", "factors", "factors", "slope", "expanded", "left", "scaled"])
        if way == "factors":
            return self.product([g, y, self.complement()])
        if way == "slope":
            return self.product([g, self.difference(y, self.square(self.y()))])
        if way == "expanded":
            second = self.product([self.disguised(incoming), self.y(), self.disguised(self.y())])
            return self.difference(self.product([g, y]), second)
        if way == "left":
            rest = self.difference(g, self.product([incoming, self.y()]))
            return self.product([rest, y])
        factors = [g, y, self.complement(), self.constant(4), self.constant(0.25)]
        return self.product(factors)

    def model(self, result):
        shape = self.inputs["g"]
        inputs = [helper.make_tensor_value_info(n, self.kind, shape) for n, shape in self.inputs.items()]
        last = self.node("Identity", result)
        graph = helper.make_graph(
            self.nodes,
            "spelling",
            inputs,
            [helper.make_tensor_value_info(last, self.kind, shape)],
            initializer=self.initializers,
        )
        imports = [helper.make_opsetid("", 18), helper.make_opsetid("user", 1)]
        return helper.make_model(graph, opset_imports=imports, ir_version=8, functions=self.functions)

    def feeds(self, rng):
        shape = [3 if dim == "N" else dim for dim in self.inputs["g"]]
        feeds = {
            "g": rng.normal(0, 1, shape).astype(self.numpy),
            "x": rng.normal(0, 2, shape).astype(self.numpy),
        }
        if "y" in self.inputs:
            feeds["y"] = rng.uniform(0.02, 0.98, shape).astype(self.numpy)
        return feeds
