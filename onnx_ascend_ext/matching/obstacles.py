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
    shadowed: dict[tuple[Scope, int], str] = {}
    for scope in scopes:
        bodies = [current for current in scope.enclosing() if current.kind == "body"]
        if not bodies or bodies[-1].parent is None:
            continue
        if any(b.parent is not None and b.parent.op_types[b.owner] == "SequenceMap" for b in bodies):
            found[scope] = _IN_SEQUENCE_MAP
            continue
        outermost = bodies[-1].parent, bodies[-1].owner
        if outermost not in shadowed:
            shadowed[outermost] = _shadowed(*outermost)
        if shadowed[outermost]:
            found[scope] = f"a nested graph has another value of the name `{shadowed[outermost]}`: rename it"
    return found


def _shadowed(parent: Scope, owner: int) -> str:
    """A name that some body at a node gives to another value, or "".

    Which of the two values ONNX Runtime takes depends on what all bodies of the node read.
    """
    waiting = [body for body in parent.bodies if body.owner == owner]
    while waiting:
        body = waiting.pop()
        if body.shadowed:
            return min(body.shadowed)
        waiting.extend(body.bodies)
    return ""
