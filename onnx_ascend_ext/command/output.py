"""How results look: JSON or tables on stdout, progress and log lines on stderr."""

from __future__ import annotations

import codecs
import contextlib
import json
import sys
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from rich.console import Console

# Width of a table where stdout is no terminal: wide enough that names are not folded.
_PIPE_WIDTH = 160
# In a terminal that is narrower the lines are folded, not the columns, of which nothing would be left.
_LEAST_WIDTH = 60


def print_json(document: Mapping[str, Any]) -> None:
    """Prints one JSON document on stdout; it is `ok` where it does not say otherwise."""
    document = {"ok": True, **document}
    # Indented for a reader; for a program, which a long list takes a while to write, in one line.
    indent = 2 if sys.stdout.isatty() else None
    # What stdout cannot encode it writes as Python's escapes, not all of which are JSON's.
    ascii_only = codecs.lookup(sys.stdout.encoding).name != "utf-8"
    click.echo(json.dumps(document, indent=indent, ensure_ascii=ascii_only, allow_nan=False))


def log(message: str) -> None:
    """One line on stderr, if that takes it."""
    with contextlib.suppress(OSError):
        click.echo(f"onnx-ascend: {printable(message)}", err=True)


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

    # Results hold users' names, in which rich's markup, emoji codes and highlighting have no place.
    made = Console(markup=False, emoji=False, highlight=False)
    made.width = max(made.width, _LEAST_WIDTH) if sys.stdout.isatty() else _PIPE_WIDTH
    return made


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
        title=Text(printable(title)) if title else None,
        title_justify="left",
        box=box.SIMPLE_HEAD,
        pad_edge=False,
    )
    for index, column in enumerate(columns):
        numeric = bool(body) and all(_is_number(row[index]) for row in body)
        table.add_column(Text(column), justify="right" if numeric else "left", overflow="fold")
    for row in body:
        table.add_row(*(Text(printable(cell)) for cell in row))
    console().print(table)
    left = (len(rows) if total is None else total) - len(body)
    if left:
        print_line(f" … and {left} more; --json lists all")


def print_line(text: str) -> None:
    """Prints one line of the result on stdout."""
    click.echo(printable(text))


def print_summary(text: str, written: Path) -> None:
    """Prints one line about a model that was written: on stderr where stdout took the model itself."""
    from onnx_ascend_ext.model_files import STDOUT

    (log if written == STDOUT else print_line)(text)


def printable(text: str) -> str:
    """`text` with escapes for what does not print: a name in a model may hold commands to a terminal."""
    return text if text.isprintable() else "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)


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
