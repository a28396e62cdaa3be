"""Writing a model file and the data files that it refers to."""

from __future__ import annotations

import itertools
import os
import stat
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Literal

from onnx import ModelProto

from onnx_ascend_ext.errors import ModelError
from onnx_ascend_ext.model_files.copying import Progress, copy, is_same_content, opened, reported
from onnx_ascend_ext.model_files.external_data import (
    LINK_MARK,
    DataFile,
    data_files,
    external_tensors,
    location_of,
    relocate,
)
from onnx_ascend_ext.model_files.formats import serialize, text_format
from onnx_ascend_ext.model_files.paths import check_target
from onnx_ascend_ext.model_files.staging import Transaction, unwinding_on_sigterm
from onnx_ascend_ext.model_files.streams import STDOUT, write_stdout
from onnx_ascend_ext.model_files.wording import reason, shown

# How often to look again when another process writes the same data files.
_ATTEMPTS = 3


@dataclass(frozen=True)
class SavedFiles:
    """What `save` wrote."""

    model: Path
    data: tuple[Path, ...]
    """Data files that were copied or linked beside the model; empty where references were kept."""
    renamed: Mapping[str, str]
    """Locations that the saved model spells differently, since another file had that name: old to new."""


@dataclass(frozen=True)
class _Placement:
    """Where one data file goes."""

    file: DataFile
    target: Path
    location: str
    present: bool
    """Whether the target already holds the same bytes."""

    @property
    def is_renamed(self) -> bool:
        return self.location != self.file.location


def save(
    model: ModelProto,
    path: str | os.PathLike[str],
    *,
    source: str | os.PathLike[str] | None = None,
    external_data: Literal["copy", "link"] = "copy",
    progress: Progress | None = None,
) -> SavedFiles:
    """Write `model` to the file `path`, in one step: `path` is either the old file or the whole new one.

    In the folder of `source`, references to external data are kept and the data files are not touched, also
    when `path` is `source`. In another folder the data files are put beside the model under the same
    locations, copied or hard-linked; a different file that has such a name is kept, and the data goes under
    the first free `name-N`. `model` is not changed. A symlink `path` is replaced, not followed; the
    permission bits of a file that is replaced stay. `/dev/stdout` is standard output, which a model without
    external data is written to.

    Args:
        model: with its external data not loaded (as `load` returns it), or without any.
        path: the suffix tells the format, as in `load`, except that `.onnxtxt` is not written.
        source: the model file that `model` was read from, which its external data lies beside; None where
            the data already lies beside `path`.
        external_data: "copy", or "link" for hard links, which take no space, need one file system, and are
            marked with an extended attribute so that `load` can tell them from others. ONNX Runtime reads
            such files; `onnx.load` refuses all hard links.
        progress: is told about copies.

    Raises:
        ModelError: `path` cannot be written, a data file cannot be used (as in `load`), or the model is over
            2 GiB. Nothing has been written or changed then.
        ValueError: `external_data` is neither of its values.
    """
    path = Path(path)
    source = path if source is None else Path(source)
    if external_data not in ("copy", "link"):
        raise ValueError(f"external_data must be 'copy' or 'link', not {external_data!r}")
    if path == STDOUT:
        write_stdout(model)
        return SavedFiles(path, (), {})
    check_target(path)
    attempts = _ATTEMPTS
    while True:
        attempts -= 1
        try:
            return _save(model, path, source, external_data, progress)
        except OSError as error:
            # Another process may just have put a data file there, perhaps the same one: look again.
            if isinstance(error, FileExistsError) and attempts:
                continue
            raise ModelError(_cannot_write(path, error)) from error


def _save(
    model: ModelProto, path: Path, source: Path, external_data: str, progress: Progress | None
) -> SavedFiles:
    data = serialize(model, path)
    files = data_files(external_tensors(model, serialized=None if text_format(path) else data), source)
    _check_holds_no_data(path, files)
    placements: list[_Placement] = []
    if files and not source.absolute().parent.samefile(path.absolute().parent):
        placements = _place(files, path, progress)
    renamed = {place.file.location: place.location for place in placements if place.is_renamed}
    if renamed:
        data = serialize(_relocated(model, renamed), path)
    to_add = [place for place in placements if not place.present]
    with unwinding_on_sigterm(), Transaction() as transaction:
        for place in to_add:
            transaction.make_folder(place.target.parent)
        if external_data == "link":
            _link(transaction, to_add)
        else:
            _copy(transaction, to_add, progress)
        with transaction.new_file(path, replace=True) as fd:
            _write(fd, data)
        transaction.commit()
    return SavedFiles(path, tuple(place.target for place in to_add), renamed)


def _check_holds_no_data(path: Path, files: Sequence[DataFile]) -> None:
    if path.exists():
        status = path.stat()
        if any(file.device_and_inode == (status.st_dev, status.st_ino) for file in files):
            raise ModelError(f"{shown(path)}: holds the model's external data, and is not overwritten")


def _place(files: Sequence[DataFile], path: Path, progress: Progress | None) -> list[_Placement]:
    """Find each data file its place beside the model file `path`."""
    root = os.path.realpath(path.absolute().parent)
    wanted = {PurePosixPath(file.location) for file in files}
    owners: dict[PurePosixPath, DataFile] = {}
    placements = []
    for file in files:
        own = PurePosixPath(file.location)
        for name in _names(own):
            target = path.parent / name
            if not Path(os.path.realpath(target.parent)).is_relative_to(root):
                raise ModelError(f"{shown(target)}: cannot be written: its folder is a symlink to elsewhere")
            location = file.location if name == own else str(name)
            owner = owners.get(name)
            if owner is not None and owner.device_and_inode == file.device_and_inode:
                placements.append(_Placement(file, target, location, present=True))
                break
            is_free = owner is None and (name == own or name not in wanted) and str(name) != path.name
            present = is_free and _holds(target, file, progress)
            if is_free and (present or not os.path.lexists(target)):
                owners[name] = file
                placements.append(_Placement(file, target, location, present))
                break
    return placements


def _names(name: PurePosixPath) -> Iterator[PurePosixPath]:
    """`name`, and then the names to try where another file has it."""
    yield name
    for number in itertools.count(1):
        yield name.with_name(f"{name.stem}-{number}{name.suffix}")


def _holds(target: Path, file: DataFile, progress: Progress | None) -> bool:
    """Whether `target` is a file with the content of `file` that a model may refer to."""
    try:
        status = target.lstat()
    except FileNotFoundError:
        return False
    if (status.st_dev, status.st_ino) == file.device_and_inode:
        return True
    if not stat.S_ISREG(status.st_mode) or status.st_size != file.size or status.st_nlink > 1:
        return False
    with opened(file) as fd, reported(progress, file.size, f"Comparing {target.name}") as advance:
        return is_same_content(fd, target, file.size, advance)


def _relocated(model: ModelProto, renamed: Mapping[str, str]) -> ModelProto:
    copied = ModelProto()
    copied.CopyFrom(model)
    for tensor in external_tensors(copied):
        location = location_of(tensor)
        relocate(tensor, renamed.get(location, location))
    return copied


def _copy(transaction: Transaction, placements: Sequence[_Placement], progress: Progress | None) -> None:
    total = sum(place.file.size for place in placements)
    with reported(progress, total, "Copying external data") as advance:
        for place in placements:
            with opened(place.file) as source:
                mode = stat.S_IMODE(os.fstat(source).st_mode) & 0o666
                with transaction.new_file(place.target, replace=False, mode=mode) as target:
                    copy(source, target, place.file.size, advance)


def _link(transaction: Transaction, placements: Sequence[_Placement]) -> None:
    for place in placements:
        source, target = place.file.path, place.target
        advice = "copy it instead (external_data='copy')"
        if target.parent.stat().st_dev != source.stat().st_dev:
            raise ModelError(
                f"{shown(target)}: cannot be a hard link to {shown(source)} on another file system: {advice}"
            )
        try:
            os.setxattr(source, LINK_MARK, b"", os.XATTR_CREATE)
            transaction.on_failure(partial(os.removexattr, source, LINK_MARK))
        except FileExistsError:
            pass  # linked before
        except OSError as error:
            raise ModelError(
                f"{shown(source)}: cannot be marked as hard-linked on purpose ({reason(error)}): {advice}"
            ) from error
        transaction.new_link(source, target)


def _write(fd: int, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(fd, rest) :]


def _cannot_write(path: Path, error: OSError) -> str:
    if isinstance(error, FileExistsError):
        return f"{shown(path)}: cannot be written: another process writes to the same folder: run it again"
    return f"{shown(path)}: cannot be written: {reason(error)}"
