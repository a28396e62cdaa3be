"""What a view does to its input, told apart by its parameters and not by its node."""

from __future__ import annotations

from typing import TYPE_CHECKING

from onnx_ascend_ext.graph import ShapeOf, attributes_of

if TYPE_CHECKING:
    from collections.abc import Hashable

    from onnx_ascend_ext.graph import Constants, Scope


def view_key(constants: Constants, scope: Scope, index: int) -> Hashable:
    """A key that two views share when they arrange inputs of one shape in the same way.

    Args:
        constants: the model's constants, for axes and shapes that are inputs.
        scope: where the node lies.
        index: a node whose operator is in `graph.operators.VIEWS`.
    """
    op_type, inputs = scope.op_types[index], scope.inputs[index]
    attributes = attributes_of(scope, index)
    if any(attribute.ref_attr_name for attribute in attributes.values()):
        return op_type, scope, index
    if op_type == "Transpose":
        return op_type, tuple(attributes["perm"].ints) if "perm" in attributes else None
    if op_type == "Flatten":
        return op_type, attributes["axis"].i if "axis" in attributes else 1
    if op_type in ("Unsqueeze", "Squeeze"):
        axes = constants.axes(scope, index)
        if axes is not None:
            return op_type, tuple(sorted(axes))
        if len(inputs) < 2 or not inputs[1]:
            return op_type, None
    if len(inputs) < 2:  # Reshape before opset 5
        return op_type, scope, index
    zero = attributes["allowzero"].i if "allowzero" in attributes else 0
    dims = constants.integers(scope, inputs[1])
    if dims is not None:
        return op_type, dims, zero
    source = constants.shape_source(scope, inputs[1])
    if source is not None:
        return op_type, source, zero
    owner = scope.find(inputs[1])
    return op_type, ShapeOf(owner or scope, inputs[1]), zero
