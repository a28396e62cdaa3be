"""The nodes between a match's operands and its result."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from onnx_ascend_ext.matching.operators import ARITHMETIC, FUNCTIONS

if TYPE_CHECKING:
    from collections.abc import Collection

    from onnx_ascend_ext.graph import Scope
    from onnx_ascend_ext.matching.store import FormStore

MAX_NODES = 64
"""No gradient is spelled with more nodes than this."""


@dataclass
class Region:
    """What lies between some values and a root.

    Attributes:
        nodes: the nodes, as (scope, index), the root first.
        reached: which of the bounding values were met.
        leaves: the other values that the root is computed from, constants among them.
        multiplied: those of the leaves that a Mul or Div takes directly.
        exponents: those of the leaves that are exponents of a Pow, which may have another element type.
        casts: the Casts among the nodes.
    """

    nodes: list[tuple[Scope, int]] = field(default_factory=list)
    reached: set[tuple[Scope, str]] = field(default_factory=set)
    leaves: list[tuple[Scope, str]] = field(default_factory=list)
    multiplied: list[tuple[Scope, str]] = field(default_factory=list)
    exponents: set[tuple[Scope, str]] = field(default_factory=set)
    casts: list[tuple[Scope, int]] = field(default_factory=list)


def region(store: FormStore, scope: Scope, root: int, bounds: Collection[tuple[Scope, str]]) -> Region | None:
    """Walk back from a root until the bounding values and everything opaque; None when it is too far."""
    found = Region()
    pending = [(scope, root)]
    seen: set[tuple[Scope, int]] = set(pending)
    met: set[tuple[Scope, str]] = set()
    while pending:
        current, index = pending.pop()
        found.nodes.append((current, index))
        if len(found.nodes) > MAX_NODES:
            return None
        op_type = current.op_types[index]
        if op_type == "Cast":
            found.casts.append((current, index))
        for name in _operands(current, index):
            owner = current if name in current.producer else current.find(name)
            if owner is None:
                continue
            key = (owner, name)
            if key in bounds:
                found.reached.add(key)
                continue
            if key in met:
                if op_type in ("Mul", "Div") and key in found.leaves:
                    found.multiplied.append(key)
                continue
            met.add(key)
            producer = owner.producer.get(name)
            if producer is None or not _is_walked(store, owner, producer, name):
                found.leaves.append(key)
                if op_type == "Pow" and name == current.inputs[index][1]:
                    found.exponents.add(key)
                if op_type in ("Mul", "Div"):
                    found.multiplied.append(key)
            elif (owner, producer) not in seen:
                seen.add((owner, producer))
                pending.append((owner, producer))
    return found


def _operands(scope: Scope, index: int) -> list[str]:
    """The inputs that a node computes with; the shape or axes of a view are none."""
    inputs = list(scope.inputs[index])
    return inputs if scope.op_types[index] in ("Add", "Sub", "Mul", "Div", "Sum", "Pow") else inputs[:1]


def _is_walked(store: FormStore, scope: Scope, index: int, name: str) -> bool:
    if scope.op_types[index] in FUNCTIONS:
        # By the relaxed rules these are made of a sigmoid that stays.
        return store.rules.relaxed and (scope, name) in store.excuses
    if scope.op_types[index] not in ARITHMETIC or scope.domains[index]:
        return False
    form = store.forms(scope).get(name)
    return form is not None and bool(form.factors) and not store.is_opaque(scope, name)
