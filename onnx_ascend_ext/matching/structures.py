"""Decides the nodes of a scope by the small structures that they end, where the proof of one says all."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from onnx_ascend_ext.graph.number_formats import FLOAT_TYPES
from onnx_ascend_ext.matching.kinds import COMPUTED, OPAQUE, OTHER, SIGMOID, Kinds
from onnx_ascend_ext.matching.proofs import MAX_LEAVES, Proof

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Mapping

    from onnx_ascend_ext.graph import Scope
    from onnx_ascend_ext.matching.pattern import Pattern
    from onnx_ascend_ext.matching.proofs import Proofs
    from onnx_ascend_ext.matching.valuation import Valuation

_MAX_NODES = 8
_DECIDED = frozenset({"Add", "Sub", "Mul"})


class Plain(NamedTuple):
    """A match of a structure whose leaves are the kernel's operands.

    Attributes:
        pattern: the kernel's pattern.
        root: index of the node that is replaced.
        gradient: name of the gradient.
        activation: name of the activation.
        nodes: indices of the nodes of the structure.
    """

    pattern: Pattern
    root: int
    gradient: str
    activation: str
    nodes: tuple[int, ...]


# The proof of a structure, its leaves, its nodes (some of them repeatedly), and what all structures have in
# common that are decided as it is. A leaf or a constant is a part as well, with `_SIMPLE` for a proof.
_Part: TypeAlias = "tuple[Proof, tuple[str, ...], tuple[int, ...], Hashable]"
_SIMPLE = Proof((), (), has_constant=False)


class Structures:
    """The structures of one scope."""

    def __init__(self, valuation: Valuation, scope: Scope, proofs: Proofs) -> None:
        self._store = valuation.store
        self._scope = scope
        self._proofs = proofs
        self._kinds = Kinds(valuation, scope)
        self._parts = _Parts(self._kinds)
        self._inner: dict[str, _Part | None] = {}
        self._undecided: dict[str, _Part] = {}
        self._rescaled: frozenset[str] | None = None
        # Decisions by what such nodes have in common: the operator, the same of both operands, and the places
        # of the second operand's leaves among all of them. None as that of the node itself means a match.
        self._decisions: dict[tuple[Hashable, ...], tuple[Proof, Hashable]] = {}

    def decide(self, index: int) -> Plain | bool | None:
        """What a node is: a match, live or not, or None when its structure does not tell.

        Args:
            index: a node of the default domain with one output.
        """
        scope = self._scope
        op_type, inputs = scope.op_types[index], scope.inputs[index]
        if op_type not in _DECIDED or len(inputs) != 2:
            return None
        left, right = self._parts[inputs[0]], self._parts[inputs[1]]
        if left is None or right is None:
            return self._examined(index, op_type)
        leaves = left[1]
        places: tuple[int, ...] = ()
        for leaf in right[1]:
            if leaf not in leaves:
                leaves += (leaf,)
            places += (leaves.index(leaf),)
        key = (op_type, left[3], right[3], places)
        known = self._decisions.get(key)
        if known is None:
            decision = self._examined(index, op_type)
            if decision:
                self._learn(key, index)
            return decision
        proof, alike = known
        nodes = (index, *left[2], *right[2])
        if len(nodes) > _MAX_NODES:
            return self._examined(index, op_type)
        if alike is None:
            return _match(index, proof, leaves, nodes) or self._examined(index, op_type)
        self._parts[scope.outputs[index][0]] = (proof, leaves, nodes, alike)
        return True

    def _learn(self, key: tuple[Hashable, ...], index: int) -> None:
        """Remember how a node was decided, if what is alike in `key` and the proof were all it took."""
        part = self._part(index, self._parts, None)
        if part is None:
            return
        proof = part[0]
        if proof.pattern is not None and proof.has_constant:
            self._decisions[key] = proof, None
        elif proof.pattern is None and proof.live and not proof.partial:
            known = self._parts[self._scope.outputs[index][0]]
            if known is not None:
                self._decisions[key] = proof, known[3]

    def _examined(self, index: int, op_type: str) -> Plain | bool | None:
        """As `decide`, without a look at earlier decisions."""
        if op_type != "Mul":
            # Only what its operands are made of tells what a sum is.
            part = self._part(index, self._parts, self._inner_part)
            decision = None if part is None else self._weighed(index, part)
            if decision is not None:
                return decision
        part = self._part(index, self._parts, None)
        if part is None:
            return None
        decision = self._weighed(index, part)
        if decision is None and op_type == "Mul":
            deeper = self._part(index, self._parts, self._inner_part)
            decision = None if deeper is None else self._weighed(index, deeper)
        if decision is None and self._kinds.are_refined(part[1]):
            decision = self._weighed(index, part)
        return decision

    def _weighed(self, index: int, part: _Part) -> Plain | bool | None:
        proof, leaves, nodes, _ = part
        if proof.pattern is not None:
            if proof.has_constant or self._may_be_float(leaves[proof.activation]):
                return _match(index, proof, leaves, nodes)
            return None
        if proof.partial or not self._are_opaque(leaves, live=proof.live):
            self._undecided[self._scope.outputs[index][0]] = part
            return None
        if proof.live:
            self._add(self._scope.outputs[index][0], part)
        return proof.live

    def _add(self, name: str, part: _Part) -> None:
        """Take the structure of a value as a part of larger ones."""
        proof, leaves, nodes, _ = part
        kinds = [self._kinds.of(leaf) for leaf in leaves]
        # What may hold more than the structure shows is alike to nothing.
        alike = object() if COMPUTED in kinds else (proof.key[0], *kinds)
        self._parts[name] = proof, leaves, nodes, alike

    def _part(
        self, index: int, parts: Mapping[str, _Part | None], inner_part: Callable[[str], _Part | None] | None
    ) -> _Part | None:
        """The structure of a node, or None when it is a constant, too large, or not one that is dealt with.

        Args:
            index: a node of an operator in `_DECIDED`.
            parts: the structures of operands that are no leaves.
            inner_part: gives the structure of an operand that is not among those, where it has one.
        """
        scope = self._scope
        op_type = scope.op_types[index]
        leaves: tuple[str, ...] = ()
        nodes: tuple[int, ...] = (index,)
        key: tuple[Hashable, ...] = (op_type,)
        for name in scope.inputs[index]:
            part = parts.get(name)
            if part is None or part[0] is _SIMPLE:
                part = None
                kind = self._kinds.of(name)
                if kind.__class__ is tuple:
                    if op_type == "Mul":
                        return None
                    key += (kind,)
                    continue
                if kind == OTHER:
                    return None
                if kind == COMPUTED and inner_part is not None:
                    part = inner_part(name)
            if part is None:
                if name not in leaves:
                    leaves += (name,)
                key += (leaves.index(name),)
                continue
            proof, inner_leaves, inner_nodes, _ = part
            nodes += inner_nodes
            if leaves:
                for leaf in inner_leaves:
                    if leaf not in leaves:
                        leaves += (leaf,)
                key += ((proof.key[0], *map(leaves.index, inner_leaves)),)
            else:
                leaves = inner_leaves
                key += (proof.key,)
        if not 0 < len(leaves) <= MAX_LEAVES:
            return None
        if len(nodes) > _MAX_NODES:
            nodes = tuple(dict.fromkeys(nodes))
            if len(nodes) > _MAX_NODES:
                return None
        proved = self._proofs.of(key)
        if proved is None:
            return None
        return proved, leaves, nodes, None

    def _inner_part(self, name: str) -> _Part | None:
        """The structure of a computed value that is a product or sum of leaves and such values."""
        part = self._inner.get(name)
        if part is not None or name in self._inner:
            return part
        index = self._scope.producer[name]
        if self._scope.op_types[index] in _DECIDED and len(self._scope.inputs[index]) == 2:
            part = self._part(index, self._inner, None)
        self._inner[name] = part
        return part

    def keep(self, name: str) -> None:
        """Take a value that was found to be live otherwise as a part of larger structures."""
        part = self._undecided.pop(name, None)
        if part is not None:
            self._add(name, part)

    def _are_opaque(self, leaves: tuple[str, ...], *, live: bool) -> bool:
        """Whether leaves hold no more than the structure shows, so that the proof says all."""
        sigmoids = 0
        for leaf in leaves:
            kind = self._kinds.of(leaf)
            if kind == COMPUTED:
                return False
            if kind == SIGMOID:
                sigmoids += 1
        return sigmoids < 2 and (live or self._is_never_rescaled(leaves))

    def _may_be_float(self, name: str) -> bool:
        kind = self._store.types.element_type(self._scope, name)
        return not kind or kind in FLOAT_TYPES

    def _is_never_rescaled(self, leaves: tuple[str, ...]) -> bool:
        """Whether no other value is a multiple of a leaf: such a value can be an activation."""
        if self._rescaled is None:
            scope = self._scope
            names: set[str] = set()
            for index, op_type in enumerate(scope.op_types):
                if op_type == "Neg" or (op_type in ("Mul", "Div") and self._has_constant(index)):
                    names.update(scope.inputs[index])
            self._rescaled = frozenset(names)
        return self._rescaled.isdisjoint(leaves)

    def _has_constant(self, index: int) -> bool:
        scope, constants = self._scope, self._store.constants
        return any(
            constants.uniform(scope.find(name) or scope, name) is not None for name in scope.inputs[index]
        )


class _Parts(dict[str, "_Part | None"]):
    """The structures of live values, and leaves; None for what is neither."""

    def __init__(self, kinds: Kinds) -> None:
        super().__init__()
        self._kinds = kinds

    def __missing__(self, name: str) -> _Part | None:
        kind = self._kinds.find(name)
        part: _Part | None = None
        if kind.__class__ is tuple:
            part = _SIMPLE, (), (), kind
        elif kind in (OPAQUE, SIGMOID):
            part = _SIMPLE, (name,), (), kind
        self[name] = part
        return part


def _match(index: int, proof: Proof, leaves: tuple[str, ...], nodes: tuple[int, ...]) -> Plain | None:
    nodes = tuple(dict.fromkeys(nodes))
    if proof.pattern is None or len(leaves) != 2 or len(nodes) < 3:
        return None
    return Plain(proof.pattern, index, leaves[proof.gradient], leaves[proof.activation], nodes)
