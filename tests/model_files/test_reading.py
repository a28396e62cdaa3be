from __future__ import annotations

import os
import re
import socket
from contextlib import suppress
from pathlib import Path

import numpy as np
import onnx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from onnx import GraphProto, ModelProto, NodeProto, TensorProto, helper, numpy_helper

from onnx_ascend_ext.errors import ModelError
from onnx_ascend_ext.model_files import load
from onnx_ascend_ext.model_files.external_data import external_tensors

from .models import external_everywhere, external_tensor, model_with, write_external_model, write_model
from .users import unprivileged

TORCH_MLP = Path(__file__).parents[2] / "models" / "torch_mlp" / "model.onnx"


def refusal(path: str | os.PathLike[str]) -> str:
    """The message with which `load` refuses `path`; one line, and it names the file."""
    with pytest.raises(ModelError) as caught:
        load(path)
    message = str(caught.value)
    assert "\n" not in message
    assert Path(path).name in message
    return message


def test_a_model_without_external_data_is_read_as_onnx_reads_it() -> None:
    assert load(TORCH_MLP) == onnx.load(TORCH_MLP)
    assert load(str(TORCH_MLP)) == onnx.load(TORCH_MLP)


def test_bare_names_and_relative_paths_behave_as_absolute_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write_external_model(tmp_path / "a")
    monkeypatch.chdir(tmp_path / "a")
    assert load("model.onnx") == load("../a/model.onnx") == load(path)
    (tmp_path / "secret.bin").write_bytes(bytes(64))
    escaping = model_with(external_tensor("w", "../secret.bin"))
    write_model(tmp_path / "a", escaping)
    for spelling in ("model.onnx", "../a/model.onnx", path):
        assert "'..'" in refusal(spelling)


@pytest.mark.parametrize("suffix", [".json", ".textproto", ".pbtxt", ".onnxtxt"])
def test_text_formats_are_read_by_their_suffix(tmp_path: Path, suffix: str) -> None:
    model = onnx.parser.parse_model(
        '<ir_version: 8, opset_import: ["" : 17]> g (float[4] x) => (float[4] y) { y = Sigmoid (x) }'
    )
    path = tmp_path / f"model{suffix}"
    onnx.save(model, path) if suffix != ".onnxtxt" else path.write_text(onnx.printer.to_text(model))
    assert [node.op_type for node in load(path).graph.node] == ["Sigmoid"]
    path.write_text("certainly { not a model")
    assert "not an ONNX model" in refusal(path)


class TestNotAModel:
    def test_missing(self, tmp_path: Path) -> None:
        assert "no such file" in refusal(tmp_path / "none.onnx")
        assert "no such file" in refusal(tmp_path / "no folder" / "none.onnx")

    def test_folder(self, tmp_path: Path) -> None:
        assert "is a folder" in refusal(tmp_path)

    def test_empty(self, tmp_path: Path) -> None:
        path = tmp_path / "empty.onnx"
        path.touch()
        assert "is empty" in refusal(path)

    @pytest.mark.parametrize(
        ("content", "words"),
        [
            (b"PK\x03\x04" + bytes(100), "PyTorch checkpoint"),
            (b'{"irVersion": "8"}', "give it the suffix .json"),
            (b"<html><body>404</body></html>\n", "text, not an ONNX model"),
            (b"version https://git-lfs.github.com/spec/v1\noid sha256:00", "git lfs pull"),
            (b"\x18\x00\x00\x00ORTM" + bytes(100), "ORT-format"),
            (b"\x1f\x8b\x08" + bytes(100), "gzip"),
            (b"\x80\x04\x95" + bytes(100), "pickle"),
            (bytes(1000), "not an ONNX model"),
            (np.random.default_rng(0).bytes(4096), "not an ONNX model"),
        ],
    )
    def test_other_content_is_named(self, tmp_path: Path, content: bytes, words: str) -> None:
        path = tmp_path / "model.onnx"
        path.write_bytes(content)
        assert words in refusal(path)

    @pytest.mark.parametrize(
        "message",
        [
            numpy_helper.from_array(np.arange(6, dtype=np.int64), "tensor"),
            numpy_helper.from_array(np.ones((3, 4), np.float32)),
            onnx.load(TORCH_MLP).graph,
            onnx.load(TORCH_MLP).graph.node[0],
            helper.make_tensor_value_info("x", TensorProto.FLOAT, [2]),
            helper.make_function("d", "F", [], [], [], [helper.make_opsetid("", 17)]),
            ModelProto(ir_version=8),
            ModelProto(ir_version=8, opset_import=[helper.make_opsetid("", 17)]),
            ModelProto(graph=onnx.load(TORCH_MLP).graph),
            ModelProto(ir_version=8, graph=onnx.load(TORCH_MLP).graph),
            GraphProto(),
            NodeProto(op_type="Sigmoid"),
        ],
        ids=lambda message: type(message).__name__,
    )
    def test_another_or_incomplete_protobuf(self, tmp_path: Path, message: onnx.ModelProto) -> None:
        path = tmp_path / "model.onnx"
        path.write_bytes(message.SerializeToString())
        assert "not an ONNX model" in refusal(path) or "is empty" in refusal(path)

    @pytest.mark.parametrize("kept", [1, 2, 10, 100, 0.1, 0.5, 0.9, 0.99])
    def test_truncated(self, tmp_path: Path, kept: float) -> None:
        data = TORCH_MLP.read_bytes()
        path = tmp_path / "model.onnx"
        path.write_bytes(data[: kept if isinstance(kept, int) else int(kept * len(data))])
        assert "truncated" in refusal(path)

    def test_truncated_says_how_much_is_missing(self, tmp_path: Path) -> None:
        # The graph is this model's last but one field, the opset_import (6 bytes with its tag) the last.
        data = model_with(
            TensorProto(name="w", data_type=1, dims=[4], float_data=[1, 2, 3, 4])
        ).SerializeToString()
        path = tmp_path / "model.onnx"
        path.write_bytes(data[:-16])
        missing = int(re.search(r"ends (\d+) bytes too early", refusal(path)).group(1))  # type: ignore[union-attr]
        assert 0 < missing <= 16

    def test_no_permission(self, tmp_path: Path) -> None:
        path = write_external_model(tmp_path)
        path.chmod(0)
        with unprivileged(tmp_path):
            assert "permission denied" in refusal(path)

    def test_pipes_sockets_and_devices(self, tmp_path: Path) -> None:
        pipe = tmp_path / "pipe.onnx"
        os.mkfifo(pipe)
        assert "not a regular file" in refusal(pipe)
        with socket.socket(socket.AF_UNIX) as server:
            server.bind(str(tmp_path / "socket.onnx"))
            assert "not a regular file" in refusal(tmp_path / "socket.onnx")
        assert "not a regular file" in refusal("/dev/zero")

    def test_symlink_loop_and_impossible_names(self, tmp_path: Path) -> None:
        loop = tmp_path / "loop.onnx"
        loop.symlink_to(loop)
        refusal(loop)
        refusal(tmp_path / ("x" * 300))
        with pytest.raises(ModelError, match="not a valid file name"):
            load("a\0b.onnx")
        with pytest.raises(ModelError) as caught:
            load(tmp_path / "two\nlines.onnx")
        assert "\n" not in str(caught.value)

    def test_over_two_gibibytes(self, tmp_path: Path) -> None:
        path = tmp_path / "big.onnx"
        path.touch()
        os.truncate(path, 2**31 + 10)
        assert "2 GiB" in refusal(path)

    @settings(deadline=None, max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(data=st.data())
    def test_damaged_files_never_raise_anything_else(self, tmp_path: Path, data: st.DataObject) -> None:
        content = bytearray(TORCH_MLP.read_bytes())
        for _ in range(data.draw(st.integers(1, 8))):
            content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
        path = tmp_path / "model.onnx"
        path.write_bytes(content)
        with suppress(ModelError):
            assert isinstance(load(path), ModelProto)


class TestExternalData:
    def test_is_referred_to_and_not_read(self, tmp_path: Path) -> None:
        path = write_external_model(tmp_path)
        tensor = load(path).graph.initializer[0]
        assert not tensor.raw_data
        assert {entry.key: entry.value for entry in tensor.external_data} == {
            "location": "weights.bin",
            "offset": "8",
            "length": "16",
            "checksum": "1f2e",
        }

    @pytest.mark.parametrize("place", external_everywhere())
    def test_is_found_wherever_it_can_be(self, tmp_path: Path, place: str) -> None:
        model = external_everywhere()[place]
        assert {tensor.name for tensor in external_tensors(model)} == {"there"}
        path = write_model(tmp_path, model)
        assert "'there.bin' is missing" in refusal(path)
        (tmp_path / "there.bin").write_bytes(bytes(15))
        assert "which has only 15 bytes" in refusal(path)
        (tmp_path / "there.bin").write_bytes(bytes(16))
        assert load(path) == model

    def test_in_a_text_format_is_checked_too(self, tmp_path: Path) -> None:
        path = tmp_path / "model.json"
        onnx.save(model_with(external_tensor("w", "w.bin")), path)
        assert "'w.bin' is missing" in refusal(path)

    @pytest.mark.parametrize("size", [0, 8, 23])
    def test_that_ends_too_early(self, tmp_path: Path, size: int) -> None:
        path = write_external_model(tmp_path)
        assert load(path)
        os.truncate(tmp_path / "weights.bin", size)
        assert f"'weights.bin', which has only {size} bytes" in refusal(path)

    @pytest.mark.parametrize(
        ("keys", "fits"),
        [
            ({}, True),
            ({"offset": 16}, True),
            ({"offset": 17}, False),
            ({"length": 32}, True),
            ({"length": 33}, False),
            ({"offset": 32, "length": 0}, True),
            ({"offset": 33, "length": 0}, False),
            ({"offset": 2**63, "length": 16}, False),
            ({"offset": 2**64 - 8, "length": 16}, False),
        ],
    )
    def test_extent_with_and_without_each_key(self, tmp_path: Path, keys: dict[str, int], fits: bool) -> None:
        path = write_model(tmp_path, model_with(external_tensor("w", "w.bin", **keys)))
        (tmp_path / "w.bin").write_bytes(bytes(32))
        if fits:
            assert load(path)
        else:
            assert "has only 32 bytes" in refusal(path)

    @pytest.mark.parametrize("key", ["offset", "length"])
    @pytest.mark.parametrize("text", ["-1", "x", "", " 4", "4.0", "1e3", "٤", "0x10", "1" * 40])
    def test_counts_that_are_none(self, tmp_path: Path, key: str, text: str) -> None:
        path = write_model(tmp_path, model_with(external_tensor("w", "w.bin", **{key: text})))
        (tmp_path / "w.bin").write_bytes(bytes(32))
        assert f"{key} is {text!r}, not a number of bytes" in refusal(path)

    def test_unknown_keys_are_left_alone(self, tmp_path: Path) -> None:
        keys = {"__class__": "x", "basepath": "/etc", "anything": "1"}
        path = write_model(tmp_path, model_with(external_tensor("w", "w.bin", **keys)))
        (tmp_path / "w.bin").write_bytes(bytes(16))
        assert len(load(path).graph.initializer[0].external_data) == 4

    def test_a_key_given_twice(self, tmp_path: Path) -> None:
        tensor = external_tensor("w", "w.bin")
        tensor.external_data.add(key="location", value="/etc/passwd")
        (tmp_path / "w.bin").write_bytes(bytes(16))
        assert "'location' twice" in refusal(write_model(tmp_path, model_with(tensor)))

    def test_without_a_location(self, tmp_path: Path) -> None:
        tensor = external_tensor("w", "")
        assert "names no file" in refusal(write_model(tmp_path, model_with(tensor)))
        del tensor.external_data[:]
        assert "names no file" in refusal(write_model(tmp_path, model_with(tensor)))

    @pytest.mark.parametrize(
        ("location", "words"),
        [
            ("/etc/passwd", "absolute"),
            ("//etc/passwd", "absolute"),
            ("C:\\weights.bin", "absolute"),
            ("\\\\server\\share\\w.bin", "absolute"),
            ("..", "'..'"),
            ("../w.bin", "'..'"),
            ("sub/../w.bin", "'..'"),
            ("sub/../../w.bin", "'..'"),
            ("sub\\..\\..\\w.bin", "'..'"),
            ("w.bin\0.png", "valid file name"),
            (".", "not a regular file"),
            ("sub", "not a regular file"),
            ("model.onnx", "the model file itself"),
            ("./model.onnx", "the model file itself"),
            ("w.bin/x", "not a directory"),
            ("x" * 300, "name too long"),
            ("new\nline", "'new\\nline' is missing"),
        ],
    )
    def test_locations_that_are_refused(self, tmp_path: Path, location: str, words: str) -> None:
        folder = tmp_path / "folder"
        (folder / "sub").mkdir(parents=True)
        for target in (tmp_path / "w.bin", folder / "w.bin"):
            target.write_bytes(bytes(16))
        assert words in refusal(write_model(folder, model_with(external_tensor("w", location))))

    @pytest.mark.parametrize(
        "location", ["w.bin", "./w.bin", "sub/w.bin", "sub//w.bin", "a..b.bin", "ünï ☃ :: w.bin"]
    )
    def test_locations_that_are_followed(self, tmp_path: Path, location: str) -> None:
        model = model_with(external_tensor("w", location))
        (tmp_path / location).parent.mkdir(exist_ok=True)
        (tmp_path / location).write_bytes(bytes(16))
        assert load(write_model(tmp_path, model)) == model

    def test_symlinks_out_of_the_folder(self, tmp_path: Path) -> None:
        outside = tmp_path / "outside"
        outside.mkdir()
        (outside / "w.bin").write_bytes(bytes(16))
        file_link = write_model(tmp_path / "a", model_with(external_tensor("w", "w.bin")))
        (tmp_path / "a" / "w.bin").symlink_to(outside / "w.bin")
        assert "through a symlink" in refusal(file_link)
        folder_link = write_model(tmp_path / "b", model_with(external_tensor("w", "sub/w.bin")))
        (tmp_path / "b" / "sub").symlink_to(outside)
        assert "through a symlink" in refusal(folder_link)
        sibling = write_model(tmp_path / "out", model_with(external_tensor("w", "w.bin")))
        (tmp_path / "out" / "w.bin").symlink_to(outside / "w.bin")  # "outside" starts with "out"
        assert "through a symlink" in refusal(sibling)

    def test_symlinks_within_the_folder(self, tmp_path: Path) -> None:
        path = write_model(tmp_path / "a", model_with(external_tensor("w", "w.bin")))
        (tmp_path / "a" / "real.bin").write_bytes(bytes(16))
        (tmp_path / "a" / "w.bin").symlink_to("real.bin")
        assert load(path)
        (tmp_path / "b").symlink_to("a")
        assert load(tmp_path / "b" / "model.onnx")

    def test_a_model_that_is_itself_a_symlink_is_told_where_it_leads(self, tmp_path: Path) -> None:
        path = write_external_model(tmp_path / "a")
        link = tmp_path / "link.onnx"
        link.symlink_to(path)
        assert str(path) in refusal(link)

    def test_hard_links(self, tmp_path: Path) -> None:
        path = write_external_model(tmp_path / "a")
        assert load(path)
        os.link(tmp_path / "a" / "weights.bin", tmp_path / "elsewhere.bin")
        assert "hard link" in refusal(path)
        (tmp_path / "elsewhere.bin").unlink()
        assert load(path)

    def test_pipes_are_not_waited_for(self, tmp_path: Path) -> None:
        os.mkfifo(tmp_path / "w.bin")
        assert "not a regular file" in refusal(
            write_model(tmp_path, model_with(external_tensor("w", "w.bin")))
        )
