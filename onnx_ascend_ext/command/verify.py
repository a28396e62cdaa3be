"""`onnx-ascend verify`."""

from __future__ import annotations

from typing import Any

import click

from onnx_ascend_ext.command import output, report
from onnx_ascend_ext.command.options import (
    MODEL_TO_READ,
    device_options,
    input_options,
    json_option,
    tolerance_options,
)


@click.command("verify", short_help="Compare a model with its converted form.")
@click.argument("original", type=MODEL_TO_READ, metavar="A")
@click.argument("converted", type=MODEL_TO_READ, metavar="B")
@input_options
@tolerance_options
@device_options
@json_option
def command(original: str, converted: str, *, as_json: bool, **options: Any) -> int:
    """Run A on stock ONNX Runtime and B through AscendExecutionProvider, and compare their outputs.

    NaN equals NaN. An element may differ by atol * max(1, largest value of its tensor) + rtol * its value.
    """
    from onnx_ascend_ext.sessions.onnxruntime_module import show_errors_only
    from onnx_ascend_ext.verification import verify

    show_errors_only()
    result = verify(original, converted, **options)
    if as_json:
        output.print_json(result.to_dict())
    else:
        report.verification(result, converted)
    return 0 if result.ok else 1
