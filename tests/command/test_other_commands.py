from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import ml_dtypes
import numpy as np
import onnx
import pytest


@pytest.fixture(scope="module")
def converted(onnx_ascend, models: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("converted") / "model.onnx"
    assert onnx_ascend("convert", models / "torch_mlp" / "model.onnx", "-o", path).status == 0
    return path


def test_help_loads_neither_onnx_nor_onnx_runtime_nor_numpy() -> None:
    program = (
        "import sys, click\n"
        "from onnx_ascend_ext.command.group import cli\n"
        "cli.main(['--help'], standalone_mode=False)\n"
        "print(sorted({'onnx', 'onnxruntime', 'numpy', 'rich'} & set(sys.modules)))"
    )
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert ended.stdout.splitlines()[-1] == "[]"
    assert "convert" in ended.stdout


def test_every_command_has_help(onnx_ascend) -> None:
    for name in ("convert", "inspect", "verify", "run", "restore", "train", "bench", "kernels", "doctor"):
        ended = onnx_ascend(name, "--help")
        assert ended.status == 0
        assert f"onnx-ascend {name}" in ended.stdout


def test_the_version_is_the_packages(onnx_ascend) -> None:
    import onnx_ascend_ext

    assert onnx_ascend("--version").stdout == f"onnx-ascend {onnx_ascend_ext.__version__}\n"


def test_an_unknown_command_exits_with_2(onnx_ascend) -> None:
    ended = onnx_ascend("transmogrify")
    assert ended.status == 2
    assert "No such command 'transmogrify'" in ended.stderr


def test_inspect_shows_matches_and_writes_nothing(onnx_ascend, models: Path, tmp_path: Path) -> None:
    ended = onnx_ascend("inspect", models / "torch_mlp" / "model.onnx", "--json", cwd=tmp_path)
    assert ended.status == 0, ended.stderr
    result = ended.json
    assert result["schema"] == 1
    (match,) = result["matches"]
    assert set(match) >= {"kernel", "scope", "nodes", "inputs", "result", "origin", "proven_sigmoid"}
    assert match["kernel"] == "SigmoidBackward"
    assert set(match["inputs"]) == {"grad_output", "output"}
    assert match["origin"] == "algebra"
    assert match["proven_sigmoid"] is True
    assert list(tmp_path.iterdir()) == []


def test_verify_holds_for_the_converted_model(onnx_ascend, models: Path, converted: Path) -> None:
    ended = onnx_ascend("verify", models / "torch_mlp" / "model.onnx", converted, "--seed", 3, "--json")
    assert ended.status == 0, ended.stderr
    assert ended.json["ok"] is True
    assert 0 <= ended.json["max_abs_error"] < 1e-5
    assert set(ended.json["nodes"].values()) == {"AscendExecutionProvider"}


def test_verify_fails_for_a_model_that_computes_something_else(
    onnx_ascend, models: Path, converted: Path, tmp_path: Path
) -> None:
    model = onnx.load(converted)
    (kernel,) = (node for node in model.graph.node if node.domain == "onnx_ascend_ext")
    kernel.input[0], kernel.input[1] = kernel.input[1], kernel.input[0]
    onnx.save(model, tmp_path / "swapped.onnx")
    ended = onnx_ascend("verify", models / "torch_mlp" / "model.onnx", tmp_path / "swapped.onnx", "--json")
    assert ended.status == 1
    assert ended.json["ok"] is False
    assert ended.json["max_abs_error"] > 1e-3


def test_verify_names_a_second_model_without_converted_nodes_and_no_npu(
    onnx_ascend, models: Path, converted: Path
) -> None:
    original = models / "torch_mlp" / "model.onnx"
    ended = onnx_ascend("verify", converted, original)
    assert ended.status == 0
    assert f"{original} has no converted node" in ended.stdout.replace("\n", "")
    document = onnx_ascend("verify", converted, original, "--json").json
    assert (document["nodes"], document["device"]) == ({}, None)
    document = onnx_ascend("verify", original, converted, "--json").json
    assert document["device"]["name"] == "npu:0"


def test_inspect_counts_what_was_converted_before(onnx_ascend, models: Path, converted: Path) -> None:
    assert "0 gradients, 0 near misses, 1 converted before" in onnx_ascend("inspect", converted).stdout
    original = models / "torch_mlp" / "model.onnx"
    assert "converted before" not in onnx_ascend("inspect", original).stdout
    both = onnx_ascend("inspect", original, converted, "--json").json
    assert both["ok"]
    assert [(file["ok"], file["converted_before"]) for file in both["files"]] == [(True, 0), (True, 1)]


def test_verify_refuses_two_different_models(onnx_ascend, models: Path, converted: Path) -> None:
    ended = onnx_ascend("verify", models / "torch_glu" / "model.onnx", converted)
    assert ended.status == 1
    assert "not two forms of one model" in ended.error_line


def test_run_writes_its_outputs(onnx_ascend, models: Path, converted: Path, tmp_path: Path) -> None:
    stored = models / "torch_mlp"
    ended = onnx_ascend(
        "run", converted, "--inputs", stored / "inputs.npz", "--outputs", tmp_path / "out.npz", "--json"
    )
    assert ended.status == 0, ended.stderr
    assert ended.json["ok"] is True
    with np.load(tmp_path / "out.npz") as written, np.load(stored / "outputs.npz") as expected:
        assert written.files
        for name in expected.files:
            np.testing.assert_allclose(written[name], expected[name], rtol=1e-5, atol=1e-6)


@pytest.fixture
def on_a_device_without_the_kernel() -> dict[str, str]:
    return {"ASCEND_SIM_SOC": "Ascend310B1"}


def test_a_node_that_falls_back_to_the_cpu_fails_the_run_and_is_named(
    onnx_ascend, converted: Path, on_a_device_without_the_kernel: dict[str, str]
) -> None:
    (name,) = (node.name for node in onnx.load(converted).graph.node if node.domain == "onnx_ascend_ext")
    ended = onnx_ascend("run", converted, **on_a_device_without_the_kernel)
    assert ended.status == 1
    assert "ran on the CPU" in ended.stderr
    assert name in ended.stderr
    allowed = onnx_ascend("run", converted, "--allow-cpu", "--json", **on_a_device_without_the_kernel)
    assert allowed.status == 0
    assert allowed.json["nodes"] == {name: "CPUExecutionProvider"}
    assert allowed.json["cpu_fallback"] == [name]
    assert "Ascend310B1" in allowed.json["cpu_reasons"][name]
    assert "does not support Ascend310B1" in ended.stderr


def test_verify_fails_where_a_node_falls_back_to_the_cpu(
    onnx_ascend, models: Path, converted: Path, on_a_device_without_the_kernel: dict[str, str]
) -> None:
    arguments = ("verify", models / "torch_mlp" / "model.onnx", converted)
    assert onnx_ascend(*arguments, **on_a_device_without_the_kernel).status == 1
    allowed = onnx_ascend(*arguments, "--allow-cpu", "--json", **on_a_device_without_the_kernel)
    assert allowed.status == 0
    assert allowed.json["ok"] is True


def test_restore_gives_standard_operators_that_compute_the_same(
    onnx_ascend, models: Path, converted: Path, tmp_path: Path
) -> None:
    restored = tmp_path / "restored.onnx"
    assert onnx_ascend("restore", converted, "-o", restored).status == 0
    model = onnx.load(restored)
    assert {node.domain for node in model.graph.node} == {""}
    assert "onnx_ascend_ext" not in {entry.domain for entry in model.opset_import}
    ended = onnx_ascend("verify", models / "torch_mlp" / "model.onnx", restored, "--json")
    assert ended.status == 0, ended.stderr
    assert ended.json["nodes"] == {}


def test_restore_reads_its_model_once(
    converted: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from onnx_ascend_ext.command import entry
    from onnx_ascend_ext.model_files import reading

    parsed = []
    parse = reading.parse
    monkeypatch.setattr(reading, "parse", lambda data, path: parsed.append(path) or parse(data, path))
    monkeypatch.setattr(onnx, "load", None)
    assert entry._run(["restore", str(converted), "-o", str(tmp_path / "restored.onnx")]) == 0
    assert parsed == [converted]


@pytest.mark.parametrize("command", ["run", "bench"])
def test_what_this_model_or_machine_does_not_have_is_a_failure_and_what_none_has_wrong_usage(
    onnx_ascend, converted: Path, command: str
) -> None:
    for option, value, status, words in (
        ("--dim", "zzz=3", 1, "no input has a dimension named zzz"),
        ("--device-id", "5", 1, "there is no NPU 5"),
        ("--dim", "zzz=-3", 2, "is not NAME=SIZE"),
        ("--device-id", "-1", 2, "is not in the range"),
    ):
        ended = onnx_ascend(command, converted, option, value)
        assert (ended.status, words in ended.stderr) == (status, True), ended.stderr


def test_a_dtype_has_one_name_everywhere(onnx_ascend, converted: Path) -> None:
    (kernel,) = onnx_ascend("doctor", "--json").json["kernels"]
    (support,) = kernel["devices"]
    for name in support["dtypes"]:
        assert np.dtype(getattr(ml_dtypes, name, name)).name == name
    shown = onnx_ascend("run", converted, "--json").json["outputs"].values()
    compared = onnx_ascend("verify", converted, converted, "--json").json["outputs"]
    assert {output["dtype"] for output in (*shown, *compared)} == {"float32"} <= set(support["dtypes"])


def test_bench_times_both_sides(onnx_ascend, converted: Path) -> None:
    ended = onnx_ascend("bench", converted, "--runs", 3, "--json")
    assert ended.status == 0, ended.stderr
    assert set(ended.json["median_seconds"]) == {"npu", "cpu"}
    assert ended.json["cpu_over_npu"] > 0


def test_kernels_lists_operand_orders(onnx_ascend) -> None:
    (kernel,) = onnx_ascend("kernels", "--json").json["kernels"]
    orders = {(entry["domain"], entry["op_type"]): entry["operands"] for entry in kernel["replaces"]}
    assert orders["com.microsoft", "SigmoidGrad"] == ["grad_output", "output"]
    assert orders["ai.onnx.converters.tensorflow", "SigmoidGrad"] == ["output", "grad_output"]


class TestDoctor:
    def test_it_reports_the_simulator_its_devices_and_dtypes(self, onnx_ascend) -> None:
        ended = onnx_ascend("doctor", "--json", ONNX_ASCEND_BACKEND="simulator", ASCEND_SIM_DEVICES="2")
        assert ended.status == 0, ended.stdout
        result = ended.json
        assert result["ok"] is True
        assert result["backend"]["backend"] == "simulator"
        assert [device["id"] for device in result["devices"]] == [0, 1]
        (kernel,) = result["kernels"]
        assert kernel["name"] == "SigmoidBackward"
        assert len(kernel["devices"]) == 2
        assert "bfloat16" in kernel["devices"][0]["dtypes"]

    def test_it_knows_that_a_first_generation_device_has_no_bfloat16(self, onnx_ascend) -> None:
        ended = onnx_ascend("doctor", "--json", ASCEND_SIM_SOC="Ascend910B")
        (support,) = ended.json["kernels"][0]["devices"]
        assert "float16" in support["dtypes"]
        assert "bfloat16" not in support["dtypes"]

    def test_without_cann_it_fails_where_cann_was_asked_for_and_says_where_it_looked(
        self, onnx_ascend
    ) -> None:
        ended = onnx_ascend("doctor", ONNX_ASCEND_BACKEND="cann", ASCEND_HOME_PATH="/opt/no-such-cann")
        assert ended.status == 1
        assert "libascendcl.so" in ended.stdout
        assert "/opt/no-such-cann" in ended.stdout
        assert "Traceback" not in ended.stderr

    def test_a_wrong_backend_name_is_refused_by_name(self, onnx_ascend) -> None:
        ended = onnx_ascend("doctor", ONNX_ASCEND_BACKEND="gpu")
        assert ended.status == 1
        assert "ONNX_ASCEND_BACKEND" in ended.stdout
        assert "gpu" in ended.stdout


def test_cann_that_is_not_there_is_one_clear_line_for_a_run(onnx_ascend, converted: Path) -> None:
    ended = onnx_ascend("run", converted, ONNX_ASCEND_BACKEND="cann", ASCEND_HOME_PATH="/opt/no-such-cann")
    assert ended.status == 1
    assert "libascendcl.so" in ended.error_line
    assert "/opt/no-such-cann" in ended.error_line


def test_the_simulator_is_announced_once_where_it_was_not_asked_for(onnx_ascend, converted: Path) -> None:
    automatic = onnx_ascend("run", converted, ONNX_ASCEND_BACKEND="auto")
    assert automatic.status == 0
    assert automatic.stderr.count("simulator") >= 1
    assert automatic.stderr.count("no CANN was found") == 1
    chosen = onnx_ascend("run", converted, ONNX_ASCEND_BACKEND="simulator")
    assert chosen.stderr == ""


def test_an_interrupt_exits_with_130(models: Path, tmp_path: Path) -> None:
    import signal

    program = (
        "import time\n"
        "from onnx_ascend_ext.command import main\n"
        "from onnx_ascend_ext import conversion\n"
        "def convert(*_, **__):\n"
        "    print('started', flush=True)\n"
        "    time.sleep(60)\n"
        "conversion.convert = convert\n"
        "main(['convert', __import__('sys').argv[1], '-o', __import__('sys').argv[2]])\n"
    )
    arguments = [str(models / "torch_mlp" / "model.onnx"), str(tmp_path / "out.onnx")]
    process = subprocess.Popen(
        [sys.executable, "-c", program, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "started\n"
    time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    _, stderr = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "Traceback" not in stderr
