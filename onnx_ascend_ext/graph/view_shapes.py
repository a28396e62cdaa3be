"""The shapes that views make of shapes."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Protocol, TypeAlias

from onnx_ascend_ext.graph.index import attributes_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from onnx_ascend_ext.graph.scope import Scope

Dim: TypeAlias = "int | str | None"
"""A dimension: its size, the name of a symbolic one, or None where nothing is known."""

Shape: TypeAlias = "tuple[Dim, ...]"


class KnownIntegers(Protocol):
    """What is known of the integers that views take as inputs."""

    def integers(self, scope: Scope, name: str) -> tuple[int, ...] | None:
        """The elements of a constant vector, or None."""

    def axes(self, scope: Scope, index: int) -> tuple[int, ...] | None:
        """The axes of a Squeeze or Unsqueeze node, or None where they are not known."""


def view_shape(known: KnownIntegers, scope: Scope, index: int, shape: Shape | None) -> Shape | None:
    """The shape of a view's result, or None when not even its rank is known.

    Args:
        known: for axes and shapes that are inputs.
        scope: where the node lies.
        index: a node whose operator is in `operators.VIEWS`.
        shape: the shape of its first input, None where that is not known.
    """
    op_type, inputs = scope.op_types[index], scope.inputs[index]
    if op_type in ("Reshape", "Expand"):
        dims = known.integers(scope, inputs[1]) if len(inputs) > 1 else None
        if dims is None:
            return None
        if op_type == "Reshape":
            return _reshaped(scope, index, shape, dims)
        return None if shape is None else broadcast([shape, dims])
    if op_type == "Flatten":
        return _flattened(scope, index, shape)
    if shape is None:
        return None
    if op_type == "Transpose":
        attribute = attributes_of(scope, index).get("perm")
        order: Sequence[int] = attribute.ints if attribute is not None else range(len(shape))[::-1]
        if sorted(order) != list(range(len(shape))):
            return None
        return tuple(shape[axis] for axis in order)
    axes = known.axes(scope, index)
    return _squeezed(scope, index, shape, axes) if op_type == "Squeeze" else _unsqueezed(shape, axes)


def broadcast(shapes: Sequence[Shape | None]) -> Shape | None:
    """The shape that some shapes broadcast to, or None when a rank is not known."""
    known: list[Shape] = []
    for shape in shapes:
        if shape is None:
            return None
        known.append(shape)
    rank = max(map(len, known), default=0)
    result: list[Dim] = []
    for axis in range(-rank, 0):
        dims = {shape[axis] for shape in known if len(shape) >= -axis} - {1}
        fixed = [dim for dim in dims if isinstance(dim, int)]
        if not dims:
            result.append(1)
        elif fixed:
            result.append(fixed[0])
        else:
            result.append(dims.pop() if len(dims) == 1 else None)
    return tuple(result)


def _size(dims: Sequence[Dim]) -> Dim:
    """The product of some dimensions."""
    factors = [dim for dim in dims if dim != 1]
    known = [dim for dim in factors if isinstance(dim, int)]
    if len(known) == len(factors):
        return prod(known)
    return factors[0] if len(factors) == 1 else None


def _reshaped(scope: Scope, index: int, shape: Shape | None, dims: tuple[int, ...]) -> Shape:
    attribute = attributes_of(scope, index).get("allowzero")
    keeps_zeros = attribute is not None and attribute.i
    result: list[Dim] = [dim if dim >= 0 else None for dim in dims]
    for axis, dim in enumerate(dims):
        if dim == 0 and not keeps_zeros:
            result[axis] = shape[axis] if shape is not None and axis < len(shape) else None
    if shape is not None and -1 in dims:
        rest = dims.index(-1)
        size, others = _size(shape), _size(result[:rest] + result[rest + 1 :])
        if isinstance(size, int) and isinstance(others, int) and others and not size % others:
            result[rest] = size // others
    return tuple(result)


def _flattened(scope: Scope, index: int, shape: Shape | None) -> Shape:
    attribute = attributes_of(scope, index).get("axis")
    axis = 1 if attribute is None else attribute.i
    if shape is None or (attribute is not None and attribute.ref_attr_name):
        return (None, None)
    axis = axis + len(shape) if axis < 0 else axis
    return _size(shape[:axis]), _size(shape[axis:])


def _squeezed(scope: Scope, index: int, shape: Shape, axes: Sequence[int] | None) -> Shape | None:
    if axes is None:
        inputs = scope.inputs[index]
        given = (len(inputs) > 1 and inputs[1]) or "axes" in attributes_of(scope, index)
        known = all(isinstance(dim, int) for dim in shape)
        return tuple(dim for dim in shape if dim != 1) if known and not given else None
    dropped = {axis % len(shape) for axis in axes if -len(shape) <= axis < len(shape)}
    return tuple(dim for axis, dim in enumerate(shape) if axis not in dropped)


def _unsqueezed(shape: Shape, axes: Sequence[int] | None) -> Shape | None:
    if axes is None:
        return None
    rank = len(shape) + len(axes)
    added = {axis + rank if axis < 0 else axis for axis in axes}
    rest = iter(shape)
    return tuple(1 if axis in added else next(rest, None) for axis in range(rank))
