"""Models that hold the pattern `dy * (y * (1 - y))`."""

from __future__ import annotations

import onnx

from .checking import parse

IN = "float[N,4] dy, float[N,4] y"
PATTERN = "d = Sub(one, y) s = Mul(d, y) dx = Mul(s, dy)"


def graph(
    body: str = PATTERN,
    *,
    inputs: str = IN,
    outputs: str = "float[N,4] dx",
    values: str = "float one = {1.0}",
    head: str = 'ir_version: 8, opset_import: ["" : 18]',
    functions: str = "",
) -> onnx.ModelProto:
    initializers = f"<{values}>" if values else ""
    return parse(f"<{head}> g ({inputs}) => ({outputs}) {initializers} {{ {body} }} {functions}")
