"""The gradients of convolution and of its transpose, of any rank."""

from __future__ import annotations

from onnx_ascend_ext.portable.body import Body
from onnx_ascend_ext.portable.errors import NoBodyError
from onnx_ascend_ext.portable.windows import (
    Windows,
    pad_spatially,
    same_pads,
    transposed_convolution,
    windows_of,
)


def conv_grad(body: Body) -> None:
    """`ConvGrad`: dX is a transposed convolution of dY with W, dW a convolution of X with dY, dB a sum."""
    windows = _windows(body)
    shape = body.node.shape("X")
    sizes = shape[2:] if shape else None
    if body.has("dX"):
        target = body.dimensions("X", windows.spatial_axes)
        group = body.node.integer("group")
        body.result("dX", transposed_convolution(body, windows, "dY", "W", sizes, target, group=group))
    if body.has("dW"):
        body.result("dW", _weight_gradient(body, windows, "X", sizes, "dY"))
    body.result("dB", body.with_axes("ReduceSum", "dY", [0, *windows.spatial_axes], keepdims=0))


def conv_transpose_grad(body: Body) -> None:
    """`ConvTransposeGrad`: X and dY change places, so that dX is a convolution of dY with W."""
    node = body.node
    windows = _windows(body)
    if windows.auto_pad not in ("NOTSET", "VALID") or node.integers("output_shape"):
        raise NoBodyError(
            "its pads follow from the size of its output: export the model with pads of their own"
        )
    pads = windows.pads if windows.auto_pad == "NOTSET" else [(0, 0)] * windows.rank
    gradient = body.op(
        "Conv",
        "dY",
        "W",
        group=node.integer("group"),
        strides=windows.strides,
        dilations=windows.dilations,
        pads=[*(before for before, _ in pads), *(after for _, after in pads)],
    )
    body.result("dX", gradient)
    if body.has("dW"):
        body.result("dW", _weight_gradient(body, windows, "dY", None, "X"))
    body.result("dB", body.with_axes("ReduceSum", "dY", [0, *windows.spatial_axes], keepdims=0))


def _windows(body: Body) -> Windows:
    shape = body.node.shape("W")
    known = [size or 0 for size in shape[2:]] if shape else []
    return windows_of(body.node, known if all(known) else [])


def _weight_gradient(
    body: Body, windows: Windows, images: str, sizes: list[int | None] | None, values: str
) -> str:
    """A convolution of the images with the values of the windows as its kernel.

    The samples take the place of the channels that are summed over, and strides and dilations change places.
    With groups, the channels of one group are the batch, and the groups stay groups.

    Args:
        body: the body to write to.
        windows: the windows.
        images: what the windows lie in, [samples, group * channels, *sizes].
        sizes: its spatial sizes as far as they are known.
        values: one for each window, [samples, features, *number of windows].

    Returns:
        [features, channels, *kernel].
    """
    group = body.node.integer("group")
    rank = windows.rank
    exchanged = [1, 0, *range(2, 2 + rank)]
    pads = windows.pads_for(sizes)
    if pads is None:
        before, after = same_pads(body, windows, body.dimensions(images, windows.spatial_axes))
        images = pad_spatially(body, images, before, after)
        pads = [(0, 0)] * rank
    kernels = body.op("Transpose", values, perm=exchanged, out="kernels")
    gradient = body.op(
        "Conv",
        _samples_as_channels(body, windows, images, group),
        kernels,
        group=group,
        strides=windows.dilations,
        dilations=windows.strides,
        pads=[*(before for before, _ in pads), *(after for _, after in pads)],
        out="correlation",
    )
    # Where the last window does not end at the end of the images, elements behind the kernel's are left over.
    starts, ends = body.constant([0] * rank), body.constant(windows.kernel)
    gradient = body.op("Slice", gradient, starts, ends, body.constant(windows.spatial_axes))
    return body.op("Transpose", gradient, perm=exchanged)


def _samples_as_channels(body: Body, windows: Windows, images: str, group: int) -> str:
    """[samples, group * channels, ...] as [channels, group * samples, ...]."""
    rank = windows.rank
    if group == 1:
        return body.op("Transpose", images, perm=[1, 0, *range(2, 2 + rank)])
    samples = body.dimensions(images, [0])
    spatial = body.dimensions(images, windows.spatial_axes)
    rest = body.constant([-1])
    split = body.concat(samples, body.constant([group]), rest, spatial)
    grouped = body.op("Reshape", images, split, out="grouped")
    exchanged = body.op("Transpose", grouped, perm=[2, 1, 0, *range(3, 3 + rank)])
    channels = body.op("Mul", samples, body.constant([group]))
    return body.op("Reshape", exchanged, body.concat(rest, channels, spatial))
