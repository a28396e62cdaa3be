"""`onnx-ascend inspect`."""

from __future__ import annotations

import click

from onnx_ascend_ext.command import output, report
from onnx_ascend_ext.command.options import FILE_PATH, json_option, matching_options


@click.command("inspect", short_help="Show what would be converted, and why a place would not.")
@click.argument("model", type=FILE_PATH, metavar="IN")
@matching_options
@json_option
def command(
    model: str, *, relaxed: bool, only: tuple[str, ...], exclude: tuple[str, ...], as_json: bool
) -> None:
    """Show every gradient in IN that `convert` would rewrite, and each near miss with its reason."""
    from onnx_ascend_ext.conversion import inspect

    findings = inspect(model, relaxed=relaxed, only=only or None, exclude=exclude or None)
    if as_json:
        output.print_json(findings.to_dict())
        return
    found = output.count(len(findings.matches), "gradient")
    missed = output.count(len(findings.near_misses), "near miss", "near misses")
    output.print_line(f"{model}: {found}, {missed}")
    report.matches(findings.matches, report.ALL)
    report.near_misses(findings.near_misses, report.ALL)
    report.warnings(findings.warnings)
