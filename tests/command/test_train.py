"""`onnx-ascend train`: the digits example from beginning to end, and what goes wrong."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest

Command = Callable[..., Any]

EXAMPLE = Path(__file__).parents[2] / "examples" / "digits.py"
PNG = b"\x89PNG\r\n\x1a\n"


@pytest.fixture(scope="session")
def digits(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The data sets of the example."""
    folder = tmp_path_factory.mktemp("digits")
    subprocess.run([sys.executable, EXAMPLE, "--output", folder], check=True, capture_output=True)
    return folder


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """A data set of random examples."""
    draw = np.random.default_rng(3)
    path = tmp_path / "small.npz"
    np.savez(path, x=draw.normal(size=(40, 64)), labels=draw.integers(0, 10, 40))
    return path


def test_the_digits_example_reaches_95_percent_in_under_a_minute(
    onnx_ascend: Command, models: Path, digits: Path, tmp_path: Path
) -> None:
    start = time.perf_counter()
    ended = onnx_ascend(
        "train", models / "ort_digits", "--data", digits / "digits_train.npz",
        "--eval-data", digits / "digits_test.npz", "--epochs", 30, "--learning-rate", 0.005,
        "--plot", "loss.png", "--export", "digits.onnx", "--save", "digits.npz", "--json", cwd=tmp_path,
    )  # fmt: skip
    assert ended.status == 0, ended.stderr
    assert time.perf_counter() - start < 60
    found = ended.json
    assert found["ok"] is True
    assert found["optimizer"] == "AdamWOptimizer"
    assert set(found["nodes"].values()) == {"AscendExecutionProvider"}
    assert found["device"]["simulated"] is True
    epochs = found["epochs"]
    assert [epoch["epoch"] for epoch in epochs] == list(range(1, 31))
    assert epochs[-1]["eval_accuracy"] >= 0.95 > epochs[0]["eval_accuracy"]
    assert epochs[-1]["loss"] < 0.1 < epochs[0]["loss"]
    assert (tmp_path / "loss.png").read_bytes().startswith(PNG)
    model = onnx.load(tmp_path / "digits.onnx")
    onnx.checker.check_model(model, full_check=True)
    session = onnxruntime.InferenceSession(tmp_path / "digits.onnx", providers=["CPUExecutionProvider"])
    with np.load(digits / "digits_test.npz") as test, np.load(tmp_path / "digits.npz") as trained:
        (scores,) = session.run(None, {"x": test["x"]})
        right = (scores.argmax(axis=1) == test["labels"]).mean()
        assert right == pytest.approx(epochs[-1]["eval_accuracy"])
        weights = {tensor.name: onnx.numpy_helper.to_array(tensor) for tensor in model.graph.initializer}
        assert all(np.array_equal(trained[name], weight) for name, weight in weights.items())
        assert trained["optimizer/step"] == sum(epoch["steps"] for epoch in epochs)


def test_a_training_is_told_in_a_table_and_goes_on_from_a_file(
    onnx_ascend: Command, models: Path, small: Path, tmp_path: Path
) -> None:
    model = models / "ort_digits"
    whole = onnx_ascend("train", model, "--data", small, "--epochs", 2, "--no-shuffle", "--json").json
    ended = onnx_ascend(
        "train", model, "--data", small, "--epochs", 1, "--no-shuffle", "--save", tmp_path / "state.npz"
    )
    assert ended.status == 0
    assert "loss" in ended.stdout
    assert "2 steps" in ended.stdout
    assert "1 of 1 converted node on" in ended.stdout
    assert "simulator" in ended.stdout
    assert str(tmp_path / "state.npz") in ended.stdout
    again = onnx_ascend(
        "train",
        model,
        "--data",
        small,
        "--epochs",
        1,
        "--no-shuffle",
        "--load",
        tmp_path / "state.npz",
        "--json",
    ).json
    assert again["epochs"][0]["loss"] == whole["epochs"][1]["loss"]
    assert again["learning_rate"] == 0.001


def test_the_table_of_a_long_training_is_thinned_out(onnx_ascend: Command, models: Path, small: Path) -> None:
    ended = onnx_ascend("train", models / "ort_digits", "--data", small, "--epochs", 200)
    assert ended.status == 0
    first_words = [line.split()[0] for line in ended.stdout.splitlines() if line.strip()]
    numbers = [int(word) for word in first_words if word.isdecimal()]
    assert len(numbers) == 30
    assert (numbers[0], numbers[-1]) == (1, 200)
    assert numbers == sorted(set(numbers))
    assert "400 steps" in ended.stdout


def test_without_an_npu_training_is_refused_or_stays_on_the_cpu(
    onnx_ascend: Command, models: Path, small: Path
) -> None:
    arguments = ("train", models / "ort_digits", "--data", small, "--epochs", 2, "--json")
    refused = onnx_ascend(*arguments, ONNX_ASCEND_BACKEND="cann")
    assert refused.status == 1
    assert "CANN was not found" in refused.stderr
    found = onnx_ascend(*arguments, "--allow-cpu", ONNX_ASCEND_BACKEND="cann").json
    assert set(found["nodes"].values()) == {"CPUExecutionProvider"}
    assert found["device"] is None
    on_npu = onnx_ascend(*arguments).json
    for epoch, expected in zip(found["epochs"], on_npu["epochs"], strict=True):
        assert epoch["loss"] == pytest.approx(expected["loss"], rel=1e-5)


def test_nodes_that_would_run_on_the_cpu_stop_the_training_before_it_begins(
    onnx_ascend: Command, models: Path, small: Path
) -> None:
    # The kernel is not there on this SoC.
    arguments = ("train", models / "ort_digits", "--data", small, "--epochs", 1, "--json")
    refused = onnx_ascend(*arguments, ASCEND_SIM_SOC="Ascend310B1")
    assert refused.status == 1
    assert "1 converted node would run on the CPU" in refused.stderr
    assert "--allow-cpu" in refused.stderr
    allowed = onnx_ascend(*arguments, "--allow-cpu", ASCEND_SIM_SOC="Ascend310B1")
    assert allowed.status == 0
    assert set(allowed.json["nodes"].values()) == {"CPUExecutionProvider"}


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (
            ["--export", "missing/out.onnx"],
            "missing/out.onnx: cannot be written: the folder missing does not",
        ),
        (["--save", "."], ".: cannot be written: it is a folder"),
        (["--plot", "loss.txt"], "loss.txt: has no suffix of a picture"),
        (["--load", "nothing.npz"], "nothing.npz: cannot be read: no such file"),
        (["--eval-data", "nothing.npz"], "nothing.npz: cannot be read: no such file"),
        (["--device-id", "99"], "there is no NPU 99"),
        (["--learning-rate", "1e38"], "lower the learning rate"),
    ],
)
def test_a_training_that_cannot_work_writes_nothing(
    onnx_ascend: Command, models: Path, small: Path, tmp_path: Path, options: list[str], words: str
) -> None:
    folder = tmp_path / "cwd"
    folder.mkdir()
    saving = [] if "--save" in options else ["--save", "state.npz"]
    ended = onnx_ascend(
        "train", models / "ort_digits", "--data", small, "--epochs", 3, *options, *saving, cwd=folder
    )
    assert ended.status == 1
    assert words in ended.error_line
    assert ended.stdout == ""
    assert list(folder.iterdir()) == []


def test_data_and_artifacts_that_are_missing_are_named(
    onnx_ascend: Command, models: Path, small: Path, tmp_path: Path
) -> None:
    ended = onnx_ascend("train", tmp_path, "--data", small)
    assert (ended.status, "has no training_model.onnx" in ended.error_line) == (1, True)
    ended = onnx_ascend("train", models / "ort_deep", "--data", small)
    assert (ended.status, "x has the shape [40, 64]" in ended.error_line) == (1, True)
    for name in ("training_model.onnx", "checkpoint"):
        (tmp_path / name).write_bytes((models / "ort_digits" / name).read_bytes())
    ended = onnx_ascend("train", tmp_path, "--data", small, "--export", tmp_path / "out.onnx")
    assert (ended.status, "has no eval_model.onnx" in ended.error_line) == (1, True)
    assert onnx_ascend("train", tmp_path, "--data", small, "--epochs", 1).status == 0


@pytest.mark.parametrize(
    "options", [["--epochs", "0"], ["--batch-size", "0"], ["--learning-rate", "0"], ["--no"]]
)
def test_wrong_usage_is_told_apart(
    onnx_ascend: Command, models: Path, small: Path, options: list[str]
) -> None:
    assert onnx_ascend("train", models / "ort_digits", "--data", small, *options).status == 2


def test_a_plot_without_matplotlib_is_refused_before_training(
    onnx_ascend: Command, models: Path, small: Path, tmp_path: Path
) -> None:
    (tmp_path / "matplotlib.py").write_text("raise ImportError")
    ended = onnx_ascend(
        "train",
        models / "ort_digits",
        "--data",
        small,
        "--plot",
        tmp_path / "loss.png",
        PYTHONPATH=str(tmp_path),
    )
    assert ended.status == 1
    assert "needs matplotlib" in ended.error_line
    assert "onnx-ascend-ext[plot]" in ended.error_line
