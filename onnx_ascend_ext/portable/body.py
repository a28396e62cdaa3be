"""Writes the nodes of a function body, in the spelling of one opset."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from onnx_ascend_ext.portable.errors import NoBodyError
from onnx_ascend_ext.portable.node import TrainingNode

END = 2**31 - 1
"""An end of a slice behind the last element."""

_OPSET_OF_CAST_LIKE = 15
_OPSET_OF_AXES_INPUTS = {"ReduceSum": 13, "Squeeze": 13, "Unsqueeze": 13}
_EXACT_NUMPY_TYPES: dict[int, Any] = {TensorProto.FLOAT: np.float32, TensorProto.DOUBLE: np.float64}
_OPSET_OF_OTHER_AXES_INPUTS = 18
"""The first opset in which a reduction other than ReduceSum takes its axes as an input."""


class Body:
    """The body of one node's function.

    Values are referred to by name; the node's inputs have their formal names. Every method that writes nodes
    returns the name of the new value.
    """

    def __init__(self, node: TrainingNode) -> None:
        self.node = node
        self.opset = node.opset
        self.nodes: list[onnx.NodeProto] = []
        self._outermost = self.nodes
        self._results: dict[str, str] = {}
        self._taken = {*node.inputs, *node.outputs}
        self._dtypes: dict[str, int] = {}
        self._constants: dict[tuple[str, bytes], str] = {}

    def has(self, formal: str) -> bool:
        """Whether the node has this input or output."""
        return self.node.has(formal)

    def fresh(self, wish: str) -> str:
        """A value name that the body does not have yet."""
        name, number = wish, 0
        while name in self._taken:
            number += 1
            name = f"{wish}_{number}"
        self._taken.add(name)
        return name

    def op(self, op_type: str, *inputs: str, out: str | None = None, **attributes: Any) -> str:
        """Writes a node of the default domain with one output."""
        return self.ops(op_type, inputs, [out or op_type.lower()], **attributes)[0]

    def ops(self, op_type: str, inputs: Iterable[str], outs: Sequence[str], **attributes: Any) -> list[str]:
        """Writes a node of the default domain; `outs` are the wishes for the names of its outputs."""
        outputs = [self.fresh(out) if out else "" for out in outs]
        self.nodes.append(helper.make_node(op_type, list(inputs), outputs, **attributes))
        return outputs

    def constant(self, value: Any, dtype: Any = np.int64) -> str:
        """A constant tensor; the same one is written once."""
        array = np.asarray(value, dtype=dtype)
        key = (f"{array.dtype}{array.shape}", array.tobytes())
        if key not in self._constants:
            tensor = numpy_helper.from_array(array)
            name = self._constants[key] = self.fresh("constant")
            self._outermost.append(helper.make_node("Constant", [], [name], value=tensor))
        return self._constants[key]

    def dtype(self, value: str) -> int:
        """The `TensorProto.DataType` of an input of the node or of the result of a cast; else `UNDEFINED`."""
        return self._dtypes.get(value) or self.node.dtype(value)

    def cast(self, value: str, to: int) -> str:
        """A value in another element type."""
        result = self.op("Cast", value, to=to)
        self._dtypes[result] = to
        return result

    def cast_like(self, value: str, like: str) -> str:
        """A value with the element type of another one.

        Raises:
            NoBodyError: that type is not known, and the opset has no CastLike.
        """
        dtype = self.dtype(like)
        if dtype != TensorProto.UNDEFINED:
            return self.cast(value, dtype)
        if self.opset < _OPSET_OF_CAST_LIKE:
            raise NoBodyError(
                f"the element type of its input {like} is not known: run onnx.shape_inference first"
            )
        return self.op("CastLike", value, like, out="cast")

    def constant_like(self, value: Any, like: str) -> str:
        """A constant tensor with the element type of another value."""
        exact = _EXACT_NUMPY_TYPES.get(self.dtype(like))
        if exact is not None:
            return self.constant(value, exact)
        return self.cast_like(self.constant(value, np.float64), like)

    def cast_if_needed(self, value: str, source: int, target: int) -> str:
        """A value of one element type in another one."""
        return value if source == target else self.cast(value, target)

    def converted(self, value: str, like: str, source: str | None = None) -> str:
        """A value with the element type of another one; itself where it is known to have that.

        `source` has the element type of the value, where that has come out of nodes other than casts.
        """
        known = self.dtype(source or value)
        if known != TensorProto.UNDEFINED and known == self.dtype(like):
            return value
        return self.cast_like(value, like)

    def scalar(self, value: str) -> str:
        """A value of one element, without dimensions."""
        return self.op("Reshape", value, self.constant([]), out=value)

    @contextmanager
    def nested(self) -> Iterator[list[onnx.NodeProto]]:
        """What is written meanwhile goes to the list that is given, for a Loop; constants stay outside."""
        around, self.nodes = self.nodes, []
        try:
            yield self.nodes
        finally:
            self.nodes = around

    def with_axes(self, op_type: str, value: str, axes: Sequence[int], **attributes: Any) -> str:
        """Writes a Squeeze, an Unsqueeze or a reduction along axes that are known."""
        if self._axes_are_input(op_type):
            return self.op(op_type, value, self.constant(list(axes)), **attributes)
        return self.op(op_type, value, axes=list(axes), **attributes)

    def reduce_all(self, op_type: str, value: str, keepdims: int = 0) -> str:
        """Reduces a value along all its axes."""
        return self.op(op_type, value, keepdims=keepdims)

    def _axes_are_input(self, op_type: str) -> bool:
        return self.opset >= _OPSET_OF_AXES_INPUTS.get(op_type, _OPSET_OF_OTHER_AXES_INPUTS)

    def dimensions(self, value: str, axes: Sequence[int]) -> str:
        """The sizes of a value along some axes, as a 1-D tensor."""
        return self.op("Gather", self.shape(value), self.constant(list(axes)), out="sizes")

    def shape(self, value: str) -> str:
        """The shape of a value."""
        return self.op("Shape", value, out="shape")

    def slice(self, value: str, start: int, end: int, axis: int = 0, step: int = 1) -> str:
        """A slice along one axis."""
        return self.op(
            "Slice", *[value, *(self.constant([bound]) for bound in (start, end, axis, step))], out="slice"
        )

    def concat(self, *parts: str, axis: int = 0) -> str:
        """Several values one after the other."""
        return self.op("Concat", *parts, axis=axis)

    def result(self, formal: str, value: str) -> None:
        """Says which value an output is; an output that the node does not have is passed over."""
        if formal in self.node.outputs:
            self._results[formal] = value

    def finish(self) -> list[onnx.NodeProto]:
        """The nodes, with the results under the outputs' own names and without what no result needs."""
        renamed: dict[str, str] = {}
        for formal in self.node.outputs:
            value = self._results[formal]
            if value in self.node.inputs or value in renamed:
                self.nodes.append(helper.make_node("Identity", [value], [formal]))
            else:
                renamed[value] = formal
        needed = set(self.node.outputs)
        kept: list[onnx.NodeProto] = []
        for node in reversed(self.nodes):
            _rename(node, renamed)
            if needed.intersection(node.output):
                needed.update(node.input)
                needed.update(_captured(node))
                kept.append(node)
        return kept[::-1]


def _rename(node: onnx.NodeProto, renamed: dict[str, str]) -> None:
    for field in (node.input, node.output):
        for position, name in enumerate(field):
            if name in renamed:
                field[position] = renamed[name]
    for attribute in node.attribute:
        if attribute.HasField("g"):
            for inner in attribute.g.node:
                _rename(inner, renamed)


def _captured(node: onnx.NodeProto) -> set[str]:
    """The names that the bodies of a node read."""
    return {
        name
        for attribute in node.attribute
        if attribute.HasField("g")
        for inner in attribute.g.node
        for name in {*inner.input, *_captured(inner)}
    }
