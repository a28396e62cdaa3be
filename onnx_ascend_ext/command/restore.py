"""`onnx-ascend restore`."""

from __future__ import annotations

import click

from onnx_ascend_ext.command import output
from onnx_ascend_ext.command.options import MODEL_TO_READ, MODEL_TO_WRITE, ExternalData, external_data_option
from onnx_ascend_ext.command.progress import CopyProgress


@click.command("restore", short_help="Turn a converted model back into standard operators.")
@click.argument("model", type=MODEL_TO_READ, metavar="IN")
@click.option(
    "-o", "--output", "target", type=MODEL_TO_WRITE, required=True, metavar="OUT", help="The file to write."
)
@external_data_option
def command(model: str, *, target: str, external_data: ExternalData) -> None:
    """Replace the kernel nodes of IN by their ONNX definitions, for tools that know no other operators."""
    from onnx_ascend_ext import model_files
    from onnx_ascend_ext.conversion import restore
    from onnx_ascend_ext.errors import ModelError
    from onnx_ascend_ext.sessions.assignment import converted_nodes

    converted = model_files.load(model)
    (planned,) = model_files.plan_outputs([model], target)
    try:
        restored = restore(converted)
    except ModelError as error:
        raise ModelError(f"{planned.source}: {error}") from error
    with CopyProgress() as progress:
        model_files.save(
            restored, planned.target, source=planned.source, external_data=external_data, progress=progress
        )
    nodes = output.count(len(converted_nodes(converted)), "converted node")
    output.print_summary(f"{planned.source} → {planned.target}   {nodes} written out", planned.target)
