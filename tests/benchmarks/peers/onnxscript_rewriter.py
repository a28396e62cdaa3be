"""The same rewrite as a rule of onnxscript's rewriter, for the one spelling that generated graphs have."""

import sys

from onnxscript import ir
from onnxscript.rewriter import RewriteRule, RewriteRuleSet


def gradient(op, dy, y):
    return op.Mul(dy, op.Mul(y, op.Sub(1.0, y)))


def kernel(op, dy, y):
    return op.SigmoidBackward(dy, y, _domain="onnx_ascend_ext", _version=1)


model = ir.load(sys.argv[1])
RewriteRuleSet([RewriteRule(gradient, kernel)]).apply_to_model(model)
ir.save(model, sys.argv[2])
