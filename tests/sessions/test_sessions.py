from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest

import onnx_ascend_ext as ax
from onnx_ascend_ext.sessions.assignment import node_providers

RANDOM = np.random.default_rng(20)
GRAD = RANDOM.standard_normal((3, 4)).astype(np.float32)
Y = RANDOM.uniform(0.01, 0.99, (3, 4)).astype(np.float32)
EXPECTED = GRAD * (1 - Y) * Y


def feeds(twice: bool = True) -> dict[str, np.ndarray]:
    return {"grad": GRAD, "y": Y, "twice": np.array(twice)}


def test_a_session_computes_on_the_execution_provider(model: onnx.ModelProto) -> None:
    session = ax.InferenceSession(model)
    first, second = session.run(None, feeds())
    np.testing.assert_allclose(first, EXPECTED, rtol=1e-6)
    np.testing.assert_allclose(second, EXPECTED * (1 - Y) * Y, rtol=1e-6)
    assert node_providers(session, model) == {
        "outer": "AscendExecutionProvider",
        "inner": "AscendExecutionProvider",
    }
    assert ax.get_ep_name() in session.get_providers()


def test_a_model_is_taken_as_a_path_bytes_or_proto(model: onnx.ModelProto, tmp_path: Path) -> None:
    onnx.save(model, tmp_path / "model.onnx")
    for source in (model, model.SerializeToString(), tmp_path / "model.onnx", str(tmp_path / "model.onnx")):
        (first, _) = ax.InferenceSession(source).run(None, feeds())
        np.testing.assert_allclose(first, EXPECTED, rtol=1e-6)


def test_session_options_serve_a_plain_session(model: onnx.ModelProto) -> None:
    base = onnxruntime.SessionOptions()
    base.intra_op_num_threads = 1
    options = ax.session_options(base=base)
    assert options is base
    session = onnxruntime.InferenceSession(model.SerializeToString(), options)
    assert node_providers(session, model)["outer"] == "AscendExecutionProvider"


def test_session_options_may_be_used_again_but_not_for_another_device(model: onnx.ModelProto) -> None:
    options = onnxruntime.SessionOptions()
    for _ in range(2):
        session = ax.InferenceSession(model, options)
        np.testing.assert_allclose(session.run(None, feeds())[0], EXPECTED, rtol=1e-6)
    options.add_session_config_entry("onnx_ascend_ext.device_id", "1")
    with pytest.raises(ax.BackendError, match="hold NPU 1 already; make new ones for NPU 0"):
        ax.session_options(base=options)


def test_stock_onnx_runtime_runs_the_model_from_its_function_body(model: onnx.ModelProto) -> None:
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    np.testing.assert_allclose(session.run(None, feeds())[0], EXPECTED, rtol=1e-6)


def test_the_library_follows_the_packaging_convention_of_plugin_execution_providers() -> None:
    assert Path(ax.get_library_path()).is_file()
    assert ax.get_ep_name() == "AscendExecutionProvider"
    assert ax.get_ep_names() == ["AscendExecutionProvider"]


def test_an_unknown_device_is_refused_with_the_known_ones(model: onnx.ModelProto) -> None:
    with pytest.raises(ax.BackendError, match="there is no NPU 7: this process sees 0"):
        ax.InferenceSession(model, device_id=7)


def test_a_node_that_stays_on_the_cpu_is_warned_of_by_name() -> None:
    # int32 is none of the kernel's dtypes.
    int_model = onnx.parser.parse_model(
        """
        <ir_version: 8, opset_import: ["": 18, "onnx_ascend_ext": 1]>
        g (int32[N] grad, int32[N] y) => (int32[N] dx) {
            [odd] dx = onnx_ascend_ext.SigmoidBackward (grad, y)
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
    )
    with pytest.warns(ax.CpuFallbackWarning, match="1 converted node.*odd"):
        session = ax.InferenceSession(int_model)
    grad, y = np.array([2, 3], np.int32), np.array([4, -5], np.int32)
    np.testing.assert_array_equal(session.run(None, {"grad": grad, "y": y})[0], grad * (1 - y) * y)


def test_a_node_that_runs_on_the_device_is_not_warned_of(model: onnx.ModelProto) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ax.InferenceSession(model)
