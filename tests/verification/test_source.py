"""What is run is read and checked first."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import onnx
import onnx.numpy_helper
import onnx.parser
import pytest

from onnx_ascend_ext.errors import BackendError, ModelError
from onnx_ascend_ext.sessions.onnxruntime_module import quiet_options
from onnx_ascend_ext.verification import Source


@pytest.fixture
def model() -> onnx.ModelProto:
    made = onnx.parser.parse_model(
        '<ir_version: 9, opset_import: ["" : 18]> g (float[2] x) => (float[2] y) { y = Add (x, w) }'
    )
    made.graph.initializer.append(onnx.numpy_helper.from_array(np.array([1, 2], np.float32), "w"))
    return made


def result(source: Source) -> list[float]:
    session = source.session(quiet_options())
    (array,) = session.run(None, {"x": np.zeros(2, np.float32)})
    found: list[float] = array.tolist()
    return found


@pytest.mark.parametrize(
    "name", [b"model.onnx", b"model.textproto", b"model.json", b"\xff.onnx", "ü ☃.onnx".encode()]
)
def test_a_model_of_every_format_and_name_loads(model: onnx.ModelProto, tmp_path: Path, name: bytes) -> None:
    path = tmp_path / os.fsdecode(name)
    onnx.save(model, path.with_stem("made"))
    path.with_stem("made").rename(path)
    source = Source.read(path)
    assert source.model == model
    assert result(source) == [1, 2]


@pytest.mark.parametrize("name", ["model.onnx", "model.textproto", os.fsdecode(b"\xff.onnx")])
def test_weights_beside_it_are_found(model: onnx.ModelProto, tmp_path: Path, name: str) -> None:
    onnx.save(model, tmp_path / "made.onnx", save_as_external_data=True, location="w.bin", size_threshold=0)
    external = onnx.load(tmp_path / "made.onnx", load_external_data=False)
    onnx.save(external, (tmp_path / name).with_stem("given"))
    (tmp_path / name).with_stem("given").rename(tmp_path / name)
    assert result(Source.read(tmp_path / name)) == [1, 2]
    (tmp_path / "w.bin").unlink()
    with pytest.raises(ModelError, match=r"w\.bin does not exist"):
        Source.read(tmp_path / name)


def test_a_model_without_outputs_is_refused(model: onnx.ModelProto, tmp_path: Path) -> None:
    del model.graph.output[:]
    onnx.save(model, tmp_path / "model.onnx")
    with pytest.raises(ModelError, match=r"model\.onnx: the model has no outputs"):
        Source.read(tmp_path / "model.onnx")


def test_what_onnx_runtime_refuses_is_told_of_the_file_and_logged_nowhere(
    model: onnx.ModelProto, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    model.graph.node[0].op_type = "Nonsense"
    onnx.save(model, tmp_path / "model.onnx")
    with pytest.raises(BackendError, match=r"does not load .*model\.onnx: .*Nonsense"):
        Source.read(tmp_path / "model.onnx").session(quiet_options())
    assert capfd.readouterr().err == ""
