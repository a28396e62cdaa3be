"""`onnx-ascend restore`."""

from __future__ import annotations

from pathlib import Path

import click

from onnx_ascend_ext.command import output
from onnx_ascend_ext.command.options import FILE_PATH, ExternalData, external_data_option
from onnx_ascend_ext.command.progress import CopyProgress


@click.command("restore", short_help="Turn a converted model back into standard operators.")
@click.argument("model", type=FILE_PATH, metavar="IN")
@click.option(
    "-o", "--output", "target", type=FILE_PATH, required=True, metavar="OUT", help="The file to write."
)
@external_data_option
def command(model: str, *, target: str, external_data: ExternalData) -> None:
    """Replace the kernel nodes of IN by their ONNX definitions, for tools that know no other operators."""
    from onnx_ascend_ext import model_files
    from onnx_ascend_ext.conversion import restore
    from onnx_ascend_ext.sessions.assignment import converted_nodes

    restored = restore(model)
    nodes = len(converted_nodes(model))
    with CopyProgress() as progress:
        model_files.save(
            restored, Path(target), source=Path(model), external_data=external_data, progress=progress
        )
    output.print_line(f"{model} → {target}   {output.count(nodes, 'converted node')} written out")
