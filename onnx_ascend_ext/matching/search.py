"""Searches the scopes of a model for values that equal a kernel of other existing values."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from onnx_ascend_ext.algebra import ZERO, Form, TooLargeError, quotient
from onnx_ascend_ext.matching.arguments import LINEAR
from onnx_ascend_ext.matching.binding import Binder
from onnx_ascend_ext.matching.bound import Operand, Split
from onnx_ascend_ext.matching.cancellations import Cancellations
from onnx_ascend_ext.matching.candidates import Candidate, Candidates
from onnx_ascend_ext.matching.operators import ADDITIVE, ARITHMETIC, CONSTANTS, FUNCTIONS, QUOTIENTS
from onnx_ascend_ext.matching.proofs import Proofs
from onnx_ascend_ext.matching.structures import Plain, Structures

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from onnx_ascend_ext.graph import Constants, Scope
    from onnx_ascend_ext.matching.bound import Bound
    from onnx_ascend_ext.matching.pattern import Pattern
    from onnx_ascend_ext.matching.valuation import Valuation


_VISITED = ARITHMETIC | FUNCTIONS


@dataclass
class Outcome:
    """What was found in one scope.

    Attributes:
        plain: the matches that their structure shows.
        bound: the other matches.
        refused: root and reason of each place whose form is right but that cannot be replaced.
    """

    plain: list[Plain] = field(default_factory=list)
    bound: list[Bound] = field(default_factory=list)
    refused: list[tuple[int, str]] = field(default_factory=list)


class Search:
    """The search under one valuation.

    Only a sum can make the slope of a gradient, so forms are computed for sums that may be one, and from
    there on along their uses: the search ends at a match and wherever the slope's factor is lost.
    """

    def __init__(self, valuation: Valuation, patterns: Sequence[Pattern], *, proving: bool) -> None:
        self._valuation = valuation
        self._store = valuation.store
        self._binder = Binder(valuation, proving=proving)
        self._candidates = Candidates(valuation.store, patterns)
        self._cancellations = Cancellations(valuation.store)
        self._live: dict[Scope, set[str]] = {}
        self._complete: set[Scope] = set()
        self._scaled: set[str] = set()
        # How many Exp are terms of a sum that is made of them; 0 for an Exp itself.
        self._exponentials: dict[str, int] = {}
        self._proofs = Proofs(valuation.store.ring, patterns) if proving else None

    def scan(self, scope: Scope) -> Outcome:
        """Search a scope; those around it must have been scanned before.

        Raises:
            ModelError: nodes form a cycle.
        """
        outcome = Outcome()
        live = self._live[scope] = self._captured(scope)
        deferred: list[Bound] = []
        structures = Structures(self._valuation, scope, self._proofs) if self._proofs is not None else None
        for index in self._interesting(scope, live):
            name = scope.outputs[index][0]
            decision = structures.decide(index) if structures is not None else None
            if isinstance(decision, Plain):
                outcome.plain.append(decision)
                self._store.hide(scope, name)
                continue
            if decision is not None:
                if decision:
                    live.add(name)
                continue
            form = self._valuation.form(scope, name)
            if self._store.is_opaque(scope, name):
                continue
            self._candidates.note_operands(scope, index, form)
            cancelled = self._cancellations.follow(scope, index, form) if self._store.any_quotient else None
            if not cancelled and not self._candidates.may_explain(form):
                continue
            self._note_constant_factor(scope, index, name)
            found = self._match(scope, index, form, cancelled)
            if isinstance(found, str):
                outcome.refused.append((index, found))
            elif found is not None and found.deferred:
                deferred.append(found)
            elif found is not None:
                outcome.bound.append(found)
                self._cancellations.forget(scope, name)
                self._store.make_atom(scope, name)
                self._store.extents.make_own(scope, name)
                continue
            live.add(name)
            if structures is not None:
                structures.keep(name)
        _add_deferred(scope, outcome, deferred)
        return outcome

    def _captured(self, scope: Scope) -> set[str]:
        """The names of outer values in the body whose form has the factor of a slope."""
        if scope.parent is None:
            return set()
        owners = ((name, scope.find(name)) for name in scope.captures)
        return {name for name, owner in owners if owner is not None and name in self._live.get(owner, ())}

    def _interesting(self, scope: Scope, live: set[str]) -> Iterator[int]:
        """The nodes whose forms matter, in topological order; `live` grows while they are visited."""
        op_types, domains, inputs, outputs = scope.op_types, scope.domains, scope.inputs, scope.outputs
        relaxed = self._store.rules.relaxed
        producer = scope.producer
        exponentials = self._exponentials.keys()
        terms = _Terms(scope, self._store.constants)
        order = scope.order()
        for index, op_type in zip(order, map(op_types.__getitem__, order), strict=True):
            if op_type not in _VISITED:
                continue
            if op_type in ARITHMETIC:
                names = inputs[index]
                if exponentials and not exponentials.isdisjoint(names):
                    self._follow_exponential(scope, index)
                if live.isdisjoint(names) and not (
                    op_type in ADDITIVE and any(map(terms.__getitem__, names))
                ):
                    continue
            elif op_type == "Exp":
                self._exponentials.update(dict.fromkeys(outputs[index], 0))
                if not relaxed:
                    continue
            else:
                source = producer.get(inputs[index][0]) if inputs[index] else None
                if source is None or op_types[source] not in LINEAR:
                    continue
                if not self._valuation.is_sigmoid_of_negative(scope, index):
                    continue
                self._store.doubtful = True
                if not relaxed:
                    continue
            if not domains[index] and len(outputs[index]) == 1:
                yield index

    def _follow_exponential(self, scope: Scope, index: int) -> None:
        """Note whether an Exp, or a sum of several, is a factor of a product that may stand for `1 - y`."""
        op_type, inputs = scope.op_types[index], scope.inputs[index]
        counts = [self._exponentials[name] for name in inputs if name in self._exponentials]
        if op_type in ("Mul", "Div"):
            self._store.doubtful |= counts != [1]
            return
        if op_type in QUOTIENTS and counts == [1]:
            return  # a sigmoid
        is_sum = op_type in ADDITIVE and self._valuation.form(scope, inputs[0]) != ZERO
        count = sum(max(1, count) for count in counts) if is_sum else max(counts)
        self._exponentials.update(dict.fromkeys(scope.outputs[index], count))

    def _note_constant_factor(self, scope: Scope, index: int, name: str) -> None:
        """Remember values that a constant was multiplied into: only those may have it as their gradient."""
        inputs = scope.inputs[index]
        forms = self._store.forms(scope)
        product = scope.op_types[index] in ("Mul", "Div")
        if (product and not all(forms[s].factors for s in inputs)) or not self._scaled.isdisjoint(inputs):
            self._scaled.add(name)

    def _match(
        self, scope: Scope, root: int, form: Form, cancelled: tuple[int, ...] | None
    ) -> Bound | str | None:
        """The first way to compute a node by a kernel, or why the first one that was tried is refused.

        `cancelled` are sums that a slope may have had as its factor although the form has not; None where no
        factor can have cancelled.
        """
        refusal: str | None = None
        quotients: list[tuple[Candidate, Form]] = []
        hidden: list[tuple[Candidate, Form]] = []
        powers = dict(form.factors)
        bases = dict.fromkeys([base for base, exponent in form.factors if base & 1 and exponent > 0])
        for candidate in self._candidates_of(form, [*bases, *(cancelled or ())]):
            kept = all(powers.get(b, 0) >= e for b, e in candidate.slope.factors if e > 0)
            if kept or cancelled is not None:
                rest = self._rest(form, candidate.slope)
                if rest is not None:
                    (quotients if kept else hidden).append((candidate, rest))
        for whole in (True, False):
            for candidate, rest in quotients:
                found = self._bind(scope, root, candidate, rest, whole=whole)
                if isinstance(found, str):
                    refusal = refusal or found
                elif found is not None:
                    return found
        for candidate, rest in hidden:
            found = self._bind_quotient(scope, root, candidate, rest)
            if isinstance(found, str):
                refusal = refusal or found
            elif found is not None:
                return found
        return refusal

    def _candidates_of(self, form: Form, bases: Iterable[int]) -> Iterator[Candidate]:
        for base in bases:
            yield from self._candidates.of(base)
        yield from self._candidates.of_products(form)
        yield from self._candidates.of_quotients(form)
        yield from self._candidates.of_divisors(form)

    def _bind_quotient(self, scope: Scope, root: int, candidate: Candidate, rest: Form) -> Bound | str | None:
        """A match whose gradient holds quotients that the slope cancels."""
        activations = self._binder.operands(scope, root, candidate.activation)
        if not activations:
            return None
        refusal: str | None = None
        for gradient, factors, scale in self._binder.quotient_splits(scope, root, rest):
            for activation in activations:
                found = self._binder.bind(
                    scope,
                    root,
                    candidate.pattern,
                    gradient,
                    activation,
                    factors=factors,
                    scale=scale,
                    closed=True,
                )
                if found is not None and not isinstance(found, str):
                    return found
                refusal = refusal or found
        return refusal

    def _rest(self, form: Form, slope: Form) -> Form | None:
        """What a form holds beside a slope."""
        if len(form.factors) == len(slope.factors) and form.factors == slope.factors:
            return Form(quotient(form.scale, slope.scale))
        try:
            return self._store.ring.divide(form, slope)
        except TooLargeError:
            return None

    def _bind(
        self, scope: Scope, root: int, candidate: Candidate, rest: Form, *, whole: bool
    ) -> Bound | str | None:
        if not rest.factors and (not whole or scope.outputs[root][0] not in self._scaled):
            return None
        activations = self._binder.operands(scope, root, candidate.activation)
        if any(operand.views for operand in activations):
            self._complete_forms(scope)
            activations = self._binder.operands(scope, root, candidate.activation)
        if not activations:
            return None
        if not rest.factors:
            return self._binder.bind_constant(scope, root, candidate.pattern, activations[0], rest.scale)
        if whole:
            splits = [Split(gradient, (), 1) for gradient in self._gradients(scope, root, rest)]
        else:
            splits = self._binder.splits(scope, root, rest)
        refusal: str | None = None
        for gradient, factors, scale in splits:
            for activation in activations:
                found = self._binder.bind(
                    scope, root, candidate.pattern, gradient, activation, factors=factors, scale=scale
                )
                if found is not None and not isinstance(found, str):
                    return found
                refusal = refusal or found
        return refusal

    def _gradients(self, scope: Scope, root: int, form: Form) -> list[Operand]:
        found = self._binder.operands(scope, root, form)
        if any(operand.views for operand in found) or (not found and not self._is_atom(form)):
            self._complete_forms(scope)
            found = self._binder.operands(scope, root, form)
        return found

    @staticmethod
    def _is_atom(form: Form) -> bool:
        return len(form.factors) == 1 and not form.factors[0][0] & 1

    def _complete_forms(self, scope: Scope) -> None:
        """Compute all arithmetic forms of a scope and those around it, once, to find composites and views."""
        for current in scope.enclosing():
            if current in self._complete:
                continue
            self._complete.add(current)
            for index in current.order():
                if current.op_types[index] in ARITHMETIC and any(current.outputs[index][:1]):
                    self._valuation.form(current, current.outputs[index][0])


class _Terms(dict[str, bool]):
    """Whether each name of a scope may be the term that makes a sum a slope: a constant or arithmetic."""

    def __init__(self, scope: Scope, constants: Constants) -> None:
        super().__init__()
        self._scope = scope
        self._constants = constants

    def __missing__(self, name: str) -> bool:
        scope = self._scope
        index = scope.producer.get(name)
        if index is not None:
            found = scope.op_types[index] in ARITHMETIC or scope.op_types[index] in CONSTANTS
        elif name in scope.input_set and name not in scope.initializers:
            found = False
        else:
            found = not scope.defines(name) or self._constants.uniform(scope, name) is not None
        self[name] = found
        return found


def _add_deferred(scope: Scope, outcome: Outcome, deferred: list[Bound]) -> None:
    """Keep matches with a constant gradient or factor where no better match covers them or ends inside."""
    if not deferred:
        return
    covered = {node for bound in outcome.bound for node in bound.region.nodes}
    covered.update((scope, node) for plain in outcome.plain for node in plain.nodes)
    roots = {(scope, bound.root) for bound in outcome.bound}
    roots.update((scope, plain.root) for plain in outcome.plain)
    for bound in sorted(deferred, key=lambda bound: bound.constant_gradient):
        if (scope, bound.root) not in covered and roots.isdisjoint(bound.region.nodes):
            outcome.bound.append(bound)
            covered.update(bound.region.nodes)
            roots.add((scope, bound.root))
