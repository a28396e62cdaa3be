from __future__ import annotations

import gc
import json
import os
import subprocess
import sys
from pathlib import Path

import onnx
import pytest

import onnx_ascend_ext as ax
from onnx_ascend_ext.graph import Scope, paused_collection

from .checking import check, check_same_values, kernel_nodes, op_types, parse
from .patterns import graph

NAMED = """
<ir_version: 8, opset_import: ["" : 18, "com.microsoft" : 1]>
g (float[N] dy, float[N] x) => (float[N] dx, float[N] y) {
  y = Sigmoid(x)
  [grad] dx = com.microsoft.SigmoidGrad(dy, y)
}
"""
FOREIGN = """
<ir_version: 8, opset_import: ["" : 18, "com.example" : 1]>
g (float[N] dy, float[N] y) => (float[N] dx) { [grad] dx = com.example.SigmoidGrad(dy, y) }
"""


@pytest.fixture
def file(tmp_path) -> Path:
    path = tmp_path / "module é.onnx"
    onnx.save(parse(NAMED), path)
    return path


def test_a_model_is_converted_and_not_changed():
    conversion = check(parse(NAMED))
    assert op_types(conversion.model) == ["Sigmoid", "SigmoidBackward"]
    assert conversion.source is None


@pytest.mark.parametrize("kind", [str, Path])
def test_a_file_is_converted_and_not_changed(file, kind):
    before = file.read_bytes()
    conversion = ax.convert(kind(file))
    assert len(conversion.matches) == 1
    assert conversion.source == file
    assert file.read_bytes() == before
    assert conversion.model == ax.convert(parse(NAMED)).model


@pytest.mark.parametrize(
    "body",
    [
        "d = Sub(one, y) h = Mul(d, half) s = Mul(h, y) dx = Mul(s, dy) t = Mul(d, y) z = Add(t, s)",
        "d = Sub(one, y) s = Mul(d, y) dx = Mul(s, dy) two = Add(one, one) e = Sub(two, s) f = Mul(one, s) "
        "z = Mul(f, e)",
    ],
)
def test_gradients_that_show_once_others_are_converted_are_converted_too(body):
    model = graph(
        body,
        outputs="float[N,4] dx, float[N,4] z",
        values="float one = {1.0}, float[4] half = {0.5, 0.5, 0.5, 0.5}",
    )
    conversion = check(model)
    check_same_values(model, conversion)
    order = [name for node in model.graph.node for name in node.output]
    places = [order.index(match.result) for match in conversion.matches]
    assert len(places) > 1
    assert places == sorted(places)


@pytest.mark.parametrize(
    ("body", "results"),
    [
        (
            "w = Mul(y, y) d = Sub(one, w) h = Mul(d, half) s = Mul(h, w) t = Transpose(s) e = Sub(one, t) "
            "f = Mul(e, t) u = Transpose(f) k = Mul(s, w) z = Mul(u, k)",
            ["s", "k", "z"],
        ),
        (
            "w = Mul(y, y) d = Sub(one, w) h = Mul(d, half) s = Mul(h, w) t = Transpose(s) e = Relu(t) "
            "f = Mul(e, t) u = Transpose(f) k = Mul(s, w) z = Mul(u, k)",
            ["s", "k"],
        ),
    ],
)
def test_the_result_of_a_match_with_a_constant_gradient_is_an_operand_of_others(body, results):
    model = graph(
        body, outputs="float[4,4] z", inputs="float[4,4] y", values="float one = {1.0}, float half = {0.5}"
    )
    conversion = check(model)
    assert [match.result for match in conversion.matches] == results
    check_same_values(model, conversion)


def test_anything_else_is_a_type_error():
    with pytest.raises(TypeError, match="not bytes"):
        ax.convert(parse(NAMED).SerializeToString())


def test_the_report_as_json():
    document = ax.convert(parse(NAMED)).to_dict()
    assert document == {
        "schema": 1,
        "matches": [
            {
                "kernel": "SigmoidBackward",
                "scope": "main",
                "nodes": ["grad"],
                "inputs": {"grad_output": "dy", "output": "y"},
                "result": "dx",
                "origin": "named",
                "proven_sigmoid": True,
            }
        ],
        "near_misses": [],
        "warnings": [],
        "converted_before": 0,
    }
    assert json.loads(json.dumps(document)) == document


def test_the_report_counts_what_was_converted_before():
    again = ax.inspect(ax.convert(parse(NAMED)).model)
    assert (len(again.matches), again.converted_before) == (0, 1)
    assert str(again) == "model: 0 matches, 0 near misses, 1 converted before"


def test_a_near_miss_as_json():
    document = ax.convert(parse(FOREIGN)).to_dict()
    assert document["matches"] == []
    (near_miss,) = document["near_misses"]
    assert (near_miss["node"], near_miss["scope"]) == ("grad", "main")
    assert "operand order of this producer is unknown" in near_miss["reason"]


def test_the_summary_is_short(file):
    conversion = ax.convert(file)
    lines = str(conversion).splitlines()
    assert lines == [
        f"{file}: 1 match, 0 near misses",
        "  dx = SigmoidBackward(dy, y)  [main]",
    ]
    conversion.matches *= 1000
    assert len(str(conversion).splitlines()) < 20


def test_inspection_reports_the_same_and_changes_nothing(file):
    model = parse(NAMED)
    before = model.SerializeToString()
    inspection = ax.inspect(model)
    assert inspection.to_dict() == ax.convert(model).to_dict() == ax.inspect(file).to_dict()
    assert model.SerializeToString() == before


def test_inspection_gives_the_reasons_that_conversion_gives():
    model = parse(NAMED)
    model.opset_import[0].version = 6
    assert ax.inspect(model).to_dict() == ax.convert(model).to_dict()
    assert ax.inspect(model).matches == []
    assert "opset 6" in str(ax.inspect(model))


@pytest.mark.parametrize(
    ("choice", "found"),
    [
        ({"only": ["SigmoidBackward"]}, 1),
        ({"only": "SigmoidBackward"}, 1),
        ({"exclude": []}, 1),
        ({"only": None, "exclude": None}, 1),
        ({"only": []}, 0),
        ({"exclude": ["SigmoidBackward"]}, 0),
        ({"only": ["SigmoidBackward"], "exclude": ("SigmoidBackward",)}, 0),
        ({"only": iter(["SigmoidBackward"])}, 1),
    ],
)
def test_kernels_can_be_chosen(choice, found):
    conversion = ax.convert(parse(NAMED), **choice)
    assert len(conversion.matches) == len(kernel_nodes(conversion.model)) == found


@pytest.mark.parametrize("argument", ["only", "exclude"])
def test_an_unknown_kernel_is_an_error_that_lists_the_known(argument):
    for function in (ax.convert, ax.inspect):
        with pytest.raises(ax.AscendExtError, match="no kernel 'Sigmoid'.*SigmoidBackward"):
            function(parse(NAMED), **{argument: ["Sigmoid"]})


def test_an_error_of_a_file_names_the_file(tmp_path):
    model = parse(NAMED)
    model.opset_import.add(domain=ax.DOMAIN, version=9)
    onnx.save(model, tmp_path / "m.onnx")
    for function in (ax.convert, ax.inspect):
        with pytest.raises(ax.ModelError) as caught:
            function(tmp_path / "m.onnx")
        assert str(caught.value).startswith(f"{tmp_path / 'm.onnx'}: the model imports")
        assert "\n" not in str(caught.value)


def test_a_missing_file_is_an_error(tmp_path):
    with pytest.raises(ax.ModelError, match=r"gone\.onnx"):
        ax.convert(tmp_path / "gone.onnx")


def test_saving_writes_the_converted_model(file, tmp_path):
    conversion = ax.convert(file)
    conversion.save(tmp_path / "out.onnx")
    assert onnx.load(tmp_path / "out.onnx") == conversion.model
    onnx.checker.check_model(tmp_path / "out.onnx", full_check=True)


def test_a_file_that_is_converted_twice_has_the_same_bytes(file, tmp_path):
    ax.convert(file).save(tmp_path / "once.onnx")
    ax.convert(tmp_path / "once.onnx").save(tmp_path / "twice.onnx")
    ax.convert(file).save(file)
    assert (
        (tmp_path / "once.onnx").read_bytes() == (tmp_path / "twice.onnx").read_bytes() == file.read_bytes()
    )


def test_every_process_writes_the_same_bytes(tmp_path, models):
    program = "import sys, onnx_ascend_ext as ax; ax.convert(sys.argv[1]).save(sys.argv[2])"
    source = models / "torch_lstm_cell" / "model.onnx"
    for seed in ("1", "2"):
        subprocess.run(
            [sys.executable, "-c", program, source, tmp_path / seed],
            env=os.environ | {"PYTHONHASHSEED": seed},
            check=True,
            timeout=120,
        )
    assert (tmp_path / "1").read_bytes() == (tmp_path / "2").read_bytes()


def test_a_restored_file_has_standard_operators_only(file, tmp_path):
    ax.convert(file).save(tmp_path / "converted.onnx")
    restored = ax.restore(tmp_path / "converted.onnx")
    assert op_types(restored) == ["Sigmoid", "Constant", "CastLike", "Sub", "Mul", "Mul"]
    assert [o.domain for o in restored.opset_import] == ["", "com.microsoft"]
    onnx.checker.check_model(restored, full_check=True)


BODIES = """
  out = If (b) <
    then_branch = then () => (float[N,4] r) { d = Sub(one, y) s = Mul(d, y) r = Mul(s, dy) },
    else_branch = otherwise () => (float[N,4] q) { q = Identity(dy) }
  >
"""


@pytest.mark.parametrize(
    "model",
    [graph(), graph(BODIES, inputs="bool b, float[N,4] dy, float[N,4] y", outputs="float[N,4] out")],
    ids=["flat", "bodies"],
)
@pytest.mark.parametrize("work", [ax.convert, ax.inspect])
def test_nothing_but_the_result_stays_in_memory(model, work):
    def indexed() -> int:
        return sum(isinstance(thing, Scope) for thing in gc.get_objects())

    with paused_collection():
        before = indexed()
        assert len(work(model).matches) == 1
        assert indexed() == before
