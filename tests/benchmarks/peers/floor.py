"""What every tool in Python has to do at least: load the model and save it."""

import sys

import onnx

onnx.save(onnx.load(sys.argv[1]), sys.argv[2])
