from __future__ import annotations

from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

from onnx_ascend_ext.errors import ModelError
from onnx_ascend_ext.model_files import read_npz, write_npz


def test_arrays_of_every_name_and_shape_are_read_as_they_were_written(tmp_path: Path) -> None:
    arrays = {
        "file": np.float32(3.5).reshape(()),
        "allow_pickle": np.zeros((0, 3), np.int64),
        "a/b::c ü": np.arange(6, dtype=np.complex128).reshape(2, 3).T,
        "text": np.array(["", "ü", "long"], object),
    }
    write_npz(tmp_path / "arrays.npz", arrays)
    again = read_npz(tmp_path / "arrays.npz", "")
    assert list(again) == list(arrays)
    for name, array in arrays.items():
        assert np.array_equal(again[name], array)
        assert again[name].shape == array.shape
        assert again[name].dtype == array.dtype or name == "text"
    assert again["text"].dtype.kind == "U"


def test_types_of_others_than_numpy_keep_their_bytes(tmp_path: Path) -> None:
    array = np.array([0.5, -2.0], ml_dtypes.bfloat16)
    write_npz(tmp_path / "arrays.npz", {"x": array})
    assert read_npz(tmp_path / "arrays.npz", "")["x"].view(ml_dtypes.bfloat16).tolist() == [0.5, -2.0]


def test_a_file_that_cannot_be_written_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"none/x\.npz: cannot be written: the folder .* does not exist"):
        write_npz(tmp_path / "none" / "x.npz", {"x": np.zeros(1)})
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("content", [b"", b"text", b"PK\x03\x04 broken"])
def test_another_kind_of_file_is_refused_with_what_it_should_hold(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "x.npz").write_bytes(content)
    with pytest.raises(ModelError, match="not an .npz file of plain arrays, with one for each cake"):
        read_npz(tmp_path / "x.npz", "with one for each cake")


def test_a_single_array_a_pickle_and_a_folder_are_refused(tmp_path: Path) -> None:
    np.save(tmp_path / "one.npy", np.zeros(3))
    with pytest.raises(ModelError, match="holds one array alone, and should be an .npz file of cakes"):
        read_npz(tmp_path / "one.npy", "of cakes")
    np.savez(tmp_path / "objects.npz", x=np.array([{}], object))
    with pytest.raises(ModelError, match="not an .npz file of plain arrays"):
        read_npz(tmp_path / "objects.npz", "")
    with pytest.raises(ModelError, match="is a folder, not an .npz file"):
        read_npz(tmp_path, "")
