"""The report as a whole."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter

import pytest


def in_process(program: str, tmp_path, **environment: str) -> str:
    """What a program prints that may change the package before it runs `diagnose`."""
    return subprocess.run(
        [sys.executable, "-c", program],
        cwd=tmp_path,
        env=os.environ | environment,
        capture_output=True,
        text=True,
        check=True,
    ).stdout


@pytest.mark.parametrize("devices", ["1", "2"])
def test_it_never_holds_a_device(tmp_path, devices) -> None:
    program = """
from onnx_ascend_ext import simulator
from onnx_ascend_ext.diagnosis import diagnose
assert diagnose().ok
for name, count in simulator.counters().items():
    print(name, count)
"""
    out = in_process(program, tmp_path, ONNX_ASCEND_BACKEND="simulator", ASCEND_SIM_DEVICES=devices)
    calls = Counter({name: int(count) for name, count in map(str.split, out.splitlines())})
    assert calls["aclrtSetDevice"] >= int(devices)
    assert calls["aclrtResetDevice"] == calls["aclrtSetDevice"]
    for name in ("aclrtCreateStream", "aclrtCreateStreamWithConfig", "aclrtMalloc", "aclrtCreateContext"):
        assert calls[name] == 0


def test_a_failing_start_of_acl_is_one_line_with_code_cause_and_fix(doctor, cann) -> None:
    found = doctor(**cann.environment, ASCEND_SIM_DEVICES="0", ASCEND_SIM_FAULT="aclInit:1:507899")
    status, detail = found.one("ACL backend")
    assert status == "failed"
    assert "aclInit returned 507899 (ACL_ERROR_RT_DRV_INTERNAL_ERROR)" in detail
    assert "access rights of /dev/davinci*" in detail
    assert found.all("devices") == found.all("kernels") == []


def test_a_mask_is_not_blamed_where_acl_does_not_start(doctor, cann) -> None:
    environment = {**cann.environment, "ASCEND_RT_VISIBLE_DEVICES": "0"}
    (told,) = doctor(**environment).all("device mask")
    assert told[0] == "ok"
    found = doctor(**environment, ASCEND_SIM_FAULT="aclInit:1:507899")
    assert found.all("device mask") == []
    assert len(found.all("device nodes")) >= 1


def test_without_any_cann_it_says_once_that_the_simulator_stands_in(doctor) -> None:
    found = doctor()
    assert found.ok
    status, detail = found.one("ACL backend")
    assert status == "warning"
    assert detail.startswith("the CPU simulator, since no CANN was found (ONNX_ASCEND_BACKEND=auto): ")
    assert "set_env.sh" in detail
    faults = [check["name"] for check in found.document["checks"] if check["status"] != "ok"]
    assert faults in (["ACL backend"], ["CANN environment", "ACL backend"])  # where CANN is installed


def test_a_required_cann_that_is_not_there_is_told_once_and_the_search_is_a_table(
    onnx_ascend,
) -> None:
    home = "/no-such-cann"
    ended = onnx_ascend("doctor", ONNX_ASCEND_BACKEND="cann", ASCEND_HOME_PATH=home)
    assert ended.status == 1
    checks, search = ended.stdout.split("where CANN's libraries were looked for")
    assert "libascendcl.so" not in checks
    assert checks.count(home) == 1
    rows = [line.split(maxsplit=2) for line in search.splitlines() if line.strip().startswith("ascendcl")]
    assert [row[1] for row in rows if home in row[1]] == [
        f"{home}/lib64/libascendcl.so",
        f"{home}/lib64/libacl_rt.so",
    ]
    # The path is in its own column, not in the reason again.
    assert not [row for row in rows if ".so" in row[2]]


@pytest.mark.parametrize(
    ("change", "names", "words"),
    [
        (
            "sys.modules['onnxruntime'] = None",
            ["library", "ACL backend", "devices", "ONNX Runtime"],
            "ONNX Runtime is not installed",
        ),
        (
            "import onnxruntime; onnxruntime.__version__ = '1.23.2'",
            ["library", "ACL backend", "devices", "ONNX Runtime", "execution provider"],
            "onnxruntime 1.23.2 cannot load AscendExecutionProvider, which needs 1.24",
        ),
        (
            "import pathlib; from onnx_ascend_ext import resources; "
            "resources.folder = lambda name: pathlib.Path('/nowhere')",
            ["library", "ONNX Runtime"],
            "libonnx_ascend_ext.so is not in /nowhere",
        ),
    ],
)
def test_what_needs_a_missing_part_is_left_out(tmp_path, change, names, words) -> None:
    program = f"""
import sys
{change}
from onnx_ascend_ext.diagnosis import diagnose
found = diagnose()
assert not found.ok
print([check.name for check in found.checks])
print(*[check.detail for check in found.checks if check.status == "failed"], sep="\\n")
"""
    out = in_process(program, tmp_path, ONNX_ASCEND_BACKEND="simulator").splitlines()
    assert out[0] == str(names)
    (fault,) = out[1:]
    assert words in fault
