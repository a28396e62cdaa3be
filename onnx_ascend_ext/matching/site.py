"""Where a match lies in the model: what the rewriter needs beside the public record."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fractions import Fraction

    from onnx_ascend_ext.graph import Scope
    from onnx_ascend_ext.matching.findings import Match


@dataclass(slots=True, eq=False)
class Site:
    """One place that can be computed by a kernel node. It is not changed once it is made.

    The value `result` equals `kernel(operands) * factors[0] * ... * scale`, with each operand passed
    through its `views` first. Shape and element type of that product are those of `result`.

    Attributes:
        match: the public record.
        scope: the scope that `root` lies in.
        root: index of the node whose only output is `result`.
        covered: indices of the nodes of `scope` that the match covers, `root` included. They are dead
            after the rewrite unless something else uses their outputs.
        operands: value names for the kernel's inputs in order, all visible at `root`.
        result: name of the value that is computed anew.
        factors: existing values that the kernel's result is still multiplied with.
        scale: constant that the kernel's result is still multiplied with.
        views: for each operand that is needed in another shape or element type, the indices of the
            nodes of `scope` (Unsqueeze, Reshape, Transpose, Cast, ...) that are to be repeated on it,
            first one first; an empty tuple for every other operand.
        activated: for each operand, whether it is `Sigmoid` of the named value; only in relaxed matches of
            gradients that are computed from `exp` without their sigmoid being computed anywhere. An empty
            tuple, as for `views`, means that no operand is.
        captured: nodes of enclosing scopes that the match covers as well, as (scope, index).
        deferred: whether `result` was taken for what the model computes it from, and not for a value of its
            own, when the rest of the model was searched.
    """

    match: Match
    scope: Scope
    root: int
    covered: tuple[int, ...]
    operands: tuple[str, ...]
    result: str
    factors: tuple[str, ...] = ()
    scale: int | Fraction = 1
    views: tuple[tuple[int, ...], ...] = ()
    activated: tuple[bool, ...] = ()
    captured: tuple[tuple[Scope, int], ...] = ()
    deferred: bool = False
