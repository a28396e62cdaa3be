"""An independent reader of checkpoints: what the schema's compiler generated, as ONNX Runtime ships it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnxruntime.tools.ort_format_model.ort_flatbuffers_py.fbs import Checkpoint as RootModule
from onnxruntime.tools.ort_format_model.ort_flatbuffers_py.fbs import ModuleState as StateModule


def read(path: Path) -> dict[str, Any]:
    """Everything in a checkpoint without external data."""
    root = RootModule.Checkpoint.GetRootAs(path.read_bytes(), 0)
    module = root.ModuleState()
    bag = root.PropertyBag()
    found: dict[str, Any] = {
        "version": root.Version(),
        "trainable": dict(
            tensor(module.RequiresGradParams(i)) for i in range(module.RequiresGradParamsLength())
        ),
        "frozen": dict(tensor(module.FrozenParams(i)) for i in range(module.FrozenParamsLength())),
        "groups": {},
        "properties": {},
    }
    for i in range(root.OptimizerGroupsLength()):
        group = root.OptimizerGroups(i)
        states = [group.OptimizerStates(j) for j in range(group.OptimizerStatesLength())]
        found["groups"][group.GroupName().decode()] = {
            "step": group.Step(),
            "rate": group.InitialLearningRate(),
            "states": {
                state.ParamName().decode(): dict(
                    tensor(state.Momentums(j)) for j in range(state.MomentumsLength())
                )
                for state in states
            },
        }
    if bag is not None:
        for kind in ("Ints", "Floats", "Strings"):
            for i in range(getattr(bag, f"{kind}Length")()):
                entry = getattr(bag, kind)(i)
                found["properties"][entry.Name().decode()] = entry.Value()
    return found


def tensor(table: Any) -> tuple[str, np.ndarray]:
    dtype = onnx.helper.tensor_dtype_to_np_dtype(table.DataType())
    shape = [table.Dims(i) for i in range(table.DimsLength())]
    data = bytes(table.RawData(i) for i in range(table.RawDataLength()))
    return table.Name().decode(), np.frombuffer(data, dtype).reshape(shape)


def write(*, version: int = 2, is_nominal: bool = False, module: bool = True) -> bytes:
    """A checkpoint without parameters."""
    import flatbuffers

    builder = flatbuffers.Builder()
    state = None
    if module:
        StateModule.ModuleStateStart(builder)
        StateModule.ModuleStateAddIsNominalState(builder, is_nominal)
        state = StateModule.ModuleStateEnd(builder)
    RootModule.CheckpointStart(builder)
    RootModule.CheckpointAddVersion(builder, version)
    if state is not None:
        RootModule.CheckpointAddModuleState(builder, state)
    builder.Finish(RootModule.CheckpointEnd(builder), file_identifier=b"ODTC")
    return bytes(builder.Output())
