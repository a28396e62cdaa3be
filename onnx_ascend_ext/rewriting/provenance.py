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


def become_kernel_node(node: onnx.NodeProto, match: Match) -> None:
    """Gives a node without attributes the operator of a match, and says in its metadata where it is from."""
    node.MergeFromString(_serialized_kernel_node(match.kernel, match.origin))
    # The last entry of what was merged; an element of its own takes longer to add.
    node.metadata_props[-1].value = ", ".join(match.nodes)


@functools.lru_cache(maxsize=64)
def _serialized_kernel_node(kernel: str, origin: str) -> bytes:
    node = onnx.NodeProto(op_type=kernel, domain=DOMAIN)
    node.metadata_props.add(key=RULE, value=f"{kernel} ({origin})")
    node.metadata_props.add(key=VERSION, value=importlib.metadata.version("onnx-ascend-ext"))
    node.metadata_props.add(key=REPLACES)
    return bytes(node.SerializeToString())


def merge_descriptions(node: onnx.NodeProto, others: Iterable[onnx.NodeProto]) -> None:
    """Adds the metadata and doc strings of other nodes to a node's own.

    Where they differ under one key, every value is kept, the node's own first, separated by `; `.
    """
    telling = [other for other in others if other.doc_string or other.metadata_props]
    if not telling:
        return
    values: dict[str, list[str]] = {}
    texts = [node.doc_string] if node.doc_string else []
    for other in telling:
        for entry in other.metadata_props:
            if not entry.key.startswith(_PREFIX):
                values.setdefault(entry.key, []).append(entry.value)
        if other.doc_string:
            texts.append(other.doc_string)
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
