"""Metadata of a node that stands for others: what they said, and where it comes from."""

from __future__ import annotations

import functools
import importlib.metadata
from collections.abc import Iterable

import onnx

from onnx_ascend_ext.catalog import DOMAIN
from onnx_ascend_ext.matching import Match

_PREFIX = f"{DOMAIN}."

RULE = f"{_PREFIX}rule"
"""Metadata key: the kernel and how it was found, such as `SigmoidBackward (algebra)`."""

VERSION = f"{_PREFIX}version"
"""Metadata key: the version of this package that wrote the node."""

REPLACES = f"{_PREFIX}replaces"
"""Metadata key: the names of the nodes that the node stands for."""


@functools.lru_cache(maxsize=64)
def kernel_node(kernel: str, origin: str) -> onnx.NodeProto:
    """A kernel node without operands, result and name; not to be changed."""
    node = onnx.NodeProto(op_type=kernel, domain=DOMAIN)
    node.metadata_props.add(key=RULE, value=f"{kernel} ({origin})")
    node.metadata_props.add(key=VERSION, value=importlib.metadata.version("onnx-ascend-ext"))
    return node


def record_replaced(node: onnx.NodeProto, match: Match) -> None:
    """Says in a kernel node's metadata which nodes it stands for."""
    node.metadata_props.add(key=REPLACES, value=", ".join(match.nodes))


def merge_descriptions(node: onnx.NodeProto, others: Iterable[onnx.NodeProto]) -> None:
    """Adds the metadata and doc strings of other nodes to a node's own.

    Where they differ under one key, every value is kept, the node's own first, separated by `; `.
    """
    values: dict[str, list[str]] = {}
    texts = [node.doc_string] if node.doc_string else []
    for source in others:
        for entry in source.metadata_props:
            if not entry.key.startswith(_PREFIX):
                values.setdefault(entry.key, []).append(entry.value)
        if source.doc_string:
            texts.append(source.doc_string)
    if values:
        own = {entry.key: entry for entry in node.metadata_props}
        for key, new in values.items():
            entry = own[key] if key in own else node.metadata_props.add(key=key)
            entry.value = "; ".join(dict.fromkeys([entry.value, *new] if key in own else new))
    if len(texts) > bool(node.doc_string):
        node.doc_string = "\n".join(dict.fromkeys(texts))


def without_provenance(node: onnx.NodeProto) -> list[onnx.StringStringEntryProto]:
    """The node's metadata without the entries of this package."""
    return [entry for entry in node.metadata_props if not entry.key.startswith(_PREFIX)]
