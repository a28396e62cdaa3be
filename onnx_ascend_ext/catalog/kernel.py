"""What a kernel file says, as plain data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import onnx

DOMAIN = "onnx_ascend_ext"
"""The custom operator domain of every kernel node."""

DOMAIN_VERSION = 1
"""The only opset version of `DOMAIN`."""


@dataclass(frozen=True)
class ForeignAttribute:
    """A string attribute that tells which operator a foreign node is.

    Attributes:
        names: the attribute's accepted names; a node carries one of them.
        values: its accepted values.
        optional: whether a node may go without it.
    """

    names: tuple[str, ...]
    values: tuple[str, ...]
    optional: bool = False

    def accepts(self, attributes: Mapping[str, str]) -> bool:
        """Whether a node with these string attributes, by name, satisfies this one."""
        present = [attributes[name] for name in self.names if name in attributes]
        if not present:
            return self.optional
        return all(value in self.values for value in present)


@dataclass(frozen=True)
class ForeignNode:
    """An operator of another producer that computes the same as a kernel.

    Attributes:
        producer: who writes it, for reports.
        domain: its operator domain; "" is ONNX's own.
        op_type: its operator type.
        operands: the kernel's input names in the producer's operand order.
        attributes: what its string attributes must say; other attributes do not matter.
    """

    producer: str
    domain: str
    op_type: str
    operands: tuple[str, ...]
    attributes: tuple[ForeignAttribute, ...] = ()

    def accepts(self, attributes: Mapping[str, str]) -> bool:
        """Whether a node of this domain and type with these string attributes, by name, is this operator."""
        return all(wanted.accepts(attributes) for wanted in self.attributes)


@dataclass(frozen=True)
class AclnnBinding:
    """The aclnn kernel behind an operator.

    Attributes:
        symbol: C symbol of phase 2; phase 1 has `GetWorkspaceSize` appended.
        arguments: names of the kernel's inputs and outputs in the order of phase 1's tensors.
    """

    symbol: str
    arguments: tuple[str, ...]


@dataclass(frozen=True)
class Kernel:
    """One operator of `DOMAIN`.

    Attributes:
        name: operator type, the aclnn symbol without `aclnn`.
        summary: its definition in one sentence.
        inputs: names of its inputs in order.
        outputs: names of its outputs in order.
        opset: version of the default domain that `body` is written in.
        body: the nodes of its ONNX function body, in ONNX's text syntax.
        foreign: the operators of other producers that compute the same.
        aclnn: the device kernel.
    """

    name: str
    summary: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    opset: int
    body: str
    foreign: tuple[ForeignNode, ...]
    aclnn: AclnnBinding

    def function(self) -> onnx.FunctionProto:
        """The operator's ONNX function at `opset`, a new object at every call.

        Raises:
            onnx.parser.ParseError: `body` is not valid text; the catalog refuses such a file when it is read.
        """
        import onnx.parser

        signature = f"{self.name} ({', '.join(self.inputs)}) => ({', '.join(self.outputs)})"
        header = f'<domain: "{DOMAIN}", opset_import: ["": {self.opset}]>'
        function = onnx.parser.parse_function(f"{header} {signature} {{ {self.body} }}")
        function.doc_string = self.summary
        return function
