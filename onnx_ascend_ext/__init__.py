"""Sigmoid gradients of ONNX training graphs on Ascend NPUs.

`convert` finds every gradient of Sigmoid in a model and rewrites it to one
`onnx_ascend_ext::SigmoidBackward` node; `register`, `session_options` and `InferenceSession` run such a model
through ONNX Runtime's plugin execution provider; `sigmoid_backward` is the kernel on numpy arrays.
Nothing is imported or loaded before it is used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from onnx_ascend_ext import simulator
    from onnx_ascend_ext.catalog.kernel import DOMAIN
    from onnx_ascend_ext.conversion import Conversion, convert, inspect, restore
    from onnx_ascend_ext.direct_call import sigmoid_backward
    from onnx_ascend_ext.errors import AclError, AscendExtError, BackendError, CatalogError, ModelError
    from onnx_ascend_ext.native.backend import SimulatorWarning
    from onnx_ascend_ext.portable import PortableReport
    from onnx_ascend_ext.sessions import (
        CpuFallbackWarning,
        InferenceSession,
        get_ep_name,
        get_ep_names,
        get_include,
        get_library_path,
        register,
        session_options,
    )
    from onnx_ascend_ext.training import Trainer
    from onnx_ascend_ext.verification import Verification, verify

_EXPORTS = {
    "AclError": "errors",
    "AscendExtError": "errors",
    "BackendError": "errors",
    "CatalogError": "errors",
    "Conversion": "conversion",
    "CpuFallbackWarning": "sessions",
    "DOMAIN": "catalog.kernel",
    "InferenceSession": "sessions",
    "ModelError": "errors",
    "PortableReport": "portable",
    "SimulatorWarning": "native.backend",
    "Trainer": "training",
    "Verification": "verification",
    "convert": "conversion",
    "get_ep_name": "sessions",
    "get_ep_names": "sessions",
    "get_include": "sessions",
    "get_library_path": "sessions",
    "inspect": "conversion",
    "register": "sessions",
    "restore": "conversion",
    "session_options": "sessions",
    "sigmoid_backward": "direct_call",
    "verify": "verification",
}

__all__ = [  # noqa: RUF022 - the main path first
    "convert",
    "Conversion",
    "PortableReport",
    "inspect",
    "restore",
    "verify",
    "Verification",
    "register",
    "session_options",
    "InferenceSession",
    "get_library_path",
    "get_include",
    "get_ep_name",
    "get_ep_names",
    "sigmoid_backward",
    "Trainer",
    "simulator",
    "DOMAIN",
    "AscendExtError",
    "ModelError",
    "CatalogError",
    "BackendError",
    "AclError",
    "SimulatorWarning",
    "CpuFallbackWarning",
    "__version__",
]


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        return version("onnx-ascend-ext")
    if name in _EXPORTS:
        return getattr(importlib.import_module(f"{__name__}.{_EXPORTS[name]}"), name)
    if name == "simulator":
        return importlib.import_module(f"{__name__}.simulator")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(set(globals()) | set(__all__))
