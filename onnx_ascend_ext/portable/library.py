"""The functions of `PORTABLE_DOMAIN` in one model."""

from __future__ import annotations

from collections.abc import Hashable

import onnx

from onnx_ascend_ext.catalog import PORTABLE_DOMAIN
from onnx_ascend_ext.portable.functions import make_function
from onnx_ascend_ext.portable.node import TrainingNode


class FunctionLibrary:
    """The functions that a model has or needs, each with a name of its own.

    Attributes:
        new: those that are to be added to the model.
    """

    def __init__(self, model: onnx.ModelProto) -> None:
        self.new: list[onnx.FunctionProto] = []
        self._by_content: dict[bytes, str] = {}
        self._by_node: dict[Hashable, str] = {}
        self._taken: set[str] = set()
        for function in model.functions:
            if function.domain == PORTABLE_DOMAIN:
                self._by_content[_content(function)] = function.name
                self._taken.add(function.name)

    def name_for(self, node: TrainingNode) -> str:
        """The name of the function that computes a node; it is made where there is none yet.

        Raises:
            NoBodyError: there is no body for this node.
        """
        key = _key(node)
        if key in self._by_node:
            return self._by_node[key]
        function = make_function(node)
        name = self._name(function)
        # A body that depends on shapes may differ for the next node with the same key.
        if not node.asked_shapes:
            self._by_node[key] = name
        return name

    def _name(self, function: onnx.FunctionProto) -> str:
        content = _content(function)
        if content not in self._by_content:
            function.name = _numbered(function.name, self._taken)
            self._taken.add(function.name)
            self._by_content[content] = function.name
            self.new.append(function)
        return self._by_content[content]


def _key(node: TrainingNode) -> Hashable:
    """Everything but shapes that a body may depend on."""
    formals = (*node.inputs, *node.outputs)
    return (
        node.operator.domain,
        node.operator.op_type,
        node.opset,
        len(node.inputs),
        len(node.proto.output),
        formals,
        tuple((node.dtype(formal), node.is_sequence(formal)) for formal in formals),
        tuple(sorted(attribute.SerializeToString() for attribute in node.proto.attribute)),
    )


def _content(function: onnx.FunctionProto) -> bytes:
    """What tells two functions apart: everything but the name."""
    plain = onnx.FunctionProto()
    plain.CopyFrom(function)
    plain.name = ""
    content: bytes = plain.SerializeToString(deterministic=True)
    return content


def _numbered(wish: str, taken: set[str]) -> str:
    number, name = 1, wish
    while name in taken:
        number += 1
        name = f"{wish}_{number}"
    return name
