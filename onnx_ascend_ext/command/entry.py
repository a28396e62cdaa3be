"""Entry point: every way a command can end becomes an exit status and, at most, one line on stderr."""

from __future__ import annotations

import contextlib
import gc
import io
import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from types import FrameType

import click

from onnx_ascend_ext.command.group import cli
from onnx_ascend_ext.command.output import show_own_warnings
from onnx_ascend_ext.errors import AscendExtError

EXIT_FAILED = 1
EXIT_USAGE = 2
EXIT_INTERRUPTED = 130

# Set to show the Python traceback of an error that is a fault of this package.
_TRACEBACK_VARIABLE = "ONNX_ASCEND_TRACEBACK"


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs the command and exits: 0 done, 1 the work failed, 2 wrong usage, 130 interrupted."""
    signal.signal(signal.SIGTERM, _terminated)
    _prepare_streams()
    show_own_warnings()
    status = _run(arguments)
    gc.freeze()  # nothing of a large model is searched for cycles on the way out
    sys.exit(status)


def _run(arguments: Sequence[str] | None) -> int:
    try:
        status = cli.main(args=arguments, prog_name="onnx-ascend", standalone_mode=False)
        sys.stdout.flush()
    except click.UsageError as error:
        error.show()
        return EXIT_USAGE
    except click.ClickException as error:
        return _fail(error.format_message())
    except (click.Abort, KeyboardInterrupt):
        return _fail("interrupted", EXIT_INTERRUPTED)
    except BrokenPipeError:
        # The reader of stdout went away, as `| head` does.
        _abandon_stdout()
        return EXIT_FAILED
    except (AscendExtError, FileNotFoundError) as error:
        return _fail(str(error))
    except OSError as error:
        _abandon_stdout()
        return _fail(f"{error.filename or 'standard output'}: {error.strerror or error}")
    except MemoryError:
        return _fail("out of memory")
    except Exception as error:
        if os.environ.get(_TRACEBACK_VARIABLE):
            raise
        return _fail(
            f"internal error, {type(error).__name__}: {error}; please report it with the output of the same "
            f"command under {_TRACEBACK_VARIABLE}=1"
        )
    return status if isinstance(status, int) else 0


def _fail(message: str, status: int = EXIT_FAILED) -> int:
    click.echo(f"onnx-ascend: {' '.join(message.split())}", err=True)
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
