"""Entry point: every way a command can end becomes an exit status and, at most, one line on stderr.

With `--json` there is always one JSON document on stdout, also where the work failed.
"""

from __future__ import annotations

import contextlib
import gc
import io
import itertools
import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from types import FrameType

import click

from onnx_ascend_ext.command import failure, output, process
from onnx_ascend_ext.command.group import cli

EXIT_FAILED = 1
EXIT_USAGE = 2
EXIT_INTERRUPTED = 130


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs the command and exits: 0 done, 1 the work failed, 2 wrong usage, 130 interrupted."""
    process.prepare()
    signal.signal(signal.SIGTERM, _terminated)
    _prepare_streams()
    status = _run(sys.argv[1:] if arguments is None else list(arguments))
    gc.freeze()  # nothing of a large model is searched for cycles on the way out
    sys.exit(status)


def _run(arguments: Sequence[str]) -> int:
    try:
        status = cli.main(args=arguments, prog_name="onnx-ascend", standalone_mode=False)
        sys.stdout.flush()
    except click.UsageError as error:
        with contextlib.suppress(OSError):
            error.show()
        return _failed(arguments, error.format_message(), EXIT_USAGE)
    except click.ClickException as error:
        message, status = error.format_message(), EXIT_FAILED
    except (click.Abort, KeyboardInterrupt):
        message, status = "interrupted", EXIT_INTERRUPTED
    except BrokenPipeError:
        # The reader of stdout went away, as `| head` does.
        _abandon_stdout()
        return EXIT_FAILED
    except Exception as error:
        if isinstance(error, OSError) and error.errno and not error.filename:
            _abandon_stdout()
        message, status = failure.reason(error), EXIT_FAILED
    else:
        return status if isinstance(status, int) else 0
    output.log(message)
    return _failed(arguments, message, status)


def _failed(arguments: Sequence[str], message: str, status: int) -> int:
    """The exit status, after the JSON of what failed where JSON was asked for."""
    if "--json" in itertools.takewhile("--".__ne__, arguments):
        try:
            output.print_json(failure.document(message))
        except OSError:
            _abandon_stdout()
    return status


def _prepare_streams() -> None:
    """Makes the standard streams fit for any name: a closed one takes and drops everything."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, Path(os.devnull).open("w", encoding="utf-8"))  # noqa: SIM115 - for good
        elif isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _abandon_stdout() -> None:
    """Keeps the interpreter from complaining, at exit, about what stdout did not take."""
    with contextlib.suppress(OSError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _terminated(signum: int, _frame: FrameType | None) -> None:
    # An exception, so that temporary files are removed on the way out.
    raise SystemExit(128 + signum)
