"""Exact algebra of products and sums over atoms. It knows nothing of ONNX."""

from onnx_ascend_ext.algebra.polynomials import Monomial, Rational, monomial, quotient
from onnx_ascend_ext.algebra.ring import UNIT, ZERO, Form, Ring, TooLargeError
from onnx_ascend_ext.algebra.rounding import loses_digits

__all__ = [
    "UNIT",
    "ZERO",
    "Form",
    "Monomial",
    "Rational",
    "Ring",
    "TooLargeError",
    "loses_digits",
    "monomial",
    "quotient",
]
