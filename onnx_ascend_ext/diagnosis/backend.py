"""From the libraries that were found to kernels that can be called."""

from __future__ import annotations

from collections.abc import Iterator

from onnx_ascend_ext.diagnosis.check import Check, any_fault, source_cann
from onnx_ascend_ext.diagnosis.devices import device_checks, mask_checks, node_checks
from onnx_ascend_ext.diagnosis.environment import environment_checks
from onnx_ascend_ext.diagnosis.libraries import library_checks
from onnx_ascend_ext.diagnosis.operator_package import custom_checks, package_checks
from onnx_ascend_ext.native import Backend

NAME = "ACL backend"

# The values of ONNX_ASCEND_BACKEND with which CANN is looked for.
_CANN_WANTED = ("auto", "cann")


def backend_checks(backend: Backend) -> Iterator[Check]:
    """Everything between the library and a kernel on a device."""
    cann: list[Check] = []
    if backend.requested in _CANN_WANTED:
        cann += environment_checks(backend)
        cann += library_checks(backend)
    yield from cann
    yield _choice(backend, explained=any_fault(cann))
    if backend.name is None:
        return
    if backend.name == "cann":
        yield from package_checks(backend)
    yield from custom_checks()
    # Without a start the list of devices is empty, whatever the mask is.
    visible = list(mask_checks(backend)) if backend.run_mode is not None else []
    if backend.name == "cann" and not backend.devices:
        visible += node_checks()
    yield from visible
    if backend.run_mode is None:
        # The choice of the backend has said why ACL does not start.
        return
    yield from device_checks(backend, explained=any_fault(visible))
    for kernel in backend.facts["kernels"]:
        if not kernel["available"] and kernel["reason"] != backend.error:
            yield Check("kernels", "failed", f"{kernel['name']}: {kernel['reason']}")


def _choice(backend: Backend, *, explained: bool) -> Check:
    """Which backend was taken, and whether ACL starts in it."""
    requested = f"ONNX_ASCEND_BACKEND={backend.requested}"
    if backend.name is None and backend.requested in _CANN_WANTED:
        remedy = "for the reason above" if explained else source_cann(backend)
        return Check(NAME, "failed", f"no CANN was found where it was looked for ({requested}): {remedy}")
    if backend.name is None:
        return Check(NAME, "failed", str(backend.error))
    if backend.run_mode is None:
        return Check(NAME, "failed", f"{backend.name} ({requested}) does not start: {backend.error}")
    if backend.name == "simulator" and backend.requested != "simulator":
        remedy = "for the reason above" if explained else f"on a machine with an NPU, {source_cann(backend)}"
        return Check(NAME, "warning", f"the CPU simulator, since no CANN was found ({requested}): {remedy}")
    return Check(NAME, "ok", f"{backend.name} ({requested})")
