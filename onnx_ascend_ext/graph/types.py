"""Element types and shapes of values, as far as they follow from the operators or are declared."""

from __future__ import annotations

from typing import TYPE_CHECKING

from onnx import TensorProto

from onnx_ascend_ext.graph.constants import Constants, ShapeOf
from onnx_ascend_ext.graph.index import attributes_of
from onnx_ascend_ext.graph.operators import BROADCAST, ELEMENTWISE, REDUCTIONS, SAME_RANK, SAME_TYPE, VIEWS
from onnx_ascend_ext.graph.view_shapes import broadcast, view_shape

if TYPE_CHECKING:
    from onnx import TypeProto

    from onnx_ascend_ext.graph.index import ModelIndex
    from onnx_ascend_ext.graph.scope import Scope
    from onnx_ascend_ext.graph.view_shapes import Shape


class Types:
    """Answers for the values of one model, each found out once.

    What follows from the operators is preferred to `value_info`, which may be stale.
    """

    def __init__(self, index: ModelIndex, constants: Constants) -> None:
        self._index = index
        self._constants = constants
        self._element_types: dict[tuple[Scope, str], int] = {}
        self._shapes: dict[tuple[Scope, str], Shape | None] = {}

    def element_type(self, scope: Scope, name: str) -> int:
        """The `TensorProto.DataType` of a value that `scope` defines, 0 when it is not known."""
        memo = self._element_types
        chain: list[tuple[Scope, str]] = []
        seen: set[tuple[Scope, str]] = set()
        while (scope, name) not in memo and (scope, name) not in seen:
            seen.add((scope, name))
            chain.append((scope, name))
            index = scope.producer.get(name)
            if index is None:
                memo[scope, name] = _declared_type(scope, name)
                break
            known, source = self._type_of_output(scope, index, name)
            owner = scope.find(source) if source else None
            if owner is None:
                memo[scope, name] = known or _declared_type(scope, name)
                break
            scope, name = owner, source
        found = memo.get((scope, name), 0)
        for step_scope, step_name in reversed(chain):
            found = found or _declared_type(step_scope, step_name)
            memo[step_scope, step_name] = found
        return found

    def _type_of_output(self, scope: Scope, index: int, name: str) -> tuple[int, str]:
        """The element type of a node's output, or else the value whose type it has."""
        inputs = scope.inputs[index]
        op_type = scope.op_types[index]
        if scope.domains[index] or scope.outputs[index][0] != name:
            return 0, ""
        if op_type in ("Cast", "ConstantOfShape"):
            attributes = attributes_of(scope, index)
            if op_type == "Cast":
                attribute = attributes.get("to")
                return (attribute.i if attribute is not None and not attribute.ref_attr_name else 0), ""
            attribute = attributes.get("value")
            return (attribute.t.data_type if attribute is not None else TensorProto.FLOAT), ""
        if op_type == "Constant":
            constant = self._constants.uniform(scope, name)
            if constant is not None:
                return constant.element_type, ""
            attribute = attributes_of(scope, index).get("value")
            return (attribute.t.data_type if attribute is not None else 0), ""
        if op_type in ("Shape", "Size"):
            return TensorProto.INT64, ""
        if op_type in ("CastLike", "Where") and len(inputs) > 1:
            return 0, inputs[1]
        if op_type in BROADCAST - {"Pow"} and inputs:
            # All operands have one type; that of a stored or declared value is certain.
            return 0, next((source for source in inputs if _is_stored(scope, source)), inputs[0])
        if op_type in SAME_TYPE and inputs:
            return 0, inputs[0]
        return 0, ""

    def shape(self, scope: Scope, name: str) -> Shape | None:
        """The shape of a value that `scope` defines, or None when not even its rank is known."""
        memo = self._shapes
        pending = [(scope, name)]
        open_: set[tuple[Scope, str]] = set()
        while pending:
            key = pending[-1]
            if key in memo:
                pending.pop()
                continue
            current, value = key
            needed = [] if key in open_ else self._shape_sources(current, value)
            missing = [source for source in needed if source not in memo and source not in open_]
            open_.add(key)
            if missing:
                pending.extend(missing)
                continue
            pending.pop()
            found = self._shape_of(current, value)
            memo[key] = found if found is not None else _declared_shape(current, value)
        return memo[scope, name]

    def _shape_sources(self, scope: Scope, name: str) -> list[tuple[Scope, str]]:
        index = scope.producer.get(name)
        if index is None or scope.domains[index]:
            return []
        op_type, inputs = scope.op_types[index], scope.inputs[index]
        if op_type in BROADCAST or op_type in ("MatMul", "Gemm", "Where"):
            names = [source for source in inputs if source]
        elif op_type in ELEMENTWISE or op_type in SAME_RANK or op_type in REDUCTIONS or op_type in VIEWS:
            names = list(inputs[:1])
        else:
            names = []
        owners = [(scope.find(source), source) for source in names]
        return [(owner, source) for owner, source in owners if owner is not None]

    def _known(self, scope: Scope, name: str) -> Shape | None:
        owner = scope.find(name)
        return None if owner is None else self._shapes.get((owner, name))

    def _shape_of(self, scope: Scope, name: str) -> Shape | None:
        """The shape of a value whose sources have been looked up."""
        index = scope.producer.get(name)
        if index is None:
            tensor = scope.initializers.get(name)
            return tuple(tensor.dims) if tensor is not None else None
        op_type, inputs = scope.op_types[index], scope.inputs[index]
        first = scope.outputs[index][0] == name
        if scope.domains[index] or not (first or op_type == "Split"):
            return None
        if op_type in ("Constant", "ConstantOfShape"):
            return self._constant_shape(scope, index, name)
        shapes = [self._known(scope, source) for source in inputs if source]
        if op_type in BROADCAST or op_type == "Where":
            return broadcast(shapes)
        if not shapes or shapes[0] is None:
            if op_type == "Gemm":
                return (None, None)
            return view_shape(self._constants, scope, index, None) if op_type in VIEWS else None
        shape = shapes[0]
        if op_type in ELEMENTWISE:
            return shape
        if op_type == "Gemm":
            return self._gemm_shape(scope, index, shape, next(iter(shapes[1:]), None))
        if op_type == "MatMul":
            return _matmul_shape(shape, next(iter(shapes[1:]), None))
        if op_type in SAME_RANK:
            return (None,) * len(shape)
        if op_type in REDUCTIONS:
            attribute = attributes_of(scope, index).get("keepdims")
            kept = attribute is None or attribute.i == 1
            return (None,) * len(shape) if kept else None
        return view_shape(self._constants, scope, index, shape) if op_type in VIEWS else None

    def _constant_shape(self, scope: Scope, index: int, name: str) -> Shape | None:
        attribute = attributes_of(scope, index).get("value")
        if scope.op_types[index] == "Constant" and attribute is not None:
            return tuple(attribute.t.dims)
        constant = self._constants.uniform(scope, name)
        if constant is None or len(constant.extent) > 1:
            return None
        term = next(iter(constant.extent), ())
        return None if isinstance(term, ShapeOf) else term

    def _gemm_shape(self, scope: Scope, index: int, a: Shape, b: Shape | None) -> Shape:
        attributes = attributes_of(scope, index)
        turned_a = "transA" in attributes and attributes["transA"].i
        turned_b = "transB" in attributes and attributes["transB"].i
        rows = a[1 if turned_a else 0] if len(a) == 2 else None
        columns = b[0 if turned_b else 1] if b is not None and len(b) == 2 else None
        return rows, columns


def _matmul_shape(a: Shape, b: Shape | None) -> Shape | None:
    if b is None or not a or not b:
        return None
    if len(a) == 1 or len(b) == 1:
        return (*a[:-1],) if len(b) == 1 else (*b[:-2], b[-1])
    batch = broadcast([a[:-2], b[:-2]])
    return None if batch is None else (*batch, a[-2], b[-1])


def _is_stored(scope: Scope, name: str) -> bool:
    index = scope.producer.get(name)
    return index is None or scope.op_types[index] == "Constant"


def _declared(scope: Scope, name: str) -> TypeProto.Tensor | None:
    value = scope.declared.get(name)
    return value.type.tensor_type if value is not None and value.type.HasField("tensor_type") else None


def _declared_type(scope: Scope, name: str) -> int:
    tensor = scope.initializers.get(name)
    if tensor is not None:
        return tensor.data_type
    declared = _declared(scope, name)
    return declared.elem_type if declared is not None else 0


def _declared_shape(scope: Scope, name: str) -> Shape | None:
    declared = _declared(scope, name)
    if declared is None or not declared.HasField("shape"):
        return None
    return tuple(
        dim.dim_value if dim.HasField("dim_value") else (dim.dim_param or None) for dim in declared.shape.dim
    )
