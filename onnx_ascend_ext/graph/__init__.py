"""A read-only index of an `onnx.ModelProto`: scopes, producers, uses, constants, element types and shapes."""

from onnx_ascend_ext.graph.collection import paused_collection
from onnx_ascend_ext.graph.constants import SCALAR, Constants, Extent, ShapeOf, UniformConstant
from onnx_ascend_ext.graph.index import ModelIndex, attributes_of, function_scope, opset_versions
from onnx_ascend_ext.graph.scope import Scope, node_label
from onnx_ascend_ext.graph.types import Types
from onnx_ascend_ext.graph.view_shapes import Dim, Shape, broadcast

__all__ = [
    "SCALAR",
    "Constants",
    "Dim",
    "Extent",
    "ModelIndex",
    "Scope",
    "Shape",
    "ShapeOf",
    "Types",
    "UniformConstant",
    "attributes_of",
    "broadcast",
    "function_scope",
    "node_label",
    "opset_versions",
    "paused_collection",
]
