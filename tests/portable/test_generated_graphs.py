"""Training graphs of `generate_artifacts` with many operators, made by `make_graphs.py`.

Their gradients are compared with onnxruntime-training's, and with differences of their loss.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest

from .harness import TrainingRuntime, Values, assert_close, check, convert, run_stock

GRAPHS = sorted((Path(__file__).with_name("graphs")).glob("*.onnx"))
BUFFER = "_grad.accumulation.buffer"
BATCH = 4
STEP = 1e-2


def feeds_of(model: onnx.ModelProto) -> Values:
    rng = np.random.default_rng(5)
    feeds: Values = {}
    for value in model.graph.input:
        tensor = value.type.tensor_type
        shape = [dim.dim_value or BATCH for dim in tensor.shape.dim]
        if value.name == "lazy_reset_grad":
            feeds[value.name] = np.array([True])
        elif value.name == "shape":
            feeds[value.name] = np.array([BATCH, 6])
        elif tensor.elem_type == onnx.TensorProto.INT64:
            feeds[value.name] = rng.integers(0, 5, shape)
        else:
            feeds[value.name] = (0.2 + 0.5 * rng.random(shape)).astype(np.float32)
    # The output of `unknown_sizes` is a scalar, of which the graph does not tell the shape of the target.
    if "target" in feeds and not model.graph.output[0].type.tensor_type.shape.dim and "shape" in feeds:
        feeds["target"] = np.array(0.25, np.float32)
    return feeds


def with_batch_size(model: onnx.ModelProto) -> onnx.ModelProto:
    fixed = onnx.ModelProto()
    fixed.CopyFrom(model)
    for value in (*fixed.graph.input, *fixed.graph.value_info):
        for dim in value.type.tensor_type.shape.dim:
            if dim.dim_param == "N":
                dim.dim_value = BATCH
    return fixed


@pytest.mark.parametrize("path", GRAPHS, ids=lambda path: path.stem)
def test_the_gradients_are_the_slopes_of_the_loss(path: Path) -> None:
    model = onnx.load(path)
    feeds = feeds_of(model)
    conversion = convert(model)
    found = run_stock(conversion.model, feeds)
    check(conversion.model, found)
    assert conversion.portable is not None
    loss = model.graph.output[0].name
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(conversion.model.SerializeToString(), options)
    rng = np.random.default_rng(6)
    for update in conversion.portable.updates:
        parameter = update.value.removesuffix(BUFFER)
        gradient = found[update.output].astype(np.float64)
        # Along a direction close to the gradient, so that the loss changes by more than it is rounded.
        direction = gradient / (np.linalg.norm(gradient) + 1e-12)
        direction = direction + 0.3 * rng.normal(size=gradient.shape) / np.sqrt(gradient.size)
        losses = []
        for sign in (1, -1):
            moved = (feeds[parameter] + sign * STEP * direction).astype(np.float32)
            losses.append(float(session.run([loss], feeds | {parameter: moved})[0]))
        slope = (losses[0] - losses[1]) / (2 * STEP)
        np.testing.assert_allclose(
            slope, np.sum(gradient * direction), rtol=2e-2, atol=2e-4, err_msg=parameter
        )


@pytest.mark.parametrize("path", GRAPHS, ids=lambda path: path.stem)
def test_the_kernels_compute_the_same_gradients(path: Path, training_runtime: TrainingRuntime) -> None:
    model = onnx.load(path)
    if any(node.op_type == "ConvTransposeGrad" for node in model.graph.node):
        pytest.skip("onnxruntime-training has no kernel of ConvTransposeGrad for the CPU")
    feeds = feeds_of(model)
    conversion = convert(model)
    found = run_stock(conversion.model, feeds)
    expected = training_runtime.run(
        with_batch_size(model), {name: np.copy(value) for name, value in feeds.items()}
    )
    loss = model.graph.output[0].name
    assert_close(found, {loss: expected[loss]})
    assert conversion.portable is not None
    assert conversion.portable.updates
    for update in conversion.portable.updates:
        gradient = expected[f"after/{update.value}"]
        largest = float(np.max(np.abs(gradient)))
        assert largest > 0
        assert_close({"new": found[update.output]}, {"new": gradient}, 1e-4, 1e-5 * largest)


def test_the_graphs_have_the_operators_that_they_are_for() -> None:
    kinds = {node.op_type for path in GRAPHS for node in onnx.load(path).graph.node}
    assert {
        "AveragePoolGrad",
        "BatchNormalizationGrad",
        "BroadcastGradientArgs",
        "ConcatTraining",
        "ConvGrad",
        "ConvTransposeGrad",
        "FastGeluGrad",
        "GatherElementsGrad",
        "GatherGrad",
        "GatherNDGrad",
        "GRUGrad",
        "InPlaceAccumulatorV2",
        "LSTMGrad",
        "LayerNormalizationGrad",
        "LogSoftmaxGrad_13",
        "MaxPoolGrad",
        "Scale",
        "SliceGrad",
        "SoftmaxGrad",
        "SoftmaxGrad_13",
        "SplitTraining",
    } <= kinds
