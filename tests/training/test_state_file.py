"""The `.npz` file of a training."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from onnx_ascend_ext.errors import ModelError
from onnx_ascend_ext.training import OptimizerGroup
from onnx_ascend_ext.training.state_file import read_state, write_state

PARAMETERS = {"layer/0.weight": np.arange(6.0).reshape(2, 3), "file": np.float32(2.5).reshape(())}
MOMENTUMS = {name: {"momentum0": array + 1, "momentum1": array + 2} for name, array in PARAMETERS.items()}


def test_reads_what_it_writes(tmp_path: Path) -> None:
    write_state(tmp_path / "state.npz", PARAMETERS, OptimizerGroup(9, 0.25, MOMENTUMS))
    parameters, state = read_state(tmp_path / "state.npz")
    assert parameters.keys() == PARAMETERS.keys()
    assert state is not None
    assert (state.step, state.initial_learning_rate) == (9, 0.25)
    for name, array in PARAMETERS.items():
        assert np.array_equal(parameters[name], array)
        assert parameters[name].dtype == array.dtype
        for momentum, expected in MOMENTUMS[name].items():
            assert np.array_equal(state.states[name][momentum], expected)


def test_numpy_reads_the_parameters_under_their_names(tmp_path: Path) -> None:
    write_state(tmp_path / "state.npz", PARAMETERS, OptimizerGroup())
    with np.load(tmp_path / "state.npz") as found:
        assert np.array_equal(found["layer/0.weight"], PARAMETERS["layer/0.weight"])
        assert found["file"] == 2.5
        assert found["optimizer/step"] == 0


def test_parameters_alone_have_no_state(tmp_path: Path) -> None:
    np.savez(tmp_path / "state.npz", weight=np.ones(3))
    parameters, state = read_state(tmp_path / "state.npz")
    assert list(parameters) == ["weight"]
    assert state is None


def test_a_name_that_the_state_takes_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="optimizer/step has a name"):
        write_state(tmp_path / "state.npz", {"optimizer/step": np.ones(1)}, OptimizerGroup())
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_cannot_be_written_or_read_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="does not exist"):
        write_state(tmp_path / "missing" / "state.npz", PARAMETERS, OptimizerGroup())
    with pytest.raises(ModelError, match="no such file"):
        read_state(tmp_path / "nothing")
    (tmp_path / "text").write_text("weights: 1, 2, 3")
    with pytest.raises(ModelError, match="not a training checkpoint"):
        read_state(tmp_path / "text")
