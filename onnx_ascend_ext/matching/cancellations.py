"""Gradients that hold quotients, such as that of a cross entropy, whose divisors cancel against the slope.

`(t / y) * (y * (1 - y))` has the form `t * (1 - y)`, so the slope is no factor of it. What has cancelled is
known from the operands, and with it the slope that the result is to be divided by.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from onnx_ascend_ext.algebra import UNIT
from onnx_ascend_ext.matching.operators import ADDITIVE, OPERANDS

if TYPE_CHECKING:
    from onnx_ascend_ext.algebra import Form
    from onnx_ascend_ext.graph import Scope
    from onnx_ascend_ext.matching.store import FormStore

# More sums than cancel in any gradient.
_MAX_SUMS = 4
# How far a product may go on, so that a long one is not looked at again and again as a whole.
_MAX_STEPS = 16


class Cancellations:
    """The sums that have cancelled against divisors on the way to a value."""

    def __init__(self, store: FormStore) -> None:
        self._store = store
        self._followed: dict[tuple[Scope, str], tuple[int, tuple[int, ...]]] = {}

    def follow(self, scope: Scope, index: int, form: Form) -> tuple[int, ...] | None:
        """The sums that have cancelled in a node's result or in those that it is computed from.

        None where the product has gone on for too long.

        Args:
            scope: where the node lies.
            index: a node of arithmetic.
            form: the form of its result.
        """
        op_type, inputs = scope.op_types[index], scope.inputs[index]
        operands = inputs if op_type in OPERANDS else inputs[:1]
        if op_type in ADDITIVE:
            forms = self._store.forms(scope)
            operands = [name for name in operands if forms.get(name, UNIT).scale]
        before = [self._followed.get((self._store.owner(scope, name), name), (0, ())) for name in operands]
        steps = 1 + max((steps for steps, _ in before), default=0)
        found: list[int] = []
        if op_type not in ADDITIVE or all(bases for _, bases in before):
            found.extend(base for _, bases in before for base in bases)
        if len(operands) > 1:
            found.extend(self._cancelled_here(scope, index, form))
        bases = tuple(dict.fromkeys(found))[:_MAX_SUMS] if steps <= _MAX_STEPS else ()
        self._followed[scope, scope.outputs[index][0]] = steps, bases
        return bases if steps <= _MAX_STEPS else None

    def forget(self, scope: Scope, name: str) -> None:
        """Start anew at a value, since it is an atom from now on."""
        self._followed.pop((scope, name), None)

    def _cancelled_here(self, scope: Scope, index: int, form: Form) -> list[int]:
        """The sums that an operand is divided by and the result is not, or by a lower power."""
        forms = self._store.forms(scope)
        lowest: dict[int, int] = {}
        for position, name in enumerate(scope.inputs[index]):
            sign = -1 if position and scope.op_types[index] == "Div" else 1
            for base, exponent in forms.get(name, UNIT).factors:
                if base & 1 and sign * exponent < lowest.get(base, 0):
                    lowest[base] = sign * exponent
        if not lowest:
            return []
        powers = dict(form.factors)
        return [base for base, exponent in lowest.items() if powers.get(base, 0) > exponent]
