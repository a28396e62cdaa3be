"""Several parameters as one vector, so that an optimiser is one operation and not one for each parameter."""

from __future__ import annotations

import math
from collections.abc import Mapping
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
    """A vector that holds parameters of one type one after the other.

    Attributes:
        shapes: shape of each parameter by name, in the order of the vector.
        dtype: their type.
    """

    shapes: Mapping[str, tuple[int, ...]]
    dtype: np.dtype[Any]

    @cached_property
    def size(self) -> int:
        """Number of elements of the vector."""
        return sum(map(math.prod, self.shapes.values()))

    def pack(self, arrays: Mapping[str, Array]) -> Array:
        """The vector of some arrays."""
        return np.concatenate([np.ravel(arrays[name]) for name in self.shapes]).astype(self.dtype, copy=False)

    def unpack(self, vector: Array) -> dict[str, Array]:
        """The parameters in a vector, as views of it."""
        parts: dict[str, Array] = {}
        start = 0
        for name, shape in self.shapes.items():
            end = start + math.prod(shape)
            parts[name] = vector[start:end].reshape(shape)
            start = end
        return parts

    def value_info(self, name: str) -> onnx.ValueInfoProto:
        """The declaration of a vector as a model's input or output."""
        return helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(self.dtype), [self.size])


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
        """Nodes that make the parameters, under their own names, from a vector."""
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
        """Nodes that make a vector from values, given for each parameter."""
        flat_shape = self.constant(f"{vector}/flat", [-1])
        parts = [self.fresh(f"{vector}/{name}") for name in packing.shapes]
        nodes = [
            helper.make_node("Reshape", [values[name], flat_shape], [part])
            for name, part in zip(packing.shapes, parts, strict=True)
        ]
        return [*nodes, helper.make_node("Concat", parts, [vector], axis=0)]
