"""Measures `onnx-ascend convert` as a whole process beside other tools, and prints a Markdown table.

Run it as `python tests/benchmarks/converter_speed.py` where the extras `ort` and `bench` are installed. Every
tool reads a generated model and writes another; runs are interleaved, and the median counts. This process
stays small on purpose, since Linux counts the memory of the process that starts another one to its peak.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import importlib.util
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).parent
GENERATOR = str(HERE / "converter_graphs.py")
FLOOR = "onnx load and save"
OURS = "onnx-ascend convert"


@dataclass(frozen=True)
class Tool:
    """A command that takes the paths of a model to read and of one to write."""

    command: tuple[str, ...]
    module: str
    """What has to be installed."""
    rewrites: bool
    """Whether its output must have a SigmoidBackward for each gradient."""


@dataclass
class Runs:
    """Measurements of one tool on one graph."""

    seconds: list[float] = field(default_factory=list)
    megabytes: list[float] = field(default_factory=list)
    problem: str = ""

    def medians(self) -> tuple[float, float]:
        return statistics.median(self.seconds), statistics.median(self.megabytes)


def peer(script: str, module: str, *, rewrites: bool = True) -> Tool:
    return Tool((sys.executable, str(HERE / "peers" / script)), module, rewrites)


TOOLS = {
    FLOOR: peer("floor.py", "onnx", rewrites=False),
    OURS: Tool(
        (sys.executable, "-c", "from onnx_ascend_ext.command import main; main()", "convert", "-o"),
        "onnx_ascend_ext",
        rewrites=True,
    ),
    "onnxscript's rewriter": peer("onnxscript_rewriter.py", "onnxscript"),
    "onnx-graphsurgeon": peer("graphsurgeon_pattern.py", "onnx_graphsurgeon"),
    "ONNX Runtime's optimiser": peer("ort_optimizer.py", "onnxruntime", rewrites=False),
}
# Peers run on this graph; on the others, which ask how the converter scales, only the floor does.
COMPARED = "training"


@dataclass(frozen=True)
class Size:
    """What a generated graph holds."""

    nodes: int
    gradients: int


def sizes() -> dict[str, Size]:
    """Every graph of converter_graphs.py, asked from a process of its own."""
    listed = subprocess.check_output([sys.executable, GENERATOR, "list"])
    return {name: Size(*numbers) for name, numbers in json.loads(listed).items()}


def measure(command: Sequence[str]) -> tuple[float, float, str]:
    """Seconds, peak megabytes and, where it failed, the last line of stderr of one run."""
    with tempfile.TemporaryFile() as log:
        start = time.perf_counter()
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=log)
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - start
        process.returncode = os.waitstatus_to_exitcode(status)
        log.seek(0)
        words = log.read().decode(errors="replace").strip().splitlines() or ["no message"]
    return seconds, usage.ru_maxrss / 1024, words[-1] if process.returncode else ""


def run_graph(name: str, size: Size, tools: dict[str, Tool], repeat: int, folder: Path) -> dict[str, Runs]:
    source = folder / f"{name}.onnx"
    subprocess.check_call([sys.executable, GENERATOR, "make", name, str(source)])
    runs = {tool: Runs() for tool in tools}
    for _ in range(repeat):
        for label, tool in tools.items():
            if runs[label].problem:
                continue
            target = folder / "output.onnx"
            target.unlink(missing_ok=True)
            paths = [target, source] if tool.command[-1] == "-o" else [source, target]
            seconds, megabytes, problem = measure([*tool.command, *map(str, paths)])
            runs[label].seconds.append(seconds)
            runs[label].megabytes.append(megabytes)
            if not problem and tool.rewrites and not runs[label].seconds[1:]:
                count = int(subprocess.check_output([sys.executable, GENERATOR, "count", str(target)]))
                if count != size.gradients:
                    problem = f"found {count} of {size.gradients}"
            runs[label].problem = problem
    source.unlink()
    return runs


def table(results: dict[str, dict[str, Runs]], known: dict[str, Size]) -> str:
    lines = [
        "| graph | tool | time | of the floor | peak memory | of the floor |",
        "| --- | --- | ---: | ---: | ---: | ---: |",
    ]
    for name, runs in results.items():
        label = f"{name}: {known[name].nodes:,} nodes, {known[name].gradients:,} gradients"
        floor_seconds, floor_megabytes = runs[FLOOR].medians()
        for tool, measured in runs.items():
            if measured.problem:
                lines.append(f"| {label} | {tool} | {measured.problem} | | | |")
                continue
            seconds, megabytes = measured.medians()
            lines.append(
                f"| {label} | {tool} | {seconds:.2f} s | {seconds / floor_seconds:.2f} "
                f"| {megabytes:.0f} MB | {megabytes / floor_megabytes:.2f} |"
            )
    return "\n".join(lines)


def conditions(tools: dict[str, Tool], repeat: int) -> str:
    """One sentence on what the numbers were measured with."""
    modules = sorted({tool.module for tool in tools.values()})
    versions = ", ".join(f"{module} {importlib.metadata.version(module)}" for module in modules)
    python = ".".join(map(str, sys.version_info[:3]))
    return f"Median of {repeat} interleaved runs on {os.cpu_count()} cores; Python {python}, {versions}."


def main(arguments: Sequence[str] | None = None) -> int:
    known = sizes()
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeat", type=int, default=5, help="runs of each tool (default: %(default)s)")
    parser.add_argument("--graph", choices=known, action="append", help="only this graph; may be repeated")
    parser.add_argument("--no-peers", action="store_true", help=f"run only '{OURS}' and the floor")
    options = parser.parse_args(arguments)
    available = {name: tool for name, tool in TOOLS.items() if importlib.util.find_spec(tool.module)}
    ours = {name: tool for name, tool in available.items() if name in (FLOOR, OURS)}
    missing = [] if options.no_peers else sorted(TOOLS.keys() - available.keys())
    results = {}
    with tempfile.TemporaryDirectory() as folder:
        for name in options.graph or known:
            tools = available if name == COMPARED and not options.no_peers else ours
            print(f"measuring {name} ...", file=sys.stderr)
            results[name] = run_graph(name, known[name], tools, options.repeat, Path(folder))
    print(table(results, known))
    print(f"\n{conditions(available, options.repeat)}")
    for name in missing:
        print(f"\n{name} was not measured: {TOOLS[name].module} is not installed")
    return 1 if any(runs.problem for by_tool in results.values() for runs in by_tool.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
