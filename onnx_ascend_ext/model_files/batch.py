"""Which files several arguments of a command stand for, and where each one's output goes."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from onnx_ascend_ext.errors import ModelError
from onnx_ascend_ext.model_files.streams import STDIN
from onnx_ascend_ext.model_files.wording import reason, shown


@dataclass(frozen=True)
class PlannedOutput:
    """One input file and the file that its conversion is to be written to."""

    source: Path
    target: Path


def collect(paths: Iterable[str | os.PathLike[str]]) -> list[Path]:
    """The model files that `paths` stand for, each once: a file is itself, a folder every `.onnx` below it.

    Hidden files and folders are left out. Whether a file exists and can be read shows when it is loaded, so
    that one bad file does not stop the rest; for the same reason a folder without models stands for itself.

    Raises:
        ModelError: there are such folders alone, or a folder cannot be listed.
    """
    return [source for source, _ in _expand(paths, None)]


def is_one_file(paths: Sequence[str | os.PathLike[str]]) -> bool:
    """Whether `paths` are one file, not a folder."""
    return len(paths) == 1 and not _is_folder(Path(paths[0]))


def plan_outputs(
    paths: Sequence[str | os.PathLike[str]], output: str | os.PathLike[str]
) -> list[PlannedOutput]:
    """Where the conversion of each file of `collect(paths)` goes.

    One file goes to `output`, or into it where it is a folder. Several files and folders go into the folder
    `output`, under the names that they have in the folder that was given; where `output` lies in that folder,
    the models in it are outputs of an earlier run and left out. Nothing is made or written.

    Raises:
        ModelError: as `collect`; `output` is a file where a folder is needed; two files would be written to
            one place, or a file over an input that is yet to be read; standard input, which has no name,
            would go into a folder.
    """
    is_folder = os.fspath(output).endswith(os.sep)
    output = Path(output)
    is_folder = is_folder or _is_folder(output)
    sources = _expand(paths, output)
    if is_one_file(paths) and not is_folder:
        return [PlannedOutput(sources[0][0], output)]
    if any(source == STDIN for source, _ in sources):
        raise ModelError(f"{STDIN}: has no name to give to its output: let that be a file")
    if not is_folder and output.exists():
        raise ModelError(f"{shown(output)}: is a file; several models need a folder as their output")
    plan = [PlannedOutput(source, output / name) for source, name in sources]
    _refuse_clashes(plan)
    return plan


def make_folders(plan: Sequence[PlannedOutput], output: str | os.PathLike[str]) -> None:
    """Make the folder `output` and the folders below it that `plan`, made for several files, writes to.

    Raises:
        ModelError: a folder cannot be made, among others because the parent of `output` does not exist.
    """
    output = Path(output)
    folders = sorted({planned.target.parent for planned in plan})
    try:
        output.mkdir(exist_ok=True)
        for folder in folders:
            folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ModelError(f"{shown(output)}: the output folder cannot be made: {reason(error)}") from error


def _expand(paths: Iterable[str | os.PathLike[str]], output: Path | None) -> list[tuple[Path, Path]]:
    """Each model file once, with the name that its output has below the folder `output`."""
    found: dict[Path, tuple[Path, Path]] = {}
    empty = []
    any_file = False
    for path in map(Path, paths):
        inside = _models_below(path, output) if _is_folder(path) else []
        if not inside and _is_folder(path):
            empty.append(path)
        else:
            any_file = True
        named = [(path / name, name) for name in inside] or [(path, Path(path.name))]
        for source, name in named:
            found.setdefault(Path(os.path.realpath(source.parent), source.name), (source, name))
    if empty and not any_file:
        raise ModelError(f"{shown(empty[0])}: no .onnx file is in this folder")
    return list(found.values())


def _is_folder(path: Path) -> bool:
    try:
        return path.is_dir()
    except OSError:  # such as for a name that is too long, which whoever opens the file reports
        return False


def _models_below(folder: Path, output: Path | None) -> list[Path]:
    left_out = None if output is None else os.path.realpath(output)
    models = []
    for root, folders, files in os.walk(folder, onerror=_refuse):
        folders[:] = [
            name
            for name in folders
            if not name.startswith(".") and os.path.realpath(Path(root, name)) != left_out
        ]
        models += [
            Path(root, name).relative_to(folder)
            for name in files
            if not name.startswith(".") and name.lower().endswith(".onnx")
        ]
    return sorted(models)


def _refuse(error: OSError) -> None:
    raise ModelError(f"{shown(error.filename)}: cannot be listed: {reason(error)}") from error


def _refuse_clashes(plan: Sequence[PlannedOutput]) -> None:
    readers = {os.path.realpath(planned.source): planned.source for planned in plan}
    writers: dict[str, Path] = {}
    for planned in plan:
        target = os.path.realpath(planned.target)
        if target in writers:
            raise ModelError(
                f"{shown(planned.target)}: would be the output of both {shown(writers[target])} "
                f"and {shown(planned.source)}"
            )
        writers[target] = planned.source
        if target in readers and target != os.path.realpath(planned.source):
            raise ModelError(
                f"{shown(planned.target)}: is an input, and would be overwritten by the output of "
                f"{shown(planned.source)}"
            )
