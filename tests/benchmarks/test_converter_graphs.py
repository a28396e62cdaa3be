"""The graphs that the converter's speed is measured on are what they say they are."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import converter_graphs
import converter_speed
import onnx
import pytest

from onnx_ascend_ext.conversion import convert

SMALL = converter_graphs.graphs(scale=0.002)


@pytest.mark.parametrize("name", SMALL)
def test_generated_graph_is_valid_and_of_the_size_that_is_printed(name: str) -> None:
    model = SMALL[name].make()
    assert len(model.graph.node) == SMALL[name].nodes
    onnx.checker.check_model(model, full_check=True)


@pytest.mark.parametrize("name", SMALL)
def test_every_gradient_of_a_generated_graph_is_found(name: str) -> None:
    conversion = convert(SMALL[name].make())
    assert len(conversion.matches) == SMALL[name].gradients
    converted = [node.op_type for node in conversion.model.graph.node]
    assert converted.count("SigmoidBackward") == SMALL[name].gradients


def test_networks_lie_side_by_side() -> None:
    model = converter_graphs.training_graph(converter_graphs.DEPTH + 3)
    assert len(model.graph.output) == 2
    assert len(model.graph.node) == (converter_graphs.DEPTH + 3) * converter_graphs.NODES_PER_LAYER


def test_full_sizes_are_those_of_the_table() -> None:
    full = converter_graphs.graphs()
    assert (full["training"].nodes, full["training"].gradients) == (120_000, 20_000)
    assert full["training x10"].nodes == 1_200_000
    assert full["no gradient"].gradients == 0


def test_a_process_is_measured_with_its_own_memory() -> None:
    # From a process as small as the benchmark's own: see the module's docstring.
    script = (
        "import sys, converter_speed as c\n"
        "print(c.measure([sys.executable, '-c', 'pass'], {})[0].megabytes)\n"
        "print(c.measure([sys.executable, '-c', 'b = bytes(range(100)) * 1_000_000'], {})[0].megabytes)\n"
    )
    folder = Path(converter_speed.__file__).parent
    small, large = map(float, subprocess.check_output([sys.executable, "-c", script], cwd=folder).split())
    assert 1 < small < 50
    assert 80 < large - small < 150


def test_cpu_time_is_the_work_and_not_the_waiting() -> None:
    busy, _ = converter_speed.measure([sys.executable, "-S", "-c", "sum(range(10_000_000))"], {})
    waiting, _ = converter_speed.measure([sys.executable, "-S", "-c", "import time; time.sleep(0.5)"], {})
    assert 0.05 < busy.cpu_seconds <= busy.seconds + 0.1
    assert waiting.cpu_seconds < 0.4
    assert waiting.seconds >= 0.5


def test_a_process_that_fails_gives_its_last_words() -> None:
    command = [sys.executable, "-c", "import os, sys; sys.exit('no such ' + os.environ['THING'])"]
    _, problem = converter_speed.measure(command, {"THING": "thing"})
    assert problem == "no such thing"


def test_a_tool_that_takes_long_is_not_run_again(tmp_path: Path) -> None:
    graph = "shared slope"
    tools = {converter_speed.FLOOR: converter_speed.TOOLS[converter_speed.FLOOR]}
    for limit, count in ((0, 1), (600, 2)):
        bench = converter_speed.Bench(tmp_path, 2, limit)
        runs = bench.run(graph, converter_speed.sizes()[graph], tools)[converter_speed.FLOOR]
        assert not runs.problem
        assert len(runs.done) == count


def test_conditions_name_the_versions() -> None:
    words = converter_speed.conditions({"floor": converter_speed.TOOLS[converter_speed.FLOOR]})
    assert words.startswith("Medians of interleaved runs")
    assert words.endswith(f"onnx {onnx.__version__}.")


def test_table_shows_times_of_the_floor_and_problems() -> None:
    runs = {
        converter_speed.FLOOR: converter_speed.Runs(
            [converter_speed.Usage(cpu, 4.0, 100.0) for cpu in (1.0, 3.0, 2.0)]
        ),
        converter_speed.OURS: converter_speed.Runs([converter_speed.Usage(3.0, 5.0, 150.0)]),
        "another": converter_speed.Runs([converter_speed.Usage(9.0, 9.0, 1.0)], "found 1 of 5"),
    }
    lines = converter_speed.table({"g": runs}, {"g": converter_speed.Size(10, 5)}).splitlines()
    ours = "onnx-ascend convert | 3.00 s | 1.50 | 5.00 s | 1.25 | 150 MB | 1.50 | 1 |"
    assert lines[3] == f"| g: 10 nodes, 5 gradients | {ours}"
    assert lines[4] == "| g: 10 nodes, 5 gradients | another | found 1 of 5 | | | | | | |"


def test_the_lead_is_over_the_fastest_peer_that_worked() -> None:
    def runs(seconds: float, problem: str = "") -> converter_speed.Runs:
        return converter_speed.Runs([converter_speed.Usage(seconds, 2 * seconds, 100)], problem)

    measured = {
        converter_speed.FLOOR: runs(0.5),
        converter_speed.OURS: converter_speed.Runs([converter_speed.Usage(1, 4, 100)]),
        "slow": runs(9),
        "fast": runs(7),
        "broken": runs(2, "found 0 of 20000"),
    }
    words = converter_speed.lead(measured)
    assert "7.0 times as fast as the fastest peer, fast, by CPU time and 3.5 times by elapsed" in words
    assert converter_speed.lead({name: measured[name] for name in (converter_speed.FLOOR, "slow")}) == ""
    assert converter_speed.lead({name: measured[name] for name in (converter_speed.OURS, "broken")}) == ""
