"""Sigmoids in all their spellings: by name, by Exp, and by a model-local function."""

from __future__ import annotations

from typing import TYPE_CHECKING

from onnx_ascend_ext.algebra import UNIT, Form, monomial
from onnx_ascend_ext.matching.arguments import Arguments
from onnx_ascend_ext.matching.store import RELAXED_HINT

if TYPE_CHECKING:
    from onnx_ascend_ext.graph import Scope
    from onnx_ascend_ext.matching.store import Argument, FormStore


class Sigmoids:
    """The atoms for Sigmoid and Exp.

    By the strict rules `Sigmoid(x)` and `Sigmoid(-x)` are unrelated atoms, as both are computed to full
    relative accuracy and `1 - y` is not; `1 / (1 + exp(-x))` is the same atom as `Sigmoid(x)`.
    """

    def __init__(self, store: FormStore) -> None:
        self._store = store
        self._arguments = Arguments(store)
        self._sigmoid_atoms: dict[Argument, int] = {}
        self._exp_atoms: dict[Argument, int] = {}
        self._exponents: dict[int, Argument] = {}
        self._one_plus_exp: dict[int, int | None] = {}

    @property
    def any_exp(self) -> bool:
        """Whether any form has an Exp in it."""
        return bool(self._exponents)

    def applied(self, scope: Scope, index: int) -> Form:
        """The form of a Sigmoid or Exp node."""
        argument = self._arguments.of(scope, scope.inputs[index][0])
        if scope.op_types[index] == "Exp":
            return self._exp(scope, scope.outputs[index][0], argument)
        return self._sigmoid(scope, scope.outputs[index][0], argument)

    def is_of_negative(self, scope: Scope, index: int) -> bool:
        """Whether a Sigmoid node is applied to the negative of a value, so that it is some `1 - y`."""
        inputs = scope.inputs[index]
        if not inputs or not self._arguments.may_be_negative(scope, inputs[0]):
            return False
        return self._arguments.of(scope, inputs[0]).negative

    def called(self, scope: Scope, index: int, function: Scope) -> Form | None:
        """The form of a call of a model-local function, when that is a sigmoid of one of its inputs."""
        template = self._store.forms(function)[function.output_names[0]]
        argument = self._store.sigmoids.get(template.factors[0][0]) if len(template.factors) == 1 else None
        if argument is None or template != self._of(argument) or argument.scope is not function:
            return None
        formals, inputs = function.input_names, scope.inputs[index]
        position = formals.index(argument.name) if argument.name in formals else len(inputs)
        if position >= len(inputs) or not inputs[position]:
            return None
        passed = self._arguments.of(scope, inputs[position])
        if argument.negative:
            passed = passed.negated()
        return self._sigmoid(scope, scope.outputs[index][0], passed)

    def recognised(self, form: Form) -> Form:
        """A form in which `exp(x) / (1 + exp(x))` and `1 / (1 + exp(x))` are the sigmoids that they are."""
        ring = self._store.ring
        powers: dict[int, int] = {}
        for base, exponent in form.factors:
            if exponent >= 0 or not ring.is_sum(base):
                continue
            atom = self._exp_of_sum(base)
            if atom is None:
                continue
            powers = powers or dict(form.factors)
            argument = self._exponents[atom]
            count = -powers.pop(base)
            rising = min(max(powers.get(atom, 0), 0), count)
            if rising:
                powers[atom] -= rising
                self._add_power(powers, argument, rising)
            if count > rising:
                self._add_power(powers, argument.negated(), count - rising)
        return Form(form.scale, monomial(powers)) if powers else form

    def _add_power(self, powers: dict[int, int], argument: Argument, exponent: int) -> None:
        ((atom, _),) = self._of(argument).factors
        powers[atom] = powers.get(atom, 0) + exponent

    def _of(self, argument: Argument) -> Form:
        atom = self._sigmoid_atoms.get(argument)
        if atom is None:
            atom = self._sigmoid_atoms[argument] = self._store.ring.atom()
            self._store.sigmoids[atom] = argument
            self._store.doubtful |= argument.negated() in self._sigmoid_atoms
        return Form(1, ((atom, 1),))

    def _sigmoid(self, scope: Scope, name: str, argument: Argument) -> Form:
        if not argument.negative:
            return self._of(argument)
        if not self._store.rules.relaxed:
            return self._of(argument)
        self._store.excuses[scope, name] = f"the factor `1 - y` is computed as `Sigmoid(-x)`: {RELAXED_HINT}"
        return self._store.ring.add(UNIT, self._store.ring.negate(self._of(argument.negated())))

    def _exp(self, scope: Scope, name: str, argument: Argument) -> Form:
        ring, store = self._store.ring, self._store
        positive = argument._replace(negative=False)
        if store.rules.relaxed:
            store.excuses[scope, name] = f"the factor `1 - y` is computed from `Exp`: {RELAXED_HINT}"
            y = self._of(positive)
            odds = ring.divide(y, ring.add(UNIT, ring.negate(y)))
            return ring.power(odds, -1) if argument.negative else odds
        atom = self._exp_atoms.get(positive)
        if atom is None:
            atom = self._exp_atoms[positive] = ring.atom()
            self._exponents[atom] = positive
        return Form(1, ((atom, -1 if argument.negative else 1),))

    def _exp_of_sum(self, base: int) -> int | None:
        """The atom `e` of an Exp such that a sum is `1 + e`, or None."""
        if base not in self._one_plus_exp:
            terms = self._store.ring.terms(base)
            atoms = [term[0][0] for term in terms if len(term) == 1 and term[0][1] == 1]
            found = len(terms) == 2 and () in terms and len(atoms) == 1 and atoms[0] in self._exponents
            self._one_plus_exp[base] = atoms[0] if found and terms[((atoms[0], 1),)] == 1 else None
        return self._one_plus_exp[base]
