"""Where ONNX Runtime runs each converted node."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from onnx_ascend_ext.catalog.kernel import DOMAIN
from onnx_ascend_ext.native import EP_NAME

if TYPE_CHECKING:
    import onnx

CPU_EP_NAME = "CPUExecutionProvider"
# The session configuration entry without which ONNX Runtime keeps no record of the assignment.
RECORD_ASSIGNMENT = "session.record_ep_graph_assignment_info"


def node_providers(session: Any, model: str | os.PathLike[str] | bytes | onnx.ModelProto) -> dict[str, str]:
    """The execution provider of each converted node of `model`, by node name.

    A node without a name is listed by its first output. A node that a session does not claim for the
    execution provider is expanded into its function body, which ONNX Runtime runs on the CPU. Nodes of
    functions that nothing calls, and of `training_info`, never run and are not listed.

    Args:
        session: an `onnxruntime.InferenceSession` made with `RECORD_ASSIGNMENT` on.
        model: the model that the session was made from.
    """
    claimed: Counter[str] = Counter(
        node.name
        for subgraph in session.get_provider_graph_assignment_info()
        if subgraph.ep_name == EP_NAME
        for node in subgraph.get_nodes()
        if node.domain == DOMAIN
    )
    providers: dict[str, str] = {}
    for key, name, inlined in _converted_nodes(_proto(model)):
        if inlined:
            # ONNX Runtime prefixes the names of the nodes of an inlined function.
            runs = any(other == name or (name and other.endswith(name)) for other in claimed)
        else:
            runs = claimed[name] > 0
            if not name:
                claimed[name] -= 1
        providers[key] = EP_NAME if runs else CPU_EP_NAME
    return providers


def fallen_back(providers: Mapping[str, str]) -> list[str]:
    """Names of the converted nodes that the execution provider does not run."""
    return [node for node, provider in providers.items() if provider != EP_NAME]


def _proto(model: str | os.PathLike[str] | bytes | onnx.ModelProto) -> onnx.ModelProto:
    import onnx

    if isinstance(model, onnx.ModelProto):
        return model
    if isinstance(model, bytes):
        return onnx.load_model_from_string(model)
    return onnx.load(os.fspath(model), load_external_data=False)


def _converted_nodes(model: onnx.ModelProto) -> Iterator[tuple[str, str, bool]]:
    """Key, name and whether it lies in a called function, of every node of our domain that a session runs."""
    functions = {(function.domain, function.name): function for function in model.functions}
    pending: list[tuple[Any, bool]] = [(model.graph.node, False)]
    entered: set[tuple[str, str]] = set()
    while pending:
        nodes, inlined = pending.pop()
        for node in nodes:
            if node.domain == DOMAIN:
                yield node.name or node.output[0], node.name, inlined
                continue
            called = (node.domain, node.op_type)
            if called in functions and called not in entered:
                entered.add(called)
                pending.append((functions[called].node, True))
            for attribute in node.attribute:
                if attribute.HasField("g"):
                    pending.append((attribute.g.node, inlined))
                pending.extend((graph.node, inlined) for graph in attribute.graphs)
