"""Builds the graphs that a trainer runs: with the parameters in few arrays."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
from onnx import TensorProto, helper

from onnx_ascend_ext.errors import ModelError
from onnx_ascend_ext.training.artifacts import MICROSOFT_DOMAIN, TrainingRoles
from onnx_ascend_ext.training.optimizer import Optimizer
from onnx_ascend_ext.training.packing import Graft, Packing, pack_small

Array = npt.NDArray[Any]


PARAMETERS = "parameters"
"""The key of the parameters in `StepGraph.arrays`, beside those of the momentums."""

_LARGE = 1 << 14
"""Elements from which a parameter is updated on its own."""


@dataclass(frozen=True)
class StepGraph:
    """One training step as one graph: forward, gradients and update.

    Attributes:
        model: the model.
        batch: names of the inputs that a batch gives.
        frozen: names of the inputs that are frozen parameters.
        loss: name of the output that is the loss, with 1 element.
        learning_rate: name of that input, float32 with 1 element.
        step: name of the input with the number of this update from 1, int64 with 1 element; not every
            optimiser reads it.
        packings: which trainable parameters share an array.
        arrays: for each packing, and for the parameters and each momentum, the input with the array and the
            output with the new one.
    """

    model: onnx.ModelProto = field(repr=False)
    batch: tuple[str, ...]
    frozen: tuple[str, ...]
    loss: str
    learning_rate: str
    step: str
    packings: tuple[Packing, ...]
    arrays: tuple[Mapping[str, tuple[str, str]], ...]


def build_step(
    training_model: onnx.ModelProto,
    roles: TrainingRoles,
    parameters: Mapping[str, Array],
    optimizer: Optimizer,
) -> StepGraph:
    """Joins a training model and an optimiser.

    A step replaces the accumulated gradients, so that the accumulators and their buffers are left out.

    Raises:
        ModelError: a trainable parameter is not float32, which is all that the optimisers of
            onnxruntime-training update; or the loss is no single number.
    """
    for name in roles.gradients:
        if parameters[name].dtype != np.float32:
            raise ModelError(
                f"the parameter {name} is {parameters[name].dtype}: the optimisers of onnxruntime-training "
                "take float32"
            )
    packings = pack_small(
        parameters, roles.gradients, limit=_LARGE if optimizer.is_elementwise else float("inf")
    )
    model = onnx.ModelProto()
    model.CopyFrom(training_model)
    graph = model.graph
    graft = Graft(model)
    learning_rate, step = graft.fresh("learning_rate"), graft.fresh("step")
    replace_inputs(
        graph,
        {*roles.gradients, *roles.bookkeeping},
        [
            helper.make_tensor_value_info(learning_rate, TensorProto.FLOAT, [1]),
            helper.make_tensor_value_info(step, TensorProto.INT64, [1]),
        ],
    )
    before: list[onnx.NodeProto] = []
    after: list[onnx.NodeProto] = []
    loss, loss_node, loss_info = _single(graph, roles.loss, graft)
    after.append(loss_node)
    results = [loss_info]
    arrays = []
    for packing in packings:
        names = {
            key: (graft.fresh(key), graft.fresh(f"{key}.updated"))
            for key in (PARAMETERS, *optimizer.momentums)
        }
        gradient = graft.fresh("gradients")
        before.extend(graft.unpacked(packing, names[PARAMETERS][0]))
        after.extend(graft.packed(packing, roles.gradients, gradient))
        update = optimizer.nodes(
            learning_rate=learning_rate,
            step=step,
            gradients=gradient,
            old={key: old for key, (old, _) in names.items()},
            new={key: new for key, (_, new) in names.items()},
            parameters=PARAMETERS,
            fresh=graft.fresh,
        )
        # The optimiser's definition needs the type of the gradients that it reads.
        read = {name for node in update for name in node.input if name.startswith(gradient)}
        graph.value_info.extend(packing.value_info(name) for name in sorted(read))
        after.extend(update)
        graph.input.extend(packing.value_info(old) for old, _ in names.values())
        results.extend(packing.value_info(new) for _, new in names.values())
        arrays.append(names)
    kept = [node for position, node in enumerate(graph.node) if position not in roles.accumulators]
    nodes = [*before, *kept, *after]
    del graph.node[:], graph.output[:]
    graph.node.extend(nodes)
    graph.output.extend(results)
    if all(entry.domain != MICROSOFT_DOMAIN for entry in model.opset_import):
        model.opset_import.append(helper.make_opsetid(MICROSOFT_DOMAIN, 1))
    return StepGraph(
        model=model,
        batch=tuple(roles.batch),
        frozen=tuple(roles.frozen),
        loss=loss,
        learning_rate=learning_rate,
        step=step,
        packings=tuple(packings),
        arrays=tuple(arrays),
    )


def _single(
    graph: onnx.GraphProto, loss: str, graft: Graft
) -> tuple[str, onnx.NodeProto, onnx.ValueInfoProto]:
    """A name for the loss with the shape [1], the node that makes it, and its declaration."""
    declared = next(value for value in graph.output if value.name == loss).type.tensor_type
    sizes = [dim.dim_value for dim in declared.shape.dim if dim.HasField("dim_value")]
    if any(size != 1 for size in sizes):
        raise ModelError(f"the loss {loss} has the shape {sizes}: reduce it to one number, as by its mean")
    single = graft.fresh("single_loss")
    node = helper.make_node("Reshape", [loss, graft.constant("single_loss/shape", [1])], [single])
    return single, node, helper.make_tensor_value_info(single, declared.elem_type, [1])


@dataclass(frozen=True)
class EvalGraph:
    """An evaluation model that takes the arrays of the parameters.

    Attributes:
        model: the model.
        batch: names of the inputs that a batch gives.
        frozen: names of the inputs that are frozen parameters.
        arrays: for each packing the name of the input with the array.
    """

    model: onnx.ModelProto = field(repr=False)
    batch: tuple[str, ...]
    frozen: tuple[str, ...]
    arrays: tuple[str, ...]


def build_eval(
    eval_model: onnx.ModelProto,
    packings: Iterable[Packing],
    frozen: Iterable[str],
    more_outputs: Iterable[str] = (),
) -> EvalGraph:
    """Makes an evaluation model take the arrays of the parameters.

    Args:
        eval_model: the evaluation model.
        packings: which parameters share an array.
        frozen: names of the frozen parameters.
        more_outputs: values of the graph to put out as well.
    """
    model = onnx.ModelProto()
    model.CopyFrom(eval_model)
    graph = model.graph
    graft = Graft(model)
    arrays = []
    unpacking: list[onnx.NodeProto] = []
    for packing in packings:
        name = graft.fresh(PARAMETERS)
        arrays.append(name)
        replace_inputs(graph, packing.shapes, [packing.value_info(name)])
        unpacking.extend(graft.unpacked(packing, name))
    nodes = [*unpacking, *graph.node]
    del graph.node[:]
    graph.node.extend(nodes)
    present = {value.name for value in graph.output}
    graph.output.extend(onnx.ValueInfoProto(name=name) for name in more_outputs if name not in present)
    constants = {tensor.name for tensor in graph.initializer}
    inputs = [value.name for value in graph.input if value.name not in {*constants, *arrays}]
    frozen = set(frozen)
    return EvalGraph(
        model=model,
        batch=tuple(name for name in inputs if name not in frozen),
        frozen=tuple(name for name in inputs if name in frozen),
        arrays=tuple(arrays),
    )


def replace_inputs(
    graph: onnx.GraphProto, unwanted: Iterable[str], added: Iterable[onnx.ValueInfoProto]
) -> None:
    """Takes inputs out of a graph and adds others."""
    unwanted = set(unwanted)
    kept = [value for value in graph.input if value.name not in unwanted]
    del graph.input[:]
    graph.input.extend([*kept, *added])
