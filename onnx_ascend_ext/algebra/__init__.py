"""Exact algebra of products and sums over atoms. It knows nothing of ONNX."""

from onnx_ascend_ext.algebra.polynomials import Monomial, Rational, monomial, quotient
from onnx_ascend_ext.algebra.ring import UNIT, ZERO, Form, Ring, TooLargeError

__all__ = ["UNIT", "ZERO", "Form", "Monomial", "Rational", "Ring", "TooLargeError", "monomial", "quotient"]
