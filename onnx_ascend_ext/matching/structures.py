"""Decides the nodes of a scope by the small structures that they end, where the proof of one says all."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from onnx_ascend_ext.graph.number_formats import FLOAT_TYPES
from onnx_ascend_ext.matching.kinds import COMPUTED, OPAQUE, OTHER, SIGMOID, Kinds
from onnx_ascend_ext.matching.proofs import MAX_LEAVES

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

    from onnx_ascend_ext.graph import Scope
    from onnx_ascend_ext.matching.pattern import Pattern
    from onnx_ascend_ext.matching.proofs import Proof, Proofs
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


# The proof of a structure, its leaves, and its nodes (some of them repeatedly).
_Structure: TypeAlias = "tuple[Proof, tuple[str, ...], tuple[int, ...]]"

# A name as an operand: the same, without a proof for a leaf or a constant, and what it has in common with all
# operands of an equal structure with leaves of equal kinds; None where it is like no other.
_Operand: TypeAlias = "tuple[Proof | None, tuple[str, ...], tuple[int, ...], Hashable]"


class Structures:
    """The structures of one scope."""

    def __init__(self, valuation: Valuation, scope: Scope, proofs: Proofs) -> None:
        self._store = valuation.store
        self._scope = scope
        self._proofs = proofs
        self._kinds = Kinds(valuation, scope)
        self._operands = _Operands(self._kinds)
        self._inner: dict[str, _Structure | None] = {}
        self._undecided: dict[str, _Structure] = {}
        self._rescaled: frozenset[str] | None = None
        # Proofs of matches and live structures, and what the result is like as an operand. A node is decided
        # as an earlier one with the same operator, operands that are alike, and leaves shared alike.
        self._decided: dict[tuple[Hashable, ...], tuple[Proof, Hashable]] = {}

    def decide(self, index: int) -> Plain | bool | None:
        """What a node is: a match, live or not, or None when its structure does not tell.

        Args:
            index: a node of the default domain with one output.
        """
        scope = self._scope
        op_type, inputs = scope.op_types[index], scope.inputs[index]
        if op_type not in _DECIDED or len(inputs) != 2:
            return None
        left, right = self._operands[inputs[0]], self._operands[inputs[1]]
        if left is None or right is None:
            return self._examined(index)
        _, leaves, left_nodes, left_alike = left
        _, right_leaves, right_nodes, right_alike = right
        if left_alike is None or right_alike is None:
            return self._examined(index)
        places: tuple[int, ...] = ()
        for leaf in right_leaves:
            if leaf not in leaves:
                leaves += (leaf,)
            places += (leaves.index(leaf),)
        key = (op_type, left_alike, right_alike, places)
        known = self._decided.get(key)
        if known is None:
            decision = self._examined(index)
            if decision:
                self._learn(key, index)
            return decision
        proof, alike = known
        nodes = (index, *left_nodes, *right_nodes)
        if len(nodes) > _MAX_NODES:
            return self._examined(index)
        if proof.pattern is not None:
            return _match(index, proof, leaves, nodes) or self._examined(index)
        self._operands[scope.outputs[index][0]] = proof, leaves, nodes, alike
        return True

    def _learn(self, key: tuple[Hashable, ...], index: int) -> None:
        """Remember a decision, unless it rested on more than `key` tells, such as an element type."""
        structure = self._structure(index, self._known, None)
        if structure is None:
            return
        proof = structure[0]
        if proof.pattern is not None and proof.has_constant:
            self._decided[key] = proof, None
        elif proof.pattern is None and proof.live and not proof.partial:
            result = self._operands[self._scope.outputs[index][0]]
            if result is not None and result[3] is not None:
                self._decided[key] = proof, result[3]

    def _examined(self, index: int) -> Plain | bool | None:
        """As `decide`, without a look at earlier decisions."""
        is_sum = self._scope.op_types[index] != "Mul"
        if is_sum:
            # Only what its operands are made of tells what a sum is.
            deeper = self._structure(index, self._known, self._inner_structure)
            decision = None if deeper is None else self._weighed(index, deeper)
            if decision is not None:
                return decision
        structure = self._structure(index, self._known, None)
        if structure is None:
            return None
        decision = self._weighed(index, structure)
        if decision is None and not is_sum:
            deeper = self._structure(index, self._known, self._inner_structure)
            decision = None if deeper is None else self._weighed(index, deeper)
        if decision is None and self._kinds.refine(structure[1]):
            decision = self._weighed(index, structure)
        return decision

    def _weighed(self, index: int, structure: _Structure) -> Plain | bool | None:
        proof, leaves, nodes = structure
        if proof.pattern is not None:
            if proof.has_constant or self._may_be_float(leaves[proof.activation]):
                return _match(index, proof, leaves, nodes)
            return None
        name = self._scope.outputs[index][0]
        if proof.partial or not self._are_opaque(leaves, live=proof.live):
            self._undecided[name] = structure
            return None
        if proof.live:
            self._add(name, structure)
        return proof.live

    def _add(self, name: str, structure: _Structure) -> None:
        """Take the structure of a value as an operand of larger ones."""
        proof, leaves, nodes = structure
        kinds = [self._kinds.of(leaf) for leaf in leaves]
        # A computed leaf may hold more than the structure shows.
        alike = None if COMPUTED in kinds else (proof.key[0], *kinds)
        self._operands[name] = proof, leaves, nodes, alike

    def _known(self, name: str) -> _Structure | None:
        """The structure of a live value, None for any other name."""
        operand = self._operands.get(name)
        if operand is None or operand[0] is None:
            return None
        return operand[0], operand[1], operand[2]

    def _structure(
        self,
        index: int,
        known: Callable[[str], _Structure | None],
        computed: Callable[[str], _Structure | None] | None,
    ) -> _Structure | None:
        """The structure of a node, or None when it is a constant, too large, or not one that is dealt with.

        Args:
            index: a node of an operator in `_DECIDED`.
            known: gives the structure of an operand, where it is no leaf.
            computed: gives it of another operand that arithmetic computes, which is a leaf otherwise.
        """
        scope = self._scope
        op_type = scope.op_types[index]
        leaves: tuple[str, ...] = ()
        nodes: tuple[int, ...] = (index,)
        key: tuple[Hashable, ...] = (op_type,)
        for name in scope.inputs[index]:
            inner = known(name)
            if inner is None:
                kind = self._kinds.of(name)
                if kind.__class__ is tuple:
                    if op_type == "Mul":
                        return None
                    key += (kind,)
                    continue
                if kind == OTHER:
                    return None
                if kind == COMPUTED and computed is not None:
                    inner = computed(name)
            if inner is None:
                if name not in leaves:
                    leaves += (name,)
                key += (leaves.index(name),)
                continue
            proof, inner_leaves, inner_nodes = inner
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
        return proved, leaves, nodes

    def _inner_structure(self, name: str) -> _Structure | None:
        """The structure of a computed value that is a product or sum of leaves and such values."""
        found = self._inner.get(name)
        if found is not None or name in self._inner:
            return found
        index = self._scope.producer[name]
        if self._scope.op_types[index] in _DECIDED and len(self._scope.inputs[index]) == 2:
            found = self._structure(index, self._inner.get, None)
        self._inner[name] = found
        return found

    def keep(self, name: str) -> None:
        """Take a value that was found to be live otherwise as an operand of larger structures."""
        structure = self._undecided.pop(name, None)
        if structure is not None:
            self._add(name, structure)

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


class _Operands(dict[str, "_Operand | None"]):
    """What names are as operands; None for what is no constant, no leaf and no known structure."""

    def __init__(self, kinds: Kinds) -> None:
        super().__init__()
        self._kinds = kinds

    def __missing__(self, name: str) -> _Operand | None:
        kind = self._kinds.find(name)
        operand: _Operand | None = None
        if kind.__class__ is tuple:
            operand = None, (), (), kind
        elif kind in (OPAQUE, SIGMOID):
            operand = None, (name,), (), kind
        self[name] = operand
        return operand


def _match(index: int, proof: Proof, leaves: tuple[str, ...], nodes: tuple[int, ...]) -> Plain | None:
    nodes = tuple(dict.fromkeys(nodes))
    if proof.pattern is None or len(leaves) != 2 or len(nodes) < 3:
        return None
    return Plain(proof.pattern, index, leaves[proof.gradient], leaves[proof.activation], nodes)
