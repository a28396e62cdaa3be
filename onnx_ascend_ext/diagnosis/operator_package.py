"""Where CANN takes the kernels' binaries from: its operator package (OPP) and the user's own."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from onnx_ascend_ext.diagnosis.check import Check, folder_fault, source_cann
from onnx_ascend_ext.diagnosis.environment import HOME_VARIABLE
from onnx_ascend_ext.native import Backend

NAME = "operator package"
CUSTOM = "custom operators"

# Below it, one folder for each family of SoCs.
_KERNEL_CONFIG = "built-in/op_impl/ai_core/tbe/kernel/config"
_CUSTOM_LIBRARY = "op_api/lib/libcust_opapi.so"


def package_checks(backend: Backend) -> Iterator[Check]:
    """Whether CANN finds its operator package, and in it the kernels of the devices that are there."""
    where, opp = _package()
    fault = f"is {opp}, which {folder}" if opp and (folder := folder_fault(opp)) else ""
    if not opp:
        fault = "is not set"
    if fault:
        yield Check(NAME, "failed", f"{where} {fault}, so kernels end with 561107: {source_cann(backend)}")
        return
    devices = {entry["soc_family"]: entry["soc"] for entry in backend.facts["devices"] if entry["soc_family"]}
    without = [soc for family, soc in devices.items() if not _has_kernels(opp, family)]
    for soc in without:
        yield Check(
            NAME,
            "warning",
            f"{where} is {opp}, which has no kernels for {soc}, so they may end with 561112: install the "
            f"kernel (ops) package of this CANN version for {soc}",
        )
    if not without:
        yield Check(NAME, "ok", f"{where} is {opp}")


def _package() -> tuple[str, str]:
    """What says where the package is, and the folder; empty where nothing does."""
    home = os.environ.get(HOME_VARIABLE)
    # Where there is this folder, CANN asks no further.
    if home and (latest := Path(home, "opp_latest")).is_dir():
        return f"opp_latest of {HOME_VARIABLE}", str(latest)
    return "ASCEND_OPP_PATH", os.environ.get("ASCEND_OPP_PATH", "")


def custom_checks() -> Iterator[Check]:
    """Whether the folders of the user's own operators hold any."""
    for folder in os.environ.get("ASCEND_CUSTOM_OPP_PATH", "").split(":"):
        if folder and not os.path.lexists(Path(folder, _CUSTOM_LIBRARY)):
            fault = folder_fault(folder) or f"has no {_CUSTOM_LIBRARY}"
            yield Check(
                CUSTOM,
                "warning",
                f"ASCEND_CUSTOM_OPP_PATH names {folder}, which {fault}: take it out, or name the folder of "
                "installed custom operators",
            )


def _has_kernels(opp: str, family: str) -> bool:
    return next(Path(opp, _KERNEL_CONFIG, family).rglob("*.json"), None) is not None
