"""Short ways to write a model and to search it."""

from __future__ import annotations

import onnx

from onnx_ascend_ext import catalog
from onnx_ascend_ext.graph import ModelIndex
from onnx_ascend_ext.matching import find

KERNELS = tuple(catalog.load().values())


def parse(text):
    return onnx.parser.parse_model(text)


def main_graph(nodes, *, inputs="float[N,4] g, float[N,4] x", outputs="float[N,4] r", constants=""):
    """A model of one graph in ONNX's text syntax; `one` is a scalar initializer."""
    return parse(
        f'<ir_version: 8, opset_import: ["": 18, "com.microsoft": 1, "user": 1]>\n'
        f"main ({inputs}) => ({outputs}) <float one = {{1}} {constants}> {{ {nodes} }}"
    )


def search(model, *, relaxed=False, kernels=KERNELS):
    return find(ModelIndex(model), kernels, relaxed=relaxed)


def results(model, **options):
    """The names of the values that are found, in order."""
    sites, _ = search(model, **options)
    return [site.result for site in sites]


def reasons(model, **options):
    """The near misses as (node, reason)."""
    _, findings = search(model, **options)
    return [(miss.node, miss.reason) for miss in findings.near_misses]


def only(model, **options):
    """The one site of a model."""
    (site,) = search(model, **options)[0]
    return site
