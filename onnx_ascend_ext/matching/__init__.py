"""Finds the places of a model that a kernel can compute: by a producer's node name, or by algebra."""

from onnx_ascend_ext.matching.finder import find
from onnx_ascend_ext.matching.findings import Findings, Match, NearMiss
from onnx_ascend_ext.matching.site import Site

__all__ = ["Findings", "Match", "NearMiss", "Site", "find"]
