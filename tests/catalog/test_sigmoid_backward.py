"""The definition of SigmoidBackward in `converters/`."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx.reference import ReferenceEvaluator

from onnx_ascend_ext import catalog

KERNEL = catalog.load()["SigmoidBackward"]


def foreign(
    domain: str, op_type: str, attributes: dict[str, str] | None = None
) -> catalog.ForeignNode | None:
    for node in KERNEL.foreign:
        if (node.domain, node.op_type) == (domain, op_type) and node.accepts(attributes or {}):
            return node
    return None


def test_the_catalog_is_read_once():
    assert catalog.load() is catalog.load()


def test_the_catalog_cannot_be_changed_by_a_caller():
    with pytest.raises(TypeError):
        catalog.load()["Other"] = KERNEL  # type: ignore[index]


def test_inputs_and_outputs_have_the_fixed_names():
    assert (KERNEL.inputs, KERNEL.outputs) == (("grad_output", "output"), ("grad_input",))


def test_aclnn_takes_the_gradient_first():
    assert KERNEL.aclnn.symbol == "aclnnSigmoidBackward"
    assert KERNEL.aclnn.arguments == ("grad_output", "output", "grad_input")


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_the_body_computes_the_gradient_in_the_kernels_order(dtype):
    rng = np.random.default_rng(7)
    output = np.concatenate(
        [1 / (1 + np.exp(-rng.normal(size=40))), [0, 1, 1e-7, 1 - 1e-7, 2, np.inf, np.nan]]
    ).astype(dtype)
    with np.errstate(over="ignore", invalid="ignore"):
        grad_output = (rng.normal(size=47) * 10.0 ** rng.integers(-4, 4, 47)).astype(dtype)
        expected = grad_output * (dtype(1) - output) * output
        feeds = {"grad_output": grad_output, "output": output}
        got = ReferenceEvaluator(KERNEL.function()).run(None, feeds, attributes={})
    np.testing.assert_array_equal(got[0], expected)
    assert got[0].dtype == dtype


def test_the_function_is_new_at_every_call():
    KERNEL.function().node.pop()
    assert KERNEL.function().node[-1].output == ["grad_input"]


def test_the_function_belongs_to_our_domain():
    function = KERNEL.function()
    assert (function.domain, function.name) == (catalog.DOMAIN, "SigmoidBackward")
    assert [(o.domain, o.version) for o in function.opset_import] == [("", KERNEL.opset)]
    assert function.doc_string == KERNEL.summary


def test_onnx_runtime_training_puts_the_gradient_first():
    node = foreign("com.microsoft", "SigmoidGrad")
    assert node is not None
    assert node.operands == ("grad_output", "output")


def test_tensorflow_puts_the_output_first():
    node = foreign("ai.onnx.converters.tensorflow", "SigmoidGrad")
    assert node is not None
    assert node.operands == ("output", "grad_output")


@pytest.mark.parametrize("domain", ["", "ai.onnx", "mindspore", "com.example"])
def test_sigmoid_grad_of_an_uncertain_producer_is_not_taken(domain):
    assert foreign(domain, "SigmoidGrad") is None


@pytest.mark.parametrize("domain", ["org.pytorch.aten", "com.microsoft"])
@pytest.mark.parametrize("op_type", ["ATen", "ATenOp"])
@pytest.mark.parametrize("name", ["operator", "name"])
@pytest.mark.parametrize("value", ["sigmoid_backward", "aten::sigmoid_backward"])
@pytest.mark.parametrize("overload", [{}, {"overload_name": ""}, {"overload_name": "grad_input"}])
def test_every_spelling_of_atens_fallback_is_taken(domain, op_type, name, value, overload):
    node = foreign(domain, op_type, {name: value, **overload})
    assert node is not None
    assert node.operands == ("grad_output", "output")


@pytest.mark.parametrize("op_type", ["sigmoid_backward", "aten::sigmoid_backward"])
def test_aten_under_its_own_name_is_taken(op_type):
    assert foreign("org.pytorch.aten", op_type) is not None
    assert foreign("com.microsoft", op_type) is None


@pytest.mark.parametrize(
    "attributes",
    [
        {},
        {"operator": "tanh_backward"},
        {"operator": "log_sigmoid_backward"},
        {"operator": "sigmoid_backward", "overload_name": "other"},
        {"operator": "sigmoid_backward", "name": "tanh_backward"},
        {"overload_name": "grad_input"},
    ],
)
def test_another_aten_operator_is_not_taken(attributes):
    assert foreign("org.pytorch.aten", "ATen", attributes) is None


def test_the_body_passes_the_checker_inside_a_model():
    graph = onnx.helper.make_graph(
        [onnx.helper.make_node("SigmoidBackward", ["g", "y"], ["z"], domain=catalog.DOMAIN)],
        "g",
        [onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, ["N"]) for name in "gy"],
        [onnx.helper.make_tensor_value_info("z", onnx.TensorProto.FLOAT, ["N"])],
    )
    model = onnx.helper.make_model(
        graph,
        functions=[KERNEL.function()],
        opset_imports=[
            onnx.helper.make_opsetid("", KERNEL.opset),
            onnx.helper.make_opsetid(catalog.DOMAIN, catalog.DOMAIN_VERSION),
        ],
    )
    onnx.checker.check_model(model, full_check=True)
