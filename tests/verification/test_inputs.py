from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

from onnx_ascend_ext.errors import BackendError, ModelError
from onnx_ascend_ext.verification import load_inputs, random_inputs


@dataclass(frozen=True)
class Declared:
    """What `InferenceSession.get_inputs()` tells of an input."""

    name: str
    type: str
    shape: list[int | str | None]


def test_the_same_seed_gives_the_same_arrays_and_another_seed_others() -> None:
    declared = [Declared("x", "tensor(float)", [3, 5])]
    first, again, other = (random_inputs(declared, seed=seed)["x"] for seed in (7, 7, 8))
    assert first.dtype == np.float32
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)
    assert first.std() > 0.1


def test_symbolic_dimensions_take_the_given_size_and_agree_between_inputs() -> None:
    declared = [Declared("a", "tensor(float)", ["N", 3]), Declared("b", "tensor(float)", ["N", "M", None])]
    arrays = random_inputs(declared, dims={"N": 7})
    assert arrays["a"].shape == (7, 3)
    assert arrays["b"].shape == (7, 4, 4)


def test_sizes_beyond_memory_are_told_of_the_input() -> None:
    declared = [Declared("a", "tensor(float)", ["N", "N"])]
    for size in (2**31, 2**62):
        with pytest.raises(BackendError, match=r"input a of shape \[\d+, \d+\] does not fit into memory"):
            random_inputs(declared, dims={"N": size})


def test_a_dimension_that_no_input_has_is_refused_by_name() -> None:
    with pytest.raises(BackendError, match="no input has a dimension named batch; .* N"):
        random_inputs([Declared("a", "tensor(float)", ["N"])], dims={"batch": 3})


@pytest.mark.parametrize(
    ("name", "dtype"),
    [
        ("tensor(float16)", np.float16),
        ("tensor(bfloat16)", ml_dtypes.bfloat16),
        ("tensor(double)", np.float64),
        ("tensor(float8e4m3fn)", ml_dtypes.float8_e4m3fn),
        ("tensor(int64)", np.int64),
        ("tensor(uint8)", np.uint8),
        ("tensor(bool)", np.bool_),
    ],
)
def test_every_tensor_type_gets_its_dtype(name: str, dtype: type) -> None:
    array = random_inputs([Declared("x", name, [64])])["x"]
    assert array.dtype == np.dtype(dtype)
    assert len(np.unique(array.astype(np.float64))) > 1


def test_integers_serve_as_labels_of_two_classes() -> None:
    array = random_inputs([Declared("labels", "tensor(int64)", [100])])["labels"]
    assert set(array.tolist()) == {0, 1}


def test_a_sequence_input_is_refused_with_its_name() -> None:
    with pytest.raises(BackendError, match=r"input s: .*seq\(tensor\(float\)\).*--inputs"):
        random_inputs([Declared("s", "seq(tensor(float))", [])])


def test_a_file_gives_its_arrays_by_name(tmp_path: Path) -> None:
    x = np.array([[0.1, 0.9]], np.float32)
    y = np.array([0.5, 2.0], ml_dtypes.bfloat16)
    np.savez(tmp_path / "in.npz", x=x, y=y)
    declared = [Declared("x", "tensor(float)", [1, 2]), Declared("y", "tensor(bfloat16)", [2])]
    arrays = load_inputs(tmp_path / "in.npz", declared)
    assert np.array_equal(arrays["x"], x)
    assert arrays["y"].dtype == y.dtype
    assert np.array_equal(arrays["y"], y)


def test_missing_and_unknown_arrays_are_named(tmp_path: Path) -> None:
    np.savez(tmp_path / "in.npz", z=np.zeros(1))
    with pytest.raises(ModelError, match="in.npz: lacks x and has unknown z; the model's inputs are x"):
        load_inputs(tmp_path / "in.npz", [Declared("x", "tensor(float)", [1])])


@pytest.mark.parametrize("content", [b"", b"not a zip", b"PK\x03\x04 broken"])
def test_a_file_of_another_kind_is_refused_in_one_line(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "in.npz").write_bytes(content)
    with pytest.raises(ModelError, match="in.npz: is not an .npz file") as caught:
        load_inputs(tmp_path / "in.npz", [])
    assert "\n" not in str(caught.value)


def test_a_single_array_or_a_pickle_is_refused(tmp_path: Path) -> None:
    np.save(tmp_path / "one.npy", np.zeros(3))
    with pytest.raises(ModelError, match="holds one array"):
        load_inputs(tmp_path / "one.npy", [])
    np.savez(tmp_path / "objects.npz", x=np.array([{}], object))
    with pytest.raises(ModelError, match="not an .npz file of plain arrays"):
        load_inputs(tmp_path / "objects.npz", [Declared("x", "tensor(float)", [1])])


def test_a_missing_file_or_what_is_no_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="is a folder, not an .npz file"):
        load_inputs(tmp_path, [])
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(ModelError, match="pipe: is not a regular file"):
        load_inputs(tmp_path / "pipe", [])
    with pytest.raises(ModelError, match="gone.npz: cannot be read: no such file"):
        load_inputs(tmp_path / "gone.npz", [])


def test_another_byte_order_is_read_as_the_numbers_it_holds(tmp_path: Path) -> None:
    np.savez(tmp_path / "in.npz", x=np.array([1.5, -2.0], ">f4"))
    array = load_inputs(tmp_path / "in.npz", [Declared("x", "tensor(float)", [2])])["x"]
    assert array.dtype.isnative
    assert array.tolist() == [1.5, -2.0]


@pytest.mark.parametrize("array", [np.zeros(2), np.zeros(2, "V7"), np.zeros(2, np.int32)])
def test_an_array_of_another_type_is_named(tmp_path: Path, array: np.ndarray) -> None:
    np.savez(tmp_path / "in.npz", x=array)
    with pytest.raises(ModelError, match="x is .*, the model's input is float32"):
        load_inputs(tmp_path / "in.npz", [Declared("x", "tensor(float)", [2])])
