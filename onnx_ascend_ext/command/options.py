"""Options that several subcommands share."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Literal, TypeVar

import click


class _FilePath(click.ParamType):  # type: ignore[type-arg, unused-ignore]
    """A path; an empty one, as from an unset shell variable, would mean the current folder."""

    name = "path"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        if not value:
            self.fail("the path is empty", param, ctx)
        if value == "-":
            self.fail("no standard stream can be used here; ./- is the file of that name", param, ctx)
        return value


class _StreamOrFilePath(_FilePath):
    """A path, or `-` for a standard stream."""

    def __init__(self, stream: Literal["STDIN", "STDOUT"]) -> None:
        self._stream = stream

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        if value != "-":
            return super().convert(value, param, ctx)
        from onnx_ascend_ext import model_files

        return str(getattr(model_files, self._stream))


FILE_PATH = _FilePath()
MODEL_TO_READ = _StreamOrFilePath("STDIN")
MODEL_TO_WRITE = _StreamOrFilePath("STDOUT")


class _Tolerance(click.FloatRange):
    """A finite number that is not negative."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        number = super().convert(value, param, ctx)
        if not math.isfinite(number):
            self.fail(f"{value} is no finite number", param, ctx)
        return number


def _kernel_names(
    _ctx: click.Context, _parameter: click.Parameter, values: tuple[str, ...]
) -> tuple[str, ...]:
    if values:
        from onnx_ascend_ext import catalog

        kernels = catalog.load()
        for name in values:
            if name not in kernels:
                raise click.BadParameter(f"there is no kernel {name!r}: the kernels are {', '.join(kernels)}")
    return values


ExternalData = Literal["copy", "link"]
Command = TypeVar("Command", bound=Callable[..., Any])


def _dimensions(_ctx: click.Context, _parameter: click.Parameter, values: tuple[str, ...]) -> dict[str, int]:
    sizes: dict[str, int] = {}
    for value in values:
        name, separator, size = value.rpartition("=")
        if not separator or not name or not size.isdecimal():
            raise click.BadParameter(f"{value!r} is not NAME=SIZE, such as batch=4")
        sizes[name] = int(size)
    return sizes


def _together(*options: Callable[[Command], Command]) -> Callable[[Command], Command]:
    def apply(command: Command) -> Command:
        for option in reversed(options):
            command = option(command)
        return command

    return apply


json_option = click.option("--json", "as_json", is_flag=True, help="Print the result as JSON on stdout.")

matching_options = _together(
    click.option("--relaxed", is_flag=True, help="Also convert forms that are more accurate than 1 - y."),
    click.option(
        "--only",
        multiple=True,
        callback=_kernel_names,
        metavar="KERNEL",
        help="Convert to this kernel alone; repeatable.",
    ),
    click.option(
        "--exclude",
        multiple=True,
        callback=_kernel_names,
        metavar="KERNEL",
        help="Do not convert to this kernel; repeatable.",
    ),
)

external_data_option = click.option(
    "--external-data",
    type=click.Choice(["copy", "link"]),
    default="copy",
    show_default=True,
    help="How weights beside the model reach another folder: copied, or hard-linked.",
)

input_options = _together(
    click.option(
        "--inputs",
        type=FILE_PATH,
        metavar="FILE.npz",
        help="An array for each input, by name; random ones if not given.",
    ),
    click.option(
        "--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Seed of the random inputs."
    ),
    click.option(
        "--dim",
        "dims",
        multiple=True,
        callback=_dimensions,
        metavar="NAME=SIZE",
        help="Size of a symbolic dimension for the random inputs; 4 if not given; repeatable.",
    ),
)

device_id_option = click.option(
    "--device-id", type=click.IntRange(min=0), default=0, show_default=True, help="The NPU, as ACL counts."
)

device_options = _together(
    device_id_option,
    click.option("--allow-cpu", is_flag=True, help="Accept converted nodes that run on the CPU."),
)

tolerance_options = _together(
    click.option("--rtol", type=_Tolerance(min=0), help="Relative tolerance, in place of the dtype's own."),
    click.option("--atol", type=_Tolerance(min=0), help="Absolute tolerance, in place of the dtype's own."),
)
