"""Carries out a plan."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, repeat

import onnx

from onnx_ascend_ext.graph import ModelIndex, Scope
from onnx_ascend_ext.matching import Site
from onnx_ascend_ext.matching.operators import ARITHMETIC, OPERANDS
from onnx_ascend_ext.rewriting.field_edits import edit_nodes, remove_where
from onnx_ascend_ext.rewriting.functions import add_functions
from onnx_ascend_ext.rewriting.liveness import Liveness
from onnx_ascend_ext.rewriting.names import FreshNames
from onnx_ascend_ext.rewriting.opsets import import_kernels
from onnx_ascend_ext.rewriting.plan import Plan
from onnx_ascend_ext.rewriting.replacement import reads, replace_root

_ARITHMETIC = frozenset(OPERANDS) | {"Neg", "Reciprocal"}


@dataclass(frozen=True)
class Applied:
    """How a plan was carried out.

    Attributes:
        warnings: what a user should know about the result, one line each.
        may_match_again: whether there is arithmetic left that may be part of another gradient in which the
            values that are computed by kernels now are operands: nodes that a match covers, since something
            else uses them, or that compute with the result of a match that was deferred.
    """

    warnings: tuple[str, ...] = ()
    may_match_again: bool = False


def apply(planned: Plan, index: ModelIndex) -> Applied:
    """Rewrites a model as planned; the index is of no use any more afterwards.

    Args:
        planned: what to rewrite.
        index: the model, which is changed in place.
    """
    if not planned.sites:
        return Applied()
    model = index.model
    by_scope: dict[Scope, dict[int, Sequence[str]]] = defaultdict(dict)
    for site, _ in planned.sites:
        by_scope[site.scope][site.root] = reads(site)
    liveness = Liveness(index, by_scope)
    names = FreshNames(model)
    inserted: dict[Scope, dict[int, list[onnx.NodeProto]]] = defaultdict(dict)
    for site, dtype in planned.sites:
        if site.root not in liveness.dead_nodes[site.scope]:
            before = replace_root(site, dtype, _removed(site, liveness), names)
            if before:
                inserted[site.scope][site.root] = before
    for scope in index.scopes:
        edit_nodes(scope.container.node, liveness.dead_nodes[scope], inserted[scope])
        _forget_values(scope, liveness)
    import_kernels(model)
    for scope in dict.fromkeys(site.scope for site, _ in planned.sites):
        outermost = list(scope.enclosing())[-1]
        if outermost.kind == "function":
            import_kernels(outermost.container)
    warnings = add_functions(model, planned.functions.values())
    again = _leaves_arithmetic(planned, liveness, by_scope) or _feeds_arithmetic(
        index, planned, liveness, by_scope
    )
    return Applied(tuple(warnings), again)


def _leaves_arithmetic(
    planned: Plan, liveness: Liveness, replaced: Mapping[Scope, Mapping[int, object]]
) -> bool:
    covered = (
        node
        for site, _ in planned.sites
        for node in chain(zip(repeat(site.scope), site.covered, strict=False), site.captured)
    )
    return any(
        node not in liveness.dead_nodes[scope]
        and node not in replaced.get(scope, {})
        and scope.op_types[node] in _ARITHMETIC
        for scope, node in covered
    )


def _feeds_arithmetic(
    index: ModelIndex, planned: Plan, liveness: Liveness, replaced: Mapping[Scope, Mapping[int, object]]
) -> bool:
    deferred = {site.result for site, _ in planned.sites if site.deferred}
    return bool(deferred) and any(
        op_type in ARITHMETIC
        and not deferred.isdisjoint(inputs)
        and node not in liveness.dead_nodes[scope]
        and node not in replaced.get(scope, {})
        for scope in index.scopes
        for node, (op_type, inputs) in enumerate(zip(scope.op_types, scope.inputs, strict=True))
    )


def _removed(site: Site, liveness: Liveness) -> list[onnx.NodeProto]:
    """The nodes of a site that die, without its root."""
    dead, nodes, root = liveness.dead_nodes[site.scope], site.scope.nodes, site.root
    removed = [nodes[node] for node in site.covered if node in dead and node != root]
    for scope, node in site.captured:
        if node in liveness.dead_nodes[scope]:
            removed.append(scope.nodes[node])
    return removed


def _forget_values(scope: Scope, liveness: Liveness) -> None:
    container, gone = scope.container, liveness.dead_initializers[scope]
    if gone:
        remove_where(container.initializer, lambda tensor: tensor.name in gone)
        remove_where(container.sparse_initializer, lambda tensor: tensor.values.name in gone)
    annotations = container.quantization_annotation if isinstance(container, onnx.GraphProto) else ()
    if container.value_info or annotations:
        gone = gone | liveness.dead_values(scope)
        remove_where(container.value_info, lambda value: value.name in gone)
        remove_where(annotations, lambda entry: entry.tensor_name in gone)
