"""The forms that are known of a model's values, and the atoms that they are made of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from onnx_ascend_ext.algebra import Form

if TYPE_CHECKING:
    from onnx_ascend_ext.algebra import Monomial, Rational, Ring
    from onnx_ascend_ext.graph import Constants, Scope, Types
    from onnx_ascend_ext.matching.extents import Extents

RELAXED_HINT = "`--relaxed` would convert it"


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
    """An atom that is another atom seen through the view at `node`."""

    inner: int
    scope: Scope
    node: int


# How many multiples of one product are remembered.
_MAX_SCALES = 4


class FormStore:
    """What is known of one model's values under some rules.

    Attributes:
        ring: the ring of the forms.
        constants: the model's constants.
        types: the model's element types and shapes.
        extents: the shapes of its elementwise results.
        rules: what counts as equal.
        existing: the values that are known to have a form.
        scales: some scales with which the factors of a form are known to occur.
        views: which atoms are views of other atoms.
        sigmoids: which atoms are the Sigmoid of something.
        excuses: why a value's form holds by the relaxed or lenient rules only.
        any_quotient: whether any value is divided by one that is no constant.
        doubtful: whether more lenient rules would have given some value another form.
    """

    def __init__(
        self, ring: Ring, constants: Constants, types: Types, extents: Extents, rules: Rules
    ) -> None:
        self.ring = ring
        self.constants = constants
        self.types = types
        self.extents = extents
        self.rules = rules
        self.existing: dict[Form, list[tuple[Scope, str]]] = {}
        self.scales: dict[Monomial, list[Rational]] = {}
        self.views: dict[int, View] = {}
        self.sigmoids: dict[int, Argument] = {}
        self.excuses: dict[tuple[Scope, str], str] = {}
        self.any_quotient = False
        self.doubtful = False
        self._forms: dict[Scope, dict[str, Form]] = {}
        self._value_atoms: dict[Scope, dict[str, int]] = {}
        self._hidden: dict[Scope, set[str]] = {}

    def forms(self, scope: Scope) -> dict[str, Form]:
        """The forms known so far of the names that are visible in a scope."""
        found = self._forms.get(scope)
        if found is None:
            found = self._forms[scope] = {}
            self._value_atoms[scope] = {}
            self._hidden[scope] = set()
        return found

    def set_form(self, scope: Scope, name: str, form: Form) -> None:
        """Record a value's form."""
        self.forms(scope)[name] = form
        if form.factors:
            entries = self.existing.get(form)
            if entries is None:
                self._add_entry(form, scope, name)
            else:
                entries.append((scope, name))

    def _add_entry(self, form: Form, scope: Scope, name: str) -> None:
        self.existing[form] = [(scope, name)]
        scales = self.scales.get(form.factors)
        if scales is None:
            self.scales[form.factors] = [form.scale]
        elif len(scales) < _MAX_SCALES:
            scales.append(form.scale)

    def make_atom(self, scope: Scope, name: str) -> Form:
        """Make a value opaque: from now on it is an atom, whatever computes it."""
        form = self.atom_of(scope, name)
        self.forms(scope)[name] = form
        return form

    def hide(self, scope: Scope, name: str) -> None:
        """Make a value opaque, and its atom only when it is asked for."""
        if name in self.forms(scope):
            self.make_atom(scope, name)
        else:
            self._hidden[scope].add(name)

    def is_hidden(self, scope: Scope, name: str) -> bool:
        """Whether a value has been hidden."""
        return name in self._hidden[scope]

    def atom_of(self, scope: Scope, name: str) -> Form:
        """The atom that stands for a value itself."""
        self.forms(scope)
        atoms = self._value_atoms[scope]
        atom = atoms.get(name)
        if atom is not None:
            return Form(1, ((atom, 1),))
        atom = atoms[name] = self.ring.atom()
        form = Form(1, ((atom, 1),))
        self._add_entry(form, scope, name)
        return form

    def is_opaque(self, scope: Scope, name: str) -> bool:
        """Whether a value that `scope` defines is an atom, so that nothing before it matters."""
        atom = self._value_atoms[scope].get(name) if scope in self._value_atoms else None
        return atom is not None and self._forms[scope].get(name) == (1, ((atom, 1),))

    def is_sigmoid(self, form: Form) -> bool:
        """Whether a form is that of a Sigmoid, or of a view of one."""
        if form.scale != 1 or len(form.factors) != 1 or form.factors[0][1] != 1:
            return False
        atom = form.factors[0][0]
        while atom in self.views:
            atom = self.views[atom].inner
        return atom in self.sigmoids

    def owner(self, scope: Scope, name: str) -> Scope:
        """The scope that defines what `name` means in `scope`; `scope` itself where nothing does."""
        return scope if name in scope.producer else scope.find(name) or scope
