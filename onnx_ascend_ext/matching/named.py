"""Finds nodes of other producers that compute what a kernel computes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from onnx import AttributeProto

from onnx_ascend_ext.catalog import DOMAIN
from onnx_ascend_ext.graph import node_label
from onnx_ascend_ext.matching.findings import NearMiss

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from onnx_ascend_ext.catalog import ForeignNode, Kernel
    from onnx_ascend_ext.graph import Scope

UNKNOWN_ORDER = "operand order of this producer is unknown"


@dataclass
class _Producers:
    """The foreign operators that share one operator type."""

    by_domain: dict[str, list[tuple[Kernel, ForeignNode]]] = field(default_factory=dict)

    @property
    def told_by_attributes(self) -> bool:
        """Whether the operator type alone says nothing, as with ATen's fallback node."""
        return all(foreign.attributes for entries in self.by_domain.values() for _, foreign in entries)


@dataclass(frozen=True)
class NamedNode:
    """A foreign node that is certain: `operands` are in the order of the kernel's inputs."""

    kernel: Kernel
    index: int
    operands: tuple[str, ...]


class NamedForms:
    """The foreign operators of some kernels, by operator type."""

    def __init__(self, kernels: Iterable[Kernel]) -> None:
        self._producers: dict[str, _Producers] = {}
        for kernel in kernels:
            for foreign in kernel.foreign:
                producers = self._producers.setdefault(foreign.op_type, _Producers())
                producers.by_domain.setdefault(foreign.domain, []).append((kernel, foreign))

    def search(self, scope: Scope) -> Iterator[tuple[int, NamedNode | NearMiss]]:
        """The foreign nodes of a scope in its order, and those whose operands are not certain."""
        producers = self._producers
        if producers.keys().isdisjoint(scope.op_types):
            return
        for index, op_type in enumerate(scope.op_types):
            if op_type in producers and scope.domains[index] != DOMAIN:
                found = self._examine(scope, index, producers[op_type])
                if found is not None:
                    yield index, found

    def _examine(self, scope: Scope, index: int, producers: _Producers) -> NamedNode | NearMiss | None:
        domain = scope.domains[index]
        texts = _string_attributes(scope, index)
        candidates = producers.by_domain.get(domain, [])
        for kernel, foreign in candidates:
            if foreign.accepts(texts):
                return _bound(scope, index, kernel, foreign)
        if not candidates and not producers.told_by_attributes:
            where = f"domain {domain!r}" if domain else "the default domain"
            return _near(scope, index, f"{UNKNOWN_ORDER}: {scope.op_types[index]} of {where}")
        everywhere = [foreign for entries in producers.by_domain.values() for _, foreign in entries]
        if any(_names_the_operator(foreign, texts) for foreign in everywhere):
            described = ", ".join(f"{name}={value!r}" for name, value in sorted(texts.items()))
            where = f"domain {domain!r}" if domain else "the default domain"
            return _near(
                scope, index, f"{UNKNOWN_ORDER}: {scope.op_types[index]} of {where} with {described}"
            )
        return None


def _names_the_operator(foreign: ForeignNode, texts: Mapping[str, str]) -> bool:
    """Whether one of the attributes that must be there says that the node is this operator."""
    return any(
        not attribute.optional and any(texts.get(name) in attribute.values for name in attribute.names)
        for attribute in foreign.attributes
    )


def _bound(scope: Scope, index: int, kernel: Kernel, foreign: ForeignNode) -> NamedNode | NearMiss:
    inputs = list(scope.inputs[index])
    expected = len(foreign.operands)
    if len(inputs) < expected or "" in inputs[:expected]:
        return _near(scope, index, f"an operand is missing: {foreign.producer} writes {expected} of them")
    if any(inputs[expected:]):
        return _near(scope, index, f"more operands than the {expected} that {foreign.producer} writes")
    outputs = scope.outputs[index]
    if not outputs or not outputs[0] or any(outputs[1:]):
        return _near(scope, index, "it has not exactly one output")
    by_formal = dict(zip(foreign.operands, inputs, strict=False))
    return NamedNode(kernel, index, tuple(by_formal[formal] for formal in kernel.inputs))


def _near(scope: Scope, index: int, reason: str) -> NearMiss:
    return NearMiss(node_label(scope.nodes[index]), scope.path, reason)


def _string_attributes(scope: Scope, index: int) -> dict[str, str]:
    texts: dict[str, str] = {}
    for attribute in scope.nodes[index].attribute:
        if attribute.type == AttributeProto.STRING and not attribute.ref_attr_name:
            texts[attribute.name] = attribute.s.decode("utf-8", errors="replace")
    return texts
