"""Proves small structures of nodes once: what holds for opaque leaves holds for any values in their place.

A large graph spells its gradients in very few ways. The structure of nodes that a sum starts is a key,
`Mul(0, Mul(1, Sub(one, 1)))`, in which numbers stand for leaves. The algebra proves each key once.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING

from onnx_ascend_ext.algebra import UNIT, Form, TooLargeError, loses_digits

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    from onnx_ascend_ext.algebra import Ring
    from onnx_ascend_ext.matching.pattern import Pattern

MAX_LEAVES = 3
"""How many leaves a structure may have."""


@dataclass(frozen=True)
class Proof:
    """What the algebra says about a structure.

    Attributes:
        key: what stands for the structure, with its leaves in their order, in the keys of larger ones.
        values: the forms, over the leaves' stand-ins, of the values in it that are computed; its own first.
        has_constant: whether a constant of a float type is in it.
        live: whether it has the factor of a slope at one of its leaves.
        partial: whether it is a kernel times something else, or may have an activation that is no leaf, so
            that more has to be weighed.
        pattern: the kernel that computes it, or None.
        gradient: the leaf that is the kernel's gradient.
        activation: the leaf that is its activation.
    """

    key: tuple[int, ...]
    values: tuple[Form, ...]
    has_constant: bool
    live: bool = False
    partial: bool = False
    pattern: Pattern | None = None
    gradient: int = -1
    activation: int = -1


class Proofs:
    """The proofs of all structures that have been met, by their keys."""

    def __init__(self, ring: Ring, patterns: Sequence[Pattern]) -> None:
        self._ring = ring
        self._patterns = patterns
        self._stand_ins = [ring.atom() for _ in range(MAX_LEAVES)]
        self._proofs: list[Proof] = []
        self._by_key: dict[tuple[Hashable, ...], Proof | None] = {}

    def of(self, key: tuple[Hashable, ...]) -> Proof | None:
        """The proof of a structure, or None when its form exceeds the bounds or is not exact enough.

        Args:
            key: the operator, then for each operand the number of a leaf, a constant as a tuple of one, or
                the number of a structure followed by the leaves that its own leaves are.
        """
        try:
            return self._by_key[key]
        except KeyError:
            pass
        try:
            proof = self._prove(key)
        except TooLargeError:
            proof = None
        self._by_key[key] = proof
        return proof

    def _prove(self, key: tuple[Hashable, ...]) -> Proof | None:
        ring = self._ring
        operands = [self._operand(operand) for operand in key[1:]]
        left, right = operands[0][0], operands[1][0]
        if key[0] == "Mul":
            form = ring.multiply(left, right)
        else:
            right = right if key[0] == "Add" else ring.negate(right)
            if loses_digits(ring, left, right):
                return None
            form = ring.add(left, right)
        constants = [
            len(operand) == 1 or self._proofs[operand[0]].has_constant
            for operand in key[1:]
            if isinstance(operand, tuple)
        ]
        leaves = {operand for operand in key[1:] if isinstance(operand, int)}
        leaves.update(leaf for operand in key[1:] if isinstance(operand, tuple) for leaf in operand[1:])
        inner = [values for values, operand in zip(operands, key[1:], strict=True) if _is_structure(operand)]
        values = tuple(dict.fromkeys([form, *chain.from_iterable(inner)]))
        proof = self._matched((len(self._proofs), *sorted(leaves)), values, any(constants))
        self._proofs.append(proof)
        return proof

    def _operand(self, operand: Hashable) -> tuple[Form, ...]:
        """The form of an operand, and those of the values that are computed in it."""
        if isinstance(operand, int):
            return (Form(1, ((self._stand_ins[operand], 1),)),)
        if not isinstance(operand, tuple):
            raise TypeError(f"no operand of a structure: {operand!r}")
        if len(operand) == 1:
            return (Form(operand[0]),)
        number, *places = operand
        image = {self._stand_ins[i]: Form(1, ((self._stand_ins[p], 1),)) for i, p in enumerate(places)}
        values = self._proofs[number].values
        return tuple([self._ring.substitute(value, image.__getitem__) for value in values])

    def _matched(self, key: tuple[int, ...], values: tuple[Form, ...], has_constant: bool) -> Proof:
        ring, form = self._ring, values[0]
        leaf_of = {((atom, 1),): leaf for leaf, atom in enumerate(self._stand_ins)}
        slopes: list[Form] = []
        partial = False
        for base, exponent in form.factors:
            if not ring.is_sum(base) or exponent < 1:
                continue
            for pattern in self._patterns:
                activation = pattern.activation_of(((base, 1),))
                if activation is None:
                    continue
                if activation.factors not in leaf_of:
                    partial = True
                    continue
                if activation.scale != 1:
                    continue
                slopes.append(pattern.slope(activation, Form(1, ((base, 1),))))
                rest = ring.divide(form, slopes[-1])
                if rest.scale == 1 and rest.factors in leaf_of:
                    gradient, place = leaf_of[rest.factors], leaf_of[activation.factors]
                    return Proof(key, values, has_constant, True, False, pattern, gradient, place)
                partial |= bool(rest.factors) and all(power > 0 for _, power in rest.factors)
        partial |= any(self._may_be_activation(form, value, slopes) for value in values[1:])
        return Proof(key, values, has_constant, bool(slopes), partial)

    def _may_be_activation(self, form: Form, value: Form, slopes: Sequence[Form]) -> bool:
        """Whether a value in a structure may be the activation of a kernel that is a factor of the structure.

        `slopes` are those that leaves explain; without them, the factor `1 + rate * value` is enough.
        """
        ring, powers = self._ring, dict(form.factors)
        for pattern in self._patterns:
            needed = ring.add(UNIT, ring.multiply(value, Form(pattern.rate)))
            if slopes:
                needed = pattern.slope(value, needed)
            contained = all(powers.get(base, 0) >= power for base, power in needed.factors)
            if needed.factors and contained and needed not in slopes:
                return True
        return False


def _is_structure(operand: Hashable) -> bool:
    return isinstance(operand, tuple) and len(operand) > 1
