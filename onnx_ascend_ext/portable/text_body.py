"""Writes a body that a definition gives as text."""

from __future__ import annotations

import re

import onnx.parser

from onnx_ascend_ext.portable.body import Body

_OPSET_OF_THE_TEXTS = 15
_REFERENCE = re.compile(r"@([A-Za-z_][A-Za-z0-9_]*)")


def write_text(body: Body, text: str) -> None:
    """Writes a text into a body: `@name` is the node's attribute, and CastLike is fitted to the opset.

    Args:
        body: the body, still empty.
        text: nodes in ONNX's text syntax; the second operand of CastLike is one of the node's inputs.

    Raises:
        NoBodyError: an attribute is no number, or an element type that the opset needs is not known.
        onnx.parser.ParseError: the text is not valid.
    """
    node = body.node
    filled = _REFERENCE.sub(lambda found: repr(node.number(found[1])), text)
    signature = f"f ({', '.join(node.operator.inputs)}) => ({', '.join(node.operator.outputs)})"
    header = f'<domain: "portable", opset_import: ["": {_OPSET_OF_THE_TEXTS}]>'
    function = onnx.parser.parse_function(f"{header} {signature} {{ {filled} }}")
    for written in function.node:
        if written.op_type == "CastLike":
            value, like = written.input
            body.nodes.append(_cast(body, value, like, written.output[0]))
        else:
            body.nodes.append(written)
    for output in function.output:
        body.result(output, output)


def _cast(body: Body, value: str, like: str, result: str) -> onnx.NodeProto:
    body.cast_like(value, like)
    node = body.nodes.pop()
    node.output[0] = result
    return node
