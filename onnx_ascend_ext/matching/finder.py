"""Finds every place of a model that a kernel of the catalog can compute."""

from __future__ import annotations

from typing import TYPE_CHECKING

from onnx_ascend_ext.algebra import Ring
from onnx_ascend_ext.catalog import DOMAIN
from onnx_ascend_ext.graph import Constants, Types, node_label, paused_collection
from onnx_ascend_ext.graph.operators import BROADCASTING_OPSET
from onnx_ascend_ext.matching.extents import Extents
from onnx_ascend_ext.matching.findings import Findings, Match, NearMiss
from onnx_ascend_ext.matching.named import NamedForms, NamedNode
from onnx_ascend_ext.matching.obstacles import obstacles
from onnx_ascend_ext.matching.pattern import derive
from onnx_ascend_ext.matching.search import Search
from onnx_ascend_ext.matching.site import Site
from onnx_ascend_ext.matching.store import RELAXED_HINT, FormStore, Rules
from onnx_ascend_ext.matching.valuation import Valuation

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from onnx_ascend_ext.catalog import Kernel
    from onnx_ascend_ext.graph import ModelIndex, Scope
    from onnx_ascend_ext.matching.bound import Bound
    from onnx_ascend_ext.matching.structures import Plain

    _Sites = dict[Scope, dict[int, Site]]


def find(
    index: ModelIndex, kernels: Iterable[Kernel], *, relaxed: bool = False
) -> tuple[list[Site], Findings]:
    """Find the gradients of a model.

    Args:
        index: the model's index.
        kernels: what to look for.
        relaxed: also accept spellings that are more accurate than the kernel, such as `y * Sigmoid(-x)`.

    Returns:
        The sites in the model's own order, and the report on them.

    Raises:
        ModelError: the model is malformed: nodes form a cycle.
    """
    with paused_collection():
        return _Finder(index, list(kernels), relaxed).run()


class _Finder:
    def __init__(self, index: ModelIndex, kernels: list[Kernel], relaxed: bool) -> None:
        self._index = index
        self._kernels = kernels
        self._relaxed = relaxed
        self._ring = Ring()
        self._constants = Constants(index)
        self._types = Types(index, self._constants)
        patterns = [derive(kernel, self._ring) for kernel in kernels]
        self._patterns = [pattern for pattern in patterns if pattern is not None]
        self._valuation = self._new_valuation(Rules(relaxed=relaxed))
        self._store = self._valuation.store
        self._findings = Findings()
        self._misses: dict[tuple[Scope, int], NearMiss] = {}

    def _new_valuation(self, rules: Rules) -> Valuation:
        extents = Extents(self._constants, self._types)
        return Valuation(self._index, self._ring, self._constants, self._types, extents, rules)

    def run(self) -> tuple[list[Site], Findings]:
        scopes = [scope for scope in self._index.scopes if self._is_searched(scope)]
        sites: _Sites = {scope: {} for scope in scopes}
        for scope in scopes:
            for root, node in NamedForms(self._kernels).search(scope):
                self._add_named(scope, root, node, sites[scope])
        search = Search(self._valuation, self._patterns, proving=True)
        for scope in scopes:
            outcome = search.scan(scope)
            found = sites[scope]
            for site in self._plain_sites(scope, outcome.plain):
                found[site.root] = site
            for bound in outcome.bound:
                found[bound.root] = _site(bound)
            for root, reason in outcome.refused:
                self._add_miss(scope, root, reason)
        for scope, reason in obstacles({scope for scope, found in sites.items() if found}).items():
            for root in sites.pop(scope):
                self._add_miss(scope, root, reason)
        ordered = [found[root] for found in sites.values() for root in sorted(found)]
        covered: set[tuple[Scope, int]] = set()
        if self._misses or self._store.doubtful:
            covered.update((site.scope, node) for site in ordered for node in site.covered)
            covered.update(node for site in ordered for node in site.captured)
        if self._store.doubtful:
            self._search_leniently(scopes, ordered, covered)
        rank = {scope: i for i, scope in enumerate(scopes)}
        self._findings.matches.extend(site.match for site in ordered)
        self._findings.near_misses.extend(
            self._misses[key]
            for key in sorted(self._misses, key=lambda key: (rank[key[0]], key[1]))
            if key not in covered
        )
        return ordered, self._findings

    def _is_searched(self, scope: Scope) -> bool:
        """Whether a scope may be converted; the bodies of our own functions are the definition itself."""
        outermost = list(scope.enclosing())[-1]
        if outermost.kind == "function" and outermost.container.domain == DOMAIN:
            return False
        opset = scope.opset("")
        if opset is None or opset >= BROADCASTING_OPSET:
            return True
        if scope.kind != "body":
            self._findings.warnings.append(
                f"{scope.path}: opset {opset} is not converted, the oldest one is {BROADCASTING_OPSET}; "
                "raise it with onnx.version_converter"
            )
        return False

    def _add_named(
        self,
        scope: Scope,
        root: int,
        found: NamedNode | NearMiss,
        sites: dict[int, Site],
    ) -> None:
        function = scope.called_function(root, self._index.functions)
        if function is not None:
            # The model says itself what the operator is, whoever else writes one of that name.
            if isinstance(found, NearMiss):
                return
            defined = self._as_defined(scope, found, function)
            if defined is None:
                op_type = scope.op_types[root]
                self._add_miss(scope, root, f"the model defines {op_type} itself, as something else")
                return
            found = defined
        if isinstance(found, NearMiss):
            self._add_miss(scope, root, found.reason)
            return
        proven = False
        if "output" in found.kernel.inputs:
            form = self._valuation.form(scope, found.operands[found.kernel.inputs.index("output")])
            proven = self._store.is_sigmoid(form)
        result = scope.outputs[found.index][0]
        match = Match(
            kernel=found.kernel.name,
            scope=scope.path,
            nodes=(node_label(scope.nodes[found.index]),),
            inputs=dict(zip(found.kernel.inputs, found.operands, strict=True)),
            result=result,
            origin="named",
            proven_sigmoid=proven,
        )
        sites[found.index] = Site(match, scope, found.index, (found.index,), found.operands, result)

    def _as_defined(self, scope: Scope, found: NamedNode, function: Scope) -> NamedNode | None:
        """A named node with the operands that the model's own definition of its operator gives it."""
        inputs = scope.inputs[found.index]
        if len(function.output_names) != 1 or len(function.input_names) != len(found.operands):
            return None
        forms = [self._valuation.form(function, name) for name in function.input_names]
        result = self._valuation.form(function, function.output_names[0])
        for pattern in self._patterns:
            for gradient, activation in ((0, 1), (1, 0)):
                product = self._ring.multiply(forms[gradient], pattern.slope(forms[activation]))
                if pattern.kernel is found.kernel and result == product:
                    pair = {pattern.gradient: inputs[gradient], pattern.activation: inputs[activation]}
                    return NamedNode(found.kernel, found.index, (pair[0], pair[1]))
        return None

    def _plain_sites(self, scope: Scope, found: Iterable[Plain]) -> Iterator[Site]:
        """The sites of matches that their structure shows."""
        producer, op_types, outputs = scope.producer, scope.op_types, scope.outputs
        node_at = scope.nodes.__getitem__
        place = None if scope.is_sorted else scope.position
        for pattern, root, gradient, activation, nodes in found:
            covered = tuple(sorted(nodes, key=place))
            source = producer.get(activation)
            proven = source is not None and op_types[source] == "Sigmoid" and not scope.domains[source]
            if not proven:
                proven = self._store.is_sigmoid(self._valuation.form(scope, activation))
            kernel = pattern.kernel
            names = (activation, gradient) if pattern.gradient else (gradient, activation)
            result = outputs[root][0]
            labels = tuple([node.name or node_label(node) for node in map(node_at, covered)])
            first, second = kernel.inputs
            inputs = {first: names[0], second: names[1]}
            match = Match(kernel.name, scope.path, labels, inputs, result, "algebra", proven)
            yield Site(match, scope, root, covered, names, result)

    def _search_leniently(
        self, scopes: list[Scope], sites: list[Site], covered: set[tuple[Scope, int]]
    ) -> None:
        """Find the places that only more lenient rules would match, and say which rule it would take."""
        valuation = self._new_valuation(Rules(relaxed=True, lenient=True))
        for site in sites:
            valuation.store.make_atom(site.scope, site.result)
        search = Search(valuation, self._patterns, proving=False)
        for scope in scopes:
            for bound in search.scan(scope).bound:
                if (scope, bound.root) in covered:
                    continue
                reasons = _excuses(valuation.store, bound)
                if self._relaxed:
                    reasons = [reason for reason in reasons if not reason.endswith(RELAXED_HINT)]
                if reasons:
                    self._add_miss(scope, bound.root, "; ".join(reasons))

    def _add_miss(self, scope: Scope, root: int, reason: str) -> None:
        miss = NearMiss(node_label(scope.nodes[root]), scope.path, reason)
        self._misses.setdefault((scope, root), miss)


def _excuses(store: FormStore, bound: Bound) -> list[str]:
    """The reasons why a lenient match is none, each once."""
    values = [(owner, owner.outputs[index][0]) for owner, index in bound.region.nodes] + bound.region.leaves
    excuses = [store.excuses[value] for value in values if value in store.excuses]
    return list(dict.fromkeys(excuses))


def _site(bound: Bound) -> Site:
    scope = bound.scope
    inner = sorted({index for owner, index in bound.region.nodes if owner is scope}, key=scope.position)
    outer = [node for node in bound.region.nodes if node[0] is not scope]
    operands = bound.operands
    kernel = bound.pattern.kernel
    result = scope.outputs[bound.root][0]
    labels = [node_label(owner.nodes[index]) for owner, index in reversed(outer)]
    labels += [node_label(scope.nodes[index]) for index in inner]
    names = tuple(operand.name for operand in operands)
    match = Match(
        kernel=kernel.name,
        scope=scope.path,
        nodes=tuple(labels),
        inputs=dict(zip(kernel.inputs, names, strict=True)),
        result=result,
        origin="algebra",
        proven_sigmoid=bound.proven,
    )
    views = tuple(operand.views for operand in operands)
    activated = tuple(operand.activated for operand in operands)
    return Site(
        match=match,
        scope=scope,
        root=bound.root,
        covered=tuple(inner),
        operands=names,
        result=result,
        factors=tuple(factor.name for factor in bound.factors),
        scale=bound.scale,
        views=views if any(views) else (),
        activated=activated if any(activated) else (),
        captured=tuple(outer),
        deferred=bound.deferred,
    )
