"""Data sets for training: `.npz` files with one array for each input, examples along the first axis."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from onnx_ascend_ext.errors import ModelError
from onnx_ascend_ext.model_files import read_npz
from onnx_ascend_ext.model_files.wording import shown
from onnx_ascend_ext.sessions.values import dtype_of

Array = npt.NDArray[Any]
Batch = Mapping[str, Array]


@dataclass(frozen=True)
class BatchInput:
    """One array of a batch, as a model takes it.

    Attributes:
        name: of the input.
        dtype: of the array.
        shape: its dimensions, None for one of any size; the first counts the examples.
    """

    name: str
    dtype: np.dtype[Any]
    shape: tuple[int | None, ...]

    @classmethod
    def of_session(cls, value: Any) -> BatchInput:
        """The description of one of `get_inputs()` of an `onnxruntime.InferenceSession`.

        Raises:
            BackendError: the input is no dense tensor.
        """
        shape = (size if isinstance(size, int) and size >= 0 else None for size in value.shape)
        return cls(value.name, dtype_of(value.type), tuple(shape))


@dataclass(frozen=True)
class Dataset:
    """Examples.

    Attributes:
        arrays: an array for each input by name; all have `count` as the first dimension.
        count: number of examples.
    """

    arrays: Mapping[str, Array]
    count: int

    def batches(
        self, size: int, *, generator: np.random.Generator | None = None, drop_last: bool = False
    ) -> Iterator[dict[str, Array]]:
        """The examples in batches, in order or, with a generator, shuffled.

        Args:
            size: examples in a batch; the last one may be smaller.
            generator: gives the order.
            drop_last: leave out a smaller last batch.
        """
        order = None if generator is None else generator.permutation(self.count)
        for start in range(0, self.batch_count(size, drop_last=drop_last) * size, size):
            chosen: Any = slice(start, start + size) if order is None else order[start : start + size]
            yield {name: np.ascontiguousarray(array[chosen]) for name, array in self.arrays.items()}

    def batch_count(self, size: int, *, drop_last: bool = False) -> int:
        """How many batches `batches` gives."""
        return self.count // size if drop_last else -(-self.count // size)


def read_dataset(path: str | os.PathLike[str], inputs: Iterable[BatchInput]) -> Dataset:
    """Reads a data set.

    Args:
        path: the `.npz` file; arrays that no input is named after are refused.
        inputs: the inputs of a batch.

    Raises:
        ModelError: the file is no `.npz` file, or its arrays do not fit the inputs.
    """
    arrays = read_npz(path, "with an array for each input")
    declared = {taken.name: taken for taken in inputs}
    where = shown(Path(path))
    missing = [name for name in declared if name not in arrays]
    unknown = [name for name in arrays if name not in declared]
    if missing or unknown:
        parts = [f"lacks {', '.join(missing)}"] * bool(missing) + [
            f"has unknown {', '.join(unknown)}"
        ] * bool(unknown)
        raise ModelError(f"{where}: {' and '.join(parts)}; a batch's inputs are {', '.join(declared)}")
    fitted = {}
    for name, taken in declared.items():
        try:
            fitted[name] = fit(arrays[name], taken)
        except ModelError as error:
            raise ModelError(f"{where}: {error}") from None
    counts = {name: array.shape[0] for name, array in fitted.items()}
    if len(set(counts.values())) > 1:
        listed = ", ".join(f"{name} {count}" for name, count in counts.items())
        raise ModelError(f"{where}: its arrays have different numbers of examples: {listed}")
    count = next(iter(counts.values()), 0)
    if not count:
        raise ModelError(f"{where}: holds no examples")
    return Dataset(fitted, count)


def fit(array: Array, taken: BatchInput) -> Array:
    """An array as an input takes it, C-contiguous.

    Args:
        array: examples along the first axis.
        taken: the input.

    Raises:
        ModelError: the type cannot be converted without loss of range, or a dimension after the first
            differs.
    """
    array = as_dtype(np.asarray(array), taken.dtype, taken.name)
    fits = array.ndim == len(taken.shape) > 0 and all(
        size is None or size == actual for size, actual in zip(taken.shape[1:], array.shape[1:], strict=True)
    )
    if not fits:
        wanted = ", ".join("any" if size is None else str(size) for size in taken.shape)
        raise ModelError(f"{taken.name} has the shape {list(array.shape)}, and the model takes [{wanted}]")
    return array if array.flags.c_contiguous else np.ascontiguousarray(array)


def as_dtype(array: Array, dtype: np.dtype[Any], name: str) -> Array:
    """An array with a type; `name` is what messages call it.

    Raises:
        ModelError: the array cannot be converted without loss of range.
    """
    if array.dtype == dtype:
        return array
    if array.dtype.kind == "V" and array.dtype.itemsize == dtype.itemsize:
        return array.view(dtype)  # an .npz file keeps bfloat16 as raw bytes
    if _converts(array, dtype):
        return array.astype(dtype)
    raise ModelError(f"{name} is {array.dtype}, and the model takes {dtype}")


def _converts(array: Array, dtype: np.dtype[Any]) -> bool:
    if array.dtype.kind in "iu" and dtype.kind in "iu" and array.size:
        limits = np.iinfo(dtype)
        return bool(limits.min <= array.min() and array.max() <= limits.max)
    if array.dtype.kind in "biu":
        return dtype.kind in "f" or np.can_cast(array.dtype, dtype, "safe")
    return np.can_cast(array.dtype, dtype, "same_kind")
