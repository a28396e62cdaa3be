"""Exact normal forms of values: products of powers of atoms and of sums, times a rational number."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple

from onnx_ascend_ext.algebra.polynomials import (
    Monomial,
    Polynomial,
    Rational,
    add_into,
    common_monomial,
    factorize,
    inverse,
    monomial,
    multiply,
    product,
    quotient,
    simplified,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


class Form(NamedTuple):
    """`scale` times the product of `base ** exponent`.

    Attributes:
        scale: a rational number; 0 has no factors.
        factors: (base, exponent) pairs in descending order of the bases, no exponent zero. A base is an
            atom (an even number) or a sum (an odd number) of the ring.
    """

    scale: Rational
    factors: Monomial = ()


ZERO = Form(0)
UNIT = Form(1)

_SMALL = 1 << 32


class TooLargeError(Exception):
    """A form would exceed the ring's bounds."""


class Ring:
    """Interns atoms and sums, and computes with forms over them.

    Two values that are equal as rational functions of the atoms have the same form, except where their
    sums share a factor that is neither a common monomial nor of the shape `1 - rate * monomial`: sums are
    not factored further. Different forms therefore may mean equal values, equal forms always do.

    Every operation raises `TooLargeError` instead of making a form beyond the bounds, so that each takes
    bounded time.
    """

    MAX_FACTORS = 32
    MAX_TERMS = 16
    MAX_EXPONENT = 1 << 20
    MAX_BITS = 1024

    def __init__(self) -> None:
        self._atoms = 0
        self._sums: list[Mapping[Monomial, Rational]] = []
        self._sum_ids: dict[frozenset[tuple[Monomial, Rational]], int] = {}
        self._linear: dict[tuple[Rational, int], int] = {}

    def atom(self) -> int:
        """A new atom."""
        self._atoms += 2
        return self._atoms

    @staticmethod
    def is_sum(base: int) -> bool:
        """Whether a base is a sum."""
        return bool(base & 1)

    def terms(self, base: int) -> Mapping[Monomial, Rational]:
        """The terms of a sum, which are over atoms only; the lowest one has the coefficient 1."""
        return self._sums[base >> 1]

    def multiply(self, a: Form, b: Form) -> Form:
        """The product of two forms."""
        scale = a.scale * b.scale
        if scale != 1 and scale != -1:
            if not scale:
                return ZERO
            scale = self._bounded(scale)
        factors = product(a.factors, b.factors)
        if len(factors) > self.MAX_FACTORS:
            raise TooLargeError
        return Form(scale, factors)

    def power(self, a: Form, exponent: int) -> Form:
        """An integer power of a form.

        Raises:
            ZeroDivisionError: a negative power of zero.
        """
        if exponent == 1:
            return a
        if exponent == 0:
            return UNIT
        if not a.scale:
            if exponent < 0:
                raise ZeroDivisionError
            return ZERO
        for _, e in a.factors:
            if not -self.MAX_EXPONENT <= e * exponent <= self.MAX_EXPONENT:
                raise TooLargeError
        scale = a.scale
        if scale == -1:
            scale = -1 if exponent & 1 else 1
        elif scale != 1:
            size = max(abs(scale.numerator), scale.denominator).bit_length()
            if size * abs(exponent) > 2 * self.MAX_BITS:
                raise TooLargeError
            scale = self._bounded(Fraction(scale) ** exponent)
        return Form(scale, tuple((base, e * exponent) for base, e in a.factors))

    def divide(self, a: Form, b: Form) -> Form:
        """The quotient of two forms.

        Raises:
            ZeroDivisionError: `b` is zero.
        """
        return self.multiply(a, self.power(b, -1))

    def negate(self, a: Form) -> Form:
        """Minus a form."""
        return Form(-a.scale, a.factors)

    def add(self, a: Form, b: Form) -> Form:
        """The sum of two forms."""
        if not a.scale:
            return b
        if not b.scale:
            return a
        if a.factors == b.factors:
            scale = self._bounded(a.scale + b.scale)
            return Form(scale, a.factors) if scale else ZERO
        if not b.factors:
            a, b = b, a
        if not a.factors and len(b.factors) == 1:
            base, exponent = b.factors[0]
            if exponent == 1 and not base & 1:
                return Form(a.scale, ((self._one_plus(quotient(b.scale, a.scale), base), 1),))
            if exponent == -1 and not base & 1:
                total = self._one_plus(quotient(a.scale, b.scale), base)
                return Form(b.scale, product(((total, 1),), b.factors))
        common = common_monomial((a.factors, b.factors))
        if common:
            undone = inverse(common)
            a = Form(a.scale, product(a.factors, undone))
            b = Form(b.scale, product(b.factors, undone))
        terms = self.expanded(a)
        add_into(terms, self.expanded(b))
        form = self.sum_of(terms)
        return self.multiply(form, Form(1, common)) if common else form

    def substitute(self, form: Form, image: Callable[[int], Form]) -> Form:
        """The form with every atom replaced by its image."""
        result = Form(form.scale)
        for base, exponent in form.factors:
            if self.is_sum(base):
                replaced = ZERO
                for term, coefficient in self.terms(base).items():
                    value = Form(coefficient)
                    for atom, power in term:
                        value = self.multiply(value, self.power(image(atom), power))
                    replaced = self.add(replaced, value)
            else:
                replaced = image(base)
            result = self.multiply(result, self.power(replaced, exponent))
        return result

    def atoms(self, form: Form) -> set[int]:
        """The atoms that a form is made of."""
        found: set[int] = set()
        for base, _ in form.factors:
            if self.is_sum(base):
                found.update(atom for term in self.terms(base) for atom, _ in term)
            else:
                found.add(base)
        return found

    def sum_of(self, terms: Mapping[Monomial, Rational]) -> Form:
        """The form of a polynomial over atoms."""
        if not terms:
            return ZERO
        if len(terms) > self.MAX_TERMS:
            raise TooLargeError
        common = common_monomial(terms)
        if common:
            undone = inverse(common)
            terms = {product(term, undone): coefficient for term, coefficient in terms.items()}
        if len(terms) == 1:
            ((term, scale),) = terms.items()
            return Form(self._bounded(scale), product(term, common))
        scale = terms[min(terms)]
        if scale != 1:
            terms = {term: self._bounded(quotient(c, scale)) for term, c in terms.items()}
        exponents = dict(common)
        for factor in factorize(terms):
            base = self._intern(factor)
            exponents[base] = exponents.get(base, 0) + 1
        if len(exponents) > self.MAX_FACTORS:
            raise TooLargeError
        return Form(self._bounded(scale), monomial(exponents))

    def _bounded(self, number: Rational) -> Rational:
        if type(number) is int and -_SMALL < number < _SMALL:
            return number
        if max(abs(number.numerator), number.denominator).bit_length() > self.MAX_BITS:
            raise TooLargeError
        return simplified(number)

    def expanded(self, form: Form) -> Polynomial:
        """A form without negative exponents as a new polynomial over atoms."""
        if form.scale == 1 and len(form.factors) == 1:
            ((base, exponent),) = form.factors
            if exponent == 1 and base & 1:
                return dict(self._sums[base >> 1])
        exponents = tuple((base, e) for base, e in form.factors if not base & 1)
        result: Polynomial = {exponents: form.scale}
        for base, exponent in form.factors:
            if base & 1:
                terms = self._sums[base >> 1]
                if exponent > self.MAX_TERMS:
                    raise TooLargeError
                for _ in range(exponent):
                    result = multiply(result, terms)
                    if len(result) > self.MAX_TERMS:
                        raise TooLargeError
        return result

    def _one_plus(self, rate: Rational, atom: int) -> int:
        """The base of `1 + rate * atom`."""
        base = self._linear.get((rate, atom))
        if base is None:
            base = self._linear[rate, atom] = self._intern({(): 1, ((atom, 1),): self._bounded(rate)})
        return base

    def _intern(self, terms: Mapping[Monomial, Rational]) -> int:
        """The base of a sum, whose lowest term has the coefficient 1."""
        key = frozenset(terms.items())
        base = self._sum_ids.get(key)
        if base is None:
            base = self._sum_ids[key] = 2 * len(self._sums) + 1
            self._sums.append(terms)
        return base
