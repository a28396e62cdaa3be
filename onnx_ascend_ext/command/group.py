"""The command group; a subcommand's module is imported when it is used or its help is shown."""

from __future__ import annotations

import importlib

import click

_SUBCOMMANDS = {
    "convert": "Convert models to SigmoidBackward nodes.",
    "inspect": "Show what would be converted, and why a place would not.",
    "verify": "Compare a model with its converted form.",
    "run": "Run a model and show where each converted node ran.",
    "restore": "Turn a converted model back into standard operators.",
    "bench": "Time a converted model on the NPU and on the CPU.",
    "train": "Train with the artifacts of onnxruntime-training.",
    "kernels": "List the kernels and the operators they replace.",
    "doctor": "Check ONNX Runtime, CANN, the devices and the kernels.",
}


class _LazyGroup(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        return list(_SUBCOMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name not in _SUBCOMMANDS:
            return None
        module = importlib.import_module(f"onnx_ascend_ext.command.{cmd_name}")
        command: click.Command = getattr(module, "command")  # noqa: B009 - typed by the annotation
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        with formatter.section("Commands"):
            formatter.write_dl(list(_SUBCOMMANDS.items()))


def _print_version(ctx: click.Context, _parameter: click.Parameter, value: bool) -> None:
    if value:
        import onnx_ascend_ext

        click.echo(f"onnx-ascend {onnx_ascend_ext.__version__}")
        ctx.exit()


@click.group(cls=_LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_print_version,
    help="Show the version.",
)
def cli() -> None:
    """Sigmoid gradients of ONNX training graphs on Ascend NPUs.

    Exit status: 0 done, 1 the work failed, 2 wrong usage, 130 interrupted.
    """
