"""Faults that users of other rewriters reported about model files: what must not happen here.

The numbers are rows of the project's list of such reports.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, numpy_helper

import onnx_ascend_ext as ax

from .checking import kernel_nodes
from .patterns import graph

GIB = 1 << 30


def external_model(folder: Path, size: int = 12_000) -> Path:
    """A model with the pattern whose weights, `size` bytes of them, lie in a sparse file of their own."""
    model = graph(
        "d = Sub(one, y) s = Mul(d, y) dx = Mul(s, dy) q = ReduceMax(w)", outputs="float[N,4] dx, float[1] q"
    )
    weight = model.graph.initializer.add(name="w", data_type=TensorProto.FLOAT, dims=[size // 4])
    weight.data_location = TensorProto.EXTERNAL
    for key, value in (
        ("location", "weights é.bin"),
        ("offset", "4096"),
        ("length", str(size)),
        ("checksum", "x"),
    ):
        weight.external_data.add(key=key, value=value)
    folder.mkdir(exist_ok=True)
    with (folder / "weights é.bin").open("wb") as file:
        file.truncate(4096 + size)
        file.seek(4096)
        file.write(np.float32(7).tobytes())
    path = folder / "model.onnx"
    path.write_bytes(model.SerializeToString())
    return path


class TestA12MoreThanTwoGigabytes:
    def test_weights_are_never_read(self, tmp_path):
        source = external_model(tmp_path / "in", 2 * GIB + 100 * (1 << 20))
        program = (
            "import resource, sys\n"
            "import onnx_ascend_ext as ax\n"
            f"resource.setrlimit(resource.RLIMIT_AS, ({GIB}, {GIB}))\n"
            "conversion = ax.convert(sys.argv[1])\n"
            "conversion.save(sys.argv[2])\n"
            "assert len(conversion.matches) == 1\n"
        )
        target = source.with_name("converted.onnx")
        subprocess.run([sys.executable, "-c", program, source, target], check=True, timeout=120)
        converted = onnx.load(target, load_external_data=False)
        assert len(kernel_nodes(converted)) == 1
        original = onnx.load(source, load_external_data=False)
        assert list(converted.graph.initializer) == [t for t in original.graph.initializer if t.name == "w"]


class TestA13SavingAgain:
    def test_in_place_leaves_the_weights(self, tmp_path):
        source = external_model(tmp_path)
        data = tmp_path / "weights é.bin"
        before = data.stat()
        for _ in range(2):
            ax.convert(source).save(source)
        after = data.stat()
        assert (before.st_size, before.st_mtime_ns, before.st_ino) == (
            after.st_size,
            after.st_mtime_ns,
            after.st_ino,
        )
        model = onnx.load(source)
        assert len(kernel_nodes(model)) == 1
        (weight,) = (t for t in model.graph.initializer if t.name == "w")
        assert numpy_helper.to_array(weight)[0] == 7

    @pytest.mark.parametrize("external_data", ["copy", "link"])
    def test_another_folder_gets_the_same_weights(self, tmp_path, external_data):
        source = external_model(tmp_path / "in")
        (tmp_path / "out").mkdir()
        conversion = ax.convert(source)
        conversion.save(tmp_path / "out" / "model.onnx", external_data=external_data)
        old, new = tmp_path / "in" / "weights é.bin", tmp_path / "out" / "weights é.bin"
        assert old.samefile(new) == (external_data == "link")
        assert old.read_bytes() == new.read_bytes()
        assert ax.convert(tmp_path / "out" / "model.onnx").matches == []

    def test_a_target_that_cannot_be_written_leaves_everything(self, tmp_path):
        source = external_model(tmp_path / "in")
        before = source.read_bytes()
        conversion = ax.convert(source)
        with pytest.raises(ax.ModelError):
            conversion.save(tmp_path / "gone" / "model.onnx")
        assert source.read_bytes() == before
        assert sorted(path.name for path in tmp_path.rglob("*")) == ["in", "model.onnx", "weights é.bin"]


class TestA14PathsThatLeaveTheFolder:
    @pytest.mark.parametrize("location", ["../weights.bin", "/etc/hostname", "sub/../../weights.bin"])
    def test_they_are_refused_before_anything_is_read(self, tmp_path, location):
        source = external_model(tmp_path / "in")
        model = onnx.load(source, load_external_data=False)
        for tensor in model.graph.initializer:
            if tensor.external_data:
                tensor.external_data[0].value = location
        source.write_bytes(model.SerializeToString())
        with pytest.raises(ax.ModelError, match="w"):
            ax.convert(source)

    def test_a_link_out_of_the_folder_is_refused(self, tmp_path):
        source = external_model(tmp_path / "in")
        data = tmp_path / "in" / "weights é.bin"
        data.rename(tmp_path / "secret.bin")
        data.symlink_to(tmp_path / "secret.bin")
        with pytest.raises(ax.ModelError):
            ax.convert(source)

    def test_a_length_past_the_end_is_refused(self, tmp_path):
        source = external_model(tmp_path)
        with (tmp_path / "weights é.bin").open("r+b") as file:
            file.truncate(5000)
        with pytest.raises(ax.ModelError):
            ax.convert(source)
