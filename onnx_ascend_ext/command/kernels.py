"""`onnx-ascend kernels`."""

from __future__ import annotations

import click

from onnx_ascend_ext.command import output
from onnx_ascend_ext.command.options import json_option


@click.command("kernels", short_help="List the kernels and the operators they replace.")
@json_option
def command(*, as_json: bool) -> None:
    """List each kernel, its definition, and the operators of other producers that mean the same."""
    from onnx_ascend_ext import catalog

    kernels = catalog.load().values()
    if as_json:
        output.print_json(
            {
                "schema": 1,
                "kernels": [
                    {
                        "name": kernel.name,
                        "domain": catalog.DOMAIN,
                        "summary": kernel.summary,
                        "inputs": list(kernel.inputs),
                        "outputs": list(kernel.outputs),
                        "aclnn": kernel.aclnn.symbol,
                        "replaces": [
                            {
                                "producer": foreign.producer,
                                "domain": foreign.domain,
                                "op_type": foreign.op_type,
                                "operands": list(foreign.operands),
                            }
                            for foreign in kernel.foreign
                        ],
                    }
                    for kernel in kernels
                ],
            }
        )
        return
    for kernel in kernels:
        output.print_line(f"{catalog.DOMAIN}::{kernel.name}   {kernel.aclnn.symbol}")
        output.print_line(kernel.summary)
        output.print_table(
            "",
            ("replaces", "of", "operands"),
            [
                (
                    f"{foreign.domain or 'ai.onnx'}::{foreign.op_type}",
                    foreign.producer,
                    ", ".join(foreign.operands),
                )
                for foreign in kernel.foreign
            ],
        )
