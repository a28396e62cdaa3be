"""`onnx-ascend bench`."""

from __future__ import annotations

import statistics
from collections.abc import Mapping
from typing import Any

import click

from onnx_ascend_ext.command import output, report
from onnx_ascend_ext.command.options import MODEL_TO_READ, device_id_option, input_options, json_option


@click.command("bench", short_help="Time a converted model on the NPU and on the CPU.")
@click.argument("model", type=MODEL_TO_READ, metavar="IN")
@click.option(
    "--runs", type=click.IntRange(min=1), default=20, show_default=True, help="Timed runs of each side."
)
@device_id_option
@input_options
@json_option
def command(
    model: str,
    *,
    runs: int,
    device_id: int,
    inputs: str | None,
    seed: int,
    dims: Mapping[str, int],
    as_json: bool,
) -> None:
    """Time IN through AscendExecutionProvider and on the CPU provider alone, run by run in turn."""
    from onnx_ascend_ext.errors import ModelError
    from onnx_ascend_ext.native import describe
    from onnx_ascend_ext.sessions.assignment import converted_nodes
    from onnx_ascend_ext.sessions.onnxruntime_module import show_errors_only
    from onnx_ascend_ext.verification import Source, make_inputs
    from onnx_ascend_ext.verification.agreement import device_dict
    from onnx_ascend_ext.verification.doors import open_door
    from onnx_ascend_ext.verification.execution import stock_session, timed_run

    show_errors_only()
    source = Source.read(model)
    if not converted_nodes(source.model):
        raise ModelError(f"{model} has no converted node to time; `onnx-ascend convert` makes them")
    npu, (cpu, _) = open_door(source, device_id=device_id).session, stock_session(source)
    declared: Any = cpu.get_inputs()
    feeds = make_inputs(declared, inputs, seed=seed, dims=dims)
    seconds: dict[str, list[float]] = {"npu": [], "cpu": []}
    for index in range(runs + 1):
        for side, session in (("npu", npu), ("cpu", cpu)):
            _, elapsed = timed_run(session, feeds, source)
            if index:  # the first run of each side allocates
                seconds[side].append(elapsed)
    medians = {side: statistics.median(times) for side, times in seconds.items()}
    ratio = medians["cpu"] / medians["npu"]
    device = describe().device(device_id)
    if as_json:
        output.print_json(
            {
                "schema": 1,
                "runs": runs,
                "median_seconds": medians,
                "cpu_over_npu": ratio,
                "device": device_dict(device),
            }
        )
        return
    output.print_table(
        "",
        ("session", "median ms", "fastest ms"),
        [
            (name, f"{medians[side] * 1000:.3f}", f"{min(seconds[side]) * 1000:.3f}")
            for side, name in (("npu", report.device(device)), ("cpu", "CPUExecutionProvider"))
        ],
    )
    other = "simulator" if device.simulated else "NPU"
    output.print_line(
        f"bench: the CPU's median is {ratio:.2f} times the {other}'s, {output.count(runs, 'run')} each"
    )
    if device.simulated:
        output.log("note: the simulator runs on this CPU and says nothing about the speed of an NPU")
