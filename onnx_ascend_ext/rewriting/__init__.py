"""Applies matches to a model, and takes kernel nodes back to standard operators."""

from onnx_ascend_ext.rewriting.apply import Applied, apply
from onnx_ascend_ext.rewriting.functions import add_functions
from onnx_ascend_ext.rewriting.inlining import inline_kernels
from onnx_ascend_ext.rewriting.plan import Plan, plan

__all__ = ["Applied", "Plan", "add_functions", "apply", "inline_kernels", "plan"]
