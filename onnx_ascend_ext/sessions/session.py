"""ONNX Runtime sessions with the execution provider's devices appended."""

from __future__ import annotations

import operator
import os
import warnings
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from onnx_ascend_ext.errors import AscendExtWarning, BackendError
from onnx_ascend_ext.native import EP_NAME, describe
from onnx_ascend_ext.sessions.assignment import RECORD_ASSIGNMENT, fallen_back, node_providers
from onnx_ascend_ext.sessions.onnxruntime_module import onnxruntime
from onnx_ascend_ext.sessions.registration import ep_devices, register

if TYPE_CHECKING:
    import onnx


# A session configuration entry of ours, by which session options that are used again are known.
_DEVICE_ENTRY = "onnx_ascend_ext.device_id"


class CpuFallbackWarning(AscendExtWarning, RuntimeWarning):
    """A converted node does not run on the NPU but from its function body, on the CPU."""


def session_options(
    *, device_id: int = 0, base: Any | None = None, provider_options: Mapping[str, str] | None = None
) -> Any:
    """An `onnxruntime.SessionOptions` with one NPU appended, for a plain `onnxruntime.InferenceSession`.

    Args:
        device_id: the NPU's number as ACL counts.
        base: options to append to, changed in place; new ones where None.
        provider_options: options of the execution provider.

    Raises:
        BackendError: no such device, or the execution provider cannot be registered.
    """
    device_id = operator.index(device_id)
    module = onnxruntime()
    register()
    describe().device(device_id)
    devices = [device for device in ep_devices() if device.ep_metadata.get("index") == str(device_id)]
    if not devices:
        raise BackendError(
            f"ONNX Runtime has no device {device_id} of {EP_NAME}, though ACL has: it was made visible after "
            "the library was registered; start a new process"
        )
    options = module.SessionOptions() if base is None else base
    held = _held_device(options)
    if held is not None:
        if held != str(device_id):
            raise BackendError(
                f"these session options hold NPU {held} already; make new ones for NPU {device_id}"
            )
        return options
    options.add_session_config_entry(_DEVICE_ENTRY, str(device_id))
    options.add_session_config_entry(RECORD_ASSIGNMENT, "1")
    options.add_provider_for_devices(devices, dict(provider_options or {}))
    return options


def _held_device(options: Any) -> str | None:
    """The device that `session_options` has put into these options before."""
    try:
        return str(options.get_session_config_entry(_DEVICE_ENTRY))
    except Exception:
        # ONNX Runtime has no question whether there is an entry, and raises RuntimeError where there is none.
        return None


def InferenceSession(  # noqa: N802 - stands in for onnxruntime.InferenceSession
    path_or_model: str | os.PathLike[str] | bytes | onnx.ModelProto,
    sess_options: Any | None = None,
    *,
    device_id: int = 0,
    provider_options: Mapping[str, str] | None = None,
    **kwargs: Any,
) -> Any:
    """An `onnxruntime.InferenceSession` on one NPU, everything else on ONNX Runtime's CPU provider.

    Args:
        path_or_model: path of a model, its bytes, or an `onnx.ModelProto`.
        sess_options: an `onnxruntime.SessionOptions` to append the NPU to.
        device_id: the NPU's number as ACL counts.
        provider_options: options of the execution provider.
        **kwargs: as for `onnxruntime.InferenceSession`.

    Warns:
        CpuFallbackWarning: a converted node is not run by the execution provider; it is named.

    Raises:
        BackendError: no such device, or the execution provider cannot be registered.
    """
    options = session_options(device_id=device_id, base=sess_options, provider_options=provider_options)
    source = path_or_model
    if hasattr(source, "SerializeToString"):
        source = source.SerializeToString()
    elif not isinstance(source, bytes):
        source = os.fspath(source)
    # A session whose device cannot be opened must fail, not silently run on the CPU.
    kwargs.setdefault("enable_fallback", 0)
    session = onnxruntime().InferenceSession(source, options, **kwargs)
    if missed := fallen_back(node_providers(session, path_or_model)):
        warnings.warn(
            f"{len(missed)} converted node(s) run on the CPU, not on {EP_NAME}: {', '.join(missed)}; "
            "`onnx-ascend doctor` lists what each device supports",
            CpuFallbackWarning,
            stacklevel=2,
        )
    return session
