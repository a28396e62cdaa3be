"""The arithmetic of a kernel, derived from its function body."""

from __future__ import annotations

from typing import TYPE_CHECKING

from onnx_ascend_ext.algebra import Form, Ring, quotient
from onnx_ascend_ext.graph import Constants, ModelIndex, Types
from onnx_ascend_ext.matching.extents import Extents
from onnx_ascend_ext.matching.store import Rules
from onnx_ascend_ext.matching.valuation import Valuation

if TYPE_CHECKING:
    from collections.abc import Iterator

    from onnx_ascend_ext.algebra import Monomial
    from onnx_ascend_ext.catalog import Kernel


class Pattern:
    """A kernel that computes `gradient * slope(activation)`.

    The slope must be a product with a factor `1 + rate * activation`: a node can only equal the kernel
    when its own form has the same factor for some value, which gives the activation.

    Attributes:
        kernel: the kernel.
        gradient: position of the gradient among its inputs.
        activation: position of the activation.
        rate: the rate in that factor.
        symmetric: whether the slope stays the same when that factor takes the activation's place.
    """

    def __init__(
        self, kernel: Kernel, gradient: int, activation: int, ring: Ring, slope: Form, atom: int, base: int
    ) -> None:
        self.kernel = kernel
        self.gradient = gradient
        self.activation = activation
        self._ring = ring
        self._slope = slope
        self.rate = ring.terms(base)[((atom, 1),)]
        powers = dict(slope.factors)
        self._powers = (powers.pop(atom, 0), powers.pop(base, 0))
        self._is_plain = not powers
        self.symmetric = self.slope(Form(1, ((base, 1),))) == slope

    def slope(self, activation: Form, factor: Form | None = None) -> Form:
        """The slope at an activation.

        Args:
            activation: the activation's form.
            factor: the form of `1 + rate * activation`, where it is known.

        Raises:
            TooLargeError: it exceeds the bounds of the ring.
        """
        ring = self._ring
        if factor is None or not self._is_plain:
            return ring.substitute(self._slope, lambda _: activation)
        power, times = self._powers
        slope = ring.multiply(ring.power(activation, power), ring.power(factor, times))
        return slope if self._slope.scale == 1 else ring.multiply(slope, Form(self._slope.scale))

    def activation_of(self, factors: Monomial) -> Form | None:
        """The activation for which a product of sums is the slope's factor `1 + rate * activation`, if any.

        Raises:
            TooLargeError: it exceeds the bounds of the ring.
        """
        terms = self._ring.expanded(Form(1, factors))
        if terms.pop((), None) != 1:
            return None
        if len(terms) == 1:
            ((term, value),) = terms.items()
            return Form(quotient(value, self.rate), term)
        return self._ring.sum_of({term: quotient(value, self.rate) for term, value in terms.items()})


def derive(kernel: Kernel, ring: Ring) -> Pattern | None:
    """The pattern of a kernel, or None when its function body is not of the shape that `Pattern` needs."""
    import onnx

    model = onnx.ModelProto()
    model.functions.append(kernel.function())
    index = ModelIndex(model)
    scope = next(iter(index.functions.values()))
    constants = Constants(index)
    types = Types(index, constants)
    valuation = Valuation(index, ring, constants, types, Extents(constants, types), Rules())
    if len(kernel.outputs) != 1:
        return None
    atoms = [valuation.form(scope, name).factors[0][0] for name in kernel.inputs]
    result = valuation.form(scope, kernel.outputs[0])
    for gradient, activation in _pairs(len(atoms)):
        slope = ring.divide(result, Form(1, ((atoms[gradient], 1),)))
        if ring.atoms(slope) != {atoms[activation]}:
            continue
        base = _linear_factor(ring, slope, atoms[activation])
        if base is not None:
            return Pattern(kernel, gradient, activation, ring, slope, atoms[activation], base)
    return None


def _pairs(count: int) -> Iterator[tuple[int, int]]:
    if count == 2:
        yield 0, 1
        yield 1, 0


def _linear_factor(ring: Ring, slope: Form, atom: int) -> int | None:
    """A factor `1 + rate * atom` of a slope."""
    for base, exponent in slope.factors:
        if exponent > 0 and ring.is_sum(base) and set(ring.terms(base)) == {(), ((atom, 1),)}:
            return base
    return None
