"""Finds every place of a model that a kernel of the catalog can compute."""

from __future__ import annotations

from typing import TYPE_CHECKING

from onnx_ascend_ext.catalog import DOMAIN
from onnx_ascend_ext.graph import node_label
from onnx_ascend_ext.matching.findings import Findings, Match, NearMiss
from onnx_ascend_ext.matching.named import NamedForms, NamedNode
from onnx_ascend_ext.matching.site import Site

if TYPE_CHECKING:
    from collections.abc import Sequence

    from onnx_ascend_ext.catalog import Kernel
    from onnx_ascend_ext.graph import ModelIndex, Scope


def find(
    index: ModelIndex, kernels: Sequence[Kernel], *, relaxed: bool = False
) -> tuple[list[Site], Findings]:
    """Find the gradients of a model.

    Args:
        index: the model's index.
        kernels: what to look for.
        relaxed: also accept spellings that are more accurate than the kernel, such as `y * Sigmoid(-x)`.

    Returns:
        The sites in the model's own order, and the report on them.

    Raises:
        ModelError: the model is malformed: two nodes compute one value, or nodes form a cycle.
    """
    del relaxed
    named = NamedForms(kernels)
    sites: list[Site] = []
    findings = Findings()
    for scope in index.scopes:
        if scope.kind == "function" and scope.container.domain == DOMAIN:
            continue
        for found in named.search(scope):
            if isinstance(found, NearMiss):
                findings.near_misses.append(found)
            else:
                sites.append(_named_site(scope, found))
    findings.matches.extend(site.match for site in sites)
    return sites, findings


def _named_site(scope: Scope, found: NamedNode) -> Site:
    result = scope.outputs[found.index][0]
    match = Match(
        kernel=found.kernel.name,
        scope=scope.path,
        nodes=(node_label(scope.nodes[found.index]),),
        inputs=dict(zip(found.kernel.inputs, found.operands, strict=True)),
        result=result,
        origin="named",
        proven_sigmoid=False,
    )
    return Site(match, scope, found.index, (found.index,), found.operands, result)
