"""`onnx-ascend convert --portable`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import onnx
import onnx.parser

Command = Any


def written(folder: Path, node: str) -> Path:
    model = onnx.parser.parse_model(
        '<ir_version: 8, opset_import: ["": 17, "com.microsoft": 1]>'
        f" g (float[3] x, float[3] y) => (float[3] z) {{ {node} }}"
    )
    path = folder / "model.onnx"
    onnx.save(model, path)
    return path


def test_the_tables_say_what_became_of_each_operator(
    onnx_ascend: Command, models: Path, tmp_path: Path
) -> None:
    target = tmp_path / "portable.onnx"
    ended = onnx_ascend(
        "convert", models / "ort_mnist_mlp" / "training_model.onnx", "-o", target, "--portable"
    )
    assert ended.status == 0, ended.stderr
    assert "2 gradients, 0 near misses, 7 training-only nodes made portable" in ended.stdout
    assert "onnx_ascend_ext.portable::InPlaceAccumulatorV2" in ended.stdout
    assert "c.bias_grad.accumulation.buffer.updated" in ended.stdout
    kinds = {(node.domain, node.op_type) for node in onnx.load(target).graph.node}
    assert not any(domain == "com.microsoft" for domain, _ in kinds)


def test_the_json_names_the_new_outputs(onnx_ascend: Command, models: Path, tmp_path: Path) -> None:
    ended = onnx_ascend(
        "convert",
        models / "ort_mnist_mlp" / "optimizer_model.onnx",
        "-o",
        tmp_path / "portable.onnx",
        "--portable",
        "--json",
    )
    assert ended.status == 0, ended.stderr
    updates = {entry["value"]: entry["output"] for entry in ended.json["portable"]["updates"]}
    assert updates == {
        "params": "params.updated",
        "first_order_moments": "first_order_moments.updated",
        "second_order_moments": "second_order_moments.updated",
    }
    assert ended.json["portable"]["remaining"] == []


def test_without_the_option_the_json_says_nothing_of_it(
    onnx_ascend: Command, models: Path, tmp_path: Path
) -> None:
    ended = onnx_ascend(
        "convert", models / "ort_mnist_mlp" / "training_model.onnx", "-o", tmp_path / "plain.onnx", "--json"
    )
    assert "portable" not in ended.json


def test_what_has_no_definition_is_named_and_warned_of(onnx_ascend: Command, tmp_path: Path) -> None:
    path = written(tmp_path, '["wait"] z = com.microsoft.YieldOp <full_shape_outputs = [0]> (x)')
    ended = onnx_ascend("convert", path, "-o", tmp_path / "portable.onnx", "--portable")
    assert ended.status == 0
    assert "0 training-only nodes made portable, 1 not" in ended.stdout
    assert "YieldOp" in ended.stdout
    assert "1 training-only node has no portable definition" in ended.stderr


def test_restore_takes_a_portable_model_back_to_standard_operators(
    onnx_ascend: Command, models: Path, tmp_path: Path
) -> None:
    portable, plain = tmp_path / "portable.onnx", tmp_path / "plain.onnx"
    onnx_ascend("convert", models / "ort_lenet_sigmoid" / "training_model.onnx", "-o", portable, "--portable")
    ended = onnx_ascend("restore", portable, "-o", plain)
    assert ended.status == 0, ended.stderr
    model = onnx.load(plain)
    assert {node.domain for node in model.graph.node} == {""}
    assert len(model.functions) == 0
