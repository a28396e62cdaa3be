from __future__ import annotations

import os
import shutil
from pathlib import Path

import onnx
import pytest

TORCH = ["torch_mlp", "torch_lstm_cell", "torch_glu", "torch_mlp_f16"]
EXPECTED = {"torch_mlp": 1, "torch_lstm_cell": 9, "torch_glu": 1, "torch_mlp_f16": 1, "onnxad_mlp": 1}
ORT_EXPECTED = {"ort_mnist_mlp": 2, "ort_lenet_sigmoid": 2, "ort_deep": 8}


def kernel_nodes(path: Path) -> list[onnx.NodeProto]:
    return [node for node in onnx.load(path).graph.node if node.domain == "onnx_ascend_ext"]


@pytest.mark.parametrize(("case", "expected"), EXPECTED.items())
def test_a_real_graph_converts_and_verifies_on_its_stored_inputs(
    onnx_ascend, models: Path, tmp_path: Path, case: str, expected: int
) -> None:
    target = tmp_path / "converted.onnx"
    ended = onnx_ascend(
        "convert", models / case / "model.onnx", "-o", target, "--json",
        "--verify", "--inputs", models / case / "inputs.npz",
    )  # fmt: skip
    assert ended.status == 0, ended.stderr
    result = ended.json
    assert len(result["matches"]) == expected
    assert len(kernel_nodes(target)) == expected
    onnx.checker.check_model(onnx.load(target), full_check=True)
    verification = result["verification"]
    assert verification["ok"]
    assert list(verification["nodes"].values()) == ["AscendExecutionProvider"] * expected
    assert verification["device"]["simulated"] is True


@pytest.mark.parametrize(("case", "expected"), ORT_EXPECTED.items())
def test_a_training_graph_of_onnx_runtime_converts(
    onnx_ascend, models: Path, tmp_path: Path, case: str, expected: int
) -> None:
    target = tmp_path / "converted.onnx"
    ended = onnx_ascend("convert", models / case / "training_model.onnx", "-o", target, "--json")
    assert ended.status == 0, ended.stderr
    assert [match["origin"] for match in ended.json["matches"]] == ["named"] * expected
    assert len(kernel_nodes(target)) == expected
    assert not [node for node in onnx.load(target).graph.node if node.op_type == "SigmoidGrad"]


def test_an_inference_graph_has_no_gradient_and_says_so(onnx_ascend, models: Path, tmp_path: Path) -> None:
    source, target = models / "ort_mnist_mlp" / "eval_model.onnx", tmp_path / "out.onnx"
    ended = onnx_ascend("convert", source, "-o", target)
    assert ended.status == 0
    assert "0 gradients" in ended.stdout
    assert target.exists()
    required = onnx_ascend("convert", source, "-o", tmp_path / "required.onnx", "--require-match")
    assert required.status == 1
    assert "no gradient was found" in required.error_line
    assert not (tmp_path / "required.onnx").exists()


def test_the_table_names_the_nodes_where_they_ran_and_the_simulator(
    onnx_ascend, models: Path, tmp_path: Path
) -> None:
    ended = onnx_ascend(
        "convert", models / "torch_lstm_cell" / "model.onnx", "-o", tmp_path / "out.onnx", "--verify"
    )
    assert ended.status == 0, ended.stderr
    assert "9 gradients" in ended.stdout
    assert ended.stdout.count("AscendExecutionProvider") == 9
    assert "simulator" in ended.stdout
    assert "largest absolute error" in ended.stdout


def test_a_graph_that_stock_onnx_runtime_cannot_run_is_written_but_not_called_verified(
    onnx_ascend, models: Path, tmp_path: Path
) -> None:
    target = tmp_path / "out.onnx"
    ended = onnx_ascend("convert", models / "ort_deep" / "training_model.onnx", "-o", target, "--verify")
    assert ended.status == 1
    assert "is written but could not be verified" in ended.stderr
    assert "SoftmaxCrossEntropyLossGrad" in ended.stderr
    assert len(kernel_nodes(target)) == 8


def test_converting_in_place_and_twice_is_safe(onnx_ascend, models: Path, tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    shutil.copy(models / "torch_mlp" / "model.onnx", path)
    assert onnx_ascend("convert", path, "-o", path).status == 0
    once = path.read_bytes()
    again = onnx_ascend("convert", path, "-o", path, "--json")
    assert again.json["matches"] == []
    assert path.read_bytes() == once


class TestBadInput:
    """One line that says what is wrong and where; nothing written, nothing overwritten."""

    @pytest.fixture
    def target(self, tmp_path: Path) -> Path:
        path = tmp_path / "target.onnx"
        path.write_bytes(b"precious")
        return path

    @pytest.mark.parametrize("content", [b"", b"hello, I am not ONNX", bytes(range(256)) * 8])
    def test_a_file_that_is_no_model(self, onnx_ascend, tmp_path: Path, target: Path, content: bytes) -> None:
        source = tmp_path / "source.onnx"
        source.write_bytes(content)
        self.refused(onnx_ascend("convert", source, "-o", target), "source.onnx", target)

    def test_a_truncated_model(self, onnx_ascend, models: Path, tmp_path: Path, target: Path) -> None:
        whole = (models / "torch_lstm_cell" / "model.onnx").read_bytes()
        source = tmp_path / "source.onnx"
        for length in (1, 10, len(whole) // 2, len(whole) - 1):
            source.write_bytes(whole[:length])
            self.refused(onnx_ascend("convert", source, "-o", target), "source.onnx", target)

    def test_a_missing_model(self, onnx_ascend, tmp_path: Path, target: Path) -> None:
        self.refused(onnx_ascend("convert", tmp_path / "gone.onnx", "-o", target), "gone.onnx", target)

    def test_a_missing_external_file(self, onnx_ascend, models: Path, tmp_path: Path, target: Path) -> None:
        model = onnx.load(models / "torch_mlp" / "model.onnx")
        onnx.save(
            model, tmp_path / "source.onnx", save_as_external_data=True,
            location="weights.bin", size_threshold=0, convert_attribute=True,
        )  # fmt: skip
        (tmp_path / "weights.bin").unlink()
        self.refused(onnx_ascend("convert", tmp_path / "source.onnx", "-o", target), "weights.bin", target)

    def test_an_output_folder_that_does_not_exist(self, onnx_ascend, models: Path, tmp_path: Path) -> None:
        target = tmp_path / "no" / "such" / "out.onnx"
        ended = onnx_ascend("convert", models / "torch_mlp" / "model.onnx", "-o", target)
        assert ended.status == 1
        assert str(target.parent) in ended.error_line
        assert not (tmp_path / "no").exists()

    @pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
    def test_an_output_folder_that_may_not_be_written(
        self, onnx_ascend, models: Path, tmp_path: Path
    ) -> None:
        folder = tmp_path / "readonly"
        folder.mkdir(mode=0o500)
        ended = onnx_ascend("convert", models / "torch_mlp" / "model.onnx", "-o", folder / "out.onnx")
        assert ended.status == 1
        assert "readonly" in ended.error_line

    @pytest.mark.parametrize("arguments", [["--frobnicate"], ["--only"], ["--jobs", "0"], ["--dim", "N"]])
    def test_wrong_usage_exits_with_2(
        self, onnx_ascend, models: Path, target: Path, arguments: list[str]
    ) -> None:
        ended = onnx_ascend("convert", models / "torch_mlp" / "model.onnx", "-o", target, *arguments)
        assert ended.status == 2
        assert "Error:" in ended.stderr
        assert target.read_bytes() == b"precious"

    def test_an_unknown_kernel_is_refused_with_the_known_ones(
        self, onnx_ascend, models: Path, target: Path
    ) -> None:
        ended = onnx_ascend("convert", models / "torch_mlp" / "model.onnx", "-o", target, "--only", "Sigmoid")
        assert ended.status == 2
        assert "SigmoidBackward" in ended.stderr
        assert target.read_bytes() == b"precious"

    @staticmethod
    def refused(ended, named: str, target: Path) -> None:
        assert ended.status == 1
        assert named in ended.error_line
        assert "Traceback" not in ended.stderr
        assert ended.stdout == ""
        assert target.read_bytes() == b"precious"
        assert {path.name for path in target.parent.iterdir()} <= {"target.onnx", "source.onnx"}

    @pytest.mark.parametrize("empty", ["IN", "OUT"])
    def test_an_empty_path(self, onnx_ascend, models: Path, tmp_path: Path, empty: str) -> None:
        shutil.copy(models / "torch_mlp" / "model.onnx", tmp_path / "model.onnx")
        before = (tmp_path / "model.onnx").read_bytes()
        paths = {"IN": ("", "-o", "x.onnx"), "OUT": ("model.onnx", "-o", "")}[empty]
        ended = onnx_ascend("convert", *paths, cwd=tmp_path)
        assert ended.status == 2
        assert "the path is empty" in ended.stderr
        assert (tmp_path / "model.onnx").read_bytes() == before
        assert list(tmp_path.iterdir()) == [tmp_path / "model.onnx"]

    @pytest.mark.parametrize("device", ["/dev/null", "/dev/fd/1", "/proc/self/fd/1"])
    def test_a_device_as_output(self, onnx_ascend, models: Path, device: str) -> None:
        is_link = Path(device).is_symlink()
        ended = onnx_ascend("convert", models / "torch_mlp" / "model.onnx", "-o", device)
        assert ended.status == 1
        assert device in ended.error_line
        assert Path(device).is_symlink() == is_link

    def test_a_name_that_is_too_long(self, onnx_ascend, models: Path, tmp_path: Path) -> None:
        ended = onnx_ascend("convert", models / "torch_mlp" / "model.onnx", "-o", tmp_path / ("x" * 300))
        assert ended.status == 1
        assert "too long" in ended.error_line
        assert "internal error" not in ended.stderr
