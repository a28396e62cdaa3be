"""The arithmetic of a kernel, derived from its function body."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from onnx_ascend_ext.algebra import Form, Ring, monomial
from onnx_ascend_ext.graph import Constants, ModelIndex, Types
from onnx_ascend_ext.matching.extents import Extents
from onnx_ascend_ext.matching.valuation import Rules, Valuation

if TYPE_CHECKING:
    from collections.abc import Iterator

    from onnx_ascend_ext.catalog import Kernel


@dataclass
class Pattern:
    """A kernel that computes `gradient * slope(activation)`.

    The slope must be a product with a factor `1 + rate * activation`: a node can only equal the kernel
    when its own form has the same factor for some value, which gives the activation.

    Attributes:
        kernel: the kernel.
        gradient: position of the gradient among its inputs.
        activation: position of the activation.
    """

    kernel: Kernel
    gradient: int
    activation: int
    _ring: Ring
    _slope: Form
    _rate: Form
    _slopes: dict[Form, Form] = field(default_factory=dict)

    def slope(self, activation: Form) -> Form:
        """The slope at an activation.

        Raises:
            TooLargeError: it exceeds the bounds of the ring.
        """
        found = self._slopes.get(activation)
        if found is None:
            found = self._slopes[activation] = self._ring.substitute(self._slope, lambda _: activation)
        return found

    def activation_of(self, base: int) -> Form | None:
        """The activation for which a sum is the slope's factor `1 + rate * activation`, if there is one."""
        terms = dict(self._ring.terms(base))
        if terms.pop((), None) != 1:
            return None
        return self._ring.divide(self._ring.sum_of(terms), self._rate)


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
        rate = _linear_rate(ring, slope, atoms[activation])
        if rate is not None:
            return Pattern(kernel, gradient, activation, ring, slope, rate)
    return None


def _pairs(count: int) -> Iterator[tuple[int, int]]:
    if count == 2:
        yield 0, 1
        yield 1, 0


def _linear_rate(ring: Ring, slope: Form, atom: int) -> Form | None:
    for base, exponent in slope.factors:
        if exponent > 0 and ring.is_sum(base):
            terms = ring.terms(base)
            if set(terms) == {(), monomial({atom: 1})}:
                return Form(terms[monomial({atom: 1})])
    return None
