"""Where the library looks for CANN and the simulator, and what it says when that fails."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import onnx_ascend_ext as ax
from onnx_ascend_ext import simulator

DESCRIBE = """
import ctypes, sys
library = ctypes.CDLL(sys.argv[1])
buffer = ctypes.create_string_buffer(1 << 20)
library.onnx_ascend_describe(buffer, ctypes.c_size_t(1 << 20))
sys.stdout.buffer.write(buffer.value)
"""
CLEAN = (
    "ASCEND_HOME_PATH",
    "ASCEND_TOOLKIT_HOME",
    "ASCEND_OPP_PATH",
    "ASCEND_CUSTOM_OPP_PATH",
    "LD_LIBRARY_PATH",
)


def describe(**environment: str) -> dict[str, Any]:
    clean = {key: value for key, value in os.environ.items() if key not in CLEAN}
    ended = subprocess.run(
        [sys.executable, "-c", DESCRIBE, ax.get_library_path()],
        env=clean | {"ONNX_ASCEND_BACKEND": "auto"} | environment,
        capture_output=True,
        check=True,
    )
    assert ended.stderr == b""
    found: dict[str, Any] = json.loads(ended.stdout)
    return found


def place(found: dict[str, Any], path: Path) -> dict[str, Any]:
    """What was noted about a path that must have been looked at."""
    (noted,) = (each for each in found["searched"] if Path(each["path"]) == path)
    assert isinstance(noted, dict)
    return noted


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """An installation root with the simulator in the place of CANN's runtime, without operators."""
    folder = tmp_path / "cann é" / "lib64"
    folder.mkdir(parents=True)
    for name in ("libascendcl.so", "libnnopbase.so"):
        shutil.copy(simulator.library_dir() / name, folder)
    return folder.parent


def compiled(path: Path, source: str) -> Path:
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        pytest.skip("there is no C compiler")
    path.parent.mkdir(parents=True, exist_ok=True)
    subprocess.run(
        [compiler, "-shared", "-fPIC", "-x", "c", "-", "-o", str(path)], input=source, text=True, check=True
    )
    return path


def test_without_cann_it_is_the_simulator_and_the_search_is_told():
    found = describe()
    assert (found["requested"], found["backend"], found["error"]) == ("auto", "simulator", None)
    assert found["searched"][0]["path"] == "libascendcl.so"
    assert found["searched"][0]["found"] is False
    assert "cannot open" in found["searched"][0]["error"]
    assert Path(found["libraries"]["ascendcl"]) == simulator.library_dir() / "libascendcl.so"


def test_cann_alone_is_not_replaced_by_the_simulator(tmp_path):
    found = describe(ONNX_ASCEND_BACKEND="cann", ASCEND_HOME_PATH=str(tmp_path))
    assert found["backend"] is None
    assert found["error"].startswith("CANN was not found: libascendcl.so (")
    assert str(tmp_path / "lib64" / "libascendcl.so") in found["error"]
    assert "\n" not in found["error"]
    assert found["devices"] == []
    assert found["kernels"][0]["available"] is False
    assert found["kernels"][0]["reason"] == found["error"]


def test_registration_without_a_device_succeeds_and_says_why():
    code = """
import sys, onnxruntime
onnxruntime.register_execution_provider_library("any name", sys.argv[1])
assert not [d for d in onnxruntime.get_ep_devices() if d.ep_name != "CPUExecutionProvider"]
onnxruntime.unregister_execution_provider_library("any name")
"""
    ended = subprocess.run(
        [sys.executable, "-c", code, ax.get_library_path()],
        env=os.environ | {"ONNX_ASCEND_BACKEND": "cann"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    assert "offers no device: CANN was not found: libascendcl.so" in ended.stderr


def test_an_unknown_backend_is_named():
    found = describe(ONNX_ASCEND_BACKEND="gpu")
    assert found["error"] == "ONNX_ASCEND_BACKEND is 'gpu'; it must be 'auto', 'cann' or 'simulator'"


def test_the_simulator_is_not_taken_for_cann():
    folder = str(simulator.library_dir())
    found = describe(ONNX_ASCEND_BACKEND="cann", LD_LIBRARY_PATH=folder)
    assert found["backend"] is None
    assert "this is the simulator, not CANN" in found["error"]
    assert describe(LD_LIBRARY_PATH=folder)["backend"] == "simulator"


def test_libraries_found_by_name_are_told_with_their_files():
    folder = simulator.library_dir()
    found = describe(LD_LIBRARY_PATH=str(folder))["libraries"]
    assert {role: Path(path) for role, path in found.items()} == {
        role: folder / f"lib{role}.so" for role in ("ascendcl", "nnopbase", "opapi")
    }


def test_a_reason_does_not_repeat_the_path_it_stands_beside(tmp_path):
    broken = tmp_path / "lib64" / "libascendcl.so"
    broken.parent.mkdir()
    broken.write_text("not a library")
    found = describe(ONNX_ASCEND_BACKEND="cann", ASCEND_HOME_PATH=str(tmp_path))
    assert place(found, broken)["error"]
    assert not [each for each in found["searched"] if each["path"] in each["error"]]
    assert found["error"].count(str(broken)) == 1


def test_an_installation_that_was_not_sourced_comes_with_the_command(tmp_path):
    script = tmp_path / "Ascend" / "ascend-toolkit" / "set_env.sh"
    assert describe(HOME=str(tmp_path))["set_env"] != str(script)
    script.parent.mkdir(parents=True)
    script.touch()
    found = describe(ONNX_ASCEND_BACKEND="cann", HOME=str(tmp_path))
    assert found["set_env"] == str(script)
    assert found["error"].endswith(f"; CANN is installed: run `source {script}` before the process starts")


@pytest.mark.parametrize(
    ("soc", "family"),
    [
        ("Ascend910B", "ascend910"),
        ("Ascend910B1", "ascend910b"),
        ("Ascend910_9391", "ascend910_93"),
        ("Ascend950PR_9599", "ascend950"),
        ("Ascend310P3", "ascend310p"),
        ("Ascend310B1", "ascend310b"),
    ],
)
def test_a_device_is_told_with_the_family_that_cann_names_its_kernels_after(soc, family):
    (device,) = describe(ASCEND_SIM_SOC=soc)["devices"]
    assert (device["soc"], device["soc_family"]) == (soc, family)


def test_a_library_that_cannot_be_opened_is_passed_over(tmp_path):
    broken = tmp_path / "lib64" / "libascendcl.so"
    broken.parent.mkdir()
    broken.write_text("not a library")
    found = describe(ASCEND_HOME_PATH=str(tmp_path))
    assert place(found, broken)["found"] is False
    assert place(found, broken)["error"]
    assert found["backend"] == "simulator"


def test_home_path_is_searched(home):
    shutil.copy(simulator.library_dir() / "libopapi.so", home / "lib64")
    found = describe(ASCEND_HOME_PATH=str(home))
    assert Path(found["libraries"]["ascendcl"]) == home / "lib64" / "libascendcl.so"
    assert Path(found["libraries"]["opapi"]) == home / "lib64" / "libopapi.so"
    assert found["kernels"][0]["available"] is True


def test_split_operator_libraries_come_before_the_whole_one(home):
    for name in ("libopapi.so", "libopapi_nn.so"):
        shutil.copy(simulator.library_dir() / "libopapi.so", home / "lib64" / name)
    found = describe(ASCEND_HOME_PATH=str(home))
    assert Path(found["libraries"]["opapi"]) == home / "lib64" / "libopapi_nn.so"
    assert not [each for each in found["searched"] if each["path"].endswith("libopapi.so")]


def test_operators_without_the_kernel_make_it_unavailable_with_a_reason(home):
    empty = compiled(home / "lib64" / "libopapi_nn.so", "int nothing;")
    found = describe(ASCEND_HOME_PATH=str(home))
    assert found["error"] is None
    assert found["kernels"][0]["available"] is False
    assert "no operator library has aclnnSigmoidBackward" in found["kernels"][0]["reason"]
    assert str(empty) in found["kernels"][0]["reason"]


CUSTOM = """
int aclnnSigmoidBackwardGetWorkspaceSize() { return 561112; }
int aclnnSigmoidBackward() { return 561112; }
"""


def test_a_custom_library_comes_first(tmp_path):
    custom = compiled(tmp_path / "vendor" / "op_api" / "lib" / "libcust_opapi.so", CUSTOM)
    found = describe(ASCEND_CUSTOM_OPP_PATH=f"/nowhere:{tmp_path / 'vendor'}")
    assert Path(found["libraries"]["opapi"]) == custom
    opapi = [each["path"] for each in found["searched"] if each["library"] == "opapi"]
    assert opapi == ["/nowhere/op_api/lib/libcust_opapi.so", str(custom)]


def test_half_a_kernel_in_a_custom_library_is_not_taken(tmp_path):
    compiled(tmp_path / "op_api" / "lib" / "libcust_opapi.so", CUSTOM.splitlines()[1])
    found = describe(ASCEND_CUSTOM_OPP_PATH=str(tmp_path))
    assert found["kernels"][0]["available"] is True
    assert [each["found"] for each in found["searched"] if each["library"] == "opapi"] == [True, True]


def test_vendors_are_searched_in_the_order_of_their_priority(tmp_path):
    (tmp_path / "vendors").mkdir()
    (tmp_path / "vendors" / "config.ini").write_text("load_priority = second, first\n")
    for vendor in ("first", "second"):
        compiled(tmp_path / "vendors" / vendor / "op_api" / "lib" / "libcust_opapi.so", CUSTOM)
    found = describe(ASCEND_OPP_PATH=str(tmp_path))
    assert "vendors/second/" in found["libraries"]["opapi"]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
def test_a_custom_library_of_somebody_else_is_refused(tmp_path):
    custom = compiled(tmp_path / "op_api" / "lib" / "libcust_opapi.so", CUSTOM)
    os.chown(custom, 12345, 12345)
    found = describe(ASCEND_CUSTOM_OPP_PATH=str(tmp_path))
    assert place(found, custom) == {
        "library": "opapi",
        "path": str(custom),
        "found": False,
        "error": "its owner is neither root nor the current user",
    }
    assert found["kernels"][0]["available"] is True


def test_no_device_is_a_reason():
    found = describe(ASCEND_RT_VISIBLE_DEVICES="7")
    assert found["backend"] == "simulator"
    assert found["devices"] == []
    assert found["error"]
