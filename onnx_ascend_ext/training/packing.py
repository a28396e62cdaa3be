"""Small parameters share a vector, so that an optimiser is one operation and not one for each of them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
from onnx import helper, numpy_helper

Array = npt.NDArray[Any]

_OPSET_OF_SPLIT_INPUT = 13


@dataclass(frozen=True)
class Packing:
    """An array that holds one parameter, or several of one type one after the other.

    Attributes:
        shapes: shape of each parameter by name, in the order of the array.
        dtype: their type.
    """

    shapes: Mapping[str, tuple[int, ...]]
    dtype: np.dtype[Any]

    @cached_property
    def shape(self) -> tuple[int, ...]:
        """Shape of the array: of the only parameter, or of a vector."""
        if len(self.shapes) == 1:
            return next(iter(self.shapes.values()))
        return (sum(map(math.prod, self.shapes.values())),)

    def pack(self, arrays: Mapping[str, Array]) -> Array:
        """The array that holds some arrays."""
        parts = [np.ravel(arrays[name]) for name in self.shapes]
        return np.concatenate(parts).astype(self.dtype, copy=False).reshape(self.shape)

    def unpack(self, packed: Array) -> dict[str, Array]:
        """The parameters in an array, as views of it."""
        flat = packed.reshape(-1)
        parts: dict[str, Array] = {}
        start = 0
        for name, shape in self.shapes.items():
            end = start + math.prod(shape)
            parts[name] = flat[start:end].reshape(shape)
            start = end
        return parts

    def value_info(self, name: str) -> onnx.ValueInfoProto:
        """The declaration of an array as a model's input or output."""
        return helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(self.dtype), self.shape)


def pack_small(parameters: Mapping[str, Array], names: Iterable[str], *, limit: float) -> list[Packing]:
    """Distributes parameters to arrays: each that is large has its own, the others of a type share one.

    Copying a large parameter in and out of a vector costs more than an operation of its own.

    Args:
        parameters: by name.
        names: which of them, in order.
        limit: elements from which a parameter is large.
    """
    packings = []
    shared: dict[np.dtype[Any], dict[str, tuple[int, ...]]] = {}
    for name in names:
        array = parameters[name]
        if array.size >= limit:
            packings.append(Packing({name: array.shape}, array.dtype))
        else:
            shared.setdefault(array.dtype, {})[name] = array.shape
    return [*packings, *(Packing(shapes, dtype) for dtype, shapes in shared.items())]


class Graft:
    """Adds nodes to a graph, under names that it does not have."""

    def __init__(self, model: onnx.ModelProto) -> None:
        self._graph = model.graph
        self.opset = next(
            (entry.version for entry in model.opset_import if entry.domain in ("", "ai.onnx")), 1
        )
        self._taken = {name for node in self._graph.node for name in (*node.input, *node.output)}
        self._taken.update(value.name for value in (*self._graph.input, *self._graph.output))
        self._taken.update(tensor.name for tensor in self._graph.initializer)

    def fresh(self, wish: str) -> str:
        """A name that no value has yet."""
        name, number = wish, 0
        while name in self._taken:
            number += 1
            name = f"{wish}_{number}"
        self._taken.add(name)
        return name

    def constant(self, wish: str, values: list[int]) -> str:
        """An initializer with int64 values."""
        name = self.fresh(wish)
        self._graph.initializer.append(numpy_helper.from_array(np.asarray(values, dtype=np.int64), name))
        return name

    def unpacked(self, packing: Packing, vector: str) -> list[onnx.NodeProto]:
        """Nodes that make the parameters, under their own names, from an array."""
        if len(packing.shapes) == 1:
            return [helper.make_node("Identity", [vector], list(packing.shapes))]
        sizes = [math.prod(shape) for shape in packing.shapes.values()]
        parts = [self.fresh(f"{vector}/{name}") for name in packing.shapes]
        if self.opset >= _OPSET_OF_SPLIT_INPUT:
            sizes_name = self.constant(f"{vector}/sizes", sizes)
            nodes = [helper.make_node("Split", [vector, sizes_name], parts, axis=0)]
        else:
            nodes = [helper.make_node("Split", [vector], parts, axis=0, split=sizes)]
        for part, (name, shape) in zip(parts, packing.shapes.items(), strict=True):
            shape_name = self.constant(f"{vector}/{name}/shape", list(shape))
            nodes.append(helper.make_node("Reshape", [part, shape_name], [name]))
        return nodes

    def packed(self, packing: Packing, values: Mapping[str, str], vector: str) -> list[onnx.NodeProto]:
        """Nodes that make an array from values, given for each parameter."""
        if len(packing.shapes) == 1:
            return [helper.make_node("Identity", [values[name]], [vector]) for name in packing.shapes]
        flat_shape = self.constant(f"{vector}/flat", [-1])
        parts = [self.fresh(f"{vector}/{name}") for name in packing.shapes]
        nodes = [
            helper.make_node("Reshape", [values[name], flat_shape], [part])
            for name, part in zip(packing.shapes, parts, strict=True)
        ]
        return [*nodes, helper.make_node("Concat", parts, [vector], axis=0)]
