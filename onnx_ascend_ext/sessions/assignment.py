"""Where ONNX Runtime runs each converted node."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from onnx_ascend_ext import catalog
from onnx_ascend_ext.catalog import DOMAIN
from onnx_ascend_ext.native import EP_NAME

if TYPE_CHECKING:
    import onnx

    Model: TypeAlias = str | os.PathLike[str] | bytes | onnx.ModelProto

CPU_EP_NAME = "CPUExecutionProvider"
# What stands for an execution provider where the custom-op library runs a node.
CUSTOM_OP_LIBRARY = "custom-op library"
# How the profiler ends the name of the event of a node's kernel.
_KERNEL_EVENT = "_kernel_time"
# The session configuration entry without which ONNX Runtime keeps no record of the assignment.
RECORD_ASSIGNMENT = "session.record_ep_graph_assignment_info"


def node_providers(session: Any, model: Model) -> dict[str, str]:
    """The execution provider of each converted node of `model`, by node name.

    A node without a name is listed by its first output. A node that a session does not claim for the
    execution provider is expanded into its function body, which ONNX Runtime runs on the CPU. Nodes of
    functions that nothing calls, and of `training_info`, never run and are not listed.

    Args:
        session: an `onnxruntime.InferenceSession` made with `RECORD_ASSIGNMENT` on.
        model: the model that the session was made from.
    """
    claimed = Counter(
        node.name
        for subgraph in session.get_provider_graph_assignment_info()
        if subgraph.ep_name == EP_NAME
        for node in subgraph.get_nodes()
        if node.domain == DOMAIN
    )
    return _located(model, claimed, EP_NAME)


def custom_op_nodes(profile: str | os.PathLike[str], model: Model) -> dict[str, str]:
    """As `node_providers`, for a session with the custom-op library.

    Args:
        profile: the file that the session's profiler wrote while it ran.
        model: the model that the session was made from.
    """
    kernels = set(catalog.load())
    events = json.loads(Path(profile).read_text())
    ran = Counter(
        event["name"].removesuffix(_KERNEL_EVENT)
        for event in events
        if event["name"].endswith(_KERNEL_EVENT) and event["args"].get("op_name") in kernels
    )
    return _located(model, ran, CUSTOM_OP_LIBRARY)


def converted_nodes(model: Model) -> list[str]:
    """Names of the converted nodes that a session on `model` runs, as `node_providers` lists them."""
    return [key for key, _, _ in _converted_nodes(_proto(model))]


def fallen_back(providers: Mapping[str, str]) -> list[str]:
    """Names of the converted nodes that the execution provider does not run."""
    return [node for node, provider in providers.items() if provider == CPU_EP_NAME]


def _located(model: Model, claimed: Counter[str], provider: str) -> dict[str, str]:
    """`provider` for each converted node whose name is among the claimed ones, the CPU's for the rest."""
    providers: dict[str, str] = {}
    for key, name, inlined in _converted_nodes(_proto(model)):
        if inlined:
            # ONNX Runtime prefixes the names of the nodes of an inlined function.
            runs = any(other == name or (name and other.endswith(name)) for other in claimed)
        else:
            runs = claimed[name] > 0
            if not name:
                claimed[name] -= 1
        providers[key] = provider if runs else CPU_EP_NAME
    return providers


def _proto(model: Model) -> onnx.ModelProto:
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
