"""Builds the graphs that a trainer runs, around one vector of all trainable parameters."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np
import onnx
from onnx import TensorProto, helper

from onnx_ascend_ext.errors import ModelError
from onnx_ascend_ext.training.artifacts import MICROSOFT_DOMAIN, TrainingRoles
from onnx_ascend_ext.training.optimizer import Optimizer
from onnx_ascend_ext.training.packing import Graft, Packing


@dataclass(frozen=True)
class StepGraph:
    """One training step as one graph: forward, gradients and update.

    Attributes:
        model: the model.
        batch: names of the inputs that a batch gives.
        frozen: names of the inputs that are frozen parameters.
        loss: name of the output that is the loss.
        outputs: names of the further outputs of the training model.
        learning_rate: name of that input, float32 with 1 element.
        step: name of the input with the number of this update from 1, int64 with 1 element; not every
            optimiser reads it.
        vectors: for the parameters and each momentum the input with the vector, and the output with the new
            one.
    """

    model: onnx.ModelProto = field(repr=False)
    batch: tuple[str, ...]
    frozen: tuple[str, ...]
    loss: str
    outputs: tuple[str, ...]
    learning_rate: str
    step: str
    vectors: Mapping[str, tuple[str, str]]


PARAMETERS = "parameters"
"""The key of the parameters' vector in `StepGraph.vectors`."""


def build_step(
    training_model: onnx.ModelProto, roles: TrainingRoles, packing: Packing, optimizer: Optimizer
) -> StepGraph:
    """Joins a training model and an optimiser.

    A step replaces the accumulated gradients, so that the accumulators and their buffers are left out.
    """
    model = onnx.ModelProto()
    model.CopyFrom(training_model)
    graph = model.graph
    graft = Graft(model)
    learning_rate, step = graft.fresh("learning_rate"), graft.fresh("step")
    keys = (PARAMETERS, *optimizer.momentums)
    vectors = {key: (graft.fresh(key), graft.fresh(f"{key}.updated")) for key in keys}
    gradient, clipped = graft.fresh("gradients"), graft.fresh("gradients.clipped")
    # The optimiser's definition needs the types of what it reads.
    graph.value_info.extend([packing.value_info(gradient), packing.value_info(clipped)])
    replace_inputs(graph, {*roles.gradients, *roles.bookkeeping}, [])
    graph.input.extend(
        [
            helper.make_tensor_value_info(learning_rate, TensorProto.FLOAT, [1]),
            helper.make_tensor_value_info(step, TensorProto.INT64, [1]),
            *(packing.value_info(old) for old, _ in vectors.values()),
        ]
    )
    nodes = [
        *graft.unpacked(packing, vectors[PARAMETERS][0]),
        *(node for position, node in enumerate(graph.node) if position not in roles.accumulators),
        *graft.packed(packing, roles.gradients, gradient),
        *optimizer.nodes(
            learning_rate=learning_rate,
            step=step,
            gradients=gradient,
            old={key: old for key, (old, _) in vectors.items()},
            new={key: new for key, (_, new) in vectors.items()},
            parameters=PARAMETERS,
            fresh={"flag": graft.fresh("updated_flag"), "clipped": clipped},
        ),
    ]
    del graph.node[:]
    graph.node.extend(nodes)
    results = [value for value in graph.output if value.name == roles.loss or value.name in roles.outputs]
    results.extend(packing.value_info(new) for _, new in vectors.values())
    del graph.output[:]
    graph.output.extend(results)
    if all(entry.domain != MICROSOFT_DOMAIN for entry in model.opset_import):
        model.opset_import.append(helper.make_opsetid(MICROSOFT_DOMAIN, 1))
    return StepGraph(
        model=model,
        batch=tuple(roles.batch),
        frozen=tuple(roles.frozen),
        loss=roles.loss,
        outputs=tuple(roles.outputs),
        learning_rate=learning_rate,
        step=step,
        vectors=vectors,
    )


@dataclass(frozen=True)
class EvalGraph:
    """An evaluation model that takes the vector of the parameters.

    Attributes:
        model: the model.
        batch: names of the inputs that a batch gives.
        frozen: names of the inputs that are frozen parameters.
        parameters: name of the input with the vector.
    """

    model: onnx.ModelProto = field(repr=False)
    batch: tuple[str, ...]
    frozen: tuple[str, ...]
    parameters: str


def build_eval(
    eval_model: onnx.ModelProto, packing: Packing, frozen: Iterable[str], more_outputs: Iterable[str] = ()
) -> EvalGraph:
    """Makes an evaluation model take the vector of the parameters.

    Args:
        eval_model: the evaluation model.
        packing: the vector.
        frozen: names of the frozen parameters.
        more_outputs: values of the graph to put out as well.
    """
    model = onnx.ModelProto()
    model.CopyFrom(eval_model)
    graph = model.graph
    graft = Graft(model)
    vector = graft.fresh(PARAMETERS)
    replace_inputs(graph, packing.shapes, [packing.value_info(vector)])
    nodes = [*graft.unpacked(packing, vector), *graph.node]
    del graph.node[:]
    graph.node.extend(nodes)
    present = {value.name for value in graph.output}
    graph.output.extend(onnx.ValueInfoProto(name=name) for name in more_outputs if name not in present)
    constants = {tensor.name for tensor in graph.initializer}
    inputs = [value.name for value in graph.input if value.name not in constants and value.name != vector]
    frozen = set(frozen)
    return EvalGraph(
        model=model,
        batch=tuple(name for name in inputs if name not in frozen),
        frozen=tuple(name for name in inputs if name in frozen),
        parameters=vector,
    )


def replace_inputs(
    graph: onnx.GraphProto, unwanted: Iterable[str], added: Iterable[onnx.ValueInfoProto]
) -> None:
    """Takes inputs out of a graph and adds others."""
    unwanted = set(unwanted)
    kept = [value for value in graph.input if value.name not in unwanted]
    del graph.input[:]
    graph.input.extend([*kept, *added])


def packing_of(parameters: Mapping[str, np.ndarray], names: Iterable[str]) -> Packing:
    """The vector of some parameters.

    Raises:
        ModelError: one of them is not float32, which is all that the optimisers of onnxruntime-training
            update.
    """
    shapes = {}
    for name in names:
        array = parameters[name]
        if array.dtype != np.float32:
            raise ModelError(
                f"the parameter {name} is {array.dtype}: the optimisers of onnxruntime-training take float32"
            )
        shapes[name] = array.shape
    return Packing(shapes, np.dtype(np.float32))
