"""The command `onnx-ascend`.

Importing it loads neither `onnx` nor ONNX Runtime, so that `--help` answers at once.
"""

from onnx_ascend_ext.command.entry import main

__all__ = ["main"]
