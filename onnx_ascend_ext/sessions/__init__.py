"""ONNX Runtime sessions that run converted nodes through the execution provider."""

from onnx_ascend_ext.sessions.registration import (
    get_ep_name,
    get_ep_names,
    get_include,
    get_library_path,
    register,
)
from onnx_ascend_ext.sessions.session import CpuFallbackWarning, InferenceSession, session_options

__all__ = [
    "CpuFallbackWarning",
    "InferenceSession",
    "get_ep_name",
    "get_ep_names",
    "get_include",
    "get_library_path",
    "register",
    "session_options",
]
