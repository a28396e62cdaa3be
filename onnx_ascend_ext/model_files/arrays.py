"""Arrays in `.npz` files."""

from __future__ import annotations

import os
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, TypeAlias

from onnx_ascend_ext.errors import ModelError
from onnx_ascend_ext.model_files.paths import open_source
from onnx_ascend_ext.model_files.staging import write_files
from onnx_ascend_ext.model_files.wording import shown

if TYPE_CHECKING:
    import numpy.typing as npt

Array: TypeAlias = "npt.NDArray[Any]"


def read_npz(path: str | os.PathLike[str], what: str) -> dict[str, Array]:
    """The arrays of an `.npz` file by name.

    Args:
        path: the file.
        what: what it should hold, for the messages.

    Raises:
        ModelError: there is no such file, or it is of another kind.
    """
    import numpy as np

    path = Path(path)
    try:
        with open_source(path, "an .npz file") as file:
            archive = np.load(file, allow_pickle=False)
            if isinstance(archive, np.ndarray):
                raise ModelError(f"{shown(path)}: holds one array alone, and should be an .npz file {what}")
            return {key: archive[key] for key in archive.files}
    # The readers of zip archives and arrays raise one of these each for what is none.
    except (ValueError, EOFError, TypeError, zipfile.BadZipFile, NotImplementedError) as error:
        raise ModelError(
            f"{shown(path)}: is not an .npz file of plain arrays, {what}: {' '.join(str(error).split())}"
        ) from None


def write_npz(path: str | os.PathLike[str], arrays: Mapping[str, Array]) -> None:
    """Write an `.npz` file in one step; texts are kept in numpy's own type for them.

    Raises:
        ModelError: the file cannot be written.
    """
    import numpy as np

    def write(file: BinaryIO) -> None:
        # numpy.savez takes the names as keywords, of which it needs some itself.
        with zipfile.ZipFile(file, "w", allowZip64=True) as archive:
            for name, array in arrays.items():
                plain = array.astype(str) if array.dtype.kind == "O" else array
                with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                    np.lib.format.write_array(member, plain, allow_pickle=False)

    write_files({Path(path): write})
