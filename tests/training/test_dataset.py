"""Data sets: what is read, what is refused, and the batches."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from onnx_ascend_ext.errors import ModelError
from onnx_ascend_ext.training.dataset import BatchInput, Dataset, fit, read_dataset

INPUTS = [
    BatchInput("x", np.dtype(np.float32), (None, 3)),
    BatchInput("labels", np.dtype(np.int64), (None,)),
]
X = np.arange(21, dtype=np.float32).reshape(7, 3)
LABELS = np.arange(7)


def read(tmp_path: Path, **arrays: Any) -> Dataset:
    np.savez(tmp_path / "data.npz", **arrays)
    return read_dataset(tmp_path / "data.npz", INPUTS)


def test_arrays_get_the_types_of_their_inputs(tmp_path: Path) -> None:
    data = read(tmp_path, labels=LABELS.astype(np.uint8), x=X.astype(np.float64))
    assert data.count == 7
    assert list(data.arrays) == ["x", "labels"]
    assert data.arrays["x"].dtype == np.float32
    assert data.arrays["labels"].dtype == np.int64
    assert np.array_equal(data.arrays["x"], X)


@pytest.mark.parametrize(
    ("arrays", "words"),
    [
        ({"x": X}, r"lacks labels; a batch's inputs are x, labels"),
        ({"x": X, "labels": LABELS, "y": X}, "has unknown y"),
        ({"x": X[:, :2], "labels": LABELS}, r"x has the shape \[7, 2\], and the model takes \[any, 3\]"),
        ({"x": X, "labels": LABELS[:, None]}, r"labels has the shape \[7, 1\]"),
        ({"x": X, "labels": LABELS[:6]}, "different numbers of examples: x 7, labels 6"),
        ({"x": X[:0], "labels": LABELS[:0]}, "holds no examples"),
        ({"x": np.float32(1), "labels": LABELS}, r"x has the shape \[\]"),
        ({"x": X, "labels": LABELS.astype(np.float32)}, "labels is float32, and the model takes int64"),
        ({"x": X, "labels": LABELS.astype(np.uint64) + 2**63}, "labels is uint64"),
        ({"x": X.astype(str), "labels": LABELS}, "x is <U"),
    ],
)
def test_arrays_that_do_not_fit_are_refused(tmp_path: Path, arrays: dict[str, Any], words: str) -> None:
    with pytest.raises(ModelError, match=words) as caught:
        read(tmp_path, **arrays)
    assert str(caught.value).startswith(str(tmp_path / "data.npz"))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("content", "words"),
    [(b"", "not an .npz"), (b"PK\3\4 broken", "not an .npz"), (b"x,y\n1,2\n", "not an .npz")],
)
def test_a_file_of_another_kind_is_refused(tmp_path: Path, content: bytes, words: str) -> None:
    path = tmp_path / "data.npz"
    path.write_bytes(content)
    with pytest.raises(ModelError, match=words) as caught:
        read_dataset(path, INPUTS)
    assert "\n" not in str(caught.value)


def test_a_missing_file_a_single_array_and_pickled_objects_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="no such file"):
        read_dataset(tmp_path / "nothing.npz", INPUTS)
    np.save(tmp_path / "one.npy", X)
    with pytest.raises(ModelError, match="one array alone"):
        read_dataset(tmp_path / "one.npy", INPUTS)
    with pytest.raises(ModelError, match="plain arrays"):
        read(tmp_path, x=np.array([object()], dtype=object), labels=LABELS)


def test_a_fixed_first_dimension_is_that_of_a_batch_not_of_the_data() -> None:
    assert fit(X, BatchInput("x", np.dtype(np.float32), (2, 3))).shape == (7, 3)


def test_raw_bytes_of_the_same_size_are_the_inputs_type() -> None:
    brain = X.astype(ml_dtypes.bfloat16)
    found = fit(brain.view("V2"), BatchInput("x", brain.dtype, (None, 3)))
    assert found.dtype == brain.dtype
    assert np.array_equal(found, brain)
    with pytest.raises(ModelError, match="x is"):
        fit(brain.view("V2"), INPUTS[0])


def data() -> Dataset:
    return Dataset({"x": X, "labels": LABELS}, 7)


@pytest.mark.parametrize(
    ("size", "drop", "sizes"), [(3, False, [3, 3, 1]), (3, True, [3, 3]), (9, False, [7])]
)
def test_batches_hold_each_example_once_in_order(size: int, drop: bool, sizes: list[int]) -> None:
    batches = list(data().batches(size, drop_last=drop))
    assert [len(batch["labels"]) for batch in batches] == sizes
    assert data().batch_count(size, drop_last=drop) == len(sizes)
    assert np.array_equal(np.concatenate([batch["labels"] for batch in batches]), LABELS[: sum(sizes)])


def test_shuffled_batches_hold_each_example_once_with_its_label() -> None:
    orders = []
    for seed in (1, 1, 2):
        generator = np.random.default_rng(seed)
        passes = [list(data().batches(3, generator=generator)) for _ in range(2)]
        for batches in passes:
            labels = np.concatenate([batch["labels"] for batch in batches])
            assert sorted(labels) == list(LABELS)
            assert np.array_equal(np.concatenate([batch["x"] for batch in batches]), X[labels])
            orders.append(tuple(labels))
    assert orders[:2] == orders[2:4]
    assert len(set(orders)) == 4
