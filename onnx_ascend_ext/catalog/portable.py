"""What a file of portable definitions says, as plain data.

A portable definition is an ONNX function body for an operator of ONNX Runtime's training builds that a stock
ONNX Runtime does not have and that no kernel of this package computes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

PORTABLE_DOMAIN = "onnx_ascend_ext.portable"
"""The custom domain of the functions that portable definitions become."""

PORTABLE_DOMAIN_VERSION = 1
"""The only opset version of `PORTABLE_DOMAIN`."""

AttributeValue: TypeAlias = "int | float | str | list[int] | list[float]"
"""The value of a node's attribute that a definition may depend on."""


@dataclass(frozen=True)
class PortableOperator:
    """One training-only operator and where its body comes from.

    Attributes:
        op_type: its operator type.
        domain: its operator domain; "" is ONNX's own.
        summary: its definition in one sentence.
        inputs: names of its inputs in order.
        optional_inputs: those of them that a node may leave out.
        variadic_input: whether the last input stands for one or more.
        outputs: names of its outputs in order; a node may leave out any of them.
        variadic_output: whether the last output stands for one or more.
        attributes: the attributes that the body depends on, with the default of each.
        opset: the oldest version of the default domain that the body can be written in.
        like: for each output that has the element type and the shape of an input, that input.
        in_place: for each input that the operator overwrites, the output that holds its new value instead.
        body: the nodes of the body in ONNX's text syntax, `@name` standing for an attribute; or None.
        builder: the function of `onnx_ascend_ext.portable` that makes the body for one node, as
            `module.function`; or None.
    """

    op_type: str
    domain: str
    summary: str
    inputs: tuple[str, ...]
    optional_inputs: frozenset[str]
    variadic_input: bool
    outputs: tuple[str, ...]
    variadic_output: bool
    attributes: Mapping[str, AttributeValue]
    opset: int
    like: Mapping[str, str]
    in_place: Mapping[str, str]
    body: str | None
    builder: str | None


@dataclass(frozen=True)
class UndefinedOperator:
    """A training-only operator that has no portable definition, and why."""

    op_type: str
    domain: str
    reason: str


@dataclass(frozen=True)
class PortableCatalog:
    """Every training-only operator that this package knows, by domain and operator type."""

    operators: Mapping[tuple[str, str], PortableOperator]
    undefined: Mapping[tuple[str, str], UndefinedOperator]
