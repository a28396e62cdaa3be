"""What a model says of the types of its values, and what shape inference adds where that is not enough."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING

import onnx
from onnx import TensorProto

if TYPE_CHECKING:
    from onnx_ascend_ext.catalog import PortableOperator
    from onnx_ascend_ext.graph import Scope

_SMALL = 1024
"""Initializers with more elements say nothing about shapes, and are left out of shape inference."""

_ROUNDS = 8
"""How often inference is tried again with what it gave for the training-only nodes."""


@dataclass(frozen=True)
class ValueType:
    """The type of a value as far as it is known.

    Attributes:
        dtype: the `TensorProto.DataType` of its elements, or of those of the tensors in a sequence.
        shape: its dimensions, None for one that is not a number; None where it is not known.
        sequence: whether it is a sequence of tensors.
        proto: the type as the model writes it.
    """

    dtype: int
    shape: list[int | None] | None
    sequence: bool
    proto: onnx.TypeProto


class ValueTypes:
    """The types of the values of a model."""

    def __init__(self, model: onnx.ModelProto, operators: Mapping[tuple[str, str], PortableOperator]) -> None:
        self._model = model
        self._operators = operators
        self._inferred: dict[str, ValueType] | None = None

    def find(self, scope: Scope, name: str, *, with_shape: bool = False) -> ValueType | None:
        """The type of a value that `name` means in a scope, or None.

        What the model states counts. Only where that is too little, types are inferred, once for the whole
        main graph.

        Args:
            scope: the scope that uses the value.
            name: the value.
            with_shape: whether the shape is asked for, and not only the element type.
        """
        stated = _stated(scope, name)
        enough = stated is not None and stated.dtype != TensorProto.UNDEFINED
        if enough and stated is not None and (not with_shape or stated.sequence or stated.shape is not None):
            return stated
        place = scope.find(name)
        if place is None or place.kind != "main":
            return stated
        if self._inferred is None:
            self._inferred = _infer(self._model, self._operators)
        return self._inferred.get(name, stated)


def value_type(proto: onnx.TypeProto) -> ValueType | None:
    """A type as ONNX writes it; None for one that is neither a tensor nor a sequence of tensors."""
    if proto.HasField("sequence_type"):
        element = proto.sequence_type.elem_type.tensor_type
        return ValueType(element.elem_type, None, True, proto)
    if not proto.HasField("tensor_type"):
        return None
    tensor = proto.tensor_type
    shape = None
    if tensor.HasField("shape"):
        shape = [dim.dim_value if dim.HasField("dim_value") else None for dim in tensor.shape.dim]
    return ValueType(tensor.elem_type, shape, False, proto)


def _stated(scope: Scope, name: str) -> ValueType | None:
    place = scope.find(name)
    if place is None:
        return None
    if name in place.declared:
        return value_type(place.declared[name].type)
    tensor = place.initializers.get(name)
    producer = place.producer.get(name)
    if producer is not None and place.op_types[producer] == "Constant" and not place.domains[producer]:
        tensor = next((a.t for a in place.nodes[producer].attribute if a.name == "value"), None)
    if tensor is None:
        return None
    proto = onnx.helper.make_tensor_type_proto(tensor.data_type, list(tensor.dims))
    return value_type(proto)


def _infer(
    model: onnx.ModelProto, operators: Mapping[tuple[str, str], PortableOperator]
) -> dict[str, ValueType]:
    skeleton = _without_weights(model)
    graph = skeleton.graph
    known: dict[str, ValueType] = {}
    for _ in range(_ROUNDS):
        try:
            inferred = onnx.shape_inference.infer_shapes(skeleton, data_prop=True)
        except (onnx.shape_inference.InferenceError, RuntimeError, ValueError):
            return known
        known = {
            value.name: found
            for value in (*inferred.graph.input, *inferred.graph.value_info, *inferred.graph.output)
            if (found := value_type(value.type)) is not None
        }
        new = _results_like_inputs(graph, operators, known)
        if not new:
            return known
        stale = {value.name for value in new}
        kept = [value for value in graph.value_info if value.name not in stale]
        del graph.value_info[:]
        graph.value_info.extend([*kept, *new])
        known.update((value.name, found) for value in new if (found := value_type(value.type)) is not None)
    return known


def _without_weights(model: onnx.ModelProto) -> onnx.ModelProto:
    """The model with its large initializers turned into inputs: inference needs their types alone."""
    skeleton = onnx.ModelProto(ir_version=max(model.ir_version, 8))
    skeleton.opset_import.extend(model.opset_import)
    skeleton.functions.extend(model.functions)
    graph = skeleton.graph
    graph.name = model.graph.name
    graph.node.extend(model.graph.node)
    graph.input.extend(model.graph.input)
    graph.output.extend(model.graph.output)
    graph.value_info.extend(model.graph.value_info)
    inputs = {value.name for value in model.graph.input}
    for tensor in model.graph.initializer:
        if prod(tensor.dims) <= _SMALL and tensor.data_location != TensorProto.EXTERNAL:
            graph.initializer.add().CopyFrom(tensor)
        elif tensor.name not in inputs:
            graph.input.append(
                onnx.helper.make_tensor_value_info(tensor.name, tensor.data_type, list(tensor.dims))
            )
    return skeleton


def _results_like_inputs(
    graph: onnx.GraphProto,
    operators: Mapping[tuple[str, str], PortableOperator],
    known: Mapping[str, ValueType],
) -> list[onnx.ValueInfoProto]:
    """The types of results of training-only nodes that are those of an input, where they are new."""
    new = []
    for node in graph.node:
        operator = operators.get(("" if node.domain == "ai.onnx" else node.domain, node.op_type))
        if operator is None:
            continue
        inputs = dict(zip(operator.inputs, node.input, strict=False))
        for formal, name in zip(operator.outputs, node.output, strict=False):
            source = known.get(inputs.get(operator.like.get(formal, ""), ""))
            if not name or source is None or _as_known(known.get(name), source):
                continue
            new.append(onnx.ValueInfoProto(name=name, type=source.proto))
    return new


def _as_known(present: ValueType | None, other: ValueType) -> bool:
    if present is None or present.dtype == TensorProto.UNDEFINED:
        return False
    return present.shape is not None or other.shape is None
