"""Gives the values of a model their normal forms: what the operators mean in the algebra."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from onnx_ascend_ext.algebra import UNIT, Form, TooLargeError, monomial
from onnx_ascend_ext.errors import ModelError
from onnx_ascend_ext.graph import attributes_of, node_label
from onnx_ascend_ext.graph.operators import VIEWS
from onnx_ascend_ext.graph.tensors import FLOAT_TYPES, converted, numpy_type, widens
from onnx_ascend_ext.matching.views import view_key

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    from onnx_ascend_ext.algebra import Monomial, Rational, Ring
    from onnx_ascend_ext.graph import Constants, ModelIndex, Scope, Types, UniformConstant
    from onnx_ascend_ext.matching.extents import Extents

RELAXED_HINT = "`--relaxed` would convert it"

ADDITIVE = frozenset({"Add", "Sub", "Sum"})
"""Operators that can make a sum out of products."""

_BINARY = frozenset({"Add", "Sub", "Mul", "Div"})
_UNARY = frozenset({"Neg", "Reciprocal", "Identity", "Cast"})
ARITHMETIC = _BINARY | _UNARY | VIEWS | {"Sum", "Pow"}
"""Operators whose results have a form that is made of their operands' forms."""

FUNCTIONS = frozenset({"Sigmoid", "Exp"})
"""Operators whose results are atoms of their own kind."""

_CONSTANT_MAKERS = frozenset({"Constant", "ConstantOfShape", "CastLike"})
_MAX_POWER = 64
# How far back a product that has grown too large keeps its factors.
_KEPT_LEVELS = 8
_PRODUCTS = frozenset({"Mul", "Div", "Neg", "Identity"})
# Integers up to here are exact in every float type.
_SMALL = 8


@dataclass(frozen=True)
class Rules:
    """What counts as equal.

    Attributes:
        relaxed: `Sigmoid(-x)` is `1 - Sigmoid(x)`, and `exp(x)` is `y / (1 - y)` with `y = Sigmoid(x)`.
        lenient: constants that nearly are integers count as these, constants that can change count as
            fixed, and every Cast between float types keeps its value. Nothing is converted by these
            rules; they find the places that deserve a reason.
    """

    relaxed: bool = False
    lenient: bool = False


class Argument(NamedTuple):
    """The value that a Sigmoid or Exp is applied to, or its negative, with the minus signs taken off."""

    scope: Scope
    name: str
    negative: bool

    def negated(self) -> Argument:
        """Minus this one."""
        return self._replace(negative=not self.negative)


class View(NamedTuple):
    """An atom that is another atom seen through a view."""

    inner: int
    scope: Scope
    node: int


Entry: TypeAlias = "tuple[Rational, Scope, str]"


class Valuation:
    """The forms of one model's values under some rules, each found once and on demand.

    Attributes:
        existing: the values that are known to have a form, as (scale, scope, name), by the form's factors.
        views: which atoms are views of other atoms.
        sigmoids: which atoms are the Sigmoid of something.
        excuses: why a value's form holds by the relaxed or lenient rules only.
        doubtful: whether more lenient rules would have given some value another form.
    """

    def __init__(
        self,
        index: ModelIndex,
        ring: Ring,
        constants: Constants,
        types: Types,
        extents: Extents,
        rules: Rules,
    ) -> None:
        self.ring = ring
        self.constants = constants
        self.types = types
        self.extents = extents
        self.rules = rules
        self.existing: dict[Monomial, list[Entry]] = {}
        self.views: dict[int, View] = {}
        self.sigmoids: dict[int, Argument] = {}
        self.excuses: dict[tuple[Scope, str], str] = {}
        self.doubtful = False
        self._functions = index.functions
        self._forms: dict[Scope, dict[str, Form]] = {}
        self._value_atoms: dict[tuple[Scope, str], int] = {}
        self._sigmoid_atoms: dict[Argument, int] = {}
        self._exp_atoms: dict[Argument, int] = {}
        self._exponents: dict[int, Argument] = {}
        self._view_atoms: dict[tuple[int, Hashable], int] = {}
        self._one_plus_exp: dict[int, int | None] = {}

    def forms(self, scope: Scope) -> dict[str, Form]:
        """The forms known so far of the names that are visible in a scope."""
        found = self._forms.get(scope)
        if found is None:
            found = self._forms[scope] = {}
        return found

    def make_atom(self, scope: Scope, name: str) -> Form:
        """Make a value opaque: from now on it is an atom, whatever computes it."""
        form = self._atom_of(scope, name)
        self.forms(scope)[name] = form
        return form

    def _atom_of(self, scope: Scope, name: str) -> Form:
        """The atom that stands for a value itself."""
        key = (scope, name)
        atom = self._value_atoms.get(key)
        if atom is None:
            atom = self._value_atoms[key] = self.ring.atom()
            self.existing[((atom, 1),)] = [(1, scope, name)]
        return Form(1, ((atom, 1),))

    def set_form(self, scope: Scope, name: str, form: Form) -> None:
        """Record a value's form."""
        self.forms(scope)[name] = form
        if form.factors:
            entries = self.existing.get(form.factors)
            if entries is None:
                self.existing[form.factors] = [(form.scale, scope, name)]
            else:
                entries.append((form.scale, scope, name))

    def is_opaque(self, scope: Scope, name: str) -> bool:
        """Whether a value that `scope` defines is an atom, so that nothing before it matters."""
        atom = self._value_atoms.get((scope, name))
        return atom is not None and self.forms(scope).get(name) == Form(1, ((atom, 1),))

    def is_sigmoid(self, form: Form) -> bool:
        """Whether a form is that of a Sigmoid, or of a view of one."""
        if form.scale != 1 or len(form.factors) != 1 or form.factors[0][1] != 1:
            return False
        atom = form.factors[0][0]
        while atom in self.views:
            atom = self.views[atom].inner
        return atom in self.sigmoids

    def form(self, scope: Scope, name: str) -> Form:
        """The form of the value that `name` means in `scope`.

        Raises:
            ModelError: the value depends on itself.
        """
        found = self.forms(scope).get(name)
        if found is not None:
            return found
        pending = [(scope, name)]
        opened: set[tuple[Scope, str]] = set()
        while pending:
            current, value = pending[-1]
            forms = self.forms(current)
            if value in forms:
                pending.pop()
                continue
            index = current.producer.get(value)
            if index is None:
                owner = current.find(value)
                if owner is None or owner is current:
                    self._set_leaf(current, value)
                elif value in self.forms(owner):
                    forms[value] = self.forms(owner)[value]
                else:
                    pending.append((owner, value))
                continue
            needed = self._needed(current, index)
            if needed is None:
                self._set_leaf(current, value)
                continue
            missing = [source for source in needed if source[1] not in self.forms(source[0])]
            if missing:
                if (current, value) in opened:
                    label = node_label(current.nodes[index])
                    raise ModelError(f"{current.path}: node {label!r} depends on itself; repair the model")
                opened.add((current, value))
                pending.extend(missing)
                continue
            self._compute(current, index, value)
        return self.forms(scope)[name]

    def _needed(self, scope: Scope, index: int) -> list[tuple[Scope, str]] | None:
        """The values whose forms make the form of a node's output, or None when it is a leaf."""
        op_type, inputs = scope.op_types[index], scope.inputs[index]
        if scope.domains[index] or self._functions:
            called = scope.is_function_node(index, self._functions)
            if called is not None:
                # Only a function of one output can be a sigmoid; its own body is looked at in its scope.
                if len(called.output_names) == 1 and called.output_names[0] in called.producer:
                    return [(called, called.output_names[0])]
                return None
            if scope.domains[index]:
                return None
        if op_type not in ARITHMETIC or len(scope.outputs[index]) != 1 or not inputs:
            return None
        if op_type in _BINARY:
            if len(inputs) != 2:
                return None
            return [(scope, inputs[0]), (scope, inputs[1])]
        if op_type == "Sum":
            return [(scope, source) for source in inputs]
        if op_type == "Pow":
            return [(scope, inputs[0])] if len(inputs) == 2 else None
        return [(scope, inputs[0])]

    def _set_leaf(self, scope: Scope, name: str) -> None:
        """A value that no arithmetic computes: a constant, a Sigmoid or Exp, or an atom."""
        index = scope.producer.get(name)
        op_type = "" if index is None or scope.domains[index] else scope.op_types[index]
        if index is None or op_type in _CONSTANT_MAKERS:
            constant = self.constants.uniform(scope, name)
            if constant is not None and self._set_constant(scope, name, constant):
                return
        if op_type in FUNCTIONS and index is not None and scope.inputs[index]:
            argument = self._argument(scope, scope.inputs[index][0])
            form = self._sigmoid if op_type == "Sigmoid" else self._exp
            self.set_form(scope, name, form(scope, name, argument))
            return
        self.make_atom(scope, name)

    def _set_constant(self, scope: Scope, name: str, constant: UniformConstant) -> bool:
        value = constant.value
        if constant.variable:
            self.doubtful = True
            if not self.rules.lenient:
                return False
            self.excuses[scope, name] = constant.variable
        elif value.denominator != 1:
            nearest = int(value + Fraction(1, 2)) if value > 0 else int(value - Fraction(1, 2))
            if nearest and 100 * abs(Fraction(value) - nearest) <= abs(nearest):
                self.doubtful = True
                if self.rules.lenient:
                    shown = _shown(value, constant.element_type)
                    self.excuses[scope, name] = f"constant is {shown}, not {nearest}"
                    value = nearest
        if max(abs(value.numerator), value.denominator).bit_length() > self.ring.MAX_BITS:
            return False
        self.set_form(scope, name, Form(value))
        return True

    def _argument(self, scope: Scope, name: str) -> Argument:
        """The argument that a name stands for."""
        negative = False
        for _ in range(_MAX_POWER):
            owner = scope.find(name)
            scope = owner or scope
            index = scope.producer.get(name)
            if index is None or scope.domains[index]:
                break
            op_type, inputs = scope.op_types[index], scope.inputs[index]
            if op_type == "Identity":
                name = inputs[0]
            elif op_type == "Neg":
                negative, name = not negative, inputs[0]
            elif (op_type == "Sub" and self._is_constant(scope, inputs[0], 0)) or (
                op_type == "Mul" and self._is_constant(scope, inputs[0], -1)
            ):
                negative, name = not negative, inputs[1]
            elif op_type in ("Mul", "Div") and self._is_constant(scope, inputs[1], -1):
                negative, name = not negative, inputs[0]
            else:
                break
        return Argument(scope, name, negative)

    def _is_constant(self, scope: Scope, name: str, value: int) -> bool:
        owner = scope.find(name)
        constant = self.constants.uniform(owner, name) if owner is not None else None
        return constant is not None and not constant.variable and constant.value == value

    def _sigmoid_of(self, argument: Argument) -> Form:
        """The form of a Sigmoid by the strict rules, an atom for each sign of the argument."""
        atom = self._sigmoid_atoms.get(argument)
        if atom is None:
            atom = self._sigmoid_atoms[argument] = self.ring.atom()
            self.sigmoids[atom] = argument
        return Form(1, ((atom, 1),))

    def _sigmoid(self, scope: Scope, name: str, argument: Argument) -> Form:
        if argument.negative and not self.rules.relaxed:
            self.doubtful = True
        if not (argument.negative and self.rules.relaxed):
            return self._sigmoid_of(argument)
        self.excuses[scope, name] = f"the factor `1 - y` is computed as `Sigmoid(-x)`: {RELAXED_HINT}"
        return self.ring.add(UNIT, self.ring.negate(self._sigmoid_of(argument.negated())))

    def _exp(self, scope: Scope, name: str, argument: Argument) -> Form:
        if self.rules.relaxed:
            self.excuses[scope, name] = f"the factor `1 - y` is computed from `Exp`: {RELAXED_HINT}"
            y = self._sigmoid_of(argument._replace(negative=False))
            odds = self.ring.divide(y, self.ring.add(UNIT, self.ring.negate(y)))
            return self.ring.power(odds, -1) if argument.negative else odds
        self.doubtful = True
        positive = argument._replace(negative=False)
        atom = self._exp_atoms.get(positive)
        if atom is None:
            atom = self._exp_atoms[positive] = self.ring.atom()
            self._exponents[atom] = positive
        return Form(1, ((atom, -1 if argument.negative else 1),))

    def _sigmoids_recognised(self, form: Form) -> Form:
        """A form in which `exp(x) / (1 + exp(x))` and `1 / (1 + exp(x))` are the sigmoids that they are."""
        for base, exponent in form.factors:
            if exponent >= 0 or not self.ring.is_sum(base):
                continue
            atom = self._exp_of_sum(base)
            if atom is None:
                continue
            argument = self._exponents[atom]
            powers = dict(form.factors)
            count = -powers.pop(base)
            rising = min(max(powers.get(atom, 0), 0), count)
            if rising:
                powers[atom] -= rising
            rest = Form(form.scale, monomial(powers))
            rest = self.ring.multiply(rest, self.ring.power(self._sigmoid_of(argument), rising))
            falling = self.ring.power(self._sigmoid_of(argument.negated()), count - rising)
            return self._sigmoids_recognised(self.ring.multiply(rest, falling))
        return form

    def _exp_of_sum(self, base: int) -> int | None:
        """The atom `e` of an Exp such that a sum is `1 + e`, or None."""
        if base not in self._one_plus_exp:
            terms = self.ring.terms(base)
            atoms = [term[0][0] for term in terms if len(term) == 1 and term[0][1] == 1]
            found = len(terms) == 2 and () in terms and len(atoms) == 1 and atoms[0] in self._exponents
            self._one_plus_exp[base] = atoms[0] if found and terms[((atoms[0], 1),)] == 1 else None
        return self._one_plus_exp[base]

    def _compute(self, scope: Scope, index: int, name: str) -> None:
        """Set the form of a node's output, whose operands have their forms."""
        form: Form | None
        try:
            form = self._result(scope, index, name)
        except (TooLargeError, ZeroDivisionError):
            form = self._result_after_cut(scope, index, name)
        if form is None:
            self.make_atom(scope, name)
        else:
            self.set_form(scope, name, form)

    def _result(self, scope: Scope, index: int, name: str) -> Form | None:
        ring = self.ring
        forms = self.forms(scope)
        op_type, inputs = scope.op_types[index], scope.inputs[index]
        if op_type == "Mul":
            form = ring.multiply(forms[inputs[0]], forms[inputs[1]])
            if not form.scale:
                form = self._times_zero(scope, inputs)
        elif op_type == "Sub":
            form = ring.add(forms[inputs[0]], ring.negate(forms[inputs[1]]))
        elif op_type == "Add":
            form = ring.add(forms[inputs[0]], forms[inputs[1]])
        elif op_type == "Sum":
            form = forms[inputs[0]]
            for source in inputs[1:]:
                form = ring.add(form, forms[source])
        elif op_type == "Neg":
            form = ring.negate(forms[inputs[0]])
        elif op_type == "Identity":
            return forms[inputs[0]]
        elif op_type == "Div":
            if not self._is_float(scope, inputs):
                return None
            form = ring.divide(forms[inputs[0]], forms[inputs[1]])
        elif op_type == "Reciprocal":
            form = ring.power(forms[inputs[0]], -1)
        elif op_type == "Pow":
            exponent = self._exponent(scope, index, name)
            if exponent is None:
                return None
            form = ring.power(forms[inputs[0]], exponent)
        elif op_type == "Cast":
            return self._cast(scope, index, name)
        elif op_type in VIEWS:
            return self._view(scope, index, name)
        else:
            return self._called(scope, index)
        if self._exponents:
            form = self._sigmoids_recognised(form)
        if not form.factors and form.scale:
            return self._rounded(scope, name, form)
        return form

    def _times_zero(self, scope: Scope, names: Sequence[str]) -> Form:
        """A product with the constant zero, which stands in the form like a value that is not known."""
        form = UNIT
        for name in names:
            factor = self.forms(scope)[name]
            owner = scope.find(name) or scope
            form = self.ring.multiply(form, factor if factor.scale else self._atom_of(owner, name))
        return form

    def _result_after_cut(self, scope: Scope, index: int, name: str) -> Form | None:
        """The result after a value some levels back has become an atom, so that the product is short."""
        forms = self.forms(scope)
        chain: list[tuple[int, str]] = []
        current = index
        for _ in range(_KEPT_LEVELS):
            if scope.op_types[current] not in _PRODUCTS:
                break
            source = max(scope.inputs[current], key=lambda value: len(forms[value].factors))
            producer = scope.producer.get(source)
            if producer is None or self.is_opaque(scope, source):
                break
            chain.append((producer, source))
            current = producer
        if not chain:
            return None
        _, cut = chain.pop()
        self.make_atom(scope, cut)
        try:
            for producer, source in reversed(chain):
                form = self._result(scope, producer, source)
                if form is None:
                    return None
                self.set_form(scope, source, form)
            return self._result(scope, index, name)
        except (TooLargeError, ZeroDivisionError):
            return None

    def _called(self, scope: Scope, index: int) -> Form | None:
        """The form of a call of a model-local function that computes a sigmoid of one of its inputs."""
        called = scope.is_function_node(index, self._functions)
        if called is None:
            return None
        template = self.forms(called)[called.output_names[0]]
        argument = self.sigmoids.get(template.factors[0][0]) if len(template.factors) == 1 else None
        if argument is None or template != self._sigmoid_of(argument) or argument.scope is not called:
            return None
        formals, inputs = called.input_names, scope.inputs[index]
        position = formals.index(argument.name) if argument.name in formals else len(inputs)
        if position >= len(inputs) or not inputs[position]:
            return None
        passed = self._argument(scope, inputs[position])
        if argument.negative:
            passed = passed.negated()
        return self._sigmoid(scope, scope.outputs[index][0], passed)

    def _is_float(self, scope: Scope, names: Sequence[str]) -> bool:
        """Whether operands are of a float type, so that a quotient is not truncated."""
        for name in names:
            owner = scope.find(name)
            constant = self.constants.uniform(owner, name) if owner is not None else None
            if constant is not None and constant.element_type:
                return constant.element_type in FLOAT_TYPES
        owner = scope.find(names[0])
        return owner is not None and self.types.element_type(owner, names[0]) in FLOAT_TYPES

    def _exponent(self, scope: Scope, index: int, name: str) -> int | None:
        """The integer exponent of a Pow, or None when it has another one."""
        exponent = scope.inputs[index][1]
        value = self.form(scope, exponent)
        owner = scope.find(exponent)
        power = int(value.scale)
        if value.factors or value.scale != power or abs(power) > _MAX_POWER:
            return None
        if owner is not None and (owner, exponent) in self.excuses:
            self.excuses[scope, name] = self.excuses[owner, exponent]
        return power if power >= 0 or self._is_float(scope, scope.inputs[index][:1]) else None

    def _rounded(self, scope: Scope, name: str, form: Form) -> Form | None:
        """A constant that is computed in the model, as the model's arithmetic rounds it."""
        if form.scale.denominator == 1 and abs(form.scale.numerator) <= _SMALL:
            return form
        value = converted(form.scale, self.types.element_type(scope, name))
        return None if value is None else Form(value)

    def _cast(self, scope: Scope, index: int, name: str) -> Form | None:
        source = scope.inputs[index][0]
        constant = self.constants.uniform(scope, name)
        if constant is not None and self._set_constant(scope, name, constant):
            return self.forms(scope)[name]
        attribute = attributes_of(scope, index).get("to")
        owner = scope.find(source)
        if attribute is None or attribute.ref_attr_name or owner is None:
            return None
        before, after = self.types.element_type(owner, source), attribute.i
        if widens(before, after):
            return self.forms(scope)[source]
        if before not in FLOAT_TYPES or after not in FLOAT_TYPES:
            return None
        self.doubtful = True
        if self.rules.lenient:
            self.excuses[scope, name] = f"a narrowing Cast lies inside: `{node_label(scope.nodes[index])}`"
            return self.forms(scope)[source]
        return None

    def _view(self, scope: Scope, index: int, name: str) -> Form | None:
        """A view of an elementwise result is that result of the views, when all of them have its shape."""
        constant = self.constants.uniform(scope, name)
        if constant is not None and self._set_constant(scope, name, constant):
            return self.forms(scope)[name]
        source = scope.inputs[index][0]
        form = self.forms(scope)[source]
        if not form.factors:
            return form
        owner = scope.find(source)
        if owner is None or self.extents.single_term(self.extents.of(owner, source)) is None:
            return None
        key = view_key(self.constants, scope, index)
        return self.ring.substitute(form, lambda atom: self._view_atom(atom, key, scope, index))

    def _view_atom(self, atom: int, key: Hashable, scope: Scope, index: int) -> Form:
        viewed = self._view_atoms.get((atom, key))
        if viewed is None:
            viewed = self._view_atoms[atom, key] = self.ring.atom()
            self.views[viewed] = View(atom, scope, index)
        return Form(1, ((viewed, 1),))


def _shown(value: Rational, element_type: int) -> str:
    """A number with as few digits as tell it apart in its type."""
    kind = numpy_type(element_type)
    return str(float(value)) if kind is None else str(kind(float(value)))
