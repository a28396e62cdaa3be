"""The shared library of this package, seen from Python: where it lies and its C functions.

Everything here needs neither ONNX Runtime nor `onnx`.
"""

from onnx_ascend_ext.native.backend import Backend, Device, describe
from onnx_ascend_ext.native.library import EP_NAME, LIBRARY_NAME, library_path, load

__all__ = ["EP_NAME", "LIBRARY_NAME", "Backend", "Device", "describe", "library_path", "load"]
