"""Element types of values as far as a model states them."""

from __future__ import annotations

from onnx import TensorProto, helper

from onnx_ascend_ext.graph import Scope
from onnx_ascend_ext.matching import Site

_ONE_TYPE_THROUGHOUT = frozenset({"Add", "Div", "Mul", "Neg", "Sub", "Sum"})


def element_type(site: Site) -> int:
    """The `TensorProto.DataType` of a site's result, `UNDEFINED` where the model does not state it.

    A kernel node and the arithmetic that it replaces have one element type throughout, so that any of their
    values tells it, unless a Cast lies between.
    """
    scope = site.scope
    views = site.views or ((),) * len(site.operands)
    for operand, chain in zip(site.operands, views, strict=True):
        casts = [node for node in chain if scope.op_types[node] == "Cast"]
        found = (
            helper.get_node_attr_value(scope.nodes[casts[-1]], "to") if casts else stated_type(scope, operand)
        )
        if found != TensorProto.UNDEFINED:
            return int(found)
    if any(scope.op_types[node].startswith("Cast") for node in site.covered):
        return TensorProto.UNDEFINED
    for node in site.covered:
        if scope.op_types[node] in _ONE_TYPE_THROUGHOUT:
            for name in (*scope.outputs[node], *scope.inputs[node]):
                if (found := stated_type(scope, name)) != TensorProto.UNDEFINED:
                    return found
    return TensorProto.UNDEFINED


def stated_type(scope: Scope, name: str) -> int:
    """The element type that the model declares or stores for a value, else `UNDEFINED`."""
    place = scope.find(name)
    if place is None:
        return TensorProto.UNDEFINED
    if name in place.declared:
        return int(place.declared[name].type.tensor_type.elem_type)
    if name in place.initializers:
        return int(place.initializers[name].data_type)
    producer = place.producer.get(name)
    if producer is not None and place.op_types[producer] == "Constant" and not place.domains[producer]:
        for attribute in place.nodes[producer].attribute:
            if attribute.name == "value":
                return int(attribute.t.data_type)
            if attribute.name in ("value_float", "value_floats"):
                return int(TensorProto.FLOAT)
    return TensorProto.UNDEFINED
