"""Reads the counters of this process' simulator and makes its functions fail."""

from __future__ import annotations

import ctypes
import functools
import json
from pathlib import Path
from types import TracebackType
from typing import cast

from onnx_ascend_ext.resources import folder

_LIBRARY = "libascendcl.so"


def library_dir() -> Path:
    """The folder with the simulator's `libascendcl.so`, `libnnopbase.so` and `libopapi.so`.

    Raises:
        FileNotFoundError: the package was installed without its libraries.
    """
    path = Path(str(folder("lib"))) / "simulator"
    if not (path / _LIBRARY).is_file():
        raise FileNotFoundError(f"no {_LIBRARY} in {path}: install onnx-ascend-ext again (pip install .)")
    return path


@functools.cache
def _library() -> ctypes.CDLL:
    # The path that the runtime loads as well: one file is one library in a process, and has one state.
    library = ctypes.CDLL(str(library_dir() / _LIBRARY))
    library.onnx_ascend_sim_counters.restype = ctypes.c_size_t
    library.onnx_ascend_sim_counters.argtypes = [ctypes.c_char_p, ctypes.c_size_t]
    library.onnx_ascend_sim_reset.restype = None
    library.onnx_ascend_sim_reset.argtypes = []
    library.onnx_ascend_sim_fault.restype = ctypes.c_int32
    library.onnx_ascend_sim_fault.argtypes = [ctypes.c_char_p, ctypes.c_uint64, ctypes.c_int32]
    library.onnx_ascend_sim_clear_faults.restype = None
    library.onnx_ascend_sim_clear_faults.argtypes = [ctypes.c_char_p]
    return library


def counters() -> dict[str, int]:
    """What the simulator of this process has done.

    Returns:
        The number of calls by function name, for every function that it exports; sums under `launches`,
        `copies_*`, `executor_cache_*` and `violations` (breaches of the contract that CANN would not
        notice); and gauges of what is alive now, `live_*` and `bytes_in_use`.

    Raises:
        FileNotFoundError: the package was installed without its libraries.
    """
    library = _library()
    size = library.onnx_ascend_sim_counters(None, 0)
    while True:
        buffer = ctypes.create_string_buffer(size)
        needed = library.onnx_ascend_sim_counters(buffer, size)
        if needed <= size:
            return cast("dict[str, int]", json.loads(buffer.value))
        size = needed


def reset() -> None:
    """Sets the call counts and sums to zero and clears all faults. Gauges go on.

    Raises:
        FileNotFoundError: the package was installed without its libraries.
    """
    _library().onnx_ascend_sim_reset()


class Fault:
    """A fault that waits for its call; as a context manager it is cleared at the end of the block."""

    def __init__(self, function: str) -> None:
        self._function = function

    def clear(self) -> None:
        """Clears every fault of the function that has not happened yet."""
        _library().onnx_ascend_sim_clear_faults(self._function.encode())

    def __enter__(self) -> Fault:
        return self

    def __exit__(
        self,
        exception_type: type[BaseException] | None,
        exception: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.clear()


def fault(function: str, nth: int = 1, code: int = 500000) -> Fault:
    """Makes a call of a CANN function fail, once.

    A function that makes something makes nothing then. One that releases, destroys or waits does so first and
    reports the code afterwards, so that an injected fault alone never leaks. A function that answers with a
    pointer answers nullptr.

    Args:
        function: name of a function of the simulator, such as `aclrtMalloc`.
        nth: which call from now on fails, counted from 1.
        code: what it returns, such as 207001; ACL's internal error where none is given.

    Returns:
        The fault, armed already; use it in a `with` statement to clear it at the end of the block.

    Raises:
        ValueError: the simulator has no such function, nth is below 1, or the code is 0 (success).
        FileNotFoundError: the package was installed without its libraries.
    """
    if nth < 1 or code == 0:
        raise ValueError(f"fault of {function}: nth {nth} must be at least 1 and code {code} other than 0")
    if _library().onnx_ascend_sim_fault(function.encode(), nth, code) != 0:
        raise ValueError(f"the simulator exports no function {function!r}")
    return Fault(function)
