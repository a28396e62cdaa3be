"""Runs two models on the same inputs and measures how far their outputs lie apart."""

from onnx_ascend_ext.verification.agreement import Verification, verify
from onnx_ascend_ext.verification.comparison import Comparison, Tolerance, compare
from onnx_ascend_ext.verification.execution import Execution, execute
from onnx_ascend_ext.verification.inputs import load_inputs, make_inputs, random_inputs
from onnx_ascend_ext.verification.source import Source

__all__ = [
    "Comparison",
    "Execution",
    "Source",
    "Tolerance",
    "Verification",
    "compare",
    "execute",
    "load_inputs",
    "make_inputs",
    "random_inputs",
    "verify",
]
