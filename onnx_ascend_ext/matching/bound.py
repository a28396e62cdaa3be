"""A match whose operands are known, before it becomes a site."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from onnx_ascend_ext.algebra import Rational
    from onnx_ascend_ext.graph import Scope
    from onnx_ascend_ext.matching.pattern import Pattern
    from onnx_ascend_ext.matching.region import Region


class Operand(NamedTuple):
    """A value for an input of a kernel; `views` and `activated` are those of `Site`."""

    scope: Scope
    name: str
    views: tuple[int, ...] = ()
    activated: bool = False

    @property
    def key(self) -> tuple[Scope, str]:
        """Where the value lies."""
        return self.scope, self.name


class Split(NamedTuple):
    """A gradient, and what the kernel's result is still multiplied with."""

    gradient: Operand
    factors: tuple[Operand, ...]
    scale: Rational


@dataclass(frozen=True)
class Bound:
    """A match whose operands are bound.

    Attributes:
        pattern: the kernel's pattern.
        scope: where it lies.
        root: index of the node that is replaced.
        gradient: the kernel's gradient operand.
        activation: the kernel's activation operand.
        factors: what the result is multiplied with.
        scale: constant that the result is multiplied with.
        region: the nodes between operands and root.
        proven: whether the activation is a Sigmoid.
        constant_gradient: whether the gradient is a constant.
    """

    pattern: Pattern
    scope: Scope
    root: int
    gradient: Operand
    activation: Operand
    factors: tuple[Operand, ...]
    scale: Rational
    region: Region
    proven: bool
    constant_gradient: bool = False

    @property
    def deferred(self) -> bool:
        """Whether every other match that covers or ends at a node of it is preferred."""
        return self.constant_gradient or self.scale != 1

    @property
    def operands(self) -> tuple[Operand, ...]:
        """The operands in the order of the kernel's inputs."""
        pair = {self.pattern.gradient: self.gradient, self.pattern.activation: self.activation}
        return tuple(pair[position] for position in sorted(pair))
