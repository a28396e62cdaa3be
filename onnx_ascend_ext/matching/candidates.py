"""Kernels and activations that would explain the factors of a form."""

from __future__ import annotations

from contextlib import suppress
from itertools import combinations, product
from math import prod
from typing import TYPE_CHECKING, NamedTuple

from onnx_ascend_ext.algebra import UNIT, Form, TooLargeError, quotient
from onnx_ascend_ext.matching.operators import ADDITIVE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from onnx_ascend_ext.algebra import Monomial, Rational
    from onnx_ascend_ext.graph import Scope
    from onnx_ascend_ext.matching.pattern import Pattern
    from onnx_ascend_ext.matching.store import FormStore

# A power of an activation has no more factors `1 + rate * root` than these in a slope that is looked for.
_MAX_SUMS = 4
# Nor do the sums of a form have more products of powers than these.
_MAX_DIVISORS = 64


class Candidate(NamedTuple):
    """A kernel and an activation that would explain one factor of a form."""

    pattern: Pattern
    activation: Form
    slope: Form


class Candidates:
    """The candidates under the rules of one store, each derived once."""

    def __init__(self, store: FormStore, patterns: Sequence[Pattern]) -> None:
        self._store = store
        self._patterns = patterns
        self._solved: dict[int, list[Candidate]] = {}
        self._by_sums: dict[tuple[int, ...], list[Candidate]] = {}
        self._noted: dict[int, list[Candidate]] = {}
        self._noted_products: dict[int, list[tuple[Form, Candidate]]] = {}
        self._dividing: dict[Form, list[Candidate]] = {}
        self._composites: set[tuple[Pattern, Form]] = set()

    def of(self, base: int) -> list[Candidate]:
        """What would explain a sum in a form: the activation that solves it first, then other values."""
        found = self._solved.get(base)
        if found is None:
            found = self._solved[base] = []
            one = Form(1, ((base, 1),))
            for candidate in self._solving(((base, 1),)):
                found.append(candidate)
                if candidate.pattern.symmetric and not self.exists(candidate.activation):
                    found.append(candidate._replace(activation=one))
        noted = self._noted.get(base)
        return found + noted if noted else found

    def of_products(self, form: Form) -> list[Candidate]:
        """What would explain several sums in a form at once, as `1 - x^2` is `(1 - x) * (1 + x)`."""
        sums = tuple([base for base, exponent in form.factors if base & 1 and exponent > 0])
        if not 2 <= len(sums) <= _MAX_SUMS:
            return []
        found = self._by_sums.get(sums)
        if found is None:
            found = self._by_sums[sums] = []
            for count in range(2, len(sums) + 1):
                for chosen in combinations(sums, count):
                    found.extend(self._solving(tuple((base, 1) for base in chosen)))
        return found

    def of_quotients(self, form: Form) -> list[Candidate]:
        """What would explain a form in which `1 + rate * activation` is a quotient without a sum above."""
        if not self._noted_products:
            return []
        return [
            candidate
            for base, _ in form.factors
            for factor, candidate in self._noted_products.get(base, ())
            if _contains(form, factor)
        ]

    def of_divisors(self, form: Form) -> list[Candidate]:
        """Existing activations that are made of sums, and whose whole slopes a form contains."""
        powers = [(base, exponent) for base, exponent in form.factors if base & 1 and exponent > 0]
        # One sum belongs to the activation and another one to the rest of its slope.
        if sum(exponent for _, exponent in powers) < 2 or len(powers) > _MAX_SUMS:
            return []
        if prod(exponent + 1 for _, exponent in powers) > _MAX_DIVISORS:
            return []
        found: list[Candidate] = []
        scales = self._store.scales
        for exponents in product(*[range(e + 1) for _, e in powers]):
            factors = tuple([(base, e) for (base, _), e in zip(powers, exponents, strict=True) if e])
            for scale in scales.get(factors, ()) if factors else ():
                found.extend(c for c in self._of_activation(Form(scale, factors)) if _contains(form, c.slope))
        return found

    def _of_activation(self, activation: Form) -> list[Candidate]:
        found = self._dividing.get(activation)
        if found is None:
            found = self._dividing[activation] = []
            for pattern in self._patterns:
                with suppress(TooLargeError):
                    found.append(Candidate(pattern, activation, pattern.slope(activation)))
        return found

    def _solving(self, factors: Monomial) -> list[Candidate]:
        """The candidates for which a product of sums is the slope's factor `1 + rate * activation`."""
        found: list[Candidate] = []
        for pattern in self._patterns:
            try:
                activation = pattern.activation_of(factors)
                if activation is not None:
                    slope = pattern.slope(activation, Form(1, factors))
                    found.append(Candidate(pattern, activation, slope))
            except TooLargeError:
                continue
        return found

    def exists(self, form: Form) -> bool:
        """Whether some value has a form, or a view or a Sigmoid of one would."""
        store = self._store
        if form in store.existing:
            return True
        if form.scale != 1 or len(form.factors) != 1 or form.factors[0][1] != 1:
            return False
        atom = form.factors[0][0]
        return atom in store.views or (store.rules.relaxed and atom in store.sigmoids)

    def may_explain(self, form: Form) -> bool:
        """Whether a form has the factor of a slope whose activation exists."""
        for base, _ in form.factors:
            if base & 1:
                for candidate in self.of(base):
                    if self.exists(candidate.activation):
                        return True
        return (
            any(self.exists(candidate.activation) for candidate in self.of_products(form))
            or bool(self.of_quotients(form))
            or bool(self.of_divisors(form))
        )

    def note_operands(self, scope: Scope, index: int, form: Form) -> None:
        """Remember the operands of a sum that may be activations although its form does not give them away.

        That is so for an activation that has a constant term or a quotient in it: it can be the operand
        that a constant is added to, or one that has a factor in common with the other operand.

        Args:
            scope: where the node lies.
            index: the node.
            form: the form of its result.
        """
        inputs = scope.inputs[index]
        if scope.op_types[index] not in ADDITIVE or len(inputs) != 2:
            return
        forms = self._store.forms(scope)
        left, right = forms.get(inputs[0], UNIT), forms.get(inputs[1], UNIT)
        if left.factors and right.factors:
            common = {base for base, _ in left.factors} & {base for base, _ in right.factors}
            for operand in (left, right):
                if self._is_hidden(operand) and not common.isdisjoint(base for base, _ in operand.factors):
                    self._note(operand, None, form)
        elif left.factors or right.factors:
            constant, operand = (right, left) if left.factors else (left, right)
            if self._is_hidden(operand) and constant.scale:
                if scope.op_types[index] == "Sub":
                    operand, constant = (
                        (operand, self._store.ring.negate(constant))
                        if left.factors
                        else (self._store.ring.negate(operand), constant)
                    )
                self._note(operand, constant.scale, form)

    def _is_hidden(self, form: Form) -> bool:
        """Whether a form has a quotient in it, a sum with a constant term, or a product with a sum.

        Such a form cannot be told from the sum that it is a term of: sums are not factored.
        """
        ring, is_product = self._store.ring, len(form.factors) > 1
        return any(
            e < 0 or (base & 1 and (is_product or e > 1 or () in ring.terms(base)))
            for base, e in form.factors
        )

    def _note(self, operand: Form, constant: Rational | None, total: Form) -> None:
        """Remember an activation; `total` is `constant + operand` where there is a constant."""
        ring = self._store.ring
        for pattern in self._patterns:
            activation, factor = operand, None
            try:
                if constant is not None:
                    activation = ring.multiply(operand, Form(quotient(1, constant * pattern.rate)))
                    factor = ring.multiply(total, Form(quotient(1, constant)))
                key = (pattern, activation)
                if key in self._composites or not self.exists(activation):
                    continue
                self._composites.add(key)
                candidate = Candidate(pattern, activation, pattern.slope(activation, factor))
            except TooLargeError:
                continue
            for base, exponent in candidate.slope.factors:
                if base & 1 and exponent > 0:
                    self._noted.setdefault(base, []).append(candidate)
            needed = candidate.slope if factor is None else factor
            if needed.factors and not _has_sum(needed):
                base = needed.factors[0][0]
                self._noted_products.setdefault(base, []).append((needed, candidate))


def _has_sum(form: Form) -> bool:
    return any(base & 1 and exponent > 0 for base, exponent in form.factors)


def _contains(form: Form, part: Form) -> bool:
    """Whether a form has all the factors of another one, divisors among them."""
    powers = dict(form.factors)
    return all(
        powers.get(base, 0) >= exponent if exponent > 0 else powers.get(base, 0) <= exponent
        for base, exponent in part.factors
    )
