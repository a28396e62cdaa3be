"""`onnx-ascend convert` and `inspect` of several files."""

from __future__ import annotations

import multiprocessing
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

Command = Any


@pytest.fixture
def folder(models: Path, tmp_path: Path) -> Path:
    """Two models, and between them, in the order of names, three files that are none."""
    made = tmp_path / "models"
    (made / "deep").mkdir(parents=True)
    shutil.copy(models / "torch_mlp" / "model.onnx", made / "a.onnx")
    (made / "b.onnx").write_bytes(b"not a model")
    os.mkfifo(made / "c.onnx")
    (made / "d.onnx").symlink_to("nowhere")
    (made / "a.onnx.data").write_bytes(b"weights")
    shutil.copy(models / "torch_lstm_cell" / "model.onnx", made / "deep" / "e.onnx")
    return made


def test_several_models_go_to_a_folder_and_a_bad_one_does_not_stop_the_rest(
    onnx_ascend, models: Path, tmp_path: Path
) -> None:
    shutil.copy(models / "torch_mlp" / "model.onnx", tmp_path / "good.onnx")
    shutil.copy(models / "torch_glu" / "model.onnx", tmp_path / "other.onnx")
    (tmp_path / "bad.onnx").write_bytes(b"not a model")
    for jobs in (1, 2):
        out = tmp_path / f"out{jobs}"
        inputs = [tmp_path / name for name in ("good.onnx", "bad.onnx", "other.onnx")]
        ended = onnx_ascend("convert", *inputs, "-o", out, "--jobs", jobs)
        assert ended.status == 1
        assert len(ended.stdout.splitlines()) == 4
        assert "bad.onnx" in ended.stdout
        assert "2 of 3 models converted" in ended.stdout
        assert sorted(path.name for path in out.iterdir()) == ["good.onnx", "other.onnx"]


def test_a_folder_of_models_converts(onnx_ascend, models: Path, tmp_path: Path) -> None:
    ended = onnx_ascend("convert", models / "ort_deep", "-o", tmp_path / "out", "--json")
    assert ended.status == 0, ended.stderr
    found = {Path(file["source"]).name: len(file["matches"]) for file in ended.json["files"]}
    assert found == {"training_model.onnx": 8, "eval_model.onnx": 0, "optimizer_model.onnx": 0}
    assert len(list((tmp_path / "out").iterdir())) == 3


class TestInspect:
    def test_each_model_has_a_heading_and_a_bad_one_does_not_stop_the_rest(
        self, onnx_ascend: Command, folder: Path
    ) -> None:
        ended = onnx_ascend("inspect", folder)
        assert ended.status == 1
        assert ended.stderr == ""
        told = [line for line in ended.stdout.splitlines() if line.startswith(str(folder))]
        assert [line.removeprefix(f"{folder}/") for line in told] == [
            "a.onnx: 1 gradient, 0 near misses",
            "b.onnx: text, not an ONNX model",
            "c.onnx: is not a regular file",
            "d.onnx: cannot be read: no such file or directory",
            "deep/e.onnx: 9 gradients, 0 near misses",
        ]
        assert ended.stdout.splitlines()[-1] == "2 of 5 models inspected"

    def test_the_json_holds_the_source_and_the_error_of_each(
        self, onnx_ascend: Command, folder: Path
    ) -> None:
        ended = onnx_ascend("inspect", folder / "deep", folder / "b.onnx", folder / "a.onnx", "--json")
        assert ended.status == 1
        assert ended.json["schema"] == 1
        found = [
            (Path(file["source"]).name, len(file.get("matches", ())), file["error"] is None)
            for file in ended.json["files"]
        ]
        assert found == [("e.onnx", 9, True), ("b.onnx", 0, False), ("a.onnx", 1, True)]
        assert "text, not an ONNX model" in ended.json["files"][1]["error"]
        assert ended.json["files"][1]["ok"] is False

    def test_good_models_alone_exit_with_0(self, onnx_ascend: Command, folder: Path) -> None:
        ended = onnx_ascend("inspect", folder / "a.onnx", folder / "deep" / "e.onnx")
        assert (ended.status, ended.stdout.splitlines()[-1]) == (0, "2 of 2 models inspected")

    def test_a_folder_without_models_is_named(
        self, onnx_ascend: Command, folder: Path, tmp_path: Path
    ) -> None:
        (tmp_path / "empty").mkdir()
        ended = onnx_ascend("inspect", tmp_path / "empty")
        assert ended.status == 1
        assert "no .onnx file is in this folder" in ended.error_line
        beside = onnx_ascend("inspect", tmp_path / "empty", folder / "a.onnx")
        assert beside.status == 1
        assert "1 of 2 models inspected" in beside.stdout


def test_more_jobs_than_files_or_cores_are_fine(onnx_ascend: Command, models: Path, tmp_path: Path) -> None:
    for name in ("torch_mlp", "torch_glu"):
        shutil.copy(models / name / "model.onnx", tmp_path / f"{name}.onnx")
    ended = onnx_ascend("convert", tmp_path, "-o", tmp_path / "out", "--jobs", 10**12)
    assert ended.status == 0, ended.stderr
    assert "2 of 2 models converted" in ended.stdout


def test_one_file_in_two_spellings_is_one_input(onnx_ascend: Command, folder: Path, tmp_path: Path) -> None:
    ended = onnx_ascend(
        "convert", folder / "a.onnx", folder / "deep" / ".." / "a.onnx", "-o", tmp_path / "out"
    )
    assert ended.status == 0, ended.stderr
    assert "1 of 1 model converted" in ended.stdout


@pytest.mark.parametrize("command", ["convert", "restore"])
def test_a_slash_at_the_end_of_the_output_means_a_folder(
    onnx_ascend: Command, folder: Path, tmp_path: Path, command: str
) -> None:
    ended = onnx_ascend(command, folder / "a.onnx", "-o", f"{tmp_path}/new/")
    assert ended.status == 1
    assert f"the folder {tmp_path}/new does not exist" in ended.error_line
    assert not (tmp_path / "new").exists()
    assert onnx_ascend(command, folder / "a.onnx", "-o", f"{tmp_path}/").status == 0
    assert (tmp_path / "a.onnx").exists()


def test_an_exception_in_one_file_is_told_of_it_and_does_not_stop_the_rest(tmp_path: Path) -> None:
    from onnx_ascend_ext.command.convert import _Task
    from onnx_ascend_ext.model_files import PlannedOutput

    task = _Task({"no_such_option": 1}, "copy", None, require_match=False)
    summary, document = task.outcome(PlannedOutput(tmp_path / "a.onnx", tmp_path / "b.onnx"))
    assert summary == document["error"]
    assert summary.startswith(f"{tmp_path}/a.onnx: internal error, TypeError: ")


def test_a_worker_that_is_killed_costs_its_own_file_alone(tmp_path: Path) -> None:
    from onnx_ascend_ext.command import pool
    from onnx_ascend_ext.model_files import PlannedOutput

    plan = [PlannedOutput(Path(name), tmp_path / name) for name in ("a", "killer", "b", "c")]
    summaries = [summary for summary, _ in pool.outcomes(dies_of_killer, plan, jobs=2)]
    assert summaries[0] == "a done"
    assert "killer: the process that worked on it was killed" in summaries[1]
    assert summaries[2:] == ["b done", "c done"]


def test_workers_defer_imports_as_the_first_process_does(tmp_path: Path) -> None:
    from onnx_ascend_ext.command import pool
    from onnx_ascend_ext.model_files import PlannedOutput

    plan = [PlannedOutput(Path(name), tmp_path / name) for name in ("a", "b")]
    assert [summary for summary, _ in pool.outcomes(imports_onnx, plan, jobs=2)] == ["deferred"] * 2


def imports_onnx(_planned: object) -> tuple[str, dict[str, object]]:
    import onnx

    # The type of a module that has not been used yet.
    return ("deferred" if type(onnx.helper).__name__ == "_LazyModule" else "loaded"), {}


def test_a_pool_that_is_left_ends_no_process_but_its_workers(tmp_path: Path) -> None:
    from onnx_ascend_ext.command import pool
    from onnx_ascend_ext.model_files import PlannedOutput

    spawn = multiprocessing.get_context("spawn")
    inbox, outbox = spawn.Pipe(duplex=False)
    stranger = spawn.Process(target=inbox.recv)
    stranger.start()
    plan = [PlannedOutput(Path(name), tmp_path / name) for name in ("a", "b")]
    outcomes = pool.outcomes(dies_of_killer, plan, jobs=2)
    next(outcomes)
    assert len(multiprocessing.active_children()) > 1
    outcomes.close()
    assert multiprocessing.active_children() == [stranger]
    outbox.send("end")
    stranger.join()
    assert stranger.exitcode == 0


def dies_of_killer(planned) -> tuple[str, dict[str, object]]:
    if planned.source.name == "killer":
        os.kill(os.getpid(), signal.SIGKILL)
    return f"{planned.source} done", {}


@pytest.mark.parametrize("jobs", [1, 2])
def test_an_interrupt_ends_the_workers_at_once(tmp_path: Path, jobs: int) -> None:
    # As from a terminal the signal goes to every process, and none may complain of it or work on.
    program = f"""
import sys
sys.path.insert(0, {str(Path(__file__).parent)!r})
from test_batch import waits
from onnx_ascend_ext.command import main, pool
outcomes = pool.outcomes
pool.outcomes = lambda _, plan, jobs: outcomes(waits, plan, jobs)
main(["convert", "a.onnx", "b.onnx", "c.onnx", "d.onnx", "-o", "out", "--jobs", "{jobs}"])
"""
    process = subprocess.Popen(
        [sys.executable, "-c", program],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() in ("a.onnx begins\n", "b.onnx begins\n")
    os.killpg(process.pid, signal.SIGINT)
    stdout, stderr = process.communicate(timeout=60)
    assert process.returncode == 130
    assert stderr.split("\n") == ["", "onnx-ascend: interrupted", ""]  # the first ends the terminal's ^C
    assert "c.onnx" not in stdout
    deadline = time.monotonic() + 60
    while is_alive(process.pid) and time.monotonic() < deadline:
        time.sleep(0.05)  # multiprocessing's own helper ends a moment later
    assert not is_alive(process.pid)


def is_alive(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True


def waits(planned: Any) -> tuple[str, dict[str, object]]:
    print(f"{planned.source} begins\n", end="", flush=True)
    signal.sigtimedwait({signal.SIGUSR1}, 600)
    return "", {}
