"""`onnx-ascend run`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

from onnx_ascend_ext.command import output, report
from onnx_ascend_ext.command.options import (
    FILE_PATH,
    MODEL_TO_READ,
    device_options,
    input_options,
    json_option,
)


@click.command("run", short_help="Run a model and show where each converted node ran.")
@click.argument("model", type=MODEL_TO_READ, metavar="IN")
@click.option("--outputs", "outputs_file", type=FILE_PATH, metavar="FILE.npz", help="Write the outputs here.")
@input_options
@device_options
@json_option
def command(
    model: str,
    *,
    outputs_file: str | None,
    inputs: str | None,
    seed: int,
    dims: Mapping[str, int],
    device_id: int,
    allow_cpu: bool,
    as_json: bool,
) -> int:
    """Run IN once through AscendExecutionProvider."""
    from onnx_ascend_ext import model_files
    from onnx_ascend_ext.sessions.onnxruntime_module import show_errors_only
    from onnx_ascend_ext.sessions.values import dtype_name
    from onnx_ascend_ext.verification import Source, execute, make_inputs
    from onnx_ascend_ext.verification.agreement import execution_dict

    def feeds(declared: Any) -> Mapping[str, Any]:
        return make_inputs(declared, inputs, seed=seed, dims=dims)

    if outputs_file is not None:
        model_files.check_target(outputs_file)
    show_errors_only()
    result = execute(Source.read(model), feeds, device_id=device_id, allow_cpu=allow_cpu)
    if outputs_file is not None:
        model_files.write_npz(outputs_file, result.outputs)
    ok = allow_cpu or not result.fallen_back
    if as_json:
        shapes = {
            name: {"dtype": dtype_name(array.dtype), "shape": list(array.shape)}
            for name, array in result.outputs.items()
        }
        output.print_json({"schema": 1, "ok": ok, **execution_dict(result), "outputs": shapes})
        return 0 if ok else 1
    report.execution(result, model)
    output.print_table(
        "",
        ("output", "dtype", "shape"),
        [(name, dtype_name(array.dtype), str(list(array.shape))) for name, array in result.outputs.items()],
    )
    output.print_line(f"run: {result.seconds * 1000:.1f} ms; on {report.place(result)}")
    return 0 if ok else 1
