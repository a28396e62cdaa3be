"""Inputs for a run: from a file, or seeded random ones from the declared shapes."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from onnx_ascend_ext.errors import BackendError, ModelError
from onnx_ascend_ext.model_files import read_npz
from onnx_ascend_ext.model_files.wording import shown
from onnx_ascend_ext.sessions.values import dtype_name, dtype_of

Array = npt.NDArray[Any]

DEFAULT_DIM = 4


def make_inputs(
    session_inputs: Iterable[Any],
    path: str | os.PathLike[str] | None = None,
    *,
    seed: int = 0,
    dims: Mapping[str, int] | None = None,
) -> dict[str, Array]:
    """The arrays of the file `path`, or random ones where it is None; see the two functions that it calls."""
    if path is not None:
        return load_inputs(path, session_inputs)
    return random_inputs(session_inputs, seed=seed, dims=dims)


def load_inputs(path: str | os.PathLike[str], session_inputs: Iterable[Any]) -> dict[str, Array]:
    """The arrays of an `.npz` file, by input name.

    Args:
        path: the file. Arrays that no input is named after are refused.
        session_inputs: `get_inputs()` of an `onnxruntime.InferenceSession`. bfloat16 and float8 arrays, which
            an `.npz` file keeps as raw bytes, get their input's type.

    Raises:
        ModelError: the file is not an `.npz` file, or lacks or misnames an input.
    """
    arrays = read_npz(path, "with an array for each input, as numpy.savez writes")
    where = shown(Path(path))
    declared = {value.name: value for value in session_inputs}
    missing = [key for key in declared if key not in arrays]
    unknown = [key for key in arrays if key not in declared]
    if missing or unknown:
        parts = [f"lacks {', '.join(missing)}"] * bool(missing) + [
            f"has unknown {', '.join(unknown)}"
        ] * bool(unknown)
        raise ModelError(
            f"{where}: {' and '.join(parts)}; the model's inputs are {', '.join(declared) or 'none'}"
        )
    for key, array in arrays.items():
        wanted = dtype_of(declared[key].type)
        if array.dtype.kind == "V" and array.dtype.itemsize == wanted.itemsize:
            array = array.view(wanted)
        # ONNX Runtime reads the bytes as they are.
        array = array.astype(array.dtype.newbyteorder("="), copy=False)
        if array.dtype != wanted and not (array.dtype.kind in "OSU" and wanted.kind in "OSU"):
            raise ModelError(
                f"{where}: {key} is {dtype_name(array.dtype)}, the model's input is {dtype_name(wanted)}"
            )
        arrays[key] = array
    return arrays


def random_inputs(
    session_inputs: Iterable[Any], *, seed: int = 0, dims: Mapping[str, int] | None = None
) -> dict[str, Array]:
    """Seeded random arrays for each input.

    Floating-point inputs are drawn from the normal distribution, integers from 0 and 1 (so that they serve as
    labels or indices of anything with two classes or rows), booleans evenly. Strings are empty.

    Args:
        session_inputs: `get_inputs()` of an `onnxruntime.InferenceSession`.
        seed: the same seed gives the same arrays.
        dims: size of each symbolic dimension by name; `DEFAULT_DIM` for one not listed.

    Raises:
        BackendError: an input is no dense tensor or does not fit into memory, or `dims` names a dimension
            that no input has.
    """
    generator = np.random.default_rng(seed)
    sizes = dict(dims or {})
    inputs = list(session_inputs)
    symbols = {dim for value in inputs for dim in value.shape if isinstance(dim, str)}
    if unknown := sorted(set(sizes) - symbols):
        raise BackendError(
            f"no input has a dimension named {', '.join(unknown)}; the symbolic dimensions are "
            f"{', '.join(sorted(symbols)) or 'none'}"
        )
    arrays: dict[str, Array] = {}
    for value in inputs:
        shape = tuple(
            dim if isinstance(dim, int) and dim >= 0 else sizes.get(str(dim), DEFAULT_DIM)
            for dim in value.shape
        )
        try:
            arrays[value.name] = _draw(generator, shape, value.name, value.type)
        except (MemoryError, ValueError) as error:  # numpy raises the latter beyond what it can address
            raise BackendError(
                f"input {value.name} of shape {list(shape)} does not fit into memory: give smaller sizes"
            ) from error
    return arrays


def _draw(generator: np.random.Generator, shape: tuple[int, ...], name: str, type_name: str) -> Array:
    if type_name == "tensor(string)":
        return np.full(shape, "", dtype=object)
    try:
        dtype = dtype_of(type_name)
    except BackendError as error:
        raise BackendError(f"input {name}: {error}; give it with --inputs where it can be one") from None
    if dtype.kind == "b":
        return generator.integers(0, 2, shape).astype(dtype)
    if dtype.kind in "iu":
        return generator.integers(0, 2, shape).astype(dtype)
    if dtype.kind == "c":
        return (generator.standard_normal(shape) + 1j * generator.standard_normal(shape)).astype(dtype)
    return generator.standard_normal(shape).astype(dtype)
