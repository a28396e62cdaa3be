"""Scopes in which a gradient is recognised but cannot be computed by a kernel node."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from onnx_ascend_ext.graph import Scope

_IN_SEQUENCE_MAP = "it lies in the body of a SequenceMap, in which ONNX Runtime does not load local functions"


def obstacles(scopes: Iterable[Scope]) -> dict[Scope, str]:
    """Those of some scopes in which nothing can be rewritten, each with the reason."""
    found: dict[Scope, str] = {}
    clashes: dict[Scope, _Clashes] = {}
    for scope in scopes:
        bodies = [current for current in scope.enclosing() if current.kind == "body"]
        if any(b.parent is not None and b.parent.op_types[b.owner] == "SequenceMap" for b in bodies):
            found[scope] = _IN_SEQUENCE_MAP
            continue
        outermost = bodies[-1].parent if bodies else scope
        if outermost is None:
            continue
        if outermost not in clashes:
            clashes[outermost] = _Clashes(outermost)
        name = clashes[outermost].name_for(bodies[-1].owner if bodies else None)
        if name:
            found[scope] = f"a nested graph has another value of the name `{name}`: rename it"
    return found


class _Clashes:
    """Names that the bodies nested in a graph give to values of their own, although outer values have them.

    ONNX forbids that, and ONNX Runtime loads some such models. Which of the two values it takes in a body
    depends on what all bodies of the outermost node read. Where both are results of nodes, it refuses the
    body if it comes to the outer node first, and any change of the graph may change that order.
    """

    def __init__(self, graph: Scope) -> None:
        self._by_owner: dict[int, str] = {}
        self._results: set[str] = set()
        waiting = [(body.owner, body) for body in graph.bodies]
        while waiting:
            owner, body = waiting.pop()
            if body.shadowed:
                name = min(body.shadowed)
                self._by_owner[owner] = min(name, self._by_owner.get(owner, name))
                self._results.update(name for name in body.shadowed if _are_results(body, name))
            waiting.extend((owner, nested) for nested in body.bodies)

    def name_for(self, owner: int | None) -> str:
        """A name that hinders a change in a node's bodies, or in the graph itself (None); "" for none."""
        if owner in self._by_owner:
            return self._by_owner[owner]
        return min(self._results, default="")


def _are_results(body: Scope, name: str) -> bool:
    """Whether nodes compute both the value of a name in a body and the outer value that has it too."""
    outer = body.parent.find(name) if body.parent is not None else None
    return name in body.producer and outer is not None and name in outer.producer
