from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from abi import declarations

# The wheel with ACL's own headers (ACL 1.17).
WHEEL = "torch-npu==2.14.0"
PYTHONS = [[], ["--python-version", "3.11"]]

Compile = Callable[..., Path]


def _cache() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "onnx-ascend-ext"


def _download(into: Path) -> Path | str:
    """The wheel, or why there is none."""
    reason = ""
    for python in PYTHONS:
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check"]
        command += ["--no-deps", "--only-binary=:all:", *python, "--dest", str(into), WHEEL]
        ended = subprocess.run(command, capture_output=True, text=True, timeout=600)
        wheels = list(into.glob("torch_npu-*.whl"))
        if wheels:
            return wheels[0]
        reason = (ended.stderr.strip().splitlines() or ["pip gave no reason"])[-1]
    return reason


@pytest.fixture(scope="session")
def official() -> Path:
    """The folder of the official headers: fetched once, then kept in the user's cache."""
    headers = _cache() / WHEEL.replace("==", "-") / "include"
    if not (headers / "acl" / "acl.h").is_file():
        partial = headers.with_name(f"partial-{os.getpid()}")
        partial.mkdir(parents=True, exist_ok=True)
        try:
            wheel = _download(partial)
            if isinstance(wheel, str):
                pytest.skip(f"the official ACL headers could not be fetched ({WHEEL}): {wheel}")
            with zipfile.ZipFile(wheel) as archive:
                inside = "torch_npu/include/"
                wanted = (
                    inside + "acl/",
                    inside + "third_party/op-plugin/op_plugin/utils/op_api_common_base.h",
                )
                archive.extractall(partial, [n for n in archive.namelist() if n.startswith(wanted)])
            try:
                (partial / inside).rename(headers)
            except OSError:
                # Another process was faster.
                if not (headers / "acl" / "acl.h").is_file():
                    raise
        finally:
            shutil.rmtree(partial, ignore_errors=True)
    return headers


@pytest.fixture(scope="session")
def aclnn_headers(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Headers as CANN has them for aclnn, from our declarations: no wheel has CANN's own."""
    folder = tmp_path_factory.mktemp("aclnn")
    opaque = "\n".join(f"typedef struct {name} {name};" for name in declarations.opaque_types())
    for name, text in {
        "aclnn/acl_meta.h": "typedef int32_t aclnnStatus;\n"
        + opaque
        + declarations.section(declarations.NNOPBASE),
        "aclnnop/aclnn_sigmoid_backward.h": declarations.section(declarations.OPAPI),
    }.items():
        header = folder / name
        header.parent.mkdir()
        includes = '#include "acl/acl.h"\n' if name.endswith("meta.h") else '#include "aclnn/acl_meta.h"\n'
        header.write_text("#pragma once\n" + includes + 'extern "C" {\n' + text + "}\n")
    return folder


@pytest.fixture
def compile_cpp(tmp_path: Path) -> Compile:
    """Compiles C++ text, or a file of it, and returns the program; what the compiler says fails the test."""

    def run(source: str | Path, *flags: str, link: bool = True) -> Path:
        if isinstance(source, str):
            path = tmp_path / "source.cpp"
            path.write_text(source)
        else:
            path = source
        program = tmp_path / "program"
        command = ["c++", "-std=c++17", "-Wall", "-Wextra", "-Werror", str(path), *flags]
        command += ["-o", str(program)] if link else ["-fsyntax-only"]
        ended = subprocess.run(command, capture_output=True, text=True, timeout=300)
        assert ended.returncode == 0, ended.stderr[:6000]
        return program

    return run
