"""Windows of convolution and pooling: their geometry, and the transposed convolution over them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from onnx_ascend_ext.portable.body import Body
from onnx_ascend_ext.portable.errors import NoBodyError
from onnx_ascend_ext.portable.node import TrainingNode

_BATCH_AND_CHANNELS = 2


@dataclass(frozen=True)
class Windows:
    """The windows of a node along its spatial axes.

    Attributes:
        kernel: size of the window, in elements that it takes.
        strides: distance from one window to the next.
        dilations: distance from one element of a window to the next.
        auto_pad: `NOTSET`, `VALID`, `SAME_UPPER` or `SAME_LOWER`.
        pads: what is added before and after, by axis; for `NOTSET`.
    """

    kernel: list[int]
    strides: list[int]
    dilations: list[int]
    auto_pad: str
    pads: list[tuple[int, int]]

    @property
    def rank(self) -> int:
        """The number of spatial axes."""
        return len(self.kernel)

    @property
    def spatial_axes(self) -> list[int]:
        """The spatial axes of the tensors."""
        return list(range(_BATCH_AND_CHANNELS, _BATCH_AND_CHANNELS + self.rank))

    @property
    def extents(self) -> list[int]:
        """The size of a window from its first element to its last one."""
        return [(size - 1) * gap + 1 for size, gap in zip(self.kernel, self.dilations, strict=True)]

    def pads_for(self, sizes: Sequence[int | None] | None) -> list[tuple[int, int]] | None:
        """The pads for an input of these spatial sizes; None where they depend on a size that is not known.

        Reference: the ONNX operators Conv and AveragePool, attribute auto_pad.
        """
        if self.auto_pad == "NOTSET":
            return self.pads
        if self.auto_pad == "VALID":
            return [(0, 0)] * self.rank
        if sizes is None:
            return None
        found = []
        for size, stride, extent in zip(sizes, self.strides, self.extents, strict=True):
            if size is None:
                return None
            total = max((-(-size // stride) - 1) * stride + extent - size, 0)
            small, large = total // 2, total - total // 2
            found.append((small, large) if self.auto_pad == "SAME_UPPER" else (large, small))
        return found

    def counts(
        self, sizes: Sequence[int], pads: Sequence[tuple[int, int]], *, ceil_mode: bool = False
    ) -> list[int]:
        """How many windows there are along each axis of an input of these spatial sizes.

        Reference: the ONNX operators Conv and AveragePool.
        """
        found = []
        for size, (before, after), stride, extent in zip(
            sizes, pads, self.strides, self.extents, strict=True
        ):
            free = size + before + after - extent
            count = (-(-free // stride) if ceil_mode else free // stride) + 1
            # A window that would begin behind the input is left out.
            found.append(count - 1 if ceil_mode and (count - 1) * stride >= size + before else count)
        return found


def windows_of(node: TrainingNode, kernel: Sequence[int]) -> Windows:
    """The windows that a node's attributes describe; `kernel` counts where it has no `kernel_shape`.

    Raises:
        NoBodyError: the attributes do not fit together, or the size of the windows is not known.
    """
    kernel = node.integers("kernel_shape") or list(kernel)
    if not kernel:
        raise NoBodyError(
            "the size of its windows is not known: neither kernel_shape nor the shape of W is given"
        )
    rank = len(kernel)
    strides = node.integers("strides") or [1] * rank
    dilations = node.integers("dilations") or [1] * rank
    pads = node.integers("pads") or [0] * (2 * rank)
    auto_pad = node.text("auto_pad") or "NOTSET"
    if auto_pad not in ("NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER"):
        raise NoBodyError(f"its auto_pad {auto_pad!r} is not one of ONNX")
    if len(strides) != rank or len(dilations) != rank or len(pads) != 2 * rank:
        raise NoBodyError("its attributes do not belong to windows of one rank")
    return Windows(kernel, strides, dilations, auto_pad, list(zip(pads[:rank], pads[rank:], strict=True)))


def transposed_convolution(
    body: Body,
    windows: Windows,
    values: str,
    weights: str,
    input_sizes: Sequence[int | None] | None,
    target: str | None,
    *,
    group: int = 1,
    ceil_mode: bool = False,
) -> str:
    """Adds to each element of an input what each window with it has for it.

    Args:
        body: the body to write to.
        windows: the windows.
        values: [batch, channels, *number of windows].
        weights: [channels, channels of the input / group, *kernel].
        input_sizes: the spatial sizes of the input as far as they are known.
        target: the spatial sizes of the input as a 1-D tensor; None where `input_sizes` has them all.
        group: the number of groups.
        ceil_mode: whether the last windows may reach behind the padded input.

    Returns:
        [batch, channels of the input, *input sizes].
    """
    attributes: dict[str, Any] = {
        "kernel_shape": windows.kernel,
        "strides": windows.strides,
        "dilations": windows.dilations,
        "group": group,
    }
    pads = windows.pads_for(input_sizes)
    known = [size for size in input_sizes or [] if size is not None]
    if pads is not None and len(known) == windows.rank:
        counts = windows.counts(known, pads, ceil_mode=ceil_mode)
        behind = [
            (count - 1) * stride + extent - before - size
            for count, stride, extent, (before, _), size in zip(
                counts, windows.strides, windows.extents, pads, known, strict=True
            )
        ]
        attributes["pads"] = [*(before for before, _ in pads), *(max(number, 0) for number in behind)]
        if any(number < 0 for number in behind):
            attributes["output_padding"] = [max(-number, 0) for number in behind]
        return body.op("ConvTranspose", values, weights, **attributes)
    if pads is not None and all(stride == 1 for stride in windows.strides):
        # What the windows reach is the padded input, no more and no less.
        attributes["pads"] = [*(before for before, _ in pads), *(after for _, after in pads)]
        return body.op("ConvTranspose", values, weights, **attributes)
    reached = body.op("ConvTranspose", values, weights, out="reached", **attributes)
    sizes = target if target is not None else body.constant(known)
    if pads is not None:
        before_sizes = body.constant([before for before, _ in pads])
    else:
        before_sizes, _ = same_pads(body, windows, sizes)
    reach = body.dimensions(reached, windows.spatial_axes)
    after_sizes = body.op("Add", body.op("Sub", sizes, reach), before_sizes)
    return pad_spatially(body, reached, body.op("Neg", before_sizes), after_sizes)


def same_pads(body: Body, windows: Windows, sizes: str) -> tuple[str, str]:
    """The pads before and after an input that auto_pad SAME asks for, from its spatial sizes; 1-D tensors."""
    strides = body.constant(windows.strides)
    last = body.constant([stride - 1 for stride in windows.strides])
    count = body.op("Div", body.op("Add", sizes, last), strides, out="windows")
    starts = body.op("Mul", body.op("Sub", count, body.constant(1)), strides)
    reach = body.op("Add", starts, body.constant(windows.extents))
    missing = body.op("Sub", reach, sizes)
    zero = body.constant(0)
    total = body.op("Where", body.op("Greater", missing, zero), missing, zero, out="pads")
    small = body.op("Div", total, body.constant(2))
    large = body.op("Sub", total, small)
    return (small, large) if windows.auto_pad == "SAME_UPPER" else (large, small)


def pad_spatially(body: Body, value: str, before: str, after: str) -> str:
    """Adds zeros around a value along its spatial axes, or takes elements away where a number is negative."""
    none = body.constant([0] * _BATCH_AND_CHANNELS)
    return body.op("Pad", value, body.concat(none, before, none, after))
