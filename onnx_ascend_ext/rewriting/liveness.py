"""Which nodes and initializers die when some nodes read other values than before."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain

from onnx_ascend_ext.graph import ModelIndex, Scope


class Liveness:
    """Counts the uses of values as they change, and follows what is no longer used back to its source.

    What was used before and is not any more dies. A node outside ONNX's own domain may have effects beside
    its outputs, and one with nested bodies is no part of any match: both stay, unless they have been replaced
    themselves.

    Attributes:
        dead_nodes: indices of the nodes that died, by scope.
        dead_initializers: names of the initializers that died, by scope.
    """

    def __init__(self, index: ModelIndex, reads: Mapping[Scope, Mapping[int, Sequence[str]]]) -> None:
        """Finds what dies.

        Args:
            index: the model as it was.
            reads: the values that each replaced node reads now, by scope and node index.
        """
        self.dead_nodes: dict[Scope, set[int]] = defaultdict(set)
        self.dead_initializers: dict[Scope, set[str]] = defaultdict(set)
        self._variable = index.variable
        self._reads = reads
        self._uses = _Uses()
        self._staying: dict[Scope, frozenset[int]] = {}
        for scope in index.scopes:
            if scope.kind == "training":
                self._gain(index.main, scope.captures)
            elif scope.shadowed and scope.parent is not None:
                # A runtime may take the outer value for the one of the body.
                self._gain(scope.parent, scope.shadowed)
        for scope, by_node in reads.items():
            self._gain(scope, chain.from_iterable(by_node.values()))
        # All scopes gain before one loses: what moves from one place to another was never dead.
        for scope, by_node in reads.items():
            self._lose(scope, chain.from_iterable(map(scope.inputs.__getitem__, by_node)))
        self._uses.clear()  # much of what a large model takes

    def dead_values(self, scope: Scope) -> set[str]:
        """The names of the values of a scope that died with its nodes."""
        return set(chain.from_iterable(map(scope.outputs.__getitem__, self.dead_nodes[scope])))

    def _gain(self, scope: Scope, names: Iterable[str]) -> None:
        uses = self._uses[scope]
        captured: list[str] = []
        for name in names:
            before = uses.get(name, 0)
            uses[name] = before + 1
            if not before and scope.parent is not None and not scope.defines(name):
                captured.append(name)
        if captured and scope.parent is not None:
            self._gain(scope.parent, captured)

    def _lose(self, scope: Scope, names: Iterable[str]) -> None:
        """Takes uses away, and then those that dead nodes had, from the results to the sources."""
        uses, producer = self._uses[scope], scope.producer
        replaced = self._reads.get(scope, {})
        staying = self._staying_nodes(scope)
        dead = self.dead_nodes[scope]
        released: list[str] = []
        lost = list(names)
        for name in lost:  # grows while it is walked
            left = uses[name] - 1
            uses[name] = left
            if left or not name:
                continue
            node = producer.get(name)
            if node is not None:
                outputs = scope.outputs[node]
                is_unused = len(outputs) == 1 or not any(n and uses.get(n) for n in outputs)
                if is_unused and node not in staying:
                    dead.add(node)
                    lost += replaced[node] if node in replaced else scope.inputs[node]
            elif name in scope.initializers or name in scope.sparse_initializers:
                if name not in scope.input_set and name not in self._variable:
                    self.dead_initializers[scope].add(name)
            elif name not in scope.input_set:
                released.append(name)
        if released and scope.parent is not None:
            self._lose(scope.parent, released)

    def _staying_nodes(self, scope: Scope) -> frozenset[int]:
        """The nodes of a scope that stay even where nothing uses them."""
        staying = self._staying.get(scope)
        if staying is None:
            nodes = {body.owner for body in scope.bodies}
            if any(scope.domains):
                nodes.update(node for node, domain in enumerate(scope.domains) if domain)
            staying = self._staying[scope] = frozenset(nodes - self._reads.get(scope, {}).keys())
        return staying


class _Uses(dict[Scope, dict[str, int]]):
    """How often each value is used in each scope: by its nodes, as its output, and by the bodies in it."""

    def __missing__(self, scope: Scope) -> dict[str, int]:
        counts = Counter(chain.from_iterable(scope.inputs))
        counts.update(scope.output_names)
        for body in scope.bodies:
            counts.update(body.captures)
        # A Counter counts fast, but is slow to look up.
        self[scope] = dict(counts)
        return self[scope]
