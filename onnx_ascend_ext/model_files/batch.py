"""Which files several arguments of a command stand for, and where each one's output goes."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from onnx_ascend_ext.errors import ModelError
from onnx_ascend_ext.model_files.wording import reason, shown


@dataclass(frozen=True)
class PlannedOutput:
    """One input file and the file that its conversion is to be written to."""

    source: Path
    target: Path


def collect(paths: Iterable[str | os.PathLike[str]]) -> list[Path]:
    """The model files that `paths` stand for, each once: a file is itself, a folder every `.onnx` below it.

    Hidden files and folders are left out. Whether a file exists and can be read shows when it is loaded, so
    that one bad file does not stop the rest.

    Raises:
        ModelError: a folder holds no `.onnx` file.
    """
    return [source for source, _ in _expand(paths, None)]


def plan_outputs(
    paths: Sequence[str | os.PathLike[str]], output: str | os.PathLike[str]
) -> list[PlannedOutput]:
    """Where the conversion of each file of `collect(paths)` goes.

    One file goes to `output`, or into it where it is a folder. Several files and folders go into the folder
    `output`, under the names that they have in the folder that was given; where `output` lies in that folder,
    the models in it are outputs of an earlier run and left out. Nothing is made or written.

    Raises:
        ModelError: as `collect`; `output` is a file where a folder is needed; two files would be written to
            one place, or a file over an input that is yet to be read.
    """
    output = Path(output)
    sources = _expand(paths, output)
    single = len(paths) == 1 and not Path(paths[0]).is_dir()
    if single and not output.is_dir():
        return [PlannedOutput(sources[0][0], output)]
    if output.exists() and not output.is_dir():
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
    found: dict[str, tuple[Path, Path]] = {}
    for path in map(Path, paths):
        if path.is_dir():
            inside = _models_below(path, output)
            if not inside:
                raise ModelError(f"{shown(path)}: no .onnx file is in this folder")
            named = [(path / name, name) for name in inside]
        else:
            named = [(path, Path(path.name))]
        for source, name in named:
            found.setdefault(str(source.absolute()), (source, name))
    return list(found.values())


def _models_below(folder: Path, output: Path | None) -> list[Path]:
    left_out = None if output is None else os.path.realpath(output)
    models = []
    for root, folders, files in os.walk(folder):
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
