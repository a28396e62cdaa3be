"""Element types of sites."""

from __future__ import annotations

from onnx import TensorProto, helper

from onnx_ascend_ext.graph import Scope, Types
from onnx_ascend_ext.matching import Site

_ONE_TYPE_THROUGHOUT = frozenset({"Add", "Div", "Mul", "Neg", "Sub", "Sum"})


def element_type(site: Site, types: Types) -> int:
    """The `TensorProto.DataType` of a site's kernel node and result, `UNDEFINED` where it is not known.

    A kernel node and the arithmetic that it replaces have one element type throughout, so that any of their
    values tells it, unless a Cast lies between.
    """
    scope = site.scope
    views = site.views or ((),) * len(site.operands)
    for operand, chain in zip(site.operands, views, strict=True):
        casts = [node for node in chain if scope.op_types[node] == "Cast"]
        if casts:
            return int(helper.get_node_attr_value(scope.nodes[casts[-1]], "to"))
        if found := _known(types, scope, operand):
            return found
    if any(scope.op_types[node].startswith("Cast") for node in site.covered):
        return TensorProto.UNDEFINED
    for node in site.covered:
        if scope.op_types[node] in _ONE_TYPE_THROUGHOUT:
            for name in (*scope.outputs[node], *scope.inputs[node]):
                if found := _known(types, scope, name):
                    return found
    return TensorProto.UNDEFINED


def _known(types: Types, scope: Scope, name: str) -> int:
    owner = scope.find(name)
    return types.element_type(owner, name) if owner else TensorProto.UNDEFINED
