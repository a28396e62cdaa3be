"""Checkpoints: read as their schema reads them, and written so that onnxruntime-training reads them."""

from __future__ import annotations

import contextlib
import json
import subprocess
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import onnx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from onnx_ascend_ext.errors import ModelError
from onnx_ascend_ext.training import Checkpoint, OptimizerGroup, read_checkpoint, write_checkpoint

from . import schema

MODELS = Path(__file__).parents[2] / "models"
CASES = ["ort_mnist_mlp", "ort_lenet_sigmoid", "ort_deep", "ort_digits"]
DIGITS = (MODELS / "ort_digits" / "checkpoint").read_bytes()


def same(found: dict[str, np.ndarray], expected: dict[str, np.ndarray]) -> bool:
    return found.keys() == expected.keys() and all(
        array.dtype == expected[name].dtype
        and array.shape == expected[name].shape
        and array.tobytes() == expected[name].tobytes()
        for name, array in found.items()
    )


@pytest.fixture
def full() -> Checkpoint:
    """A checkpoint with something everywhere."""
    draw = np.random.default_rng(5)
    weight = draw.normal(size=(3, 4)).astype(np.float32)
    momentums = {f"momentum{i}": draw.normal(size=(3, 4)).astype(np.float32) for i in range(2)}
    return Checkpoint(
        trainable={"weight": weight, "scale": np.asarray(2.5, np.float64)},
        frozen={
            "steps": np.arange(7, dtype=np.int64),
            "none": np.zeros((0, 3), np.float32),
            "half": weight.astype(np.float16),
            "brain": weight.astype(ml_dtypes.bfloat16),
            "mask": np.array([True, False]),
        },
        groups={"group0": OptimizerGroup(12, 0.25, {"weight": momentums}), "empty": OptimizerGroup()},
        properties={"epoch": 3, "best": 0.5, "note": "größer", "zero": 0},
    )


@pytest.mark.parametrize("case", CASES)
def test_reads_what_the_schema_reads(case: str) -> None:
    path = MODELS / case / "checkpoint"
    found, expected = read_checkpoint(path), schema.read(path)
    assert same(found.trainable, expected["trainable"])
    assert found.frozen == {}
    inputs = {value.name for value in onnx.load(MODELS / case / "training_model.onnx").graph.input}
    assert found.trainable.keys() <= inputs
    assert all(np.ptp(array) > 0 for array in found.trainable.values())


def test_writes_what_the_schema_reads(full: Checkpoint, tmp_path: Path) -> None:
    write_checkpoint(full, tmp_path / "out")
    found = schema.read(tmp_path / "out")
    assert found["version"] == 2
    assert same(found["trainable"], full.trainable)
    assert same(found["frozen"], full.frozen)
    group = found["groups"]["group0"]
    assert (group["step"], group["rate"]) == (12, 0.25)
    assert same(group["states"]["weight"], full.groups["group0"].states["weight"])
    assert found["properties"] == {"epoch": 3, "best": 0.5, "note": "größer".encode(), "zero": 0}


@pytest.mark.parametrize("external", [False, True])
def test_reads_back_what_it_writes(full: Checkpoint, tmp_path: Path, external: bool) -> None:
    path = tmp_path / "out"
    write_checkpoint(full, path, external_data=external)
    found = read_checkpoint(path)
    assert same(found.trainable, full.trainable)
    assert same(found.frozen, full.frozen)
    assert found.properties == full.properties
    assert found.groups.keys() == full.groups.keys()
    assert found.groups["group0"].step == 12
    assert same(found.groups["group0"].states["weight"], full.groups["group0"].states["weight"])
    assert (tmp_path / "out.data").exists() == external
    assert all(array.flags.writeable for array in found.parameters.values())


def test_the_tensors_of_an_external_checkpoint_are_not_in_the_file(tmp_path: Path) -> None:
    checkpoint = Checkpoint({"weight": np.full((1000,), 1.5, np.float32)})
    write_checkpoint(checkpoint, tmp_path / "inside")
    write_checkpoint(checkpoint, tmp_path / "outside", external_data=True)
    assert (tmp_path / "inside").stat().st_size > 4000 > 500 > (tmp_path / "outside").stat().st_size
    assert (tmp_path / "outside.data").stat().st_size >= 4000


@pytest.mark.parametrize("external", [False, True])
def test_onnxruntime_training_reads_what_is_written(
    training_python: str, tmp_path: Path, external: bool
) -> None:
    checkpoint = read_checkpoint(MODELS / "ort_digits" / "checkpoint")
    checkpoint.frozen["more"] = np.asarray(2.5, np.float32)
    checkpoint.properties.update({"epoch": 3, "best": 0.5, "note": "größer"})
    write_checkpoint(checkpoint, tmp_path / "out", external_data=external)
    script = Path(__file__).with_name("reference.py")
    ended = subprocess.run(
        [training_python, script, "read", tmp_path / "out"], capture_output=True, text=True, check=True
    )
    found = json.loads(ended.stdout)
    assert found["properties"] == checkpoint.properties
    assert found["parameters"].keys() == checkpoint.parameters.keys()
    for name, array in checkpoint.parameters.items():
        assert found["parameters"][name] == [list(array.shape), float(array.astype(np.float64).sum())]


def error(path: Path) -> str:
    with pytest.raises(ModelError) as caught:
        read_checkpoint(path)
    assert "\n" not in str(caught.value)
    assert str(caught.value).startswith(str(path))
    return str(caught.value)


def test_version_1_is_read_and_a_future_one_is_not(tmp_path: Path) -> None:
    path = tmp_path / "checkpoint"
    path.write_bytes(schema.write(version=1))
    assert read_checkpoint(path).parameters == {}
    path.write_bytes(schema.write(version=3))
    assert "version 3" in error(path)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "not a training checkpoint"),
        (b"PK\3\4 and something else", "not a training checkpoint"),
        (schema.write(is_nominal=True), "nominal"),
        (schema.write(module=False), "no parameters"),
        (DIGITS[:8], "truncated"),
        (DIGITS[: len(DIGITS) // 2], "truncated"),
        (DIGITS[:-4], "truncated"),
        (DIGITS[:4] + b"ORTM" + DIGITS[8:], "not a training checkpoint"),
    ],
    ids=["empty", "zip", "nominal", "no module", "head", "half", "all but one word", "ort model"],
)
def test_a_file_of_another_kind_is_refused_with_one_line(tmp_path: Path, content: bytes, words: str) -> None:
    path = tmp_path / "checkpoint"
    path.write_bytes(content)
    assert words in error(path)


def test_a_missing_file_and_a_folder_are_refused(tmp_path: Path) -> None:
    assert "no such file" in error(tmp_path / "nothing")
    assert "folder" in error(tmp_path)


def test_missing_and_short_external_data_is_refused(full: Checkpoint, tmp_path: Path) -> None:
    path, data = tmp_path / "out", tmp_path / "out.data"
    write_checkpoint(full, path, external_data=True)
    content = data.read_bytes()
    data.write_bytes(content[:40])
    assert "too short" in error(path)
    data.unlink()
    with pytest.raises(ModelError, match=r"out\.data: cannot be read"):
        read_checkpoint(path)


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_a_damaged_file_gives_an_error_or_a_checkpoint_and_nothing_else(
    tmp_path_factory: pytest.TempPathFactory, data: Any
) -> None:
    content = bytearray(DIGITS)
    # Most of a checkpoint is numbers; the structure is near the ends.
    position = st.one_of(st.integers(0, 400), st.integers(len(content) - 400, len(content) - 1))
    for at, value in data.draw(st.lists(st.tuples(position, st.integers(0, 255)), min_size=1, max_size=6)):
        content[at] = value
    path = tmp_path_factory.getbasetemp() / "damaged"
    path.write_bytes(content[: data.draw(st.integers(0, len(content)))])
    with contextlib.suppress(ModelError):
        read_checkpoint(path)


def test_a_checkpoint_that_cannot_be_written_leaves_nothing(full: Checkpoint, tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="does not exist"):
        write_checkpoint(full, tmp_path / "missing" / "out")
    (tmp_path / "out").mkdir()
    with pytest.raises(ModelError, match="is a folder"):
        write_checkpoint(full, tmp_path / "out", external_data=True)
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
