"""Measures `onnx-ascend convert` as a whole process beside other tools, and prints a Markdown table.

Run it as `python tests/benchmarks/converter_speed.py` where the extras `ort` and `bench` are installed. Every
tool reads a generated model and writes another; runs are interleaved, and the median counts. CPU time is that
of user and system, which tells more than elapsed time on a machine that does other work as well. This process
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
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

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


class Usage(NamedTuple):
    """What one process took."""

    cpu_seconds: float
    seconds: float
    megabytes: float


@dataclass
class Runs:
    """Measurements of one tool on one graph."""

    done: list[Usage] = field(default_factory=list)
    problem: str = ""

    def median(self) -> Usage:
        return Usage(*map(statistics.median, zip(*self.done, strict=True)))


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


def measure(command: Sequence[str], environment: Mapping[str, str]) -> tuple[Usage, str]:
    """What one run took and, where it failed, the last line of its stderr."""
    with tempfile.TemporaryFile() as log:
        start = time.perf_counter()
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=log, env=environment)
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - start
        process.returncode = os.waitstatus_to_exitcode(status)
        log.seek(0)
        words = log.read().decode(errors="replace").strip().splitlines() or ["no message"]
    taken = Usage(usage.ru_utime + usage.ru_stime, seconds, usage.ru_maxrss / 1024)
    return taken, words[-1] if process.returncode else ""


class Bench:
    """Runs tools on generated graphs in one folder."""

    def __init__(self, folder: Path, repeat: int, limit: float) -> None:
        self._folder, self._repeat, self._limit = folder, repeat, limit
        # Every tool's modules are compiled once, as an installation does, and not anew in each run.
        self._environment = {**os.environ, "PYTHONPYCACHEPREFIX": str(folder / "bytecode")}
        self._environment.pop("PYTHONDONTWRITEBYTECODE", None)

    def run(self, name: str, size: Size, tools: Mapping[str, Tool]) -> dict[str, Runs]:
        """Measures tools on a graph in turn, the slow ones fewer times."""
        source = self._made(name)
        runs = {tool: Runs() for tool in tools}
        for _ in range(self._repeat):
            for label, tool in tools.items():
                own = runs[label]
                if own.problem or sum(usage.seconds for usage in own.done) > self._limit:
                    continue
                usage, own.problem = self._measure(tool, source)
                own.done.append(usage)
                if not own.problem and tool.rewrites and len(own.done) == 1:
                    own.problem = self._miscount(size)
        source.unlink()
        return runs

    def warm_up(self, name: str, tools: Mapping[str, Tool]) -> None:
        """Runs every tool once on a small graph."""
        source = self._made(name)
        for tool in tools.values():
            self._measure(tool, source)
        source.unlink()

    def _made(self, name: str) -> Path:
        source = self._folder / f"{name}.onnx"
        subprocess.check_call([sys.executable, GENERATOR, "make", name, str(source)])
        return source

    def _measure(self, tool: Tool, source: Path) -> tuple[Usage, str]:
        self._target.unlink(missing_ok=True)
        paths = [self._target, source] if tool.command[-1] == "-o" else [source, self._target]
        return measure([*tool.command, *map(str, paths)], self._environment)

    def _miscount(self, size: Size) -> str:
        count = int(subprocess.check_output([sys.executable, GENERATOR, "count", str(self._target)]))
        return "" if count == size.gradients else f"found {count} of {size.gradients}"

    @property
    def _target(self) -> Path:
        return self._folder / "output.onnx"


def table(results: dict[str, dict[str, Runs]], known: dict[str, Size]) -> str:
    lines = [
        "| graph | tool | CPU time | of the floor | elapsed | of the floor | memory | of the floor | runs |",
        "| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    for name, runs in results.items():
        label = f"{name}: {known[name].nodes:,} nodes, {known[name].gradients:,} gradients"
        floor = runs[FLOOR].median()
        for tool, measured in runs.items():
            if measured.problem:
                lines.append(f"| {label} | {tool} | {measured.problem} | | | | | | |")
                continue
            taken = measured.median()
            cpu, elapsed, memory = (own / base for own, base in zip(taken, floor, strict=True))
            lines.append(
                f"| {label} | {tool} | {taken.cpu_seconds:.2f} s | {cpu:.2f} | {taken.seconds:.2f} s "
                f"| {elapsed:.2f} | {taken.megabytes:.0f} MB | {memory:.2f} | {len(measured.done)} |"
            )
    return "\n".join(lines)


def lead(runs: Mapping[str, Runs]) -> str:
    """One sentence on how much faster the converter is than the fastest peer; "" where none was measured."""
    medians = {tool: measured.median() for tool, measured in runs.items() if not measured.problem}
    peers = medians.keys() - {FLOOR, OURS}
    if OURS not in medians or not peers:
        return ""
    fastest = min(peers, key=lambda tool: medians[tool].cpu_seconds)
    cpu, elapsed, _ = (peer / own for peer, own in zip(medians[fastest], medians[OURS], strict=True))
    return (
        f"{OURS} is {cpu:.1f} times as fast as the fastest peer, {fastest}, by CPU time and {elapsed:.1f} "
        "times by elapsed time."
    )


def conditions(tools: Mapping[str, Tool]) -> str:
    """One sentence on what the numbers were measured with."""
    modules = sorted({tool.module for tool in tools.values()})
    versions = ", ".join(f"{module} {importlib.metadata.version(module)}" for module in modules)
    python = ".".join(map(str, sys.version_info[:3]))
    return f"Medians of interleaved runs on {os.cpu_count()} cores; Python {python}, {versions}."


def main(arguments: Sequence[str] | None = None) -> int:
    known = sizes()
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeat", type=int, default=5, help="runs of each tool (default: %(default)s)")
    parser.add_argument(
        "--limit",
        type=float,
        default=20,
        help="seconds after which a tool is not run again on a graph (default: %(default)s)",
    )
    parser.add_argument("--graph", choices=known, action="append", help="only this graph; may be repeated")
    parser.add_argument("--no-peers", action="store_true", help=f"run only '{OURS}' and the floor")
    options = parser.parse_args(arguments)
    available = {name: tool for name, tool in TOOLS.items() if importlib.util.find_spec(tool.module)}
    ours = {name: tool for name, tool in available.items() if name in (FLOOR, OURS)}
    missing = [] if options.no_peers else sorted(TOOLS.keys() - available.keys())
    results = {}
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(Path(folder), options.repeat, options.limit)
        bench.warm_up(min(known, key=lambda name: known[name].nodes), ours if options.no_peers else available)
        for name in options.graph or known:
            tools = available if name == COMPARED and not options.no_peers else ours
            print(f"measuring {name} ...", file=sys.stderr)
            results[name] = bench.run(name, known[name], tools)
    print(table(results, known))
    if sentence := lead(results.get(COMPARED, {})):
        print(f"\n{sentence}")
    print(f"\n{conditions(ours if options.no_peers else available)}")
    for name in missing:
        print(f"\n{name} was not measured: {TOOLS[name].module} is not installed")
    return 1 if any(runs.problem for by_tool in results.values() for runs in by_tool.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
