"""Fits a kernel's function body to the opset and the dtypes of a model.

A constant of the body has the dtype of an input, which CastLike gives it from opset 15 on. In an older
model it is a typed constant where one dtype is enough, or else, from opset 12 on, `Pow(input, 0)`: one for
every input, NaN and the infinities too.

In a model with nested bodies the function computes with a copy of an input, such as `Sum(input)`. ONNX
Runtime inlines it into a graph and into the bodies nested there under the same names, and then merges equal
values of a graph: a body that reads the graph's own `1 - output` would get its own inlined value of that name
instead. What comes from a copy equals no value of a model that copies nothing in that way.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import onnx
from onnx import TensorProto, helper

from onnx_ascend_ext.catalog import Kernel
from onnx_ascend_ext.graph.operators import BROADCASTING_OPSET

_OPSET_OF_MIXED_POW = 12
"""The first opset whose Pow takes an exponent of another dtype, and whose Constant has `value_float`."""

COPYING = ("Sum", "Max", "Min")
"""Operators that copy an input if it is their only one."""

_MakeConstant = Callable[[float, str, str], Sequence[onnx.NodeProto]]
"""Makes the nodes of a constant from its value, a value of the wanted dtype, and the result's name."""


class UnfitError(Exception):
    """A kernel's body cannot be written in a model; the message is the reason."""


@dataclass(frozen=True)
class FittedFunction:
    """A kernel's ONNX function for one model.

    Attributes:
        function: the function to add to the model.
        dtype: the `TensorProto.DataType` that a node's inputs must have to use it; None where any will do.
    """

    function: onnx.FunctionProto
    dtype: int | None

    def serves(self, dtype: int) -> bool:
        """Whether a node whose inputs have this dtype (`UNDEFINED`: not known) may use the function."""
        return self.dtype is None or self.dtype == dtype


def fit_function(kernel: Kernel, opset: int, dtypes: Sequence[int], *, copying: str = "") -> FittedFunction:
    """The kernel's function in a model that imports the default domain at `opset`.

    Args:
        kernel: the kernel to write.
        opset: the model's version of the default domain.
        dtypes: the `TensorProto.DataType` of the inputs of each node that is to use the function, in the
            model's order; `UNDEFINED` where it is not known.
        copying: the operator of `COPYING` that is to copy an input; "" for no copy.

    Raises:
        UnfitError: no node of the model can use the body at this opset.
    """
    function, dtype = _spelled(kernel, opset, dtypes)
    if copying:
        function = _with_copies(function, copying)
    function.opset_import[0].version = opset
    return FittedFunction(function, dtype)


def _spelled(kernel: Kernel, opset: int, dtypes: Sequence[int]) -> tuple[onnx.FunctionProto, int | None]:
    """The kernel's function with constants as an opset allows, and the dtype that it serves."""
    if opset < BROADCASTING_OPSET:
        raise UnfitError(
            f"opset {opset} is too old for the body of {kernel.name}: convert the model to opset "
            f"{BROADCASTING_OPSET} or newer with onnx.version_converter first"
        )
    if opset >= kernel.opset:
        return kernel.function(), None
    known = dict.fromkeys(dtype for dtype in dtypes if dtype != TensorProto.UNDEFINED)
    if known and (opset < _OPSET_OF_MIXED_POW or set(known) == set(dtypes)):
        dtype = next(iter(known))
        if len(known) == 1 or opset < _OPSET_OF_MIXED_POW:
            return _with_typed_constants(kernel, dtype), dtype
    if opset >= _OPSET_OF_MIXED_POW:
        return _with_powers(kernel), None
    raise UnfitError(dtype_reason(kernel, opset))


def dtype_reason(kernel: Kernel, opset: int) -> str:
    """Why a node of unknown or of a second dtype cannot use the function in a model of an old opset."""
    return (
        f"at opset {opset} the body of {kernel.name} serves one known dtype: infer the types with "
        f"onnx.shape_inference, or convert the model to opset {_OPSET_OF_MIXED_POW} or newer with "
        "onnx.version_converter first"
    )


def recognise_function(kernel: Kernel, function: onnx.FunctionProto) -> FittedFunction | None:
    """A function that a model already has, where its body is one that `fit_function` writes; else None."""
    if _same_body(function, kernel.function()) or _same_body(function, _with_powers(kernel)):
        return FittedFunction(function, None)
    for node in function.node:
        for attribute in node.attribute:
            if node.op_type == "Constant" and attribute.HasField("t"):
                dtype = attribute.t.data_type
                if _same_body(function, _with_typed_constants(kernel, dtype)):
                    return FittedFunction(function, dtype)
    return None


def _same_body(function: onnx.FunctionProto, written: onnx.FunctionProto) -> bool:
    """Whether a function has the body of another, with a copy of an input or without."""
    copied = (_with_copies(written, copying) for copying in COPYING)
    return any(_plain(function) == _plain(spelled) for spelled in (written, *copied))


def _plain(function: onnx.FunctionProto) -> list[object]:
    nodes = [
        (node.op_type, list(node.input), list(node.output), [a.SerializeToString() for a in node.attribute])
        for node in function.node
    ]
    return [list(function.input), list(function.output), nodes]


def _with_typed_constants(kernel: Kernel, dtype: int) -> onnx.FunctionProto:
    def make(value: float, _like: str, result: str) -> Sequence[onnx.NodeProto]:
        tensor = helper.make_tensor("", dtype, [], [value])
        return [helper.make_node("Constant", [], [result], value=tensor)]

    return _with_constants(kernel, make)


def _with_powers(kernel: Kernel) -> onnx.FunctionProto:
    def make(value: float, like: str, result: str) -> Sequence[onnx.NodeProto]:
        if value != 1:
            raise UnfitError(f"below opset {kernel.opset} the body of {kernel.name} cannot hold {value:g}")
        zero = f"{result}_exponent"
        return [
            helper.make_node("Constant", [], [zero], value_float=0.0),
            helper.make_node("Pow", [like, zero], [result]),
        ]

    return _with_constants(kernel, make)


def _with_constants(kernel: Kernel, make: _MakeConstant) -> onnx.FunctionProto:
    """The kernel's function with each `CastLike(Constant, like)` replaced by the nodes that `make` gives."""
    function = kernel.function()
    constants = {node.output[0]: node for node in function.node if node.op_type == "Constant"}
    nodes: list[onnx.NodeProto] = []
    for node in function.node:
        if node.op_type == "CastLike":
            value = helper.get_node_attr_value(constants[node.input[0]], "value_float")
            nodes.extend(make(value, node.input[1], node.output[0]))
        elif node.op_type != "Constant":
            nodes.append(node)
    del function.node[:]
    function.node.extend(nodes)
    return function


def _with_copies(function: onnx.FunctionProto, copying: str) -> onnx.FunctionProto:
    """A function of which no node computes with inputs and constants alone, but with a copy of an input."""
    result = onnx.FunctionProto()
    result.CopyFrom(function)
    inputs, constants, copied = set(result.input), set[str](), set[str]()
    nodes: list[onnx.NodeProto] = []
    for node in result.node:
        if node.op_type == "CastLike" or constants.issuperset(node.input):
            constants.update(node.output)
        elif inputs.union(constants).issuperset(node.input):
            position, name = next((i, name) for i, name in enumerate(node.input) if name in inputs)
            node.input[position] = f"{name}_copy"
            if name not in copied:
                copied.add(name)
                nodes.append(helper.make_node(copying, [name], [f"{name}_copy"]))
        nodes.append(node)
    del result.node[:]
    result.node.extend(nodes)
    return result
