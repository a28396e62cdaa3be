"""`python -m onnx_ascend_ext` is the command."""

from onnx_ascend_ext.command import main

main()
