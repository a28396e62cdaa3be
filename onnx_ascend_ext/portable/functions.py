"""Makes the function of a training-only node from its definition."""

from __future__ import annotations

import importlib
from collections.abc import Callable

import onnx
from onnx import helper

from onnx_ascend_ext.catalog import PORTABLE_DOMAIN, PortableOperator
from onnx_ascend_ext.errors import CatalogError
from onnx_ascend_ext.portable.body import Body
from onnx_ascend_ext.portable.errors import NoBodyError
from onnx_ascend_ext.portable.node import TrainingNode
from onnx_ascend_ext.portable.text_body import write_text


def make_function(node: TrainingNode) -> onnx.FunctionProto:
    """The function that computes what a training-only node computes, in `PORTABLE_DOMAIN`.

    Its inputs and outputs are those that the node has, under their formal names; its name is the operator
    type.

    Raises:
        NoBodyError: there is no body for this node; the message is the reason and what to do.
    """
    operator = node.operator
    if node.opset < operator.opset:
        raise NoBodyError(
            f"its body needs opset {operator.opset} or newer and the model is at {node.opset}: export the "
            "forward model at a newer opset"
        )
    body = Body(node)
    if operator.body is not None:
        write_text(body, operator.body)
    else:
        builder(operator)(body)
    return helper.make_function(
        PORTABLE_DOMAIN,
        operator.op_type,
        list(node.inputs),
        list(node.outputs),
        body.finish(),
        [helper.make_opsetid("", node.opset)],
        doc_string=operator.summary,
    )


def builder(operator: PortableOperator) -> Callable[[Body], None]:
    """The function that writes an operator's body.

    Raises:
        CatalogError: the definition names one that does not exist.
    """
    module, _, name = (operator.builder or "").partition(".")
    try:
        found = getattr(importlib.import_module(f"onnx_ascend_ext.portable.{module}"), name)
    except (ImportError, AttributeError) as error:
        raise CatalogError(
            f"{operator.domain}::{operator.op_type}: builder: there is no {operator.builder} in "
            "onnx_ascend_ext.portable; correct the name"
        ) from error
    return found  # type: ignore[no-any-return]
