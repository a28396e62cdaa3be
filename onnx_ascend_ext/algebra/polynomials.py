"""Expanded polynomials: rational coefficients by monomial.

A monomial is a tuple of (symbol, exponent) pairs in descending order of the symbols, without zero
exponents; `()` is the monomial one. For exponents above zero, Python's order of these tuples is the
lexicographic monomial order, so `min` gives the lowest term.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from fractions import Fraction
from math import gcd
from typing import TypeAlias

Rational: TypeAlias = int | Fraction
Monomial: TypeAlias = tuple[tuple[int, int], ...]
Polynomial: TypeAlias = dict[Monomial, Rational]

ONE: Monomial = ()

MAX_QUOTIENT_TERMS = 32
"""How many terms a quotient may have before the division is given up."""


def simplified(number: Rational) -> Rational:
    """The number as an int where it is one."""
    return number.numerator if number.denominator == 1 else number


def quotient(dividend: Rational, divisor: Rational) -> Rational:
    """The exact quotient of two rational numbers."""
    if divisor == 1:
        return dividend
    if divisor == -1:
        return -dividend
    if type(dividend) is int and type(divisor) is int and not dividend % divisor:
        return dividend // divisor
    return simplified(Fraction(dividend) / Fraction(divisor))


def monomial(exponents: Mapping[int, int]) -> Monomial:
    """The monomial with the given exponent of each symbol."""
    return tuple(sorted(((s, e) for s, e in exponents.items() if e), reverse=True))


def product(a: Monomial, b: Monomial) -> Monomial:
    """The product of two monomials."""
    if not a:
        return b
    if not b:
        return a
    if len(a) == len(b) == 1:
        (symbol, exponent), (other, power) = a[0], b[0]
        if symbol != other:
            return (a[0], b[0]) if symbol > other else (b[0], a[0])
        return ((symbol, exponent + power),) if exponent + power else ONE
    exponents = dict(a)
    for symbol, exponent in b:
        exponents[symbol] = exponents.get(symbol, 0) + exponent
    return monomial(exponents)


def inverse(a: Monomial) -> Monomial:
    """One divided by a monomial."""
    return tuple((symbol, -exponent) for symbol, exponent in a)


def common_monomial(terms: Collection[Monomial]) -> Monomial:
    """The monomial of each symbol's lowest exponent over some terms; where it is missing it counts as 0."""
    if ONE in terms and all(exponent > 0 for term in terms for _, exponent in term):
        return ONE
    lowest: dict[int, int] = {}
    occurrences: dict[int, int] = {}
    for term in terms:
        for symbol, exponent in term:
            occurrences[symbol] = occurrences.get(symbol, 0) + 1
            if exponent < lowest.get(symbol, exponent + 1):
                lowest[symbol] = exponent
    count = len(terms)
    return monomial({s: e for s, e in lowest.items() if e < 0 or occurrences[s] == count})


def add_into(target: Polynomial, source: Mapping[Monomial, Rational], factor: Rational = 1) -> None:
    """Add `factor` times a polynomial to another one."""
    for term, coefficient in source.items():
        total = simplified(target.get(term, 0) + coefficient * factor)
        if total:
            target[term] = total
        else:
            del target[term]


def multiply(a: Mapping[Monomial, Rational], b: Mapping[Monomial, Rational]) -> Polynomial:
    """The product of two polynomials."""
    result: Polynomial = {}
    for term, coefficient in a.items():
        shifted = {product(term, other): value for other, value in b.items()}
        add_into(result, shifted, coefficient)
    return result


def divide(terms: Mapping[Monomial, Rational], root: Monomial, rate: Rational) -> Polynomial | None:
    """The exact quotient of a polynomial by `1 - rate * root`, or None when it leaves a remainder or is long.

    `root` must be a monomial other than one, and no exponent may be negative.
    """
    rest = dict(terms)
    result: Polynomial = {}
    symbol = root[0][0]
    degree = max(_exponent(term, symbol) for term in terms)
    while rest:
        term = min(rest)
        following = product(term, root)
        if _exponent(following, symbol) > degree or len(result) == MAX_QUOTIENT_TERMS:
            return None
        coefficient = rest.pop(term)
        result[term] = coefficient
        add_into(rest, {following: coefficient}, rate)
    return result


def _exponent(term: Monomial, symbol: int) -> int:
    for other, exponent in term:
        if other == symbol:
            return exponent
    return 0


def factorize(terms: Mapping[Monomial, Rational]) -> Iterator[Mapping[Monomial, Rational]]:
    """Factors of a polynomial without common monomial whose lowest coefficient is 1; so are the factors.

    Divisors of the shape `1 - rate * monomial` are found; what is left is one factor more.
    """
    rest: Mapping[Monomial, Rational] = terms
    # Two terms split only where their ratio is a power.
    searching = len(terms) > 2 or gcd(*(e for term in terms for _, e in term)) != 1
    while searching and len(rest) > 1:
        searching = False
        for root, rate in _linear_divisors(rest):
            found = divide(rest, root, rate)
            if found is not None:
                yield {ONE: 1, root: simplified(-rate)}
                rest = found
                searching = True
                break
    if len(rest) > 1:
        yield rest


def _linear_divisors(terms: Mapping[Monomial, Rational]) -> Iterator[tuple[Monomial, Rational]]:
    """Candidates (root, rate) such that `1 - rate * root` may divide a polynomial.

    The terms `lowest * root^k` of a multiple of `1 - rate * root` are a multiple themselves, so there is
    a second one of them, which gives the root. Rates other than 1 and -1 are taken from that term's
    coefficient only. A multiple vanishes wherever the divisor does; one such point is cheap to check and
    rules nearly every candidate out.
    """
    lowest = min(terms)
    undone = inverse(lowest)
    sum_of_all = sum(terms.values())
    seen: set[tuple[Monomial, Rational]] = set()
    for term, coefficient in terms.items():
        if term == lowest:
            continue
        ratio = product(term, undone)
        if any(exponent < 0 for _, exponent in ratio):
            continue
        power = gcd(*(exponent for _, exponent in ratio))
        root = tuple((symbol, exponent // power) for symbol, exponent in ratio)
        for rate in _rates(-quotient(coefficient, terms[lowest]), power):
            if (root, rate) in seen or (rate == 1 and sum_of_all):
                continue
            seen.add((root, rate))
            if rate == 1 or _vanishes(terms, root, rate):
                yield root, rate


def _rates(ratio: Rational, power: int) -> Iterator[Rational]:
    """Candidate rates where `1 - ratio * root^power` stands in the row of terms."""
    yield 1
    yield -1
    if power == 1:
        yield ratio
    elif ratio > 0:
        numerator, denominator = (round(part ** (1 / power)) for part in (ratio.numerator, ratio.denominator))
        if numerator**power == ratio.numerator and denominator**power == ratio.denominator:
            yield quotient(numerator, denominator)
            yield quotient(-numerator, denominator)


def _vanishes(terms: Mapping[Monomial, Rational], root: Monomial, rate: Rational) -> bool:
    """Whether a polynomial is zero where `rate * root` is 1 because of one symbol and all others are 1."""
    symbol = next((symbol for symbol, exponent in root if exponent == 1), None)
    if symbol is None:
        return True
    value = 1 / Fraction(rate)
    return not sum(coefficient * value ** _exponent(term, symbol) for term, coefficient in terms.items())
