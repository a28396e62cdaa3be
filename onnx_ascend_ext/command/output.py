"""How results look: JSON or tables on stdout, progress and log lines on stderr."""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from rich.console import Console

# Width of a table where stdout is no terminal: wide enough that names are not folded.
_PIPE_WIDTH = 160


def print_json(document: Mapping[str, Any]) -> None:
    """Prints one JSON document on stdout."""
    # Indented for a reader; for a program, which a long list takes a while to write, in one line.
    indent = 2 if sys.stdout.isatty() else None
    click.echo(json.dumps(document, indent=indent, ensure_ascii=False, allow_nan=False))


def log(message: str) -> None:
    """One line on stderr."""
    click.echo(f"onnx-ascend: {message}", err=True)


def show_own_warnings() -> None:
    """Shows this package's warnings, and no others, as log lines, whatever the environment says."""
    from onnx_ascend_ext.errors import AscendExtWarning

    warnings.resetwarnings()
    warnings.simplefilter("ignore")
    warnings.simplefilter("default", AscendExtWarning)
    warnings.showwarning = lambda message, *_, **__: log(f"warning: {message}")


def console() -> Console:
    """The console for results."""
    from rich.console import Console

    width = None if sys.stdout.isatty() else _PIPE_WIDTH
    # Results hold users' names, in which rich's markup, emoji codes and highlighting have no place.
    return Console(markup=False, emoji=False, highlight=False, width=width)


def print_table(
    title: str,
    columns: Sequence[str],
    rows: Sequence[Sequence[str]],
    most: int = 20,
    total: int | None = None,
) -> None:
    """Prints the first `most` rows of a table, and how many are left; numbers are aligned to the right.

    `total` is the number of rows where `rows` has no more than the first ones.
    """
    from rich import box
    from rich.table import Table
    from rich.text import Text

    body = rows[:most]
    table = Table(
        title=Text(title) if title else None, title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False
    )
    for index, column in enumerate(columns):
        numeric = bool(body) and all(_is_number(row[index]) for row in body)
        table.add_column(Text(column), justify="right" if numeric else "left", overflow="fold")
    for row in body:
        table.add_row(*(Text(cell) for cell in row))
    console().print(table)
    left = (len(rows) if total is None else total) - len(body)
    if left:
        print_line(f" … and {left} more; --json lists all")


def print_line(text: str) -> None:
    """Prints one line of the result on stdout."""
    click.echo(text)


def number(value: float) -> str:
    """A measured error, short."""
    return "0" if value == 0 else f"{value:.2e}"


def count(quantity: int, noun: str, plural: str | None = None) -> str:
    """Such as `1 node` or `9 nodes`."""
    return f"{quantity} {noun if quantity == 1 else plural or noun + 's'}"


def listed(names: Sequence[str], most: int = 10) -> str:
    """The first names and how many are left."""
    left = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + left


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
