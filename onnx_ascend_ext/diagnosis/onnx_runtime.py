"""ONNX Runtime, and the execution provider in it."""

from __future__ import annotations

import warnings
from collections.abc import Iterator

from onnx_ascend_ext.diagnosis.check import Check
from onnx_ascend_ext.native import EP_NAME
from onnx_ascend_ext.native.backend import SimulatorWarning
from onnx_ascend_ext.sessions.onnxruntime_module import onnxruntime, require_plugin_ep
from onnx_ascend_ext.sessions.registration import ep_devices, register

NAME = "ONNX Runtime"
PROVIDER = "execution provider"


def version_checks() -> Iterator[Check]:
    """Whether there is an ONNX Runtime, and which."""
    yield Check(NAME, "ok", str(onnxruntime().__version__))


def provider_checks() -> Iterator[Check]:
    """Whether it takes the execution provider and sees its devices."""
    require_plugin_ep(onnxruntime())
    with warnings.catch_warnings():
        # Which backend it is has a check of its own.
        warnings.simplefilter("ignore", SimulatorWarning)
        register()
    count = len(ep_devices())
    if count:
        yield Check(PROVIDER, "ok", f"{EP_NAME} is registered and offers {count} device(s)")
    else:
        yield Check(PROVIDER, "failed", f"{EP_NAME} is registered and offers no device, for the reason above")
