"""Sites made by hand, so that the rewriter is tested on its own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx
import onnx.parser
import onnxruntime as ort

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


def rewrite(index: ModelIndex, *sites: Site) -> tuple[Plan, tuple[str, ...]]:
    """Plans and applies; returns the plan and the warnings."""
    planned = plan(index, sites, catalog.load())
    return planned, apply(planned, index).warnings


def model_of(body: str, *, opset: int = 18, head: str = "(float[N,4] dy, float[N,4] y) => (float[N,4] dx)"):
    return parse(f'<ir_version: 8, opset_import: ["" : {opset}]> g {head} <float one = {{1.0}}> {{ {body} }}')


def run(model: onnx.ModelProto, **feeds: np.ndarray) -> list[np.ndarray]:
    return ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"]).run(
        None, feeds
    )


def drawn(shape: tuple[int, ...], seed: int, dtype: type = np.float32) -> np.ndarray:
    return np.random.default_rng(seed).uniform(0.01, 0.99, shape).astype(dtype)


def same_values(before: onnx.ModelProto, after: onnx.ModelProto, **feeds: np.ndarray) -> None:
    for one, other in zip(run(before, **feeds), run(after, **feeds), strict=True):
        np.testing.assert_allclose(other, one, rtol=1e-5 if one.dtype != np.float16 else 4e-3)
        assert (one.dtype, one.shape) == (other.dtype, other.shape)


def rewritten(before: onnx.ModelProto, *descriptions: tuple, **details) -> onnx.ModelProto:
    after = onnx.ModelProto()
    after.CopyFrom(before)
    index = ModelIndex(after)
    rewrite(index, *(site(index.main, *description, **details) for description in descriptions))
    onnx.checker.check_model(after, full_check=True)
    return after


def types(model: onnx.ModelProto) -> list[str]:
    return [node.op_type for node in model.graph.node]
