"""Gives the values of a model their forms, each on demand and once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from onnx_ascend_ext.algebra import TooLargeError
from onnx_ascend_ext.errors import ModelError
from onnx_ascend_ext.graph import node_label
from onnx_ascend_ext.matching.operators import (
    ARITHMETIC,
    CONSTANTS,
    FUNCTIONS,
    OPERANDS,
    PRODUCTS,
    Operators,
)
from onnx_ascend_ext.matching.sigmoids import Sigmoids
from onnx_ascend_ext.matching.store import FormStore

if TYPE_CHECKING:
    from collections.abc import Sequence

    from onnx_ascend_ext.algebra import Form, Ring
    from onnx_ascend_ext.graph import Constants, ModelIndex, Scope, Types
    from onnx_ascend_ext.matching.extents import Extents
    from onnx_ascend_ext.matching.store import Rules

# How far back a product that has grown too large keeps its factors.
_KEPT_LEVELS = 8


class Valuation:
    """The forms of one model's values under some rules.

    Attributes:
        store: what is known of them so far.
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
        # What is below holds the store and not this object, so that no cycle keeps the model in memory.
        self.store = FormStore(ring, constants, types, extents, rules)
        self._functions = index.functions
        self._sigmoids = Sigmoids(self.store)
        self._operators = Operators(self.store, self._sigmoids)

    def form(self, scope: Scope, name: str) -> Form:
        """The form of the value that `name` means in `scope`.

        Raises:
            ModelError: the value depends on itself.
        """
        forms = self.store.forms(scope)
        found = forms.get(name)
        if found is not None:
            return found
        pending = [(scope, name)]
        opened: set[tuple[Scope, str]] = set()
        while pending:
            current, value = pending[-1]
            forms = self.store.forms(current)
            if value in forms:
                pending.pop()
                continue
            index = current.producer.get(value)
            if index is None:
                self._look_outside(current, value, pending)
                continue
            operands = self._operands(current, index)
            if operands is None:
                self._set_leaf(current, index, value, pending, opened)
                continue
            waiting = len(pending)
            for source in operands:
                if source not in forms and not self._is_quick_leaf(current, source):
                    pending.append((current, source))
            if len(pending) == waiting:
                self._compute(current, index, value)
                pending.pop()
                continue
            self._open(opened, current, index, value)
        return self.store.forms(scope)[name]

    def calls_a_function(self, scope: Scope, index: int) -> bool:
        """Whether a node calls a model-local function."""
        return bool(self._functions) and scope.called_function(index, self._functions) is not None

    def is_sigmoid_of_negative(self, scope: Scope, index: int) -> bool:
        """Whether a Sigmoid node is applied to the negative of a value, so that it is some `1 - y`."""
        return self._sigmoids.is_of_negative(scope, index)

    @staticmethod
    def _open(opened: set[tuple[Scope, str]], scope: Scope, index: int, name: str) -> None:
        """Note that a value waits for others; one that waits a second time waits for itself."""
        if (scope, name) in opened:
            label = node_label(scope.nodes[index])
            raise ModelError(f"{scope.path}: node {label!r} depends on itself; repair the model")
        opened.add((scope, name))

    def _look_outside(self, scope: Scope, name: str, pending: list[tuple[Scope, str]]) -> None:
        """Give a value that no node of the scope computes its form, or ask for that of the outer value."""
        owner = scope.find(name)
        if owner is None or owner is scope:
            self._set_constant_or_atom(scope, name)
            return
        form = self.store.forms(owner).get(name)
        if form is None:
            pending.append((owner, name))
        else:
            self.store.forms(scope)[name] = form

    def _is_quick_leaf(self, scope: Scope, name: str) -> bool:
        """Make a value that a node outside of arithmetic computes an atom at once."""
        index = scope.producer.get(name)
        if index is None or self._functions:
            return False
        op_type = scope.op_types[index]
        if op_type in ARITHMETIC or op_type in CONSTANTS:
            return False
        if op_type in FUNCTIONS and not scope.domains[index] and scope.inputs[index]:
            self.store.set_form(scope, name, self._sigmoids.applied(scope, index))
        else:
            self.store.make_atom(scope, name)
        return True

    def _operands(self, scope: Scope, index: int) -> Sequence[str] | None:
        """The operands whose forms make the form of a node's output, or None when it is a leaf."""
        op_type, inputs = scope.op_types[index], scope.inputs[index]
        if op_type not in ARITHMETIC or scope.domains[index] or len(scope.outputs[index]) != 1:
            return None
        if self._functions and scope.called_function(index, self._functions) is not None:
            return None
        if self.store.is_hidden(scope, scope.outputs[index][0]):
            return None
        count = OPERANDS.get(op_type, 1)
        if count == 2:
            return inputs if len(inputs) == 2 else None
        if count < 0:
            return inputs or None
        return inputs[:1] or None

    def _set_leaf(
        self,
        scope: Scope,
        index: int,
        name: str,
        pending: list[tuple[Scope, str]],
        opened: set[tuple[Scope, str]],
    ) -> None:
        """A value that no arithmetic computes: a constant, a Sigmoid or Exp, or an atom."""
        op_type = scope.op_types[index]
        function = scope.called_function(index, self._functions) if self._functions else None
        if function is not None:
            results = function.output_names
            # Only a function of one output can be a sigmoid; its own body is looked at in its scope.
            if len(results) != 1 or results[0] not in function.producer:
                self.store.make_atom(scope, name)
            elif results[0] not in self.store.forms(function):
                self._open(opened, scope, index, name)
                pending.append((function, results[0]))
            else:
                form = self._sigmoids.called(scope, index, function)
                if form is None:
                    self.store.make_atom(scope, name)
                else:
                    self.store.set_form(scope, name, form)
        elif op_type in CONSTANTS and not scope.domains[index]:
            self._set_constant_or_atom(scope, name)
        elif op_type in FUNCTIONS and not scope.domains[index] and scope.inputs[index]:
            self.store.set_form(scope, name, self._sigmoids.applied(scope, index))
        else:
            self.store.make_atom(scope, name)

    def _set_constant_or_atom(self, scope: Scope, name: str) -> None:
        constant = self.store.constants.uniform(scope, name)
        form = self._operators.constant(scope, name, constant) if constant is not None else None
        if form is None:
            self.store.make_atom(scope, name)
        else:
            self.store.set_form(scope, name, form)

    def _compute(self, scope: Scope, index: int, name: str) -> None:
        """Set the form of a node's output, whose operands have their forms."""
        try:
            form = self._operators.result(scope, index, self.store.forms(scope))
        except (TooLargeError, ZeroDivisionError):
            form = self._result_after_cut(scope, index)
        if form is None:
            self.store.make_atom(scope, name)
        else:
            self.store.set_form(scope, name, form)

    def _result_after_cut(self, scope: Scope, index: int) -> Form | None:
        """The result after a value some levels back has become an atom, so that the product is short."""
        forms = self.store.forms(scope)
        chain: list[tuple[int, str]] = []
        current = index
        for _ in range(_KEPT_LEVELS):
            if scope.op_types[current] not in PRODUCTS:
                break
            source = max(scope.inputs[current], key=lambda value: len(forms[value].factors))
            producer = scope.producer.get(source)
            if producer is None or self.store.is_opaque(scope, source):
                break
            chain.append((producer, source))
            current = producer
        if not chain:
            return None
        _, cut = chain.pop()
        self.store.make_atom(scope, cut)
        try:
            for producer, source in reversed(chain):
                form = self._operators.result(scope, producer, forms)
                if form is None:
                    return None
                self.store.set_form(scope, source, form)
            return self._operators.result(scope, index, forms)
        except (TooLargeError, ZeroDivisionError):
            return None
