"""The gradients of pooling, of any rank."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from math import prod

import numpy as np
import numpy.typing as npt

from onnx_ascend_ext.portable.body import END, Body
from onnx_ascend_ext.portable.errors import NoBodyError
from onnx_ascend_ext.portable.scattering import can_add, scatter, scatter_add
from onnx_ascend_ext.portable.windows import Windows, transposed_convolution, windows_of


def average_pool_grad(body: Body) -> None:
    """`AveragePoolGrad`: each channel of each sample by itself, a transposed convolution with equal weights.

    Each gradient is shared by the elements that the forward operator counts in its window: those of the
    input, with `count_include_pad` those of the pads as well. What `ceil_mode` adds behind the pads never
    counts, as in ONNX's definition; the kernels of onnxruntime-training 1.19 divide by the whole window
    there.
    """
    node = body.node
    windows = windows_of(node, [])
    sizes = _input_sizes(body, windows)
    values = "dY"
    ceil_mode = node.integer("ceil_mode") != 0
    counted = _counted(windows, sizes, node.integer("count_include_pad") != 0, ceil_mode)
    if np.any(counted != prod(windows.kernel)):
        shares = body.constant_like((prod(windows.kernel) / counted)[np.newaxis, np.newaxis], "dY")
        values = body.op("Mul", "dY", shares, out="shared")
    one, rest = body.constant([1]), body.constant([-1])
    numbers = body.dimensions("dY", windows.spatial_axes)
    planes = body.op("Reshape", values, body.concat(rest, one, numbers), out="planes")
    weights = body.constant_like(np.full([1, 1, *windows.kernel], 1 / prod(windows.kernel)), "dY")
    spread = transposed_convolution(body, windows, planes, weights, sizes, None, ceil_mode=ceil_mode)
    shape = body.concat(body.dimensions("dY", [0, 1]), body.constant(sizes))
    body.result("dX", body.op("Reshape", spread, shape))


def max_pool_grad(body: Body) -> None:
    """`MaxPoolGrad`: the indices count through the whole input, samples and channels included."""
    node = body.node
    if node.integer("storage_order"):
        raise NoBodyError(
            "its indices count in column-major order (storage_order 1), which the kernels do not know"
        )
    shape = node.shape("dX")
    if shape is None or None in shape[2:]:
        raise NoBodyError(
            "the spatial sizes of its result are not known: state its shape in the model's value_info"
        )
    sizes = body.concat(body.dimensions("dY", [0, 1]), body.constant([size or 0 for size in shape[2:]]))
    apart = _windows_apart(body)
    if can_add(body) and apart != [1] * len(apart):
        body.result("dX", scatter_add(body, "Indices", "dY", sizes, "dY"))
        return
    if not apart:
        raise NoBodyError("the size of its windows is not known: kernel_shape is missing")
    total: str | None = None
    for first in product(*map(range, apart)):
        positions, values = (_every_nth(body, value, first, apart) for value in ("Indices", "dY"))
        part = scatter(body, positions, values, sizes, "dY")
        total = part if total is None else body.op("Add", total, part)
    body.result("dX", total or "dY")


def _windows_apart(body: Body) -> list[int]:
    """For each axis, the distance in windows from which on two of them have no element in common."""
    node = body.node
    kernel = node.integers("kernel_shape")
    steps = node.integers("strides") or [1] * len(kernel)
    gaps = node.integers("dilations") or [1] * len(kernel)
    return [-(-((size - 1) * gap + 1) // step) for size, gap, step in zip(kernel, gaps, steps, strict=True)]


def _every_nth(body: Body, value: str, first: Sequence[int], steps: Sequence[int]) -> str:
    """The elements of a value at every nth place along its spatial axes; itself where that is each."""
    if all(step == 1 for step in steps):
        return value
    bounds = [list(first), [END] * len(steps), list(range(2, 2 + len(steps))), list(steps)]
    return body.op("Slice", value, *(body.constant(numbers) for numbers in bounds), out=f"some_of_{value}")


def _input_sizes(body: Body, windows: Windows) -> list[int]:
    """The spatial sizes of the forward operator's input."""
    shape = body.node.shape("dX")
    if shape is not None and len(shape) == windows.rank + 2 and None not in shape[2:]:
        return [size or 0 for size in shape[2:]]
    raise NoBodyError(
        "the spatial sizes of its result are not known: state its shape in the model's value_info"
    )


def _counted(
    windows: Windows, sizes: list[int], include_pads: bool, ceil_mode: bool
) -> npt.NDArray[np.float64]:
    """How many elements count in each window, as an array of [windows along each axis].

    Reference: the ONNX operator AveragePool.
    """
    pads = windows.pads_for(sizes) or []
    numbers = windows.counts(sizes, pads, ceil_mode=ceil_mode)
    counted = np.ones([1] * windows.rank)
    for axis, (size, (before, after)) in enumerate(zip(sizes, pads, strict=True)):
        starts = np.arange(numbers[axis]) * windows.strides[axis] - before
        places = starts[:, np.newaxis] + np.arange(windows.kernel[axis]) * windows.dilations[axis]
        low, high = (-before, size + after) if include_pads else (0, size)
        along = ((places >= low) & (places < high)).sum(axis=1)
        counted = counted * along.reshape([-1 if other == axis else 1 for other in range(windows.rank)])
    return counted
