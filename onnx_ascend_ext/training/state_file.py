"""The state of a training as an `.npz` file: parameters and the state of their optimiser."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from onnx_ascend_ext.errors import ModelError
from onnx_ascend_ext.model_files import open_source, read_npz, write_npz
from onnx_ascend_ext.model_files.wording import shown
from onnx_ascend_ext.training.checkpoint import Checkpoint, OptimizerGroup, read_checkpoint

Array = npt.NDArray[Any]

_OPTIMIZER = "optimizer/"
_STEP = f"{_OPTIMIZER}step"
_LEARNING_RATE = f"{_OPTIMIZER}learning_rate"
_ZIP_MAGIC = b"PK"


def write_state(path: str | os.PathLike[str], parameters: dict[str, Array], state: OptimizerGroup) -> None:
    """Writes parameters and the state of their optimiser, in one step.

    The file holds each parameter under its name, `optimizer/step`, `optimizer/learning_rate`, and each
    momentum as `optimizer/MOMENTUM/PARAMETER`.

    Raises:
        ModelError: the file cannot be written, or a parameter's name begins with `optimizer/`.
    """
    path = Path(path)
    if clash := [name for name in parameters if name.startswith(_OPTIMIZER)]:
        raise ModelError(
            f"{shown(path)}: the parameter {clash[0]} has a name that the optimiser's state takes"
        )
    arrays = dict(parameters)
    arrays[_STEP] = np.asarray(state.step, dtype=np.int64)
    arrays[_LEARNING_RATE] = np.asarray(state.initial_learning_rate, dtype=np.float64)
    for parameter, momentums in state.states.items():
        for momentum, array in momentums.items():
            arrays[f"{_OPTIMIZER}{momentum}/{parameter}"] = array

    write_npz(path, arrays)


def read_state(path: str | os.PathLike[str]) -> tuple[dict[str, Array], OptimizerGroup | None]:
    """Reads what `write_state` wrote, an `.npz` file with parameters alone, or a training checkpoint.

    Returns:
        The parameters, and the state of the optimiser where the file has one.

    Raises:
        ModelError: the file is none of these.
    """
    path = Path(path)
    with open_source(path, "a file of parameters") as file:
        is_archive = file.read(len(_ZIP_MAGIC)) == _ZIP_MAGIC
    if not is_archive:
        return _of_checkpoint(path)
    arrays = read_npz(path, "with an array for each parameter")
    parameters = {name: array for name, array in arrays.items() if not name.startswith(_OPTIMIZER)}
    if _STEP not in arrays:
        return parameters, None
    state = OptimizerGroup(
        step=int(arrays[_STEP]), initial_learning_rate=float(arrays.get(_LEARNING_RATE, np.float64(1e-3)))
    )
    for name, array in arrays.items():
        momentum, separator, parameter = name.removeprefix(_OPTIMIZER).partition("/")
        if name.startswith(_OPTIMIZER) and separator:
            state.states.setdefault(parameter, {})[momentum] = array
    return parameters, state


def _of_checkpoint(path: Path) -> tuple[dict[str, Array], OptimizerGroup | None]:
    checkpoint: Checkpoint = read_checkpoint(path)
    return checkpoint.parameters, next(iter(checkpoint.groups.values()), None)
