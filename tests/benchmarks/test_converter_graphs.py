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
        "print(c.measure([sys.executable, '-c', 'pass'])[1])\n"
        "print(c.measure([sys.executable, '-c', 'b = bytes(range(100)) * 1_000_000'])[1])\n"
    )
    folder = Path(converter_speed.__file__).parent
    small, large = map(float, subprocess.check_output([sys.executable, "-c", script], cwd=folder).split())
    assert 1 < small < 50
    assert 80 < large - small < 150


def test_a_process_that_fails_gives_its_last_words() -> None:
    _, _, problem = converter_speed.measure([sys.executable, "-c", "import sys; sys.exit('no such thing')"])
    assert problem == "no such thing"


def test_conditions_name_the_versions() -> None:
    words = converter_speed.conditions({"floor": converter_speed.TOOLS[converter_speed.FLOOR]}, 3)
    assert words.startswith("Median of 3 interleaved runs")
    assert words.endswith(f"onnx {onnx.__version__}.")


def test_table_shows_times_of_the_floor_and_problems() -> None:
    runs = {
        converter_speed.FLOOR: converter_speed.Runs([1.0, 3.0, 2.0], [100.0] * 3),
        converter_speed.OURS: converter_speed.Runs([3.0], [150.0]),
        "another": converter_speed.Runs([9.0], [1.0], "found 1 of 5"),
    }
    lines = converter_speed.table({"g": runs}, {"g": converter_speed.Size(10, 5)}).splitlines()
    assert lines[3] == "| g: 10 nodes, 5 gradients | onnx-ascend convert | 3.00 s | 1.50 | 150 MB | 1.50 |"
    assert lines[4] == "| g: 10 nodes, 5 gradients | another | found 1 of 5 | | | |"
