"""Which values a Sigmoid or Exp may be applied to for the same result, or for the one of the negative."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from onnx_ascend_ext.algebra import quotient
from onnx_ascend_ext.matching.store import Argument

if TYPE_CHECKING:
    from onnx_ascend_ext.algebra import Rational
    from onnx_ascend_ext.graph import Scope
    from onnx_ascend_ext.matching.store import FormStore

    _Value = tuple[Scope, str]

_NEGATING = frozenset({"Neg", "Sub", "Mul", "Div", "Identity"})
LINEAR = _NEGATING | {"Add"}
"""Operators that may make a multiple or a sum of their operands."""

_MAX_STEPS = 64
# A value that this factor takes out of the range of an element type has a Sigmoid of 0 or 1 in it.
_MAX_FACTOR = 64


class Arguments:
    """The arguments that names stand for.

    Only the few nodes before a Sigmoid are looked at, as the forms of all that it is computed from would be
    those of whole networks.
    """

    def __init__(self, store: FormStore) -> None:
        self._store = store
        self._known: dict[_Value, Argument] = {}
        self._combinations: dict[tuple[Scope, frozenset[tuple[_Value, Rational]]], str] = {}

    def may_be_negative(self, scope: Scope, name: str) -> bool:
        """Whether the node that computes a value may make the negative of another value."""
        index = scope.producer.get(name)
        if index is None or scope.op_types[index] != "Add":
            return index is not None and scope.op_types[index] in _NEGATING
        sources = [scope.producer.get(source) for source in scope.inputs[index]]
        return any(source is not None and scope.op_types[source] in _NEGATING for source in sources)

    def of(self, scope: Scope, name: str) -> Argument:
        """The argument that a name stands for; equal multiples and equal differences are one argument."""
        found = self._known.get((scope, name))
        if found is None:
            found = self._known[scope, name] = self._new(*self._multiple(scope, name, 1))
        return found

    def _new(self, scope: Scope, name: str, sign: Rational) -> Argument:
        terms = self._terms(scope, name)
        if len(terms) == 1:
            (((owner, base), factor),) = terms.items()
            if factor in (1, -1):
                return Argument(owner, base, sign * factor < 0)
        positive = scope, frozenset(terms.items())
        negative = scope, frozenset((value, -factor) for value, factor in terms.items())
        if positive not in self._combinations and negative in self._combinations:
            return Argument(scope, self._combinations[negative], sign > 0)
        return Argument(scope, self._combinations.setdefault(positive, name), sign < 0)

    def _terms(self, scope: Scope, name: str) -> dict[_Value, Rational]:
        """The values that a value is a multiple or a sum of multiples of, each with its factor.

        A sum is taken apart only by factors that are exact in floating-point arithmetic, and where nothing
        cancels: `3 * (x - h)` and `3 * x - 3 * h` may differ in most of their digits.
        """
        scope, name, factor = self._multiple(scope, name, _MAX_FACTOR)
        whole = {(scope, name): factor}
        index = scope.producer.get(name)
        op_type = scope.op_types[index] if index is not None and not scope.domains[index] else ""
        if index is None or op_type not in ("Add", "Sub") or len(scope.inputs[index]) != 2:
            return whole
        terms: dict[_Value, Rational] = {}
        for source in scope.inputs[index]:
            owner, base, times = self._multiple(scope, source, _MAX_FACTOR)
            if (owner, base) in terms or not _is_power_of_two(factor * times):
                return whole
            terms[owner, base] = factor * times
            if op_type == "Sub":
                factor = -factor
        return terms

    def _multiple(self, scope: Scope, name: str, limit: int) -> tuple[Scope, str, Rational]:
        """The value furthest back that a value is a multiple of, by factors from `1 / limit` to `limit`."""
        factor: Rational = 1
        for _ in range(_MAX_STEPS):
            scope = self._store.owner(scope, name)
            index = scope.producer.get(name)
            step = self._step(scope, index) if index is not None else None
            if step is None:
                break
            source, times = step
            if times not in (1, -1):
                size = abs(Fraction(factor * times))
                if limit == 1 or not 1 <= size * limit <= limit * limit:
                    break
            name, factor = source, factor * times
        return scope, name, factor

    def _step(self, scope: Scope, index: int) -> tuple[str, Rational] | None:
        """The operand that a node's result is a multiple of and the factor, or None where it is of none."""
        op_type, inputs = scope.op_types[index], scope.inputs[index]
        if op_type not in LINEAR or scope.domains[index]:
            return None
        if len(inputs) == 1:
            return (inputs[0], -1 if op_type == "Neg" else 1) if op_type in ("Identity", "Neg") else None
        if len(inputs) != 2:
            return None
        if op_type == "Add" and inputs[0] == inputs[1]:
            return inputs[0], 2
        left, right = (self._number(scope, name) for name in inputs)
        if op_type == "Mul" and right:
            return inputs[0], right
        if op_type == "Mul" and left:
            return inputs[1], left
        if op_type == "Div" and right:
            return inputs[0], quotient(1, right)
        if op_type in ("Add", "Sub") and 0 in (left, right):
            return (inputs[0], 1) if right == 0 else (inputs[1], 1 if op_type == "Add" else -1)
        return None

    def _number(self, scope: Scope, name: str) -> Rational | None:
        constant = self._store.constants.uniform(self._store.owner(scope, name), name)
        return constant.value if constant is not None and not constant.variable else None


def _is_power_of_two(number: Rational) -> bool:
    fraction = abs(Fraction(number))
    return fraction.numerator.bit_count() == 1 and fraction.denominator.bit_count() == 1
