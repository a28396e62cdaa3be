"""Makes the graphs of ONNX Runtime's training builds run on stock ONNX Runtime.

An operator that only training builds have becomes a function of standard operators. The operators and what is said
of them in a line or two are in `converters/portable/`; a body that depends on a node's attributes or types is
written by a function of the module of its family here.
"""

from onnx_ascend_ext.portable.attach import attach
from onnx_ascend_ext.portable.report import Expanded, PortableReport, Remaining, Update

__all__ = ["Expanded", "PortableReport", "Remaining", "Update", "attach"]
