"""Runs aclnnSigmoidBackward on numpy arrays in device mode, where the device reads the host's memory."""

from __future__ import annotations

from typing import Any

import numpy as np

from simulator.acl import Acl
from simulator.oracle import ACL_TYPE

Array = np.ndarray[Any, Any]


def tensor_over(acl: Acl, array: Array) -> int:
    """A tensor with the array's shape and strides, its storage as large as the view needs."""
    size = array.dtype.itemsize
    strides = [stride // size for stride in array.strides]
    reach = 1 + sum((n - 1) * s for n, s in zip(array.shape, strides, strict=True) if n > 1)
    storage = [0] if array.size == 0 else [reach]
    return acl.tensor(array.ctypes.data, array.shape, ACL_TYPE[array.dtype], strides=strides, storage=storage)


def run(acl: Acl, dy: Array, y: Array, out: Array) -> int:
    """Both phases on the default stream; the status of the first that failed."""
    tensors = [tensor_over(acl, array) for array in (dy, y, out)]
    try:
        status, size, executor = acl.phase_one(*tensors)
        if status == 0:
            workspace = np.empty(size + 1, np.uint8)
            status = acl.aclnnSigmoidBackward(workspace.ctypes.data, size, executor, None)
            acl.ok("aclrtSynchronizeStream", None)
        return status
    finally:
        for tensor in tensors:
            acl.ok("aclDestroyTensor", tensor)
