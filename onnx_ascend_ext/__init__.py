"""Sigmoid gradients of ONNX training graphs on Ascend NPUs."""
