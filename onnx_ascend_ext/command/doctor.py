"""`onnx-ascend doctor`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

from onnx_ascend_ext.command import output
from onnx_ascend_ext.command.options import json_option


@click.command("doctor", short_help="Check ONNX Runtime, CANN, the devices and the kernels.")
@json_option
def command(*, as_json: bool) -> int:
    """Check everything between this command and an NPU, and say what to do where something is missing.

    Exits with 1 where a session could not run converted nodes through AscendExecutionProvider.
    """
    from onnx_ascend_ext.diagnosis import diagnose
    from onnx_ascend_ext.sessions.onnxruntime_module import show_errors_only

    show_errors_only()
    diagnosis = diagnose()
    document = diagnosis.to_dict()
    if as_json:
        output.print_json(document)
        return 0 if diagnosis.ok else 1
    output.print_table(
        f"onnx-ascend-ext {document['version']}",
        ("check", "", "detail"),
        [(check.name, check.status, check.detail) for check in diagnosis.checks],
    )
    _show_search(document["backend"]["searched"] or [])
    _show_kernels(document)
    return 0 if diagnosis.ok else 1


def _show_search(searched: list[Mapping[str, Any]]) -> None:
    rows = [
        (entry["library"], entry["path"], "found" if entry["found"] else entry["error"] or "not there")
        for entry in searched
    ]
    if rows:
        output.print_table("where CANN's libraries were looked for", ("library", "path", "result"), rows)


def _show_kernels(document: Mapping[str, Any]) -> None:
    socs = {device["id"]: device["soc"] for device in document["devices"]}
    rows = [
        (
            kernel["name"],
            f"npu:{support['id']}, {socs.get(support['id'], '?')}",
            ", ".join(support["dtypes"]) or f"none: {support['reason']}",
        )
        for kernel in document["kernels"]
        for support in kernel["devices"]
    ]
    if rows:
        output.print_table("", ("kernel", "device", "dtypes"), rows)
