"""Which nodes and initializers die when some nodes read other values than before."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping

from onnx_ascend_ext.graph import ModelIndex, Scope


class Liveness:
    """Counts the uses of values as they change, and follows what is no longer used back to its source.

    Only what was used before and is not any more dies. A node outside ONNX's own domain may have effects
    beside its outputs, and one with nested bodies is no part of any match: both stay, unless they have been
    replaced themselves.

    Attributes:
        dead_nodes: indices of the nodes that died, by scope.
        dead_values: names of the values that died, by scope.
        dead_initializers: names of the initializers that died, by scope.
    """

    def __init__(self, index: ModelIndex, reads: Mapping[tuple[Scope, int], Iterable[str]]) -> None:
        """Starts from the model as it is.

        Args:
            index: the model.
            reads: the values that each replaced node reads now, by its scope and index.
        """
        self.dead_nodes: dict[Scope, set[int]] = defaultdict(set)
        self.dead_values: dict[Scope, set[str]] = defaultdict(set)
        self.dead_initializers: dict[Scope, set[str]] = defaultdict(set)
        self._variable = index.variable
        self._reads = reads
        self._change: dict[Scope, dict[str, int]] = defaultdict(lambda: defaultdict(int))
        for scope in index.scopes:
            if scope.kind == "training":
                for name in scope.captures:
                    self._change[index.main][name] += 1
        for (scope, _), names in reads.items():
            for name in names:
                self._retain(scope, name)
        for scope, node in reads:
            self._release_all(scope, scope.inputs[node])

    def _retain(self, scope: Scope, name: str) -> None:
        place: Scope | None = scope
        while place is not None:
            self._change[place][name] += 1
            if place.uses(name) + self._change[place][name] > 1 or place.defines(name):
                return
            place = place.parent

    def _release_all(self, scope: Scope, names: Iterable[str]) -> None:
        waiting = [(scope, name) for name in names if name]
        while waiting:
            place, name = waiting.pop()
            change = self._change[place]
            change[name] -= 1
            if place.uses(name) + change[name] > 0:
                continue
            producer = place.producer.get(name)
            if producer is not None:
                waiting.extend((place, read) for read in self._reads_of_dead(place, producer))
            elif name in place.initializers or name in place.sparse_initializers:
                if name not in place.input_set and name not in self._variable:
                    self.dead_initializers[place].add(name)
            elif not place.defines(name) and place.parent is not None:
                waiting.append((place.parent, name))

    def _reads_of_dead(self, scope: Scope, node: int) -> Iterable[str]:
        """Marks a node as dead if all its outputs are, and gives what it reads."""
        replaced = self._reads.get((scope, node))
        if replaced is None and scope.owns_bodies(node):
            return ()
        change = self._change[scope]
        outputs = [name for name in scope.outputs[node] if name]
        if any(scope.uses(name) + change[name] > 0 for name in outputs):
            return ()
        self.dead_nodes[scope].add(node)
        self.dead_values[scope].update(outputs)
        return replaced if replaced is not None else [name for name in scope.inputs[node] if name]
