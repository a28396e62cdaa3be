"""Models with our node, and sessions on the plain doors of the library."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import onnx
import onnxruntime
import pytest
from numpy.typing import NDArray

import onnx_ascend_ext as ax
from onnx_ascend_ext.sessions import values
from onnx_ascend_ext.sessions.onnxruntime_module import loads_plugin_ep

EP = "AscendExecutionProvider"

needs_plugin_ep = pytest.mark.skipif(
    not loads_plugin_ep(onnxruntime),
    reason=f"ONNX Runtime {onnxruntime.__version__} loads no execution provider from a plugin",
)

_BODY = """
<opset_import: ["" : 18], domain: "onnx_ascend_ext">
SigmoidBackward (grad_output, output) => (grad_input)
{
  one_float = Constant <value_float: float = 1.0> ()
  one = CastLike (one_float, output)
  complement = Sub (one, output)
  slope = Mul (output, complement)
  grad_input = Mul (grad_output, slope)
}
"""
HEADER = '<ir_version: 9, opset_import: ["" : 18, "onnx_ascend_ext" : 1]>'

# ONNX's name of the type: numpy's type, and how far a result may be from the float64 one, as a part of it.
DTYPES: dict[str, tuple[Any, float]] = {
    "float": (np.float32, 1e-6),
    "float16": (np.float16, 1e-3),
    "bfloat16": (ml_dtypes.bfloat16, 8e-3),
    "double": (np.float64, 1e-14),
}


def parse(text: str) -> onnx.ModelProto:
    """A model in ONNX's text syntax, with the function body of our operator."""
    model = onnx.parser.parse_model(f"{HEADER} {text}")
    model.functions.append(onnx.parser.parse_function(_BODY))
    onnx.checker.check_model(model)
    return model


def one_node(dtype: str = "float", g: str = "N,M", y: str = "N,M", z: str = "N,M") -> onnx.ModelProto:
    """A model that is one node, `site`, of operands with these sizes; none: a scalar."""
    types = (f"{dtype}[{sizes}]" if sizes else dtype for sizes in (g, y, z))
    return parse(
        "g ({} g, {} y) => ({} z) {{ [site] z = onnx_ascend_ext.SigmoidBackward (g, y) }}".format(*types)
    )


def ep_devices() -> list[Any]:
    """Our devices; registers the library when nobody has."""
    devices = [device for device in onnxruntime.get_ep_devices() if device.ep_name == EP]
    if not devices:
        onnxruntime.register_execution_provider_library(EP, ax.get_library_path())
        devices = [device for device in onnxruntime.get_ep_devices() if device.ep_name == EP]
    return devices


def ep_options(options: dict[str, str] | None = None, **config: str) -> onnxruntime.SessionOptions:
    """Session options with our first device; nothing may fall back to the CPU unless `config` says so."""
    session_options = onnxruntime.SessionOptions()
    session_options.add_provider_for_devices(ep_devices()[:1], options or {})
    session_options.add_session_config_entry("session.record_ep_graph_assignment_info", "1")
    for key, value in config.items():
        session_options.add_session_config_entry(key.replace("__", "."), value)
    return session_options


def ep_session(model: onnx.ModelProto, **config: str) -> onnxruntime.InferenceSession:
    # ONNX Runtime 1.24 in Python otherwise moves a session whose device cannot be opened to the CPU.
    return onnxruntime.InferenceSession(model.SerializeToString(), ep_options(**config), enable_fallback=0)


def custom_op_session(model: onnx.ModelProto) -> onnxruntime.InferenceSession:
    options = onnxruntime.SessionOptions()
    options.register_custom_ops_library(ax.get_library_path())
    return onnxruntime.InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )


def nodes_on_ep(session: onnxruntime.InferenceSession) -> list[str]:
    """Names of the nodes that our provider has."""
    return sorted(
        node.name
        for graph in session.get_provider_graph_assignment_info()
        if graph.ep_name == EP
        for node in graph.get_nodes()
    )


def operands(
    dtype: str, g_shape: tuple[int, ...], y_shape: tuple[int, ...], seed: int = 0
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Gradients at several scales, and results of sigmoid with some close to 0 and to 1."""
    rng = np.random.default_rng(seed)
    numpy_type = DTYPES[dtype][0]
    g = rng.normal(size=g_shape) * 10.0 ** rng.integers(-2, 3, size=g_shape)
    y = 1 / (1 + np.exp(-rng.normal(scale=3, size=y_shape)))
    return np.asarray(g).astype(numpy_type), np.asarray(y).astype(numpy_type)


def expected(g: NDArray[Any], y: NDArray[Any]) -> NDArray[np.float64]:
    wide_g, wide_y = np.asarray(g, np.float64), np.asarray(y, np.float64)
    return np.asarray(wide_g * ((1 - wide_y) * wide_y))


def run(session: onnxruntime.InferenceSession, g: NDArray[Any], y: NDArray[Any]) -> NDArray[Any]:
    """Runs the model of `one_node`."""
    return values.run(session, {"g": g, "y": y})["z"]


def assert_close(actual: NDArray[Any], wanted: NDArray[np.float64], dtype: str) -> None:
    assert actual.dtype == np.dtype(DTYPES[dtype][0])
    assert actual.shape == wanted.shape
    tolerance = DTYPES[dtype][1]
    np.testing.assert_allclose(
        np.asarray(actual, np.float64),
        wanted,
        rtol=tolerance,
        atol=tolerance * np.abs(wanted).max(initial=1e-3) * 1e-2,
    )


def in_new_process(code: str, timeout: float = 120, **environment: str) -> subprocess.CompletedProcess[str]:
    """Runs Python code that may import this module as `runtime.support`."""
    return subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ
        | {"PYTHONPATH": str(Path(__file__).parents[1]), "ONNX_ASCEND_BACKEND": "simulator"}
        | environment,
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )


def succeeds(code: str, timeout: float = 120, *, silent: bool = True, **environment: str) -> None:
    """Runs code that must end well and, if `silent`, write nothing.

    ONNX Runtime logs the errors that it raises, so tests of errors cannot be silent.
    """
    ended = in_new_process(code, timeout, **environment)
    assert ended.returncode == 0, ended.stderr + ended.stdout
    if silent:
        assert ended.stdout + ended.stderr == ""
