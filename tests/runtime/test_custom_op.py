"""The custom-op library. `test_host_mode` runs this file again."""

from __future__ import annotations

import threading

import numpy as np
import onnxruntime
import pytest

import onnx_ascend_ext as ax

from .support import DTYPES, assert_close, custom_op_session, expected, one_node, operands, parse, run


@pytest.mark.parametrize("with_body", [True, False])
@pytest.mark.parametrize("dtype", DTYPES)
def test_computes_every_type(dtype, with_body):
    if dtype == "bfloat16" and not hasattr(onnxruntime.OrtValue, "ortvalue_from_numpy_with_onnx_type"):
        pytest.skip("the Python API of this ONNX Runtime makes no bfloat16 values")
    model = one_node(dtype, "N,M", "M", "N,M")
    if not with_body:
        del model.functions[:]
    session = custom_op_session(model)
    g, y = operands(dtype, (9, 5), (5,))
    assert_close(run(session, g, y), expected(g, y), dtype)


@pytest.mark.parametrize(
    ("g", "y", "z"),
    [
        ("N,M", "N,M", ["N", "M"]),
        ("N,1", "1,M", ["N", "M"]),
        ("4,1", "3", [4, 3]),
        ("2,3,4", "3,1", [2, 3, 4]),
        ("N,4", "1", ["N", 4]),
    ],
)
def test_infers_the_broadcast_shape(g, y, z):
    model = parse(
        f"g (float[{g}] g, float[{y}] y) => (float z) {{ [site] t = onnx_ascend_ext.SigmoidBackward (g, y) "
        "z = ReduceSum <keepdims: int = 0> (t) }"
    )
    del model.functions[:]
    # The output of the node itself becomes the model's, with nothing declared about it but its type.
    del model.graph.output[0]
    del model.graph.node[1]
    model.graph.output.add().name = "t"
    model.graph.output[0].type.tensor_type.elem_type = 1
    assert custom_op_session(model).get_outputs()[0].shape == z


def test_sizes_that_are_not_the_same_for_sure_are_not_inferred_as_one():
    model = one_node("float", "N", "M", "K")
    del model.functions[:]
    model.graph.output[0].type.tensor_type.ClearField("shape")
    (size,) = custom_op_session(model).get_outputs()[0].shape
    assert size not in ("N", "M")
    assert isinstance(size, str)


def test_the_same_library_twice_and_on_many_options():
    options = onnxruntime.SessionOptions()
    options.register_custom_ops_library(ax.get_library_path())
    options.register_custom_ops_library(ax.get_library_path())
    model = one_node().SerializeToString()
    g, y = operands("float", (3, 4), (3, 4))
    first = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    assert_close(run(first, g, y), expected(g, y), "float")
    failures: list[BaseException] = []

    def work() -> None:
        try:
            for _ in range(5):
                session = custom_op_session(one_node())
                assert_close(run(session, g, y), expected(g, y), "float")
        except BaseException as failure:
            failures.append(failure)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures, failures


def test_mixed_types_are_refused_when_the_model_is_loaded():
    model = parse(
        "g (float[N] g, double[N] y) => (float[N] z) { t = Cast <to: int = 1> (y) "
        "z = onnx_ascend_ext.SigmoidBackward (g, t) }"
    )
    del model.graph.node[0]
    model.graph.node[0].input[1] = "y"
    with pytest.raises(Exception, match="SigmoidBackward"):
        custom_op_session(model)


def test_an_error_names_the_node_and_the_session_goes_on():
    session = custom_op_session(one_node("float", "N", "M", "K"))
    g, y = operands("float", (3,), (4,))
    with pytest.raises(Exception, match=r"node 'site': grad_output float32\[3\] and output float32\[4\]"):
        session.run(None, {"g": g, "y": y})
    g, y = operands("float", (4,), (4,))
    assert_close(np.asarray(session.run(None, {"g": g, "y": y})[0]), expected(g, y), "float")
