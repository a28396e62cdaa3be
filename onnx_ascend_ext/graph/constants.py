"""Which values of a model are constants that every caller sees, and what number all their elements equal."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import prod
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from onnx import AttributeProto, TensorProto

from onnx_ascend_ext.graph.index import attributes_of
from onnx_ascend_ext.graph.number_formats import converted, exact, is_exact_in_floats
from onnx_ascend_ext.graph.tensors import elements, is_external, uniform_value
from onnx_ascend_ext.graph.view_shapes import view_shape

if TYPE_CHECKING:
    from fractions import Fraction

    from onnx import SparseTensorProto

    from onnx_ascend_ext.graph.index import ModelIndex
    from onnx_ascend_ext.graph.scope import Scope

# Nothing that is looked at element by element (axes, shapes) is longer.
_MAX_INTEGERS = 64
# A uniform tensor is recognised up to this size; a larger one is a weight.
_MAX_ELEMENTS = 1 << 22


class ShapeOf(NamedTuple):
    """The shape of a value, as a term of an `Extent`."""

    scope: Scope
    name: str


Dims: TypeAlias = "tuple[int, ...]"
Extent: TypeAlias = "frozenset[Dims | ShapeOf]"
"""A shape as the broadcast of known shapes and of shapes of values."""

SCALAR: Extent = frozenset()


@dataclass(frozen=True)
class UniformConstant:
    """A value whose elements all equal one number.

    Attributes:
        value: the number.
        element_type: its `TensorProto.DataType`; 0 when it is taken from a value whose type is not known.
        extent: its shape.
        variable: why the value cannot be relied on, as a sentence about it, or "" when it can.
    """

    value: int | Fraction
    element_type: int
    extent: Extent
    variable: str = ""


class Constants:
    """Answers for the constants of one model, each found out once.

    An initializer that is also a graph input can be overridden by a caller, so it is no constant. Before
    IR version 4 every initializer had to be an input; there the format gives no way to tell one that is
    meant to be overridden, ONNX Runtime lets none be, and so all of them count as constants.
    """

    def __init__(self, index: ModelIndex) -> None:
        self._index = index
        self._uniform: dict[tuple[Scope, str], UniformConstant | None] = {}

    def uniform(self, scope: Scope, name: str) -> UniformConstant | None:
        """The constant that `name` means in `scope`, or None when it is not a uniform one.

        Args:
            scope: the scope that defines the value itself; see `Scope.find`.
            name: the value's name.
        """
        memo = self._uniform
        chain: list[tuple[Scope, str, int]] = []
        found: UniformConstant | None = None
        walked: set[tuple[Scope, str]] = set()
        while True:
            key = (scope, name)
            if key in memo:
                found = memo[key]
                break
            index = scope.producer.get(name)
            if index is None:
                found = memo[key] = self._stored(scope, name)
                break
            if scope.domains[index] or scope.outputs[index][0] != name:
                memo[key] = None
                break
            op_type = scope.op_types[index]
            if op_type == "Constant":
                found = memo[key] = _constant_node(scope, index)
                break
            if op_type == "ConstantOfShape":
                found = memo[key] = self._constant_of_shape(scope, index)
                break
            source = scope.inputs[index][0] if op_type in FOLLOWED and scope.inputs[index] else ""
            owner = scope.find(source) if source else None
            if owner is None or key in walked:
                memo[key] = None
                break
            walked.add(key)
            chain.append((scope, name, index))
            scope, name = owner, source
        for step_scope, step_name, index in reversed(chain):
            found = self._passed(step_scope, index, found) if found is not None else None
            memo[step_scope, step_name] = found
        return found

    def integers(self, scope: Scope, name: str) -> tuple[int, ...] | None:
        """The elements of a short constant vector of integers, such as axes or a shape, or None."""
        for _ in range(_MAX_INTEGERS):
            owner = scope.find(name)
            if owner is None:
                return None
            scope = owner
            index = scope.producer.get(name)
            if index is None:
                tensor = scope.initializers.get(name)
                if tensor is None or self._variable(scope, name):
                    return None
                return _integers(tensor)
            if scope.domains[index]:
                return None
            if scope.op_types[index] == "Constant":
                return _constant_integers(scope, index)
            if scope.op_types[index] != "Identity" or not scope.inputs[index]:
                return None
            name = scope.inputs[index][0]
        return None

    def shape_source(self, scope: Scope, name: str) -> ShapeOf | None:
        """The value whose whole shape the vector `name` holds, or None."""
        for _ in range(_MAX_INTEGERS):
            owner = scope.find(name)
            index = owner.producer.get(name) if owner is not None else None
            if owner is None or index is None or owner.domains[index] or not owner.inputs[index]:
                return None
            source = owner.inputs[index][0]
            scope, name = owner, source
            if owner.op_types[index] == "Shape":
                if owner.nodes[index].attribute:
                    return None
                of = owner.find(source)
                return ShapeOf(of, source) if of is not None else None
            if owner.op_types[index] not in ("Identity", "Cast"):
                return None
        return None

    def _variable(self, scope: Scope, name: str) -> str:
        if name in scope.input_set and self._index.ir_version >= 4:
            return f"`{name}` can be overridden by a caller"
        if name in self._index.variable and scope.kind in ("main", "training"):
            return f"`{name}` is changed by training"
        return ""

    def _stored(self, scope: Scope, name: str) -> UniformConstant | None:
        tensor = scope.initializers.get(name)
        if tensor is not None and is_external(tensor):
            return _from_external(tensor)
        if tensor is not None:
            found = _from_tensor(tensor)
        elif name in scope.sparse_initializers:
            sparse = next(t for t in scope.container.sparse_initializer if t.values.name == name)
            found = _from_sparse(sparse)
        else:
            return None
        variable = self._variable(scope, name)
        return replace(found, variable=variable) if found is not None and variable else found

    def _constant_of_shape(self, scope: Scope, index: int) -> UniformConstant | None:
        attribute = attributes_of(scope, index).get("value")
        if not scope.inputs[index] or (attribute is not None and attribute.ref_attr_name):
            return None
        extent = self._target(scope, index, scope.inputs[index][0])
        if attribute is None:
            return UniformConstant(0, TensorProto.FLOAT, extent)
        found = _from_tensor(attribute.t)
        return replace(found, extent=extent) if found is not None else None

    def _target(self, scope: Scope, index: int, shape: str) -> Extent:
        """The extent that a vector of dimensions stands for."""
        dims = self.integers(scope, shape)
        if dims is not None and all(dim >= 0 for dim in dims):
            return frozenset({dims})
        source = self.shape_source(scope, shape)
        return frozenset({source if source is not None else ShapeOf(scope, scope.outputs[index][0])})

    def _passed(self, scope: Scope, index: int, constant: UniformConstant) -> UniformConstant | None:
        """What a node makes of the constant that is its first input."""
        op_type = scope.op_types[index]
        inputs = scope.inputs[index]
        if op_type == "Identity":
            return constant
        if op_type == "Cast":
            attribute = attributes_of(scope, index).get("to")
            if attribute is None or attribute.ref_attr_name:
                return None
            value = converted(constant.value, attribute.i)
            return None if value is None else replace(constant, value=value, element_type=attribute.i)
        if op_type == "CastLike":
            # The target's type may be unknown, so the number must be exact in every one.
            value = constant.value
            if not is_exact_in_floats(value) or converted(value, TensorProto.INT8) != value:
                return None
            return replace(constant, element_type=0)
        if op_type == "Expand":
            if len(inputs) < 2:
                return None
            return replace(constant, extent=constant.extent | self._target(scope, index, inputs[1]))
        return replace(constant, extent=self._viewed(scope, index, constant.extent))

    def _viewed(self, scope: Scope, index: int, extent: Extent) -> Extent:
        terms = list(extent) or [()]
        known = terms[0] if len(terms) == 1 and not isinstance(terms[0], ShapeOf) else None
        shape = view_shape(self, scope, index, known)
        if shape is not None:
            dims = tuple([dim for dim in shape if isinstance(dim, int)])
            if len(dims) == len(shape):
                return _extent(dims)
        if scope.op_types[index] == "Reshape" and len(scope.inputs[index]) > 1:
            return self._target(scope, index, scope.inputs[index][1])
        return frozenset({ShapeOf(scope, scope.outputs[index][0])})

    def axes(self, scope: Scope, index: int) -> tuple[int, ...] | None:
        """The axes of an Unsqueeze or Squeeze, an attribute before opset 13 and an input since, or None."""
        if len(scope.inputs[index]) > 1 and scope.inputs[index][1]:
            return self.integers(scope, scope.inputs[index][1])
        attribute = attributes_of(scope, index).get("axes")
        return None if attribute is None or attribute.ref_attr_name else tuple(attribute.ints)


FOLLOWED = frozenset(
    {"Identity", "Cast", "CastLike", "Expand", "Reshape", "Unsqueeze", "Squeeze", "Transpose", "Flatten"}
)
"""Operators whose result is a constant where their first input is one."""


def _extent(dims: Dims) -> Extent:
    return frozenset({dims}) if dims else SCALAR


def _from_tensor(tensor: TensorProto) -> UniformConstant | None:
    dims = tuple(tensor.dims)
    if prod(dims) > _MAX_ELEMENTS or is_external(tensor):
        return None
    value = uniform_value(tensor)
    return None if value is None else UniformConstant(value, tensor.data_type, _extent(dims))


def _from_external(tensor: TensorProto) -> UniformConstant | None:
    """A single number in another file, which is not read; a gradient could only need a one."""
    if prod(tensor.dims) != 1:
        return None
    reason = f"`{tensor.name}` lies in an external file, which is not read for its value"
    return UniformConstant(1, tensor.data_type, _extent(tuple(tensor.dims)), reason)


def _from_sparse(sparse: SparseTensorProto) -> UniformConstant | None:
    dims = tuple(sparse.dims)
    size = prod(dims)
    stored = sparse.values.dims[0] if sparse.values.dims else 0
    if not stored and size:
        return UniformConstant(0, sparse.values.data_type, _extent(dims))
    value = uniform_value(sparse.values) if size <= _MAX_ELEMENTS else None
    if value is None or (stored < size and value != 0):
        return None
    return UniformConstant(value, sparse.values.data_type, _extent(dims))


def _constant_attribute(scope: Scope, index: int) -> AttributeProto | None:
    attributes = scope.nodes[index].attribute
    return attributes[0] if len(attributes) == 1 and not attributes[0].ref_attr_name else None


def _constant_node(scope: Scope, index: int) -> UniformConstant | None:
    attribute = _constant_attribute(scope, index)
    if attribute is None:
        return None
    if attribute.name == "value":
        return _from_tensor(attribute.t)
    if attribute.name == "sparse_value":
        return _from_sparse(attribute.sparse_tensor)
    if attribute.name in ("value_float", "value_floats"):
        numbers = [attribute.f] if attribute.name == "value_float" else list(attribute.floats)
        kind = TensorProto.FLOAT
    elif attribute.name in ("value_int", "value_ints"):
        numbers = [attribute.i] if attribute.name == "value_int" else list(attribute.ints)
        kind = TensorProto.INT64
    else:
        return None
    if not numbers or any(number != numbers[0] for number in numbers):
        return None
    value = exact(numbers[0])
    dims = (len(numbers),) if attribute.name.endswith("s") else ()
    return None if value is None else UniformConstant(value, kind, _extent(dims))


def _integers(tensor: TensorProto) -> tuple[int, ...] | None:
    if tensor.data_type not in (TensorProto.INT64, TensorProto.INT32) or len(tensor.dims) > 1:
        return None
    if tensor.dims and tensor.dims[0] > _MAX_INTEGERS:
        return None
    found = elements(tensor)
    return None if found is None else tuple(int(element) for element in found)


def _constant_integers(scope: Scope, index: int) -> tuple[int, ...] | None:
    attribute = _constant_attribute(scope, index)
    if attribute is None:
        return None
    if attribute.name == "value":
        return _integers(attribute.t)
    if attribute.name == "value_ints":
        return tuple(attribute.ints)
    return (attribute.i,) if attribute.name == "value_int" else None
