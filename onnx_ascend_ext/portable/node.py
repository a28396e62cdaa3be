"""One training-only node as its definition sees it: formal names, attributes, and what is known of types."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
import onnx
from onnx import TensorProto, helper

from onnx_ascend_ext.catalog import AttributeValue, PortableOperator
from onnx_ascend_ext.portable.errors import NoBodyError
from onnx_ascend_ext.portable.value_types import ValueType

FindType = Callable[[str, bool], ValueType | None]
"""Finds what is known of the type of a value; with its shape, where the flag is set."""


@dataclass(frozen=True)
class TrainingNode:
    """A node of a training-only operator.

    Attributes:
        operator: its definition.
        proto: the node.
        opset: the version of the default domain that its body is written in.
        inputs: for each formal input that is present, the value; a variadic one is numbered, `inputs_0` and
            on.
        outputs: the same for the outputs.
        find_type: finds what is known of the type of a value; with its shape, where the flag is set.
        asked_shapes: the formals whose shape was asked for.
    """

    operator: PortableOperator
    proto: onnx.NodeProto
    opset: int
    inputs: dict[str, str]
    outputs: dict[str, str]
    find_type: FindType
    asked_shapes: set[str] = field(default_factory=set)

    def has(self, formal: str) -> bool:
        """Whether the node has this input or output."""
        return formal in self.inputs or formal in self.outputs

    def variadic(self, formal: str) -> list[str]:
        """The numbered formals of a variadic input or output, those that are present."""
        prefix = f"{formal}_"
        return [name for name in (*self.inputs, *self.outputs) if name.startswith(prefix)]

    def attribute(self, name: str) -> AttributeValue:
        """The value of an attribute, the definition's default where the node has none.

        Raises:
            NoBodyError: it refers to an attribute of the function that the node is part of.
        """
        for attribute in self.proto.attribute:
            if attribute.name == name:
                if attribute.ref_attr_name:
                    raise NoBodyError(
                        f"its attribute {name} is one of the function around it: inline that function first"
                    )
                value = helper.get_attribute_value(attribute)
                if isinstance(value, bytes):
                    return value.decode("utf-8", errors="replace")
                return list(value) if isinstance(value, Sequence) and not isinstance(value, str) else value
        return self.operator.attributes[name]

    def integer(self, name: str) -> int:
        """An attribute that is a whole number."""
        value = self.attribute(name)
        if not isinstance(value, int):
            raise NoBodyError(f"its attribute {name} is not a whole number")
        return value

    def number(self, name: str) -> float:
        """An attribute that is a number, which ONNX rounds to float32."""
        value = self.attribute(name)
        if not isinstance(value, int | float):
            raise NoBodyError(f"its attribute {name} is not a number")
        return float(np.float32(value))

    def text(self, name: str) -> str:
        """An attribute that is a text."""
        value = self.attribute(name)
        if not isinstance(value, str):
            raise NoBodyError(f"its attribute {name} is not a text")
        return value

    def integers(self, name: str) -> list[int]:
        """An attribute that is a list of whole numbers."""
        value = self.attribute(name)
        if not isinstance(value, list) or not all(isinstance(item, int) for item in value):
            raise NoBodyError(f"its attribute {name} is not a list of whole numbers")
        return [int(item) for item in value]

    def type(self, formal: str, *, with_shape: bool = False) -> ValueType | None:
        """What is known of the type of an input or output."""
        value = self.inputs.get(formal) or self.outputs.get(formal)
        return self.find_type(value, with_shape) if value else None

    def dtype(self, formal: str) -> int:
        """The `TensorProto.DataType` of an input or output, `UNDEFINED` where it is not known."""
        known = self.type(formal)
        return known.dtype if known else TensorProto.UNDEFINED

    def shape(self, formal: str) -> list[int | None] | None:
        """The dimensions of an input or output, None for those that are no numbers; None where not known."""
        self.asked_shapes.add(formal)
        known = self.type(formal, with_shape=True)
        return known.shape if known else None

    def is_sequence(self, formal: str) -> bool:
        """Whether an input or output is known to be a sequence of tensors."""
        known = self.type(formal)
        return known is not None and known.sequence


def bind(operator: PortableOperator, proto: onnx.NodeProto, opset: int, find_type: FindType) -> TrainingNode:
    """A node under its definition's formal names.

    Raises:
        NoBodyError: the node has not the operator's inputs and outputs.
    """
    inputs = _bound(operator.inputs, proto.input, operator.variadic_input, "inputs")
    outputs = _bound(operator.outputs, proto.output, operator.variadic_output, "outputs")
    for formal in operator.inputs:
        required = formal not in operator.optional_inputs
        if (
            required
            and formal not in inputs
            and not (operator.variadic_input and formal == operator.inputs[-1])
        ):
            raise NoBodyError(f"its input {formal} is missing")
    if not outputs:
        raise NoBodyError("it has no output")
    return TrainingNode(operator, proto, opset, inputs, outputs, find_type)


def _bound(formals: Sequence[str], names: Sequence[str], variadic: bool, what: str) -> dict[str, str]:
    single = len(formals) - 1 if variadic else len(formals)
    if len(names) > single and not variadic and any(names[single:]):
        raise NoBodyError(f"it has {len(names)} {what}, the operator has {len(formals)}")
    bound = {formal: name for formal, name in zip(formals[:single], names, strict=False) if name}
    if variadic:
        rest = enumerate(names[single:])
        bound.update({f"{formals[-1]}_{position}": name for position, name in rest if name})
    return bound
