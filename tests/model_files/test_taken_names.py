"""Saving where another file beside the target has the name of a data file."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import numpy as np
import pytest

from onnx_ascend_ext.model_files import load, save

from .models import (
    WEIGHTS,
    external_everywhere,
    external_tensor,
    model_with,
    tree,
    value_of,
    write_external_model,
    write_model,
)


@pytest.fixture
def source(tmp_path: Path) -> Path:
    (tmp_path / "out").mkdir()
    return write_external_model(tmp_path / "in")


@pytest.mark.parametrize("how", ["copy", "link"])
def test_it_is_kept_and_the_data_gets_a_fresh_name(source: Path, tmp_path: Path, how: str) -> None:
    out = tmp_path / "out"
    model = load(source)
    before = model.SerializeToString()
    for content in (b"another", (source.parent / "weights.bin").read_bytes()[::-1]):
        (out / "weights.bin").write_bytes(content)
        for expected in ((out / "weights-1.bin",), ()):
            saved = save(model, out / "model.onnx", source=source, external_data=how)  # type: ignore[arg-type]
            assert saved.renamed == {"weights.bin": "weights-1.bin"}
            assert saved.data == expected
            np.testing.assert_array_equal(value_of(out / "model.onnx"), WEIGHTS)
        assert sorted(tree(out)) == ["model.onnx", "weights-1.bin", "weights.bin"]
        assert (out / "weights.bin").read_bytes() == content
        (out / "weights-1.bin").unlink()
    assert model.SerializeToString() == before


def test_every_reference_follows(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    for place, model in external_everywhere().items():
        folder = tmp_path / "out" / place.replace(" ", "_")
        folder.mkdir()
        (folder / "there.bin").write_bytes(b"another")
        source = write_model(tmp_path / place, model)
        (source.parent / "there.bin").write_bytes(WEIGHTS.tobytes())
        save(load(source), folder / "model.onnx", source=source)
        (folder / "there.bin").unlink()
        assert load(folder / "model.onnx")


def test_names_of_other_data_files_and_of_the_model_are_not_free(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    names = ("weights.bin", "weights-1.bin", "out.onnx")
    source = write_model(tmp_path / "in", model_with(*(external_tensor(name, name) for name in names)))
    for factor, name in enumerate(names, 1):
        (source.parent / name).write_bytes((factor * WEIGHTS).tobytes())
    (tmp_path / "out" / "weights.bin").write_bytes(b"another")
    saved = save(load(source), tmp_path / "out" / "out.onnx", source=source)
    assert saved.renamed == {"weights.bin": "weights-2.bin", "out.onnx": "out-1.onnx"}
    np.testing.assert_array_equal(value_of(saved.model), 6 * WEIGHTS)


@pytest.mark.parametrize("kind", ["symlink", "dangling symlink", "folder", "pipe"])
def test_it_need_not_be_a_file(source: Path, tmp_path: Path, kind: str) -> None:
    taken = tmp_path / "out" / "weights.bin"
    if kind == "folder":
        taken.mkdir()
    elif kind == "pipe":
        os.mkfifo(taken)
    else:
        taken.symlink_to(source.parent / "weights.bin" if kind == "symlink" else tmp_path / "none")
    saved = save(load(source), tmp_path / "out" / "model.onnx", source=source)
    assert saved.renamed == {"weights.bin": "weights-1.bin"}
    np.testing.assert_array_equal(value_of(saved.model), WEIGHTS)


def test_two_models_with_the_same_data_share_it(source: Path, tmp_path: Path) -> None:
    shutil.copy(source, source.with_name("second.onnx"))
    for name in ("model.onnx", "second.onnx"):
        save(load(source.with_name(name)), tmp_path / "out" / name, source=source.with_name(name))
    assert sorted(tree(tmp_path / "out")) == ["model.onnx", "second.onnx", "weights.bin"]
