"""The gradients of pooling, of any rank."""

from __future__ import annotations

from itertools import product
from math import prod

import numpy as np
import numpy.typing as npt

from onnx_ascend_ext.portable.body import Body
from onnx_ascend_ext.portable.errors import NoBodyError
from onnx_ascend_ext.portable.scattering import scatter_add
from onnx_ascend_ext.portable.windows import Windows, scatter, windows_of


def average_pool_grad(body: Body) -> None:
    """`AveragePoolGrad`: each channel of each sample on its own, as a transposed convolution with equal weights.

    An element that the forward operator counted although it lies outside of the input takes its share with it.
    """
    node = body.node
    windows = windows_of(node, [])
    sizes = _input_sizes(body, windows)
    values = "dY"
    if not node.integer("count_include_pad"):
        counts = _counts(windows, sizes)
        if np.any(counts != prod(windows.kernel)):
            factors = prod(windows.kernel) / counts
            values = body.op(
                "Mul", "dY", body.constant_like(factors[np.newaxis, np.newaxis], "dY"), out="shares"
            )
    one, rest = body.constant([1]), body.constant([-1])
    counted = body.dimensions("dY", windows.spatial_axes)
    planes = body.op("Reshape", values, body.concat(rest, one, counted), out="planes")
    weights = body.constant_like(np.full([1, 1, *windows.kernel], 1 / prod(windows.kernel)), "dY")
    spread = scatter(body, windows, planes, weights, sizes, None)
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
    kernel = node.integers("kernel_shape")
    strides = node.integers("strides") or [1] * len(kernel)
    apart = bool(kernel) and all(size <= step for size, step in zip(kernel, strides, strict=True))
    body.result("dX", scatter_add(body, "Indices", "dY", sizes, distinct=apart))


def _input_sizes(body: Body, windows: Windows) -> list[int]:
    """The spatial sizes of the forward operator's input."""
    shape = body.node.shape("dX")
    if shape is not None and len(shape) == windows.rank + 2 and None not in shape[2:]:
        return [size or 0 for size in shape[2:]]
    raise NoBodyError(
        "the spatial sizes of its result are not known: state its shape in the model's value_info"
    )


def _counts(windows: Windows, sizes: list[int]) -> npt.NDArray[np.float64]:
    """How many elements of the input each window contains; an array of [number of windows along each axis]."""
    pads = windows.pads_for(sizes) or []
    along = []
    for axis, size in enumerate(sizes):
        before, after = pads[axis]
        extent, stride = windows.extents[axis], windows.strides[axis]
        padded = size + before + after
        number = (padded - extent) // stride + 1
        starts = np.arange(number) * stride - before
        steps = np.arange(windows.kernel[axis]) * windows.dilations[axis]
        places = starts[:, np.newaxis] + steps
        along.append(((places >= 0) & (places < size)).sum(axis=1))
    counts = np.ones([len(axis_counts) for axis_counts in along])
    for position in product(*(range(len(axis_counts)) for axis_counts in along)):
        counts[position] = prod(axis_counts[i] for axis_counts, i in zip(along, position, strict=True))
    return counts
