"""Locates and loads `libonnx_ascend_ext.so`."""

from __future__ import annotations

import ctypes
import functools
from pathlib import Path

from onnx_ascend_ext import resources

LIBRARY_NAME = "libonnx_ascend_ext.so"
EP_NAME = "AscendExecutionProvider"


class Tensor(ctypes.Structure):
    """`onnx_ascend_tensor` of `runtime/c_api/onnx_ascend_ext.h`."""

    _fields_ = (
        ("data", ctypes.c_void_p),
        ("dtype", ctypes.c_int32),
        ("rank", ctypes.c_int32),
        ("dims", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
    )


class Error(ctypes.Structure):
    """`onnx_ascend_error` of `runtime/c_api/onnx_ascend_ext.h`."""

    _fields_ = (
        ("code", ctypes.c_int32),
        ("function", ctypes.c_char * 64),
        ("message", ctypes.c_char * 4096),
    )


def library_path() -> Path:
    """Path of the installed library.

    Raises:
        FileNotFoundError: the package was not built; the message names the folder and the cure.
    """
    path = Path(str(resources.folder("lib") / LIBRARY_NAME))
    if not path.is_file():
        raise FileNotFoundError(
            f"{LIBRARY_NAME} is not in {path.parent}: install the package with "
            "`pip install onnx-ascend-ext`, or `pip install .` in a checkout (needs a C++17 compiler)"
        )
    return path


@functools.lru_cache(maxsize=1)
def load() -> ctypes.CDLL:
    """The library with its C functions typed. It stays loaded; a call releases the GIL."""
    library = ctypes.CDLL(str(library_path()))
    library.onnx_ascend_version.restype = ctypes.c_char_p
    library.onnx_ascend_version.argtypes = ()
    library.onnx_ascend_ep_name.restype = ctypes.c_char_p
    library.onnx_ascend_ep_name.argtypes = ()
    library.onnx_ascend_describe.restype = ctypes.c_size_t
    library.onnx_ascend_describe.argtypes = (ctypes.c_char_p, ctypes.c_size_t)
    library.onnx_ascend_simulator_notice.restype = ctypes.c_char_p
    library.onnx_ascend_simulator_notice.argtypes = ()
    library.onnx_ascend_call.restype = ctypes.c_int32
    library.onnx_ascend_call.argtypes = (
        ctypes.c_char_p,
        ctypes.POINTER(Tensor),
        ctypes.c_size_t,
        ctypes.POINTER(Tensor),
        ctypes.c_size_t,
        ctypes.c_int32,
        ctypes.POINTER(Error),
    )
    return library
