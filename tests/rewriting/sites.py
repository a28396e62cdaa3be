"""Sites made by hand, so that the rewriter is tested on its own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import onnx
import onnx.parser

from onnx_ascend_ext import catalog
from onnx_ascend_ext.graph import ModelIndex, Scope, node_label
from onnx_ascend_ext.matching import Match, Site
from onnx_ascend_ext.rewriting import Plan, apply, plan


def parse(text: str) -> onnx.ModelProto:
    """A model in ONNX's text syntax, valid for the checker."""
    model = onnx.parser.parse_model(text)
    onnx.checker.check_model(model, full_check=True)
    return model


def site(
    scope: Scope, result: str, grad_output: str, output: str, covered: Sequence[str], **details: Any
) -> Site:
    """A site by value names: `covered` and each of `views` name the outputs of nodes."""
    indices = tuple(scope.producer[name] for name in (*covered, result))
    views = tuple(tuple(scope.producer[name] for name in chain) for chain in details.pop("views", ()))
    match = Match(
        kernel="SigmoidBackward",
        scope=scope.path,
        nodes=tuple(node_label(scope.nodes[i]) for i in indices),
        inputs={"grad_output": grad_output, "output": output},
        result=result,
        origin="algebra",
        proven_sigmoid=False,
    )
    return Site(
        match, scope, scope.producer[result], indices, (grad_output, output), result, views=views, **details
    )


def scope_of(index: ModelIndex, path: str) -> Scope:
    """The scope with a path."""
    return next(scope for scope in index.scopes if scope.path == path)


def rewrite(index: ModelIndex, *sites: Site) -> tuple[Plan, list[str]]:
    """Plans and applies; returns the plan and the warnings."""
    planned = plan(index, sites, catalog.load())
    return planned, apply(planned, index)
