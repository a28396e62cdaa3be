"""Binds a kernel's inputs to values of the model, and proves that nothing else changes."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

from onnx import TensorProto

from onnx_ascend_ext.algebra import Form, TooLargeError, quotient
from onnx_ascend_ext.graph import ShapeOf
from onnx_ascend_ext.graph.number_formats import FLOAT_TYPES, widens
from onnx_ascend_ext.graph.operators import VIEWS
from onnx_ascend_ext.matching.bound import Bound, Operand, Split
from onnx_ascend_ext.matching.region import MAX_NODES, region

if TYPE_CHECKING:
    from collections.abc import Iterable

    from onnx_ascend_ext.algebra import Rational
    from onnx_ascend_ext.graph import Extent, Scope
    from onnx_ascend_ext.matching.pattern import Pattern
    from onnx_ascend_ext.matching.region import Region
    from onnx_ascend_ext.matching.valuation import Valuation

# A match must make the graph smaller by this many nodes, so that it is worth rounding differently.
_LEAST_SAVED = 2
# A product with more factors left over is no gradient.
_MAX_FACTORS = 4
_MAX_ENTRIES = 4
# A constant factor may use up a half of an element type's exponents, so that values of usual sizes stay in
# its range; a type that is not known counts as float16.
_SCALE_BITS: dict[int, int] = {TensorProto.FLOAT: 63, TensorProto.BFLOAT16: 63, TensorProto.DOUBLE: 511}
_SCALE_BITS_OF_SMALL_TYPES = 7
# A factor that is split off may leave a product too small for these although no value of the model was.
_NARROW = FLOAT_TYPES - {TensorProto.FLOAT, TensorProto.DOUBLE}


class Binder:
    """Finds values by their forms and checks what a replacement would change.

    With `proving` off, element types and shapes are not checked: for places that are only reported.
    """

    def __init__(self, valuation: Valuation, *, proving: bool) -> None:
        self._valuation = valuation
        self._store = valuation.store
        self._proving = proving

    def operands(self, scope: Scope, root: int, form: Form) -> list[Operand]:
        """The values of a form that can be used at a root, or one that views make out of such a value.

        Behind too many views nothing is looked for any more: `bind` refuses what is found there.
        """
        views: list[int] = []
        while True:
            found = self._existing(scope, root, form)
            if found or form.scale != 1 or len(form.factors) != 1 or form.factors[0][1] != 1:
                break
            atom = form.factors[0][0]
            view = self._store.views.get(atom)
            if view is None or view.scope is not scope:
                found = self._activated(scope, root, atom)
                break
            views.append(view.node)
            if len(views) > MAX_NODES:
                found = [Operand(scope, scope.inputs[view.node][0])]
                break
            form = Form(1, ((view.inner, 1),))
        if not views:
            return found
        chain = tuple(reversed(views))
        return [operand._replace(views=chain) for operand in found]

    def _existing(self, scope: Scope, root: int, form: Form) -> list[Operand]:
        """The values of a form that can be used at a root."""
        entries = self._store.existing.get(form, [])
        if len(entries) > 2 * _MAX_ENTRIES:
            # The first one is the plainest, the last one is the nearest.
            entries = entries[:_MAX_ENTRIES] + entries[-_MAX_ENTRIES:]
        found = [Operand(*entry) for entry in entries if self._is_visible(scope, root, *entry)]
        return self._by_type(scope, root, found) if len(found) > 1 else found

    def _activated(self, scope: Scope, root: int, atom: int) -> list[Operand]:
        """The argument of a Sigmoid that is computed nowhere."""
        argument = self._store.sigmoids.get(atom)
        if argument is None or argument.negative or not self._store.rules.relaxed:
            return []
        if not self._is_visible(scope, root, argument.scope, argument.name):
            return []
        return [Operand(argument.scope, argument.name, activated=True)]

    def _by_type(self, scope: Scope, root: int, found: list[Operand]) -> list[Operand]:
        """Values of the root's element type first: a value and its widening Cast have one form."""
        wanted = self._element_type(scope, scope.outputs[root][0])
        return sorted(found, key=lambda operand: self._element_type(*operand.key) != wanted)

    def _is_visible(self, scope: Scope, root: int, owner: Scope, name: str) -> bool:
        """Whether a value is computed before a root and its name means it there."""
        producer = owner.producer.get(name)
        if owner is scope:
            return producer is None or scope.position(producer) < scope.position(root)
        if scope.find(name) is not owner:
            return False
        inner = scope
        while inner.parent is not None and inner.parent is not owner:
            inner = inner.parent
        return producer is None or owner.position(producer) < owner.position(inner.owner)

    def splits(self, scope: Scope, root: int, form: Form) -> list[Split]:
        """Ways to write a form as an existing value times other existing values and a constant."""
        for scale in self._store.scales.get(form.factors, ()):
            if scale != form.scale:
                scaled = self.operands(scope, root, Form(scale, form.factors))
                if scaled:
                    return [Split(scaled[0], (), quotient(form.scale, scale))]
        if any(exponent < 0 for _, exponent in form.factors):
            return []
        if sum(exponent for _, exponent in form.factors) > _MAX_FACTORS:
            return []
        values: list[Operand] = []
        for base, exponent in form.factors:
            found = self.operands(scope, root, Form(1, ((base, 1),)))
            if not found:
                return []
            values.extend([found[0]] * exponent)
        return [Split(values[0], tuple(values[1:]), form.scale)]

    def quotient_splits(self, scope: Scope, root: int, form: Form) -> list[Split]:
        """Ways to write a form that holds quotients as a value that a root is computed from, times others."""
        valuation = self._valuation
        found = [Split(operand, (), 1) for operand in self.operands(scope, root, form)]
        between = region(self._store, scope, root, ())
        for owner, index in between.nodes[1:] if between is not None else ():
            name = owner.outputs[index][0]
            value = valuation.form(owner, name)
            if value == form or all(exponent > 0 for _, exponent in value.factors):
                continue
            try:
                rest = self._store.ring.divide(form, value)
            except TooLargeError:
                continue
            gradient = Operand(owner, name)
            if not rest.factors:
                found.append(Split(gradient, (), rest.scale))
            else:
                found.extend(
                    Split(gradient, (split.gradient, *split.factors), split.scale)
                    for split in self.splits(scope, root, rest)
                )
        return found

    def bind_constant(
        self, scope: Scope, root: int, pattern: Pattern, activation: Operand, value: Rational
    ) -> Bound | None:
        """A match whose gradient is a constant that the slope is multiplied with."""
        found = region(self._store, scope, root, {activation.key})
        if found is None:
            return None
        for owner, name in found.multiplied:
            if self._store.forms(owner).get(name) != Form(value):
                continue
            constant = self._store.constants.uniform(owner, name)
            if value != 1 or (constant is not None and constant.extent):
                bound = self.bind(scope, root, pattern, Operand(owner, name), activation)
                if isinstance(bound, Bound):
                    return replace(bound, constant_gradient=True)
        return None

    def bind(
        self,
        scope: Scope,
        root: int,
        pattern: Pattern,
        gradient: Operand,
        activation: Operand,
        *,
        factors: tuple[Operand, ...] = (),
        scale: Rational = 1,
        closed: bool = False,
    ) -> Bound | str | None:
        """A match with these operands, a reason against it, or None where it is not worth one.

        With `closed`, the root must be computed from all of these operands and constants alone.
        """
        valuation = self._valuation
        operands = (gradient, activation, *factors)
        bounds = {operand.key for operand in operands}
        found = region(self._store, scope, root, bounds)
        if found is None or any(len(operand.views) > MAX_NODES for operand in operands):
            return f"more than {MAX_NODES} nodes lie between it and its operands"
        if closed and not self._is_closed(found, operands):
            return None
        if self._proving:
            typed = self._typed(scope, root, operands, found)
            if typed is None or isinstance(typed, str):
                return typed
            operands = typed
        extra = len(factors) + (scale != 1) + sum(len(o.views) + o.activated for o in operands)
        saved = len(found.nodes) - 1 - extra
        if 0 < saved < _LEAST_SAVED:
            saved += self._shared_nodes(pattern, gradient, activation, found)
        if saved < _LEAST_SAVED:
            if scale != 1 and len(found.nodes) > _LEAST_SAVED:
                return f"it is {scale} times the gradient, and a node for that factor would save too little"
            return None
        if self._proving:
            reason = self._range_reason(scope, root, len(factors), scale, found)
            reason = reason or self._shape_reason(scope, root, operands, found)
            if reason:
                return reason
        gradient, activation, *rest = operands
        proven = activation.activated or self._store.is_sigmoid(valuation.form(*activation.key))
        return Bound(pattern, scope, root, gradient, activation, tuple(rest), scale, found, proven)

    def _is_closed(self, found: Region, operands: Iterable[Operand]) -> bool:
        """Whether a region starts from values of all operands' forms, and from constants otherwise."""
        form = self._valuation.form
        wanted = {form(*operand.key) for operand in operands}
        met = {form(*value) for value in found.reached.union(found.leaves)}
        return wanted <= met and all(value in wanted or not value.factors for value in met)

    def _shared_nodes(self, pattern: Pattern, gradient: Operand, activation: Operand, found: Region) -> int:
        """How many nodes of the slope lie behind the gradient, because it is a factor of the slope itself."""
        valuation = self._valuation
        producer = gradient.scope.producer.get(gradient.name)
        if producer is None or found.reached != {gradient.key, activation.key} or gradient == activation:
            return 0
        factor = valuation.form(*gradient.key)
        slope = dict(pattern.slope(valuation.form(*activation.key)).factors)
        if not all(base & 1 and slope.get(base, 0) >= exponent for base, exponent in factor.factors):
            return 0
        behind = region(self._store, gradient.scope, producer, {activation.key})
        return len(behind.nodes) if behind is not None and activation.key in behind.reached else 0

    def _element_type(self, scope: Scope, name: str) -> int:
        """The element type of a value, from any operand of the arithmetic that computes it."""
        types = self._store.types
        found = types.element_type(scope, name)
        index = scope.producer.get(name)
        if found or index is None or scope.op_types[index] not in ("Add", "Sub", "Mul", "Div", "Sum"):
            return found
        for source in scope.inputs[index]:
            owner = scope.find(source)
            found = types.element_type(owner, source) if owner is not None else 0
            if found:
                return found
        return 0

    def _typed(
        self, scope: Scope, root: int, operands: tuple[Operand, ...], found: Region
    ) -> tuple[Operand, ...] | str | None:
        """The operands with the root's element type, by a widening Cast where they have another one."""
        constants = self._store.constants
        numbers = [constants.uniform(*leaf) for leaf in found.leaves if leaf not in found.exponents]
        kinds = {number.element_type for number in numbers if number is not None and number.element_type}
        if not found.casts and len(found.reached) == len({operand.key for operand in operands}):
            # One element type runs through all of the arithmetic.
            kinds = kinds or {self._element_type(scope, scope.outputs[root][0])} - {0}
            return operands if kinds <= FLOAT_TYPES else None
        wanted = self._element_type(scope, scope.outputs[root][0])
        if not wanted:
            return f"the element type of `{scope.outputs[root][0]}` is not known"
        if wanted not in FLOAT_TYPES:
            return None
        typed: list[Operand] = []
        for operand in operands:
            kind = self._element_type(*operand.key)
            if not kind:
                return f"the element type of `{operand.name}` is not known"
            if kind == wanted:
                typed.append(operand)
                continue
            cast = self._widening_cast(scope, kind, wanted, found)
            if cast is None:
                return None
            typed.append(operand._replace(views=(*operand.views, cast)))
        return tuple(typed)

    def _widening_cast(self, scope: Scope, kind: int, wanted: int, found: Region) -> int | None:
        """A Cast of the region that can be repeated on an operand."""
        if not widens(kind, wanted):
            return None
        for owner, index in found.casts:
            if owner is scope and self._store.types.element_type(owner, owner.outputs[index][0]) == wanted:
                return index
        return None

    def _range_reason(self, scope: Scope, root: int, factors: int, scale: Rational, found: Region) -> str:
        """Why products might leave the range of the element type that stay in it now, or ""."""
        forms = self._store.forms
        scales = {abs(Fraction(forms(owner)[owner.outputs[index][0]].scale)) for owner, index in found.nodes}
        scales.add(abs(Fraction(scale)))
        is_split = bool(factors) or scale not in (1, -1)
        if not is_split and scales == {1}:
            return ""
        kind = self._element_type(scope, scope.outputs[root][0])
        if is_split and not kind:
            return f"it has a factor more, and the element type of `{scope.outputs[root][0]}` is not known"
        if is_split and kind in _NARROW:
            return "a factor beside the gradient may overflow or underflow in a type of 16 or fewer bits"
        limit = 2 ** _SCALE_BITS.get(kind, _SCALE_BITS_OF_SMALL_TYPES)
        if any(size and not 1 <= size * limit <= limit * limit for size in scales):
            return "its constant factors may overflow or underflow"
        return ""

    def _shape_reason(self, scope: Scope, root: int, operands: tuple[Operand, ...], found: Region) -> str:
        """Why the kernel's result might have another shape than the root, or ""."""
        constants, extents = self._store.constants, self._store.extents
        reached = len(found.reached) == len({operand.key for operand in operands})
        if reached and not any(owner.op_types[index] in VIEWS for owner, index in found.nodes):
            numbers = [constants.uniform(*leaf) for leaf in found.leaves]
            if all(number is not None and not number.extent for number in numbers):
                return ""
        before = extents.of(scope, scope.outputs[root][0])
        after: Extent = frozenset()
        for operand in operands:
            extent = extents.of(*operand.key)
            for view in operand.views:
                if scope.op_types[view] in VIEWS:
                    extent = extents.viewed(extent, scope, view)
            after |= extent
        lost = extents.unabsorbed(before, after)
        if lost:
            term = lost[0]
            if isinstance(term, ShapeOf):
                return f"the shape of `{term.name}` may make the result larger"
            shown = self._constant_of_shape(term, found)
            return f"{shown} of shape {list(term)} may raise the rank or size of the result"
        gained = extents.unabsorbed(after, before)
        if gained:
            return "an operand may be larger than the result"
        return ""

    def _constant_of_shape(self, dims: tuple[int, ...], found: Region) -> str:
        for leaf in found.leaves:
            constant = self._store.constants.uniform(*leaf)
            if constant is not None and dims in constant.extent:
                return f"constant `{leaf[1]}`"
        return "a constant"
