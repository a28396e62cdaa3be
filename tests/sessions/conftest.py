from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable

import onnx
import onnx.parser
import pytest

# Two kernel nodes in a row, one of them through a nested body.
_MODEL = """
<ir_version: 8, opset_import: ["": 18, "onnx_ascend_ext": 1]>
chain (float[N, 4] grad, float[N, 4] y, bool twice) => (float[N, 4] first, float[N, 4] second) {
    [outer] first = onnx_ascend_ext.SigmoidBackward (grad, y)
    [branch] second = If (twice) <
        then_branch = yes () => (float[N, 4] a) { [inner] a = onnx_ascend_ext.SigmoidBackward (first, y) },
        else_branch = no () => (float[N, 4] b) { [copy] b = Identity (grad) }
    >
}
<domain: "onnx_ascend_ext", opset_import: ["": 18]>
SigmoidBackward (grad_output, output) => (grad_input) {
    unit = Constant <value_float: float = 1.0> ()
    one = CastLike (unit, output)
    complement = Sub (one, output)
    scaled = Mul (grad_output, complement)
    grad_input = Mul (scaled, output)
}
"""


@pytest.fixture(scope="session")
def model() -> onnx.ModelProto:
    parsed = onnx.parser.parse_model(_MODEL)
    onnx.checker.check_model(parsed, full_check=True)
    return parsed


@pytest.fixture(scope="session")
def python(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Runs a program in a fresh interpreter, outside the checkout: its sources would shadow the package."""
    elsewhere = tmp_path_factory.mktemp("cwd")

    def run(program: str, **environment: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-c", program],
            cwd=elsewhere,
            env=os.environ | environment,
            capture_output=True,
            text=True,
            timeout=120,
        )

    return run
