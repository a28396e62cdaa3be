"""Shapes of elementwise results as broadcasts of the shapes of other values, for every input at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from onnx_ascend_ext.graph import SCALAR, Extent, ShapeOf
from onnx_ascend_ext.graph.operators import BROADCAST, ELEMENTWISE, VIEWS
from onnx_ascend_ext.matching.views import view_key

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable

    from onnx_ascend_ext.graph import Constants, Dim, Scope, Shape, Types
    from onnx_ascend_ext.graph.constants import Dims

    Term = Dims | ShapeOf

# More terms than any operand of a gradient has; a value with more is given a term of its own.
_MAX_TERMS = 8


class Extents:
    """The extent of every value that is asked for, found once."""

    def __init__(self, constants: Constants, types: Types) -> None:
        self._constants = constants
        self._types = types
        self._memo: dict[tuple[Scope, str], Extent] = {}
        self._views: dict[tuple[ShapeOf, Hashable], Extent] = {}

    def of(self, scope: Scope, name: str) -> Extent:
        """The extent of a value that `scope` defines."""
        memo = self._memo
        found = memo.get((scope, name))
        if found is not None:
            return found
        pending = [(scope, name)]
        opened: set[tuple[Scope, str]] = set()
        while pending:
            key = pending[-1]
            if key in memo:
                pending.pop()
                continue
            sources = self._sources(*key)
            missing = [source for source in sources if source not in memo and source not in opened]
            opened.add(key)
            if missing:
                pending.extend(missing)
                continue
            pending.pop()
            memo[key] = self._extent(key, sources)
        return memo[scope, name]

    def make_own(self, scope: Scope, name: str) -> None:
        """Give a value a term of its own, so that extents that use it stay small."""
        self._memo[scope, name] = frozenset({ShapeOf(scope, name)})

    def viewed(self, extent: Extent, scope: Scope, index: int) -> Extent:
        """The extent of the view at `index` when it is applied to a value of another extent."""
        key = view_key(self._constants, scope, index)
        own: Extent = frozenset({ShapeOf(scope, scope.outputs[index][0])})
        term = self.single_term(extent)
        return own if term is None else self._views.setdefault((term, key), own)

    def single_term(self, extent: Extent) -> ShapeOf | None:
        """The value that has this very shape, or None when several values or unabsorbed constants make it."""
        terms = [term for term in extent if isinstance(term, ShapeOf)]
        if len(terms) != 1 or self.unabsorbed(extent, frozenset(terms)):
            return None
        return terms[0]

    def unabsorbed(self, extent: Extent, by: Extent) -> list[Term]:
        """The terms of an extent that could make the broadcast of `by` larger, for some input; sorted."""
        found = [term for term in extent if term not in by and not self._absorbed(term, by)]
        return sorted(found, key=_rank)

    def _absorbed(self, term: Term, by: Iterable[Term]) -> bool:
        shape = self._dims(term)
        if shape is None:
            return False
        # Nothing makes two dimensions of one symbol equal when a model is run.
        others = [dims for dims in map(self._dims, by) if dims is not None]
        if len(shape) > max(map(len, others), default=0):
            return False
        return all(
            dim == 1 or (isinstance(dim, int) and any(_dim_at(other, axis) == dim for other in others))
            for axis, dim in zip(range(-len(shape), 0), shape, strict=True)
        )

    def _dims(self, term: Term) -> Shape | None:
        return self._types.shape(term.scope, term.name) if isinstance(term, ShapeOf) else term

    def _sources(self, scope: Scope, name: str) -> list[tuple[Scope, str]]:
        constant = self._constants.uniform(scope, name)
        if constant is not None:
            shapes = [term for term in constant.extent if isinstance(term, ShapeOf)]
            return [(term.scope, term.name) for term in shapes if term != (scope, name)]
        index = scope.producer.get(name)
        if index is None or scope.domains[index] or scope.outputs[index][0] != name:
            return []
        op_type, inputs = scope.op_types[index], scope.inputs[index]
        if op_type in BROADCAST:
            names = [source for source in inputs if source]
        elif op_type in ELEMENTWISE or op_type in VIEWS:
            names = list(inputs[:1])
        else:
            return []
        owners = [(scope.find(source), source) for source in names]
        return [(owner, source) for owner, source in owners if owner is not None]

    def _extent(self, key: tuple[Scope, str], sources: list[tuple[Scope, str]]) -> Extent:
        scope, name = key
        own: Extent = frozenset({ShapeOf(scope, name)})
        constant = self._constants.uniform(scope, name)
        if constant is not None:
            found = frozenset(term for term in constant.extent if term not in sources)
            found = found.union(*[self._memo.get(source, own) for source in sources])
            return found if len(found) <= _MAX_TERMS else own
        if not sources or any(source not in self._memo for source in sources):
            return SCALAR if self._types.shape(scope, name) == () else own
        index = scope.producer[name]
        extents = [self._memo[source] for source in sources]
        if scope.op_types[index] in VIEWS:
            return self.viewed(extents[0], scope, index)
        if len(extents) == 1:
            return extents[0]
        union = extents[0].union(*extents[1:])
        return union if len(union) <= _MAX_TERMS else own


def _dim_at(shape: Shape, axis: int) -> Dim:
    return shape[axis] if len(shape) >= -axis else None


def _rank(term: Term) -> tuple[bool, str]:
    """Known shapes first; an extent is a set, whose own order is another one in every process."""
    return isinstance(term, ShapeOf), term.name if isinstance(term, ShapeOf) else str(term)
