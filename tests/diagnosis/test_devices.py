"""The mask, as CANN reads it, and the driver's device nodes."""

from __future__ import annotations

from pathlib import Path

import pytest

from onnx_ascend_ext.diagnosis.devices import node_checks

MASK = "device mask"
NODES = "device nodes"


@pytest.mark.parametrize(
    ("mask", "devices", "status", "words"),
    [
        ("1,3", 2, "ok", "is '1,3': npu:0 is device 1, npu:1 is device 3"),
        ("0", 1, "ok", "is '0': npu:0 is device 0"),
        ("2,", 1, "ok", "is '2,': npu:0 is device 2"),
        (
            "1,3,8",
            2,
            "warning",
            "only the start (npu:0 is device 1, npu:1 is device 3): there is no device 8",
        ),
        ("1, 2", 1, "warning", "only the start (npu:0 is device 1): it stops at ' '"),
        ("2x,3", 1, "warning", "only the start (npu:0 is device 2): it stops at 'x'"),
        ("0,,1", 1, "warning", "only the start (npu:0 is device 0): it stops at ','"),
        ("", 0, "failed", "is '', which names no device"),
        ("all", 0, "failed", "is 'all', which names no device"),
        ("-1", 0, "failed", "is '-1', which names no device"),
        ("3,1", 0, "failed", "does not ascend, so ACL shows none: write 1,3"),
        ("1,1", 0, "failed", "repeats a device or does not ascend, so ACL shows none: write 1"),
        ("9", 0, "failed", "is '9', and ACL shows no device 9"),
    ],
)
def test_the_mask_is_told_with_what_cann_makes_of_it(doctor, mask, devices, status, words) -> None:
    found = doctor(ONNX_ASCEND_BACKEND="simulator", ASCEND_SIM_DEVICES="4", ASCEND_RT_VISIBLE_DEVICES=mask)
    assert len(found.document["devices"]) == devices
    told, detail = found.one(MASK)
    assert told == status
    assert detail.startswith("ASCEND_RT_VISIBLE_DEVICES is '")
    assert words in detail
    expected = ("ok", "0: ") if devices else ("failed", "ACL shows none, for the reason above")
    shown = found.one("devices")
    assert (shown[0], shown[1][: len(expected[1])]) == expected


def test_without_a_mask_there_is_nothing_to_tell(doctor) -> None:
    found = doctor(ONNX_ASCEND_BACKEND="simulator", ASCEND_SIM_DEVICES="2")
    assert found.all(MASK) == []
    assert found.one("devices") == ("ok", "0: Ascend910B1 (simulator), 1: Ascend910B1 (simulator)")


def test_no_device_at_all_is_told_without_a_mask_too(doctor) -> None:
    found = doctor(ONNX_ASCEND_BACKEND="simulator", ASCEND_SIM_DEVICES="0")
    status, detail = found.one("devices")
    assert status == "failed"
    assert detail.startswith("ACL shows no device; ")


@pytest.fixture
def nodes(tmp_path: Path) -> Path:
    """A folder as /dev with two NPUs; plain files stand for the nodes."""
    folder = tmp_path / "dev"
    folder.mkdir()
    for name in ("davinci0", "davinci1", "davinci_manager", "devmm_svm", "hisi_hdc", "null"):
        (folder / name).touch(mode=0o660)
    return folder


def test_nodes_that_may_be_opened_are_right(nodes) -> None:
    (check,) = node_checks(nodes)
    assert (check.name, check.status) == (NODES, "ok")
    assert check.detail == f"{nodes}/davinci0, {nodes}/davinci1 may be opened"


def test_no_npu_is_told_with_what_a_container_needs(nodes) -> None:
    for name in ("davinci0", "davinci1"):
        (nodes / name).unlink()
    (check,) = node_checks(nodes)
    assert check.status == "failed"
    assert f"there is no NPU in {nodes}" in check.detail
    assert f"--device {nodes}/davinci0 --device {nodes}/davinci_manager" in check.detail


def test_a_node_that_all_npus_need_is_named(nodes) -> None:
    (nodes / "devmm_svm").unlink()
    (nodes / "hisi_hdc").unlink()
    (check,) = node_checks(nodes)
    assert check.status == "failed"
    assert check.detail.startswith(f"there is no {nodes}/devmm_svm, {nodes}/hisi_hdc: ")


SHOW_NODES = """
import pathlib, sys
from onnx_ascend_ext.diagnosis.devices import node_checks
for check in node_checks(pathlib.Path(sys.argv[1])): print(check.status, check.detail)
"""


def test_nodes_that_this_user_may_not_open_are_told_with_their_group(as_ordinary_user, nodes) -> None:
    assert as_ordinary_user(SHOW_NODES, nodes).startswith("ok ")
    for name in ("davinci0", "davinci_manager"):
        (nodes / name).chmod(0o400)
    (line,) = as_ordinary_user(SHOW_NODES, nodes).splitlines()
    owner, group = nodes.owner(), (nodes / "davinci0").group()
    assert line == (
        f"failed {nodes}/davinci0, {nodes}/davinci_manager may not be opened by the user {owner} "
        f"({owner}:{group}, mode 0400): `sudo usermod -aG {group} $USER` and log in again"
    )


def test_the_nodes_are_looked_at_only_where_acl_shows_no_device(doctor, cann) -> None:
    assert doctor(**cann.environment).all(NODES) == []
    assert len(doctor(**cann.environment, ASCEND_SIM_DEVICES="0").all(NODES)) >= 1
