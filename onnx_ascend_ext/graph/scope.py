"""One namespace of a model: the main graph, a nested body, a model-local function or a training graph."""

from __future__ import annotations

from collections import Counter
from itertools import chain
from operator import attrgetter
from typing import TYPE_CHECKING, Literal

from onnx_ascend_ext.errors import ModelError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from onnx import FunctionProto, GraphProto, NodeProto, TensorProto, ValueInfoProto

ScopeKind = Literal["main", "body", "function", "training"]

# The operators of the default domain that have graph attributes.
_OPS_WITH_BODIES = frozenset({"If", "Loop", "Scan", "SequenceMap"})
_FIELDS = attrgetter("op_type", "domain", "input", "output")


def node_label(node: NodeProto) -> str:
    """How a node is shown to a reader: its name, or `OpType(first output)` when it has none."""
    return node.name or f"{node.op_type}({next(iter(node.output), '')})"


class Scope:
    """A read-only index of one container of nodes, with lists that run parallel to `nodes`.

    Attributes:
        container: the `GraphProto` or `FunctionProto` that is indexed.
        path: the scope as a reader sees it; see `Match.scope`.
        kind: what the scope is.
        parent: the scope whose names are visible here, or None. From a training graph only the inputs
            and initializers of the main graph are visible.
        owner: for a nested body, the index in `parent` of the node that it belongs to; -1 otherwise.
        opsets: version by operator domain, "" for the default one.
        nodes: the nodes of the container itself, so they change with it.
        op_types: their operator types.
        domains: their operator domains, "" for the default one.
        inputs: their input names, "" for an optional one that is left out.
        outputs: their output names.
        producer: index of the node that computes a value, by the value's name.
        input_names: the names of the container's inputs.
        output_names: the names of the container's outputs, as often as they are listed.
        bodies: the nested bodies of its nodes.
    """

    def __init__(
        self,
        container: GraphProto | FunctionProto,
        path: str,
        kind: ScopeKind,
        opsets: Mapping[str, int],
        parent: Scope | None = None,
        owner: int = -1,
    ) -> None:
        self.container = container
        self.path = path
        self.kind = kind
        self.opsets = opsets
        self.parent = parent
        self.owner = owner
        self.nodes: Sequence[NodeProto] = container.node
        self.op_types: list[str] = []
        self.domains: list[str] = []
        self.inputs: list[Sequence[str]] = []
        self.outputs: list[Sequence[str]] = []
        self._read_nodes()
        self.producer: dict[str, int] = {}
        self.bodies: list[Scope] = []
        self.initializers: dict[str, TensorProto] = {}
        self.sparse_initializers: frozenset[str] = frozenset()
        if kind == "function":
            self.input_names: list[str] = list(container.input)
            self.output_names: list[str] = list(container.output)
        else:
            self.input_names = [value.name for value in container.input]
            self.output_names = [value.name for value in container.output]
            self.initializers = {tensor.name: tensor for tensor in container.initializer}
            self.sparse_initializers = frozenset(t.values.name for t in container.sparse_initializer)
        self.input_set = frozenset(self.input_names)
        self._index_producers()
        self._declared: dict[str, ValueInfoProto] | None = None
        self._captures: frozenset[str] | None = None
        self._shadowed: frozenset[str] | None = None
        self._ranks: list[int] | None = None

    def _read_nodes(self) -> None:
        """Copy the fields of all nodes, one node at a time, since every access makes Python objects anew."""
        op_types: dict[str, str] = {}
        domains = {"ai.onnx": "", "": ""}
        for op_type, domain, inputs, outputs in map(_FIELDS, self.nodes):
            self.op_types.append(op_types.setdefault(op_type, op_type))
            self.domains.append(domains.setdefault(domain, domain))
            self.inputs.append(inputs[:])
            self.outputs.append(outputs[:])
        self._may_have_bodies = not _OPS_WITH_BODIES.isdisjoint(op_types) or any(domains.values())

    def _index_producers(self) -> None:
        names = list(chain.from_iterable(self.outputs))
        if len(names) == len(self.nodes) and all(self.outputs):
            self.producer = dict(zip(names, range(len(names)), strict=True))
        else:
            self.producer = {name: i for i, outputs in enumerate(self.outputs) for name in outputs if name}
            names = [name for name in names if name]
        if "" in self.producer:
            del self.producer[""]
            names = [name for name in names if name]
        if len(self.producer) != len(names):
            twice = next(name for name, count in Counter(names).items() if count > 1)
            raise ModelError(f"{self.path}: two nodes compute the value {twice!r}; repair the model")

    def nodes_with_bodies(self) -> list[int]:
        """The nodes that may have graph attributes."""
        if not self._may_have_bodies:
            return []
        pairs = enumerate(zip(self.op_types, self.domains, strict=True))
        return [index for index, (op_type, domain) in pairs if domain or op_type in _OPS_WITH_BODIES]

    def opset(self, domain: str) -> int | None:
        """The version of an operator domain that is imported here, or None."""
        return self.opsets.get("" if domain == "ai.onnx" else domain)

    def called_function(self, index: int, functions: Mapping[tuple[str, str, str], Scope]) -> Scope | None:
        """The model-local function that the node at `index` calls, or None."""
        if not functions:
            return None
        node = self.nodes[index]
        return functions.get((self.domains[index], node.op_type, node.overload))

    def defines(self, name: str) -> bool:
        """Whether the name is a value of this scope itself."""
        return (
            name in self.producer
            or name in self.input_set
            or name in self.initializers
            or name in self.sparse_initializers
        )

    def find(self, name: str) -> Scope | None:
        """The scope that defines the value which `name` means here, or None when there is none."""
        scope: Scope | None = self
        outside_training = False
        while scope is not None:
            if scope.defines(name) and not (outside_training and name in scope.producer):
                return scope
            outside_training = scope.kind == "training"
            scope = scope.parent
        return None

    def enclosing(self) -> Iterator[Scope]:
        """This scope and those around it, innermost first."""
        scope: Scope | None = self
        while scope is not None:
            yield scope
            scope = scope.parent

    @property
    def captures(self) -> frozenset[str]:
        """Names from outer scopes that this scope or a body nested in it uses."""
        if self._captures is None:
            used = set(chain.from_iterable(self.inputs))
            used.update(self.output_names)
            for body in self.bodies:
                used |= body.captures
            self._captures = frozenset(name for name in used if name and not self.defines(name))
        return self._captures

    @property
    def shadowed(self) -> frozenset[str]:
        """Names of values of a nested body that outer values have as well.

        ONNX forbids that; ONNX Runtime loads some such models and takes the outer value.
        """
        if self._shadowed is None:
            own: set[str] = set()
            if self.kind == "body" and self.parent is not None:
                own.update(self.producer, self.input_set, self.initializers, self.sparse_initializers)
            outer = self.parent
            self._shadowed = frozenset(name for name in own if outer is not None and outer.find(name))
        return self._shadowed

    @property
    def declared(self) -> Mapping[str, ValueInfoProto]:
        """The declared type of inputs, outputs and intermediate values, by name."""
        if self._declared is None:
            declared = {value.name: value for value in self.container.value_info}
            if self.kind != "function":
                declared.update((value.name, value) for value in self.container.output)
                declared.update((value.name, value) for value in self.container.input)
            self._declared = declared
        return self._declared

    @property
    def is_sorted(self) -> bool:
        """Whether the nodes are in a topological order.

        Raises:
            ModelError: the nodes form a cycle.
        """
        return not self._topological_ranks()

    def position(self, index: int) -> int:
        """The place of a node in a topological order of the scope; the node's own index where it is sorted.

        Raises:
            ModelError: the nodes form a cycle.
        """
        ranks = self._ranks
        if ranks is None:
            ranks = self._topological_ranks()
        return ranks[index] if ranks else index

    def order(self) -> Sequence[int]:
        """The indices of the nodes in a topological order, the container's own where that is one.

        Raises:
            ModelError: the nodes form a cycle.
        """
        ranks = self._topological_ranks()
        if not ranks:
            return range(len(self.nodes))
        return sorted(range(len(ranks)), key=ranks.__getitem__)

    def _dependencies(self) -> list[Sequence[str]]:
        """What each node needs: its inputs, and what its nested bodies capture."""
        if not self.bodies:
            return self.inputs
        needed = list(self.inputs)
        for body in self.bodies:
            needed[body.owner] = [*needed[body.owner], *body.captures]
        return needed

    def _topological_ranks(self) -> list[int]:
        """Rank by node index, or an empty list when the container is sorted already."""
        if self._ranks is None:
            needed = self._dependencies()
            self._ranks = [] if self._is_sorted(needed) else self._sort(needed)
        return self._ranks

    def _is_sorted(self, needed: list[Sequence[str]]) -> bool:
        source_of = self.producer.get
        for index, names in enumerate(needed):
            for name in names:
                if source_of(name, -1) >= index:
                    return False
        return True

    def _sort(self, needed: list[Sequence[str]]) -> list[int]:
        count = len(self.nodes)
        followers: list[list[int]] = [[] for _ in range(count)]
        waiting = [0] * count
        for reader, names in enumerate(needed):
            for name in names:
                source = self.producer.get(name)
                if source is not None:
                    followers[source].append(reader)
                    waiting[reader] += 1
        ready = [index for index in range(count) if not waiting[index]]
        for index in ready:  # grows while it is walked: the nodes that have become ready
            for reader in followers[index]:
                waiting[reader] -= 1
                if not waiting[reader]:
                    ready.append(reader)
        if len(ready) < count:
            stuck = next(index for index in range(count) if waiting[index])
            label = node_label(self.nodes[stuck])
            raise ModelError(f"{self.path}: node {label!r} depends on itself; repair the model")
        ranks = [0] * count
        for rank, index in enumerate(ready):
            ranks[index] = rank
        return ranks
