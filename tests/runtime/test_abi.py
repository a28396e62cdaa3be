from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

import onnx_ascend_ext as ax

HERE = Path(__file__).parent


def test_declarations_agree_with_the_headers_of_onnx_runtime():
    headers = os.environ.get("ONNXRUNTIME_INCLUDE_DIR")
    compiler = shutil.which("c++") or shutil.which("g++")
    if headers is None or compiler is None:
        pytest.skip("set ONNXRUNTIME_INCLUDE_DIR to the folder of onnxruntime_c_api.h")
    ended = subprocess.run(
        [
            *(compiler, "-std=c++17", "-w", "-fsyntax-only"),
            *(f"-I{HERE.parents[1] / 'runtime'}", f"-I{headers}", str(HERE / "ort_abi_check.cpp")),
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr


def test_exports_nothing_but_its_doors():
    nm = shutil.which("nm")
    if nm is None:
        pytest.skip("there is no nm")
    listed = subprocess.run(
        [nm, "-D", "--defined-only", "--format=posix", ax.get_library_path()],
        capture_output=True,
        text=True,
        check=True,
    )
    assert sorted(line.split()[0] for line in listed.stdout.splitlines()) == [
        "CreateEpFactories",
        "RegisterCustomOps",
        "ReleaseEpFactory",
        "onnx_ascend_call",
        "onnx_ascend_describe",
        "onnx_ascend_ep_name",
        "onnx_ascend_simulator_notice",
        "onnx_ascend_version",
    ]


def test_needs_no_library_of_cann_or_onnx_runtime():
    ldd = shutil.which("ldd")
    if ldd is None:
        pytest.skip("there is no ldd")
    listed = subprocess.run([ldd, ax.get_library_path()], capture_output=True, text=True, check=True).stdout
    for name in ("ascendcl", "nnopbase", "opapi", "onnxruntime"):
        assert name not in listed
