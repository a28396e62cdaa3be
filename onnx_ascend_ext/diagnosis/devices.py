"""The NPUs: which of them the mask leaves, whether this user may open them, and what ACL shows."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

from onnx_ascend_ext.diagnosis.check import Check, Status, access_of, current_user, group_of
from onnx_ascend_ext.native import Backend

MASK = "device mask"
NODES = "device nodes"
DEVICES = "devices"

_MASK_VARIABLE = "ASCEND_RT_VISIBLE_DEVICES"
# Beside one node for each NPU; every process that opens an NPU opens these too.
_MANAGER_NODES = ("davinci_manager", "devmm_svm", "hisi_hdc")


def mask_checks(backend: Backend) -> Iterator[Check]:
    """What CANN makes of the mask: it drops what it cannot use, and only its log says so."""
    mask = os.environ.get(_MASK_VARIABLE)
    if mask is not None:
        status, outcome = _mask_outcome(mask, len(backend.devices))
        yield Check(MASK, status, f"{_MASK_VARIABLE} is '{mask}'{outcome}")


def _mask_outcome(mask: str, count: int) -> tuple[Status, str]:
    """What to say of a mask with which ACL shows `count` devices."""
    named, unread = _read_mask(mask)
    taken = ", ".join(f"npu:{index} is device {device}" for index, device in enumerate(named[:count]))
    start = f", of which CANN takes only the start ({taken})"
    existing = "name devices that `npu-smi info` lists"
    if 0 < count < len(named):
        return "warning", f"{start}: there is no device {named[count]}; {existing}"
    if count and unread:
        return "warning", f"{start}: it stops at {unread[0]!r}; write digits and commas only"
    if count:
        return "ok", f": {taken}"
    if not named:
        return "failed", ", which names no device, so ACL shows none: unset it, or write numbers such as 0,1"
    ascending = sorted(set(named))
    if named != ascending:
        order = ",".join(map(str, ascending))
        return "failed", f", which repeats a device or does not ascend, so ACL shows none: write {order}"
    return "failed", f", and ACL shows no device {named[0]}: {existing}"


def _read_mask(mask: str) -> tuple[list[int], str]:
    """The devices that CANN reads in the mask, and what it leaves unread."""
    # A comma at the end is harmless.
    read = re.match(r"(\d+(,\d+)*)?,?", mask)
    text = read[1] if read and read[1] else ""
    unread = mask[read.end() :] if read and text else mask
    return [int(number) for number in text.split(",") if number], unread


def node_checks(folder: Path = Path("/dev")) -> Iterator[Check]:
    """Whether the driver's device nodes are there and open to this user. For when ACL shows no device."""
    npus = sorted(path for path in folder.glob("davinci*") if path.name.removeprefix("davinci").isdigit())
    managers = [folder / name for name in _MANAGER_NODES]
    faults = [*_absent_nodes(folder, npus, managers), *_closed_nodes([*npus, *managers])]
    yield from (Check(NODES, "failed", fault) for fault in faults)
    if not faults:
        yield Check(NODES, "ok", f"{_listed(npus)} may be opened")


def _absent_nodes(folder: Path, npus: list[Path], managers: list[Path]) -> Iterator[str]:
    missing = [path for path in managers if not path.exists()]
    if npus and not missing:
        return
    absent = (
        f"there is no {_listed(missing)}" if npus else f"there is no NPU in {folder}, as {folder}/davinci0"
    )
    options = " ".join(f"--device {path}" for path in [folder / "davinci0", *managers])
    yield f"{absent}: load the driver (`npu-smi info` shows it); a container is started with `{options}`"


def _closed_nodes(paths: list[Path]) -> Iterator[str]:
    closed = [path for path in paths if path.exists() and not os.access(path, os.R_OK | os.W_OK)]
    if closed:
        yield (
            f"{_listed(closed)} may not be opened by {current_user()} ({access_of(closed[0])}): "
            f"`sudo usermod -aG {group_of(closed[0])} $USER` and log in again"
        )


def _listed(paths: list[Path]) -> str:
    return ", ".join(map(str, paths))


def device_checks(backend: Backend, *, explained: bool) -> Iterator[Check]:
    """The devices that ACL shows.

    Args:
        backend: what the library found; ACL has been started.
        explained: whether another check has said why there is none.
    """
    if backend.devices:
        found = ", ".join(
            f"{device.id}: {device.soc}{' (simulator)' if device.simulated else ''}"
            for device in backend.devices
        )
        yield Check(DEVICES, "ok", found)
    elif explained:
        yield Check(DEVICES, "failed", "ACL shows none, for the reason above")
    else:
        yield Check(DEVICES, "failed", backend.error or "ACL shows none")
