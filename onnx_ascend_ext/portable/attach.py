"""Gives the training-only nodes of a model functions of standard operators."""

from __future__ import annotations

import re

import onnx
from onnx import TensorProto

from onnx_ascend_ext.catalog import (
    PORTABLE_DOMAIN,
    PORTABLE_DOMAIN_VERSION,
    PortableCatalog,
    PortableOperator,
)
from onnx_ascend_ext.graph import ModelIndex, Scope, node_label
from onnx_ascend_ext.portable.errors import NoBodyError
from onnx_ascend_ext.portable.library import FunctionLibrary
from onnx_ascend_ext.portable.node import TrainingNode, bind
from onnx_ascend_ext.portable.report import Expanded, PortableReport, Remaining, Update
from onnx_ascend_ext.portable.value_types import ValueType, ValueTypes
from onnx_ascend_ext.rewriting import add_functions
from onnx_ascend_ext.rewriting.names import FreshNames
from onnx_ascend_ext.rewriting.opsets import body_opset

_DOMAINS_OF_TRAINING = ("", "com.microsoft")
_GRADIENT = re.compile(r"\w+Grad(_\w+)?")
"""How training builds name gradients; stock ONNX Runtime has no operator of such a name in these domains."""


def attach(model: onnx.ModelProto, definitions: PortableCatalog) -> tuple[PortableReport, list[str]]:
    """Makes every training-only node that has a portable definition call a function of standard operators.

    The model carries the functions, in `PORTABLE_DOMAIN`. Nodes with the same body share one, which is
    named after the operator; where bodies differ, since they depend on attributes or types, the names are
    numbered. A value that a node overwrote keeps its old value; the new one is another output of the graph.

    Args:
        model: changed in place.
        definitions: the training-only operators.

    Returns:
        What became of each training-only node, and what a user should know beside it, one line each.

    Raises:
        ModelError: the model is malformed: two nodes compute one value.
    """
    return _Attachment(model, definitions).run()


class _Attachment:
    """The work on one model."""

    def __init__(self, model: onnx.ModelProto, definitions: PortableCatalog) -> None:
        self._model = model
        self._definitions = definitions
        self._index = ModelIndex(model)
        self._types = ValueTypes(model, definitions.operators)
        self._names = FreshNames(model)
        self._functions = FunctionLibrary(model)
        self._overwritten: set[str] = set()
        self._outputs = {output.name for output in model.graph.output}
        self._report = PortableReport()

    def run(self) -> tuple[PortableReport, list[str]]:
        importers = []
        for scope in self._index.scopes:
            if scope.kind == "function" and scope.container.domain == PORTABLE_DOMAIN:
                continue
            changed = [self._visit(scope, position) for position in range(len(scope.nodes))]
            outermost = list(scope.enclosing())[-1]
            if any(changed):
                importers.append(outermost.container if outermost.kind == "function" else self._model)
        for importer in importers:
            if all(entry.domain != PORTABLE_DOMAIN for entry in importer.opset_import):
                importer.opset_import.add(domain=PORTABLE_DOMAIN, version=PORTABLE_DOMAIN_VERSION)
        warnings = add_functions(self._model, self._functions.new) if importers else []
        if left := len(self._report.remaining):
            nodes = "1 training-only node has" if left == 1 else f"{left} training-only nodes have"
            warnings.append(f"{nodes} no portable definition: stock ONNX Runtime does not load the model")
        self._index.release()
        return self._report, warnings

    def _visit(self, scope: Scope, position: int) -> bool:
        """Rewrites a node, if it is a training-only one that has a body, and says whether it did."""
        key = (scope.domains[position], scope.op_types[position])
        operator = self._definitions.operators.get(key)
        reason = "" if operator else self._reason_without(key)
        if not (operator or reason) or scope.called_function(position, self._index.functions):
            return False
        proto = scope.nodes[position]
        label, op_type = node_label(proto), f"{key[0] or 'ai.onnx'}::{key[1]}"
        try:
            if operator is None:
                raise NoBodyError(reason)
            node = self._bound(scope, operator, proto)
            function = self._functions.name_for(node)
        except NoBodyError as error:
            self._report.remaining.append(Remaining(label, op_type, scope.path, str(error)))
            return False
        self._report.expanded.append(Expanded(label, op_type, scope.path, f"{PORTABLE_DOMAIN}::{function}"))
        self._expose(scope, node, label)
        proto.op_type, proto.domain = function, PORTABLE_DOMAIN
        proto.ClearField("overload")
        del proto.attribute[:], proto.input[:], proto.output[:]
        proto.input.extend(node.inputs.values())
        proto.output.extend(node.outputs.values())
        return True

    def _reason_without(self, key: tuple[str, str]) -> str:
        """Why an operator without a definition has none; empty for one that is not of a training build."""
        undefined = self._definitions.undefined.get(key)
        if undefined is not None:
            return undefined.reason
        domain, op_type = key
        if domain in _DOMAINS_OF_TRAINING and _GRADIENT.fullmatch(op_type):
            return "it is named like a gradient of a training build, but this package does not know it"
        return ""

    def _bound(self, scope: Scope, operator: PortableOperator, proto: onnx.NodeProto) -> TrainingNode:
        """The node under its formal names, with an output for each value that it overwrites."""
        opset = scope.opset("") or body_opset(self._model) or operator.opset

        def find_type(value: str, with_shape: bool) -> ValueType | None:
            return self._types.find(scope, value, with_shape=with_shape)

        node = bind(operator, proto, opset, find_type)
        overwritten = {formal: node.inputs[formal] for formal in operator.in_place if formal in node.inputs}
        for formal, value in overwritten.items():
            if scope.kind != "main":
                raise NoBodyError(
                    f"it overwrites {value}, and only the main graph can return the new value: inline what "
                    "is around it first"
                )
            if value in self._overwritten:
                raise NoBodyError(f"it overwrites {value}, as a node before it does")
            if node.dtype(formal) == TensorProto.UNDEFINED:
                raise NoBodyError(
                    f"the type of {value}, which it overwrites, is not known: state it in the model"
                )
        outputs = dict(node.outputs)
        for formal, value in overwritten.items():
            self._overwritten.add(value)
            outputs.setdefault(operator.in_place[formal], self._names.value(f"{value}.updated"))
        order = [formal for formal in operator.outputs if formal in outputs]
        rest = [formal for formal in outputs if formal not in order]
        node.outputs.clear()
        node.outputs.update({formal: outputs[formal] for formal in (*order, *rest)})
        return node

    def _expose(self, scope: Scope, node: TrainingNode, label: str) -> None:
        """Makes the new values of what a node overwrote outputs of the graph."""
        graph = scope.container
        for formal, result in node.operator.in_place.items():
            if formal not in node.inputs:
                continue
            value, output = node.inputs[formal], node.outputs[result]
            known = node.type(formal, with_shape=True)
            if known is not None and output not in self._outputs:
                graph.output.add(name=output, type=known.proto)
                self._outputs.add(output)
            self._report.updates.append(Update(label, value, output))
