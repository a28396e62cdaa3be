"""A read-only index of an `onnx.ModelProto`: scopes, producers, uses, constants, element types and shapes."""

from onnx_ascend_ext.graph.index import ModelIndex, attributes_of, function_scope, opset_versions
from onnx_ascend_ext.graph.scope import Scope, node_label

__all__ = [
    "ModelIndex",
    "Scope",
    "attributes_of",
    "function_scope",
    "node_label",
    "opset_versions",
]
