"""What the names of a scope can be as operands of a structure."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from onnx_ascend_ext.graph.constants import FOLLOWED
from onnx_ascend_ext.graph.number_formats import FLOAT_TYPES
from onnx_ascend_ext.matching.operators import ARITHMETIC, CONSTANTS, FUNCTIONS, near_integer

if TYPE_CHECKING:
    from onnx_ascend_ext.algebra import Rational
    from onnx_ascend_ext.graph import Scope
    from onnx_ascend_ext.matching.valuation import Valuation

_UNDERSTOOD = ARITHMETIC | FUNCTIONS | CONSTANTS
_MAY_BE_CONSTANT = CONSTANTS | FOLLOWED

# A value that nothing more is known of, a Sigmoid, a result of arithmetic that may hold more than a structure
# shows, or something that structures do not deal with.
OPAQUE, SIGMOID, COMPUTED, OTHER = range(4)

Kind: TypeAlias = "int | tuple[Rational]"
"""One of the above, or a constant of a float type as a tuple of its number."""


class Kinds:
    """The kinds of the names of one scope."""

    def __init__(self, valuation: Valuation, scope: Scope) -> None:
        self._valuation = valuation
        self._store = valuation.store
        self._scope = scope
        self._known: dict[str, Kind] = {}

    def of(self, name: str) -> Kind:
        """The kind of a name, found out once."""
        kind = self._known.get(name)
        if kind is None:
            kind = self._known[name] = self.find(name)
        return kind

    def refine(self, names: tuple[str, ...]) -> bool:
        """Look closer at the computed ones of some names; whether all of them turn out to be single atoms."""
        for name in names:
            if self.of(name) != COMPUTED:
                continue
            form = self._valuation.form(self._scope, name)
            if self._store.is_opaque(self._scope, name):
                self._known[name] = OPAQUE
            elif self._store.is_sigmoid(form):
                self._known[name] = SIGMOID
            else:
                return False
        return True

    def find(self, name: str) -> Kind:
        """As `of`, for a caller that remembers it."""
        scope = self._scope
        index = scope.producer.get(name)
        if index is None:
            if name in scope.initializers:
                return self._constant(name) or OPAQUE
            return OPAQUE if name in scope.input_set else OTHER
        op_type = scope.op_types[index]
        if op_type in _MAY_BE_CONSTANT:
            kind = self._constant(name)
            if kind is not None:
                return kind
        if self._valuation.calls_a_function(scope, index):
            return OTHER
        if op_type not in _UNDERSTOOD or scope.domains[index]:
            return OPAQUE
        if op_type in ARITHMETIC:
            return COMPUTED
        if op_type in FUNCTIONS:
            if op_type == "Exp" or self._valuation.is_sigmoid_of_negative(scope, index):
                return OTHER
            return SIGMOID
        return OTHER

    def _constant(self, name: str) -> Kind | None:
        """What a name is as a constant, or None when it is none."""
        constant = self._store.constants.uniform(self._scope, name)
        if constant is None:
            return None
        plain = not constant.variable and not constant.extent and not near_integer(constant.value)
        return (constant.value,) if plain and constant.element_type in FLOAT_TYPES else OTHER
