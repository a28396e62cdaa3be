from __future__ import annotations

import ml_dtypes
import numpy as np
import onnx
import onnx.defs
import onnxruntime as ort
import pytest
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator

from onnx_ascend_ext import catalog
from onnx_ascend_ext.rewriting.function_body import COPYING, UnfitError, fit_function, recognise_function

KERNEL = catalog.load()["SigmoidBackward"]
NEWEST = onnx.defs.onnx_opset_version()
FLOAT, FLOAT16, DOUBLE = TensorProto.FLOAT, TensorProto.FLOAT16, TensorProto.DOUBLE
UNDEFINED, BFLOAT16 = TensorProto.UNDEFINED, TensorProto.BFLOAT16
NUMPY = {FLOAT: np.float32, FLOAT16: np.float16, DOUBLE: np.float64, BFLOAT16: ml_dtypes.bfloat16}


def op_types(function: onnx.FunctionProto) -> list[str]:
    return [node.op_type for node in function.node]


def model_with(function: onnx.FunctionProto, opset: int, dtype: int) -> onnx.ModelProto:
    info = {name: helper.make_tensor_value_info(name, dtype, ["N"]) for name in ("dy", "y", "dx")}
    node = helper.make_node("SigmoidBackward", ["dy", "y"], ["dx"], domain=catalog.DOMAIN)
    graph = helper.make_graph([node], "g", [info["dy"], info["y"]], [info["dx"]])
    imports = [helper.make_opsetid("", opset), helper.make_opsetid(catalog.DOMAIN, 1)]
    return helper.make_model(graph, functions=[function], opset_imports=imports, ir_version=8)


def values(dtype: int) -> dict[str, np.ndarray]:
    numpy_type = NUMPY[dtype]
    y = np.array([0.0, 1.0, 0.5, 0.25, 1e-3, 0.999, -0.0, np.inf, -np.inf, np.nan, 2.0], numpy_type)
    return {"y": y, "dy": np.linspace(-100, 100, y.size).astype(numpy_type)}


@pytest.mark.parametrize(
    ("opset", "known"),
    [
        *((opset, True) for opset in range(7, NEWEST + 1)),
        *((opset, False) for opset in range(12, NEWEST + 1)),
    ],
)
@pytest.mark.parametrize("dtype", [FLOAT, FLOAT16, DOUBLE])
@pytest.mark.parametrize("copying", ["", "Sum"])
def test_it_computes_the_gradient_at_every_opset(opset, dtype, known, copying):
    function = fit_function(KERNEL, opset, [dtype if known else UNDEFINED], copying=copying).function
    model = model_with(function, opset, dtype)
    onnx.checker.check_model(model, full_check=True)
    feeds = values(dtype)
    session = ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    (got,) = session.run(None, feeds)
    with np.errstate(invalid="ignore"):
        expected = feeds["dy"] * (NUMPY[dtype](1) - feeds["y"]) * feeds["y"]
    np.testing.assert_array_equal(got, expected)
    assert got.dtype == NUMPY[dtype]


@pytest.mark.parametrize("opset", [13, 15, NEWEST])
@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("copying", ["", *COPYING])
def test_it_computes_the_gradient_of_bfloat16(opset, known, copying):
    function = fit_function(KERNEL, opset, [BFLOAT16 if known else UNDEFINED], copying=copying).function
    model = model_with(function, opset, BFLOAT16)
    onnx.checker.check_model(model, full_check=True)
    feeds = values(BFLOAT16)
    (got,) = ReferenceEvaluator(model).run(None, feeds)
    with np.errstate(invalid="ignore"):
        expected = feeds["dy"] * (ml_dtypes.bfloat16(1) - feeds["y"]) * feeds["y"]
    np.testing.assert_array_equal(got.astype(np.float32), expected.astype(np.float32))


@pytest.mark.parametrize(
    ("opset", "dtypes", "expected"),
    [
        (7, [FLOAT, FLOAT], "Constant"),
        (14, [FLOAT16], "Constant"),
        (14, [FLOAT, UNDEFINED], "Pow"),
        (12, [FLOAT, DOUBLE], "Pow"),
        (15, [FLOAT], "CastLike"),
        (15, [FLOAT, DOUBLE, UNDEFINED], "CastLike"),
    ],
)
def test_the_constant_is_written_as_the_opset_allows(opset, dtypes, expected):
    fitted = fit_function(KERNEL, opset, dtypes)
    one = next(node for node in fitted.function.node if "one" in node.output)
    assert one.op_type == expected
    assert fitted.function.opset_import[0].version == opset
    assert all(fitted.serves(dtype) for dtype in dtypes)


def test_the_difference_from_one_stays_a_difference():
    for opset in (7, 13, 18):
        assert op_types(fit_function(KERNEL, opset, [FLOAT]).function)[-3:] == ["Sub", "Mul", "Mul"]


@pytest.mark.parametrize("copying", COPYING)
@pytest.mark.parametrize(
    ("opset", "dtypes"), [(7, [FLOAT]), (12, [FLOAT, DOUBLE]), (14, [FLOAT16]), (15, [FLOAT]), (18, [FLOAT])]
)
def test_with_a_copy_every_value_comes_from_it(opset, dtypes, copying):
    nodes = fit_function(KERNEL, opset, dtypes, copying=copying).function.node
    copied = {node.output[0] for node in nodes if node.op_type == copying}
    for node in nodes:
        if node.op_type in ("Sub", "Mul", "Pow"):
            assert not copied.isdisjoint(node.input), node.op_type
            copied.update(node.output)
    assert "grad_input" in copied


def test_before_opset_12_it_serves_the_first_known_dtype_only():
    fitted = fit_function(KERNEL, 11, [UNDEFINED, DOUBLE, FLOAT])
    assert [fitted.serves(dtype) for dtype in (DOUBLE, FLOAT, UNDEFINED)] == [True, False, False]


@pytest.mark.parametrize(
    ("opset", "part"), [(6, "too old"), (1, "too old"), (7, "known dtype"), (11, "known dtype")]
)
def test_what_cannot_be_written_is_refused_with_the_reason(opset, part):
    with pytest.raises(UnfitError, match=part):
        fit_function(KERNEL, opset, [UNDEFINED])


@pytest.mark.parametrize(
    ("opset", "dtypes", "dtype"),
    [(9, [FLOAT], FLOAT), (13, [FLOAT16], FLOAT16), (13, [FLOAT, DOUBLE], None), (18, [FLOAT], None)],
)
@pytest.mark.parametrize("copying", ["", *COPYING])
def test_its_own_functions_are_recognised(opset, dtypes, dtype, copying):
    written = fit_function(KERNEL, opset, dtypes, copying=copying).function
    function = onnx.FunctionProto.FromString(written.SerializeToString())
    recognised = recognise_function(KERNEL, function)
    assert recognised is not None
    assert recognised.dtype == dtype


def test_another_function_of_that_name_is_not_recognised():
    function = KERNEL.function()
    function.node[-1].op_type = "Add"
    assert recognise_function(KERNEL, function) is None
