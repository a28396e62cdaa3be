"""What the arithmetic operators of ONNX mean in the algebra."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from onnx_ascend_ext.algebra import UNIT, ZERO, Form, loses_digits
from onnx_ascend_ext.graph import attributes_of, node_label
from onnx_ascend_ext.graph.number_formats import FLOAT_TYPES, converted, is_exact_in_floats, spelled, widens
from onnx_ascend_ext.graph.operators import VIEWS
from onnx_ascend_ext.matching.store import View
from onnx_ascend_ext.matching.views import view_key

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    from onnx_ascend_ext.algebra import Rational
    from onnx_ascend_ext.graph import Scope, UniformConstant
    from onnx_ascend_ext.matching.sigmoids import Sigmoids
    from onnx_ascend_ext.matching.store import FormStore

ADDITIVE = frozenset({"Add", "Sub", "Sum"})
"""Operators that can make a sum out of products."""

PRODUCTS = frozenset({"Mul", "Div", "Neg", "Identity"})
"""Operators that can make a product with many factors."""

QUOTIENTS = frozenset({"Div", "Reciprocal", "Pow"})
"""Operators that can make a quotient."""

OPERANDS = {"Add": 2, "Sub": 2, "Mul": 2, "Div": 2, "Pow": 2, "Sum": -1}
"""How many inputs an operator computes with, where it is not one; -1 means all of them."""

ARITHMETIC = frozenset(OPERANDS) | {"Neg", "Reciprocal", "Identity", "Cast"} | VIEWS
"""Operators whose results have a form that is made of their operands' forms."""

FUNCTIONS = frozenset({"Sigmoid", "Exp"})
"""Operators whose results are atoms of their own kind."""

CONSTANTS = frozenset({"Constant", "ConstantOfShape", "CastLike"})
"""Operators whose results may be constants."""

_MAX_POWER = 64
# Integers up to here are exact in every float type.
_SMALL = 8


class Operators:
    """The results of arithmetic nodes, as forms."""

    def __init__(self, store: FormStore, sigmoids: Sigmoids) -> None:
        self._store = store
        self._sigmoids = sigmoids
        self._view_atoms: dict[tuple[int, Hashable], int] = {}

    def result(self, scope: Scope, index: int, forms: dict[str, Form]) -> Form | None:
        """The form of a node's output, or None when the algebra does not know the operation.

        Args:
            scope: where the node lies.
            index: a node of an operator in `ARITHMETIC`.
            forms: the forms of the scope's names, the node's operands among them.

        Raises:
            TooLargeError: the form exceeds the bounds.
            ZeroDivisionError: a division by a constant zero.
        """
        ring = self._store.ring
        op_type, inputs = scope.op_types[index], scope.inputs[index]
        if op_type == "Mul":
            form = ring.multiply(forms[inputs[0]], forms[inputs[1]])
            if not form.scale and any(forms[name].factors for name in inputs):
                form = self._times_zero(scope, inputs, forms)
        elif op_type in ADDITIVE:
            total = self._sum(op_type, [forms[source] for source in inputs])
            if total is None:
                return None
            form = total
        elif op_type == "Neg":
            form = ring.negate(forms[inputs[0]])
        elif op_type == "Identity":
            return forms[inputs[0]]
        elif op_type == "Cast":
            return self._cast(scope, index, forms)
        elif op_type in VIEWS:
            return self._view(scope, index, forms)
        else:
            quotient = self._quotient(scope, index, forms)
            if quotient is None:
                return None
            form = quotient
        if self._sigmoids.any_exp:
            form = self._sigmoids.recognised(form)
        if op_type in QUOTIENTS and any(exponent < 0 for _, exponent in form.factors):
            self._store.any_quotient = True
        if not form.factors and form.scale:
            return self._rounded(scope, index, form)
        return form

    def constant(self, scope: Scope, name: str, constant: UniformConstant) -> Form | None:
        """The form of a constant, or None when it is none by the rules."""
        store = self._store
        value = constant.value
        if constant.variable:
            store.doubtful = True
            if not store.rules.lenient:
                return None
            store.excuses[scope, name] = constant.variable
        elif near_integer(value):
            store.doubtful = True
            if store.rules.lenient:
                nearest = near_integer(value)
                store.excuses[scope, name] = (
                    f"constant is {spelled(value, constant.element_type)}, not {nearest}"
                )
                value = nearest
        if max(abs(value.numerator), value.denominator).bit_length() > store.ring.MAX_BITS:
            return None
        return Form(value)

    def _sum(self, op_type: str, terms: list[Form]) -> Form | None:
        """The sum of some forms, or None where it is not what the model's arithmetic gives."""
        ring = self._store.ring
        if op_type == "Sub":
            terms[1] = ring.negate(terms[1])
        total = ZERO
        for term in terms:
            # Constants are rounded as the model rounds them.
            if (total.factors or term.factors) and loses_digits(ring, total, term):
                return None
            total = ring.add(total, term)
        return total

    def _quotient(self, scope: Scope, index: int, forms: dict[str, Form]) -> Form | None:
        ring = self._store.ring
        op_type, inputs = scope.op_types[index], scope.inputs[index]
        if op_type == "Div":
            # A quotient of integers is truncated.
            return (
                ring.divide(forms[inputs[0]], forms[inputs[1]])
                if self._is_float(scope, inputs, forms)
                else None
            )
        if op_type == "Reciprocal":
            return ring.power(forms[inputs[0]], -1)
        exponent = forms[inputs[1]]
        power = int(exponent.scale)
        if exponent.factors or exponent.scale != power or abs(power) > _MAX_POWER:
            return None
        if power < 0 and not self._is_float(scope, inputs[:1], forms):
            return None
        return ring.power(forms[inputs[0]], power)

    def _times_zero(self, scope: Scope, names: Sequence[str], forms: dict[str, Form]) -> Form:
        """A product with the constant zero, which stands in the form like a value that is not known."""
        form = UNIT
        for name in names:
            factor = forms[name]
            if not factor.scale:
                factor = self._store.atom_of(self._store.owner(scope, name), name)
            form = self._store.ring.multiply(form, factor)
        return form

    def _is_float(self, scope: Scope, names: Sequence[str], forms: dict[str, Form]) -> bool:
        """Whether operands of one element type are of a float type."""
        store = self._store
        for name in names:
            constant = store.constants.uniform(store.owner(scope, name), name)
            if constant is not None and constant.element_type:
                return constant.element_type in FLOAT_TYPES
        for name in names:
            # Sigmoids and quotients exist of float types only.
            form = forms[name]
            if any(e < 0 for _, e in form.factors) or not store.sigmoids.keys().isdisjoint(
                store.ring.atoms(form)
            ):
                return True
            if store.types.element_type(store.owner(scope, name), name) in FLOAT_TYPES:
                return True
        return False

    def _rounded(self, scope: Scope, index: int, form: Form) -> Form | None:
        """A constant that is computed in the model, as the model's arithmetic rounds it."""
        if form.scale.denominator == 1 and abs(form.scale.numerator) <= _SMALL:
            return form
        element_type = self._store.types.element_type(scope, scope.outputs[index][0])
        if not element_type:
            return form if is_exact_in_floats(form.scale) else None
        value = converted(form.scale, element_type)
        return None if value is None else Form(value)

    def _hidden_constant(self, scope: Scope, index: int) -> Form | None:
        name = scope.outputs[index][0]
        constant = self._store.constants.uniform(scope, name)
        return None if constant is None else self.constant(scope, name, constant)

    def _cast(self, scope: Scope, index: int, forms: dict[str, Form]) -> Form | None:
        constant = self._hidden_constant(scope, index)
        if constant is not None:
            return constant
        source = scope.inputs[index][0]
        attribute = attributes_of(scope, index).get("to")
        if attribute is None or attribute.ref_attr_name:
            return None
        before, after = self._store.types.element_type(self._store.owner(scope, source), source), attribute.i
        if widens(before, after):
            return forms[source]
        if before not in FLOAT_TYPES or after not in FLOAT_TYPES:
            return None
        self._store.doubtful = True
        if not self._store.rules.lenient:
            return None
        label = node_label(scope.nodes[index])
        self._store.excuses[scope, scope.outputs[index][0]] = f"a narrowing Cast lies inside: `{label}`"
        return forms[source]

    def _view(self, scope: Scope, index: int, forms: dict[str, Form]) -> Form | None:
        """A view of an elementwise result is that result of the views, when all of them have its shape."""
        constant = self._hidden_constant(scope, index)
        if constant is not None:
            return constant
        store = self._store
        source = scope.inputs[index][0]
        form = forms[source]
        if not form.factors:
            return form
        if store.extents.single_term(store.extents.of(store.owner(scope, source), source)) is None:
            return None
        key = view_key(store.constants, scope, index)
        return store.ring.substitute(form, lambda atom: self._view_atom(atom, key, scope, index))

    def _view_atom(self, atom: int, key: Hashable, scope: Scope, index: int) -> Form:
        viewed = self._view_atoms.get((atom, key))
        if viewed is None:
            viewed = self._view_atoms[atom, key] = self._store.ring.atom()
            self._store.views[viewed] = View(atom, scope, index)
        return Form(1, ((viewed, 1),))


def near_integer(value: Rational) -> int:
    """The integer that a number lies within one percent of, 0 when there is none or it is that integer."""
    if value.denominator == 1:
        return 0
    nearest = int(value + Fraction(1, 2)) if value > 0 else int(value - Fraction(1, 2))
    return nearest if 100 * abs(Fraction(value) - nearest) <= abs(nearest) else 0
