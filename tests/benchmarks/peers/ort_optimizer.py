"""ONNX Runtime's offline optimiser with its own basic rewrites; it has none for this gradient."""

import sys

import onnxruntime

options = onnxruntime.SessionOptions()
options.log_severity_level = 3
options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC
options.optimized_model_filepath = sys.argv[2]
onnxruntime.InferenceSession(sys.argv[1], options, providers=["CPUExecutionProvider"])
