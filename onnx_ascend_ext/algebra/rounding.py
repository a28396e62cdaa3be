"""Sums that are equal to something simpler in exact arithmetic only."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from onnx_ascend_ext.algebra.polynomials import add_into, common_monomial, inverse, product
from onnx_ascend_ext.algebra.ring import Form

if TYPE_CHECKING:
    from onnx_ascend_ext.algebra.ring import Ring

# How much larger than what is left a cancelled term may be: `(y + 1) - 1` is y, `(y + 8388608) - 8388608` is
# y rounded to an integer.
_MAX_RATIO = 4


def loses_digits(ring: Ring, a: Form, b: Form) -> bool:
    """Whether floating-point arithmetic may have lost the digits of `a + b` before they were added.

    That is so where a term cancels that is much larger than what is left, or that has an atom which is not in
    what is left: nothing is known of its size.

    Args:
        ring: the ring of the forms.
        a: one operand of a sum.
        b: the other operand.

    Raises:
        TooLargeError: the sum exceeds the bounds of the ring.
    """
    if not a.scale or not b.scale:
        return False
    if a.factors == b.factors:
        one, other = Fraction(a.scale), Fraction(b.scale)
        return one != -other and max(abs(one), abs(other)) > _MAX_RATIO * abs(one + other)
    if not any(base & 1 and exponent > 0 for base, exponent in a.factors + b.factors):
        # Nothing has been added before; what cancels are the common denominator's terms.
        return False
    common = common_monomial((a.factors, b.factors))
    undone = inverse(common)
    left = ring.expanded(Form(a.scale, product(a.factors, undone)))
    right = ring.expanded(Form(b.scale, product(b.factors, undone)))
    cancelled = [term for term in left.keys() & right.keys() if (left[term] < 0) != (right[term] < 0)]
    if not cancelled:
        return False
    rest = dict(left)
    add_into(rest, right)
    if not rest:
        return True
    limit = _MAX_RATIO * min(abs(Fraction(coefficient)) for coefficient in rest.values())
    atoms = tuple((base, exponent) for base, exponent in common if not base & 1)
    kept = {atom for term in rest for atom, _ in product(term, atoms)}
    return any(
        max(abs(Fraction(left[term])), abs(Fraction(right[term]))) > limit
        or not all(atom in kept for atom, _ in product(term, atoms))
        for term in cancelled
    )
