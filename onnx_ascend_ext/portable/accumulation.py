"""Accumulators of gradients, without overwriting anything."""

from __future__ import annotations

import numpy as np
from onnx import TensorProto

from onnx_ascend_ext.portable.body import Body


def in_place_accumulator_v2(body: Body) -> None:
    """`InPlaceAccumulatorV2`: the sum, or the value alone where `overwrite_flag` says so."""
    value = _as_buffer(body, "accumulation_buffer", "value")
    total = body.op("Add", "accumulation_buffer", value, out="sum")
    if body.has("overwrite_flag"):
        overwrite = body.scalar("overwrite_flag")
        total = body.op("Where", overwrite, value, total)
    body.result("accumulation_buffer_out", total)
    body.result("updated_flag", body.constant([True], np.bool_))


def in_place_accumulator(body: Body) -> None:
    """`InPlaceAccumulator`: the sum, or the buffer as it was where `update_signal` is false."""
    total = body.op("Add", "old_sum", _as_buffer(body, "old_sum", "value"), out="sum")
    if body.has("update_signal"):
        total = body.op("Where", body.scalar("update_signal"), total, "old_sum")
    body.result("new_sum", total)


def _as_buffer(body: Body, buffer: str, value: str) -> str:
    """The value in the buffer's element type, which may be a wider one."""
    known = body.dtype(buffer), body.dtype(value)
    if known[0] == known[1] or TensorProto.UNDEFINED in known:
        return value
    return body.cast_like(value, buffer)
