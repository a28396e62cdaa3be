"""`onnx-ascend inspect`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from onnx_ascend_ext.command import failure, output, report
from onnx_ascend_ext.command.options import MODEL_TO_READ, json_option, matching_options

if TYPE_CHECKING:
    from onnx_ascend_ext.conversion import Inspection


@click.command("inspect", short_help="Show what would be converted, and why a place would not.")
@click.argument("models", type=MODEL_TO_READ, nargs=-1, required=True, metavar="IN...")
@matching_options
@json_option
def command(
    models: tuple[str, ...],
    *,
    relaxed: bool,
    only: tuple[str, ...],
    exclude: tuple[str, ...],
    as_json: bool,
) -> int:
    """Show every gradient in IN that `convert` would rewrite, and each near miss with its reason.

    IN may be several files, a folder, or - for standard input; a file that cannot be read does not stop the
    rest.
    """
    from onnx_ascend_ext.conversion import inspect
    from onnx_ascend_ext.model_files import collect, is_one_file

    options: dict[str, Any] = {"relaxed": relaxed, "only": only or None, "exclude": exclude or None}
    if is_one_file(models):
        findings = inspect(models[0], **options)
        if as_json:
            output.print_json(_document(models[0], findings))
        else:
            _print(models[0], findings)
        return 0
    documents: list[dict[str, Any]] = []
    for path in map(str, collect(models)):
        try:
            findings = inspect(path, **options)
        except Exception as error:
            message = failure.reason(error, path)
            documents.append(failure.document(message, path))
            if not as_json:
                output.print_line(message)
            continue
        documents.append(_document(path, findings))
        if not as_json:
            _print(path, findings)
    failed = sum(document["error"] is not None for document in documents)
    if as_json:
        output.print_json({"schema": 1, "ok": not failed, "files": documents})
    else:
        output.print_line(f"{len(documents) - failed} of {output.count(len(documents), 'model')} inspected")
    return 1 if failed else 0


def _document(path: str, findings: Inspection) -> dict[str, Any]:
    return {**findings.to_dict(), "ok": True, "source": path, "error": None}


def _print(path: str, findings: Inspection) -> None:
    found = output.count(len(findings.matches), "gradient")
    missed = output.count(len(findings.near_misses), "near miss", "near misses")
    if findings.converted_before:
        missed += f", {findings.converted_before} converted before"
    output.print_line(f"{path}: {found}, {missed}")
    report.matches(findings.matches, report.ALL)
    report.near_misses(findings.near_misses, report.ALL)
    report.warnings(findings.warnings)
