"""Makes the graphs of ONNX Runtime's training builds run on stock ONNX Runtime.

An operator that only training builds have becomes a function of standard operators. `converters/portable/`
has the operators, each with its body or the name of the function here that writes it: bodies that depend on
a node's attributes or types are written for that node, by the module of its family.
"""

from onnx_ascend_ext.portable.attach import attach
from onnx_ascend_ext.portable.inlining import inline_portable
from onnx_ascend_ext.portable.report import Expanded, PortableReport, Remaining, Update

__all__ = ["Expanded", "PortableReport", "Remaining", "Update", "attach", "inline_portable"]
