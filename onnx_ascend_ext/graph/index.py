"""The scopes of a model, found in one pass straight over the protobuf messages."""

from __future__ import annotations

from typing import TYPE_CHECKING

from onnx import AttributeProto, ModelProto

from onnx_ascend_ext.graph.collection import paused_collection
from onnx_ascend_ext.graph.scope import Scope, node_label

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from onnx import FunctionProto, OperatorSetIdProto


def opset_versions(imports: Iterable[OperatorSetIdProto]) -> dict[str, int]:
    """Version by domain; "" and "ai.onnx" are one domain, and of several imports of it the highest counts."""
    versions: dict[str, int] = {}
    for entry in imports:
        domain = "" if entry.domain == "ai.onnx" else entry.domain
        versions[domain] = max(entry.version, versions.get(domain, 0))
    return versions


class ModelIndex:
    """Every scope of a model.

    Attributes:
        model: the model that is indexed; it must not change while the index is used.
        main: the scope of the main graph.
        scopes: all scopes, an outer one before those nested in it: main graph, functions, training graphs.
        functions: the scope of each model-local function, by (domain, name, overload).
        variable: names of initializers that training changes, so that they are no constants.
    """

    def __init__(self, model: ModelProto) -> None:
        with paused_collection():
            self._build(model)

    def _build(self, model: ModelProto) -> None:
        self.model = model
        opsets = opset_versions(model.opset_import)
        self.scopes: list[Scope] = []
        self.functions: dict[tuple[str, str, str], Scope] = {}
        self.main = Scope(model.graph, "main", "main", opsets)
        self._add(self.main)
        for function in model.functions:
            scope = function_scope(function)
            domain = "" if function.domain == "ai.onnx" else function.domain
            self.functions[domain, function.name, function.overload] = scope
            self._add(scope)
        variable: set[str] = set()
        for i, training in enumerate(model.training_info):
            variable.update(entry.key for entry in training.update_binding)
            variable.update(entry.key for entry in training.initialization_binding)
            for name in ("initialization", "algorithm"):
                if training.HasField(name):
                    path = f"training_info[{i}].{name}"
                    self._add(Scope(getattr(training, name), path, "training", opsets, parent=self.main))
        self.variable = frozenset(variable)

    def release(self) -> None:
        """End the use of the index: its scopes refer to each other, which would keep the model in memory."""
        for scope in self.scopes:
            scope.bodies.clear()

    @property
    def ir_version(self) -> int:
        """The model's IR version."""
        return self.model.ir_version

    def _add(self, scope: Scope) -> None:
        pending = [scope]
        while pending:
            current = pending.pop()
            self.scopes.append(current)
            current.bodies = nested_bodies(current)
            pending.extend(reversed(current.bodies))


def function_scope(function: FunctionProto) -> Scope:
    """The scope of a model-local function, without the bodies nested in it."""
    label = f"function {function.domain}::{function.name}"
    if function.overload:
        label += f":{function.overload}"
    return Scope(function, label, "function", opset_versions(function.opset_import))


def nested_bodies(scope: Scope) -> list[Scope]:
    """The scopes of the graph attributes of a scope's nodes, in the order of the nodes."""
    bodies: list[Scope] = []
    for index in scope.nodes_with_bodies():
        node = scope.nodes[index]
        for attribute in node.attribute:
            if attribute.type == AttributeProto.GRAPH:
                graphs = [(attribute.name, attribute.g)]
            elif attribute.type == AttributeProto.GRAPHS:
                graphs = [(f"{attribute.name}[{i}]", graph) for i, graph in enumerate(attribute.graphs)]
            else:
                continue
            for name, graph in graphs:
                path = f"{scope.path}/{node_label(node)}.{name}"
                bodies.append(Scope(graph, path, "body", scope.opsets, parent=scope, owner=index))
    return bodies


def attributes_of(scope: Scope, index: int) -> Mapping[str, AttributeProto]:
    """The attributes of a node by name."""
    return {attribute.name: attribute for attribute in scope.nodes[index].attribute}
