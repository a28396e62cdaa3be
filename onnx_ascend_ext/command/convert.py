"""`onnx-ascend convert`."""

from __future__ import annotations

import gc
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from onnx_ascend_ext.command import failure, output, pool, report
from onnx_ascend_ext.command.options import (
    MODEL_TO_READ,
    MODEL_TO_WRITE,
    ExternalData,
    device_options,
    external_data_option,
    input_options,
    json_option,
    matching_options,
    tolerance_options,
)
from onnx_ascend_ext.command.progress import CopyProgress
from onnx_ascend_ext.errors import AscendExtError

if TYPE_CHECKING:
    from onnx_ascend_ext.conversion import Conversion
    from onnx_ascend_ext.model_files import PlannedOutput, Progress
    from onnx_ascend_ext.verification import Verification


@click.command("convert", short_help="Convert models to SigmoidBackward nodes.")
@click.argument("models", type=MODEL_TO_READ, nargs=-1, required=True, metavar="IN...")
@click.option(
    "-o",
    "--output",
    "target",
    type=MODEL_TO_WRITE,
    required=True,
    metavar="OUT",
    help="The file to write; a folder for several.",
)
@click.option("--verify", "do_verify", is_flag=True, help="Run both models and compare their outputs.")
@matching_options
@click.option(
    "--portable", is_flag=True, help="Also make a graph of a training build run on stock ONNX Runtime."
)
@click.option("--require-match", is_flag=True, help="Exit with 1 where nothing is found.")
@external_data_option
@click.option(
    "--jobs", type=click.IntRange(min=1), default=1, show_default=True, help="Models converted at a time."
)
@input_options
@tolerance_options
@device_options
@json_option
def command(
    models: tuple[str, ...],
    target: str,
    *,
    do_verify: bool,
    relaxed: bool,
    only: tuple[str, ...],
    exclude: tuple[str, ...],
    portable: bool,
    require_match: bool,
    external_data: ExternalData,
    jobs: int,
    as_json: bool,
    **run_options: Any,
) -> int:
    """Find every gradient of Sigmoid in IN and write the converted model to OUT.

    IN may be several files, or a folder: then OUT is a folder, and a file that cannot be converted does not
    stop the rest. One IN may be - for standard input, and its OUT may be - for standard output.
    """
    # One model and the modules are all that this process holds, and the collector would walk over them.
    gc.disable()
    from onnx_ascend_ext.model_files import STDOUT, is_one_file, make_folders, plan_outputs

    if target == str(STDOUT) and (as_json or do_verify):
        option = "--json" if as_json else "--verify"
        raise click.UsageError(f"{option} needs an OUT that is a file, not standard output")
    task = _Task(
        conversion={
            "relaxed": relaxed,
            "only": only or None,
            "exclude": exclude or None,
            "portable": portable,
        },
        external_data=external_data,
        verification=run_options if do_verify else None,
        require_match=require_match,
    )
    plan = plan_outputs(models, target)
    if is_one_file(models):
        return _convert_one(task, plan[0], as_json)
    gc.enable()
    make_folders(plan, target)
    return _convert_all(task, plan, jobs, as_json)


@dataclass(frozen=True)
class _Done:
    """What became of one file."""

    conversion: Conversion
    verification: Verification | None
    seconds: float
    problem: str

    written: bool = True

    def document(self, planned: PlannedOutput) -> dict[str, Any]:
        return {
            **self.conversion.to_dict(),
            "ok": not self.problem,
            "source": str(planned.source),
            "output": str(planned.target) if self.written else None,
            "seconds": self.seconds,
            "verification": self.verification.to_dict() if self.verification else None,
            "error": self.problem or None,
        }

    def summary(self, planned: PlannedOutput) -> str:
        found = output.count(len(self.conversion.matches), "gradient")
        missed = output.count(len(self.conversion.near_misses), "near miss", "near misses")
        if self.conversion.converted_before:
            missed += f", {self.conversion.converted_before} converted before"
        portable = self.conversion.portable
        if portable is not None:
            missed += f", {output.count(len(portable.expanded), 'training-only node')} made portable"
            if portable.remaining:
                missed += f", {len(portable.remaining)} not"
        if not self.written:
            return f"{planned.source}: {found}, {missed}; nothing is written"
        return f"{planned.source} → {planned.target}   {found}, {missed}, {self.seconds:.2f} s"


@dataclass(frozen=True)
class _Task:
    """What to do with each file; sent to worker processes."""

    conversion: dict[str, Any]
    external_data: ExternalData
    verification: dict[str, Any] | None
    require_match: bool

    def run(self, planned: PlannedOutput, progress: Progress | None = None) -> _Done:
        """Converts one file. Raises `AscendExtError` where nothing could be written."""
        from onnx_ascend_ext.conversion import convert

        start = time.perf_counter()
        conversion = convert(planned.source, **self.conversion)
        problem = ""
        if self.require_match and not conversion.matches:
            problem = f"{planned.source}: no gradient was found (--require-match)"
            return _Done(conversion, None, time.perf_counter() - start, problem, written=False)
        saved = conversion.save(planned.target, external_data=self.external_data, progress=progress)
        conversion.warnings.extend(
            f"weights of {old} went to {new}, since another file in that folder has the name"
            for old, new in saved.renamed.items()
        )
        seconds = time.perf_counter() - start
        if self.verification is None:
            return _Done(conversion, None, seconds, "")
        from onnx_ascend_ext.sessions.onnxruntime_module import show_errors_only
        from onnx_ascend_ext.verification import verify

        show_errors_only()
        try:
            verification = verify(planned.source, planned.target, **self.verification)
        except AscendExtError as error:
            return _Done(
                conversion, None, seconds, f"{planned.target} is written but could not be verified: {error}"
            )
        if not verification.values_agree:
            problem = f"{planned.target} is written but its outputs differ from those of {planned.source}"
        elif not verification.ok:
            nodes = output.count(len(verification.execution.fallen_back), "converted node")
            problem = f"{planned.target}: {nodes} ran on the CPU (--allow-cpu accepts that)"
        return _Done(conversion, verification, seconds, problem)

    def outcome(self, planned: PlannedOutput) -> tuple[str, dict[str, Any]]:
        """As `run`, as plain data: a summary line and the JSON; what failed is in its `error`."""
        try:
            done = self.run(planned)
        except Exception as error:
            return pool.failed(planned, failure.reason(error, str(planned.source)))
        summary = done.summary(planned)
        if done.verification is not None and done.verification.ok:
            summary += f", verified on {report.place(done.verification.execution)}"
        return f"{summary}   {done.problem}" if done.problem else summary, done.document(planned)


def _convert_one(task: _Task, planned: PlannedOutput, as_json: bool) -> int:
    from onnx_ascend_ext.model_files import STDOUT

    with CopyProgress() as progress:
        done = task.run(planned, progress)
    if as_json:
        output.print_json(done.document(planned))
    else:
        output.print_summary(done.summary(planned), planned.target)
        if planned.target != STDOUT:
            _print_tables(done)
    report.warnings(done.conversion.warnings)
    if done.problem:
        output.log(done.problem)
    return 1 if done.problem else 0


def _print_tables(done: _Done) -> None:
    report.matches(done.conversion.matches)
    report.near_misses(done.conversion.near_misses)
    if done.conversion.portable is not None:
        report.portable(done.conversion.portable)
    if done.verification:
        report.verification(done.verification)


def _convert_all(task: _Task, plan: list[PlannedOutput], jobs: int, as_json: bool) -> int:
    documents = []
    for summary, document in pool.outcomes(task.outcome, plan, jobs):
        documents.append(document)
        if not as_json:
            output.print_line(summary)
        report.warnings(document.get("warnings", ()))
    failed = sum(document["error"] is not None for document in documents)
    if as_json:
        output.print_json({"schema": 1, "ok": not failed, "files": documents})
    else:
        written = sum(document["output"] is not None for document in documents)
        line = f"{written} of {output.count(len(documents), 'model')} converted"
        if task.verification is not None:
            verified = sum(bool((document.get("verification") or {}).get("ok")) for document in documents)
            line += f", {verified} verified"
        output.print_line(line)
    return 1 if failed else 0
