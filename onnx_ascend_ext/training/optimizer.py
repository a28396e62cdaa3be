"""Reads the optimizer model of the artifacts, to let it update plain tensors.

The operators of onnxruntime-training overwrite sequences of tensors. Their portable definitions take plain
tensors
as well and return the new values; all are elementwise, so that one vector may stand for all parameters.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import onnx
from onnx import helper

from onnx_ascend_ext import catalog
from onnx_ascend_ext.errors import ModelError
from onnx_ascend_ext.training.artifacts import MICROSOFT_DOMAIN

_CLIP = "InplaceClipGradNorm"
_SGD = "SGDOptimizerV2"
# The formal names of the portable definitions.
_LEARNING_RATE, _STEP, _WEIGHTS, _GRADIENTS = "lr", "step", "weights", "gradients"


@dataclass(frozen=True)
class Optimizer:
    """One optimiser.

    Attributes:
        name: its operator.
        momentums: names of its state, as checkpoints have them.
    """

    name: str
    momentums: tuple[str, ...]
    _node: onnx.NodeProto
    _clip: onnx.NodeProto | None

    @property
    def is_elementwise(self) -> bool:
        """Whether the update of a parameter does not depend on the other parameters' gradients."""
        return self._clip is None

    def nodes(
        self,
        *,
        learning_rate: str,
        step: str,
        gradients: str,
        old: Mapping[str, str],
        new: Mapping[str, str],
        parameters: str,
        fresh: Callable[[str], str],
    ) -> list[onnx.NodeProto]:
        """The nodes of one update.

        Args:
            learning_rate: value of the learning rate, float32 with 1 element.
            step: value of the number of this update from 1, int64 with 1 element.
            gradients: value of the gradients.
            old: values of the parameters and of each momentum.
            new: names for their new values.
            parameters: key of the parameters in `old` and `new`.
            fresh: gives a name to a further value.
        """
        operator = _operators()[self._node.op_type]
        nodes = []
        if self._clip is not None:
            clip = onnx.NodeProto()
            clip.CopyFrom(self._clip)
            clip.ClearField("name")  # names are unique, and there may be several updates
            del clip.input[:], clip.output[:]
            clip.input.append(gradients)
            gradients = fresh(f"{gradients}.clipped")
            clip.output.append(gradients)
            nodes.append(clip)
        formals = dict(zip(_overwritten(operator), (parameters, *self.momentums), strict=True))
        inputs = {_LEARNING_RATE: learning_rate, _STEP: step, _GRADIENTS: gradients}
        inputs |= {formal: old[key] for formal, key in formals.items()}
        outputs = {operator.in_place[formal]: new[key] for formal, key in formals.items()}
        update = onnx.NodeProto()
        update.CopyFrom(self._node)
        update.ClearField("name")
        del update.input[:], update.output[:]
        update.input.extend(inputs[formal] for formal in operator.inputs if formal in inputs)
        update.output.extend(outputs.get(formal) or fresh("updated_flag") for formal in operator.outputs)
        return [*nodes, update]


def read_optimizer(model: onnx.ModelProto | None) -> Optimizer:
    """The optimiser of an optimizer model; plain gradient descent without one.

    Raises:
        ModelError: the model is not one that `generate_artifacts` writes.
    """
    if model is None:
        return _optimizer(helper.make_node(_SGD, [], [], domain=MICROSOFT_DOMAIN), None)
    update: onnx.NodeProto | None = None
    clip: onnx.NodeProto | None = None
    for node in model.graph.node:
        is_ours = node.domain == MICROSOFT_DOMAIN and update is None
        if is_ours and node.op_type == _CLIP and clip is None:
            clip = node
        elif is_ours and node.op_type in _operators():
            update = node
        else:
            raise ModelError(
                f"the optimizer model has a node {node.domain}::{node.op_type} that is not understood: "
                f"known are one of {', '.join(_operators())}, and {_CLIP} before it"
            )
    if update is None:
        raise ModelError(f"the optimizer model has no optimiser: known are {', '.join(_operators())}")
    return _optimizer(update, clip)


def _optimizer(node: onnx.NodeProto, clip: onnx.NodeProto | None) -> Optimizer:
    operator = _operators()[node.op_type]
    required = [formal for formal in operator.inputs if formal not in operator.optional_inputs]
    if len(node.input) > len(required):
        raise ModelError(f"the optimizer model's {node.op_type} has an update signal, which is not supported")
    count = len(_overwritten(operator)) - 1
    return Optimizer(node.op_type, tuple(f"momentum{index}" for index in range(count)), node, clip)


def _overwritten(operator: catalog.PortableOperator) -> list[str]:
    """The inputs that an optimiser overwrites: the parameters, and each momentum in order."""
    formals = [formal for formal in operator.inputs if formal in operator.in_place]
    formals.remove(_WEIGHTS)
    return [_WEIGHTS, *formals]


def _operators() -> dict[str, catalog.PortableOperator]:
    """The optimisers with a portable definition, by operator."""
    return {
        op_type: operator
        for (domain, op_type), operator in catalog.load_portable().operators.items()
        if domain == MICROSOFT_DOMAIN and _WEIGHTS in operator.in_place
    }
