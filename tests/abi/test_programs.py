"""Programs written for CANN, built against the official headers and run on the simulator."""

from __future__ import annotations

import ctypes
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from abi import declarations as ours
from onnx_ascend_ext import simulator

Compile = Callable[..., Path]
DECLARED = [name for title in (ours.ACL, ours.NNOPBASE, ours.OPAPI) for name in ours.functions(title)]

EXAMPLE = Path(__file__).parent / "two_phase_example.cpp"


def link_flags() -> list[str]:
    libraries = simulator.library_dir()
    return [f"-L{libraries}", f"-Wl,-rpath,{libraries}", "-lascendcl", "-lnnopbase", "-lopapi"]


def run(program: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [program], env={"PATH": "/usr/bin", **environment}, capture_output=True, text=True, timeout=60
    )


@pytest.fixture(params=["official headers", "our declarations"])
def acl_headers(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A compiler flag for a folder with acl/acl.h."""
    if request.param == "official headers":
        return f"-isystem{request.getfixturevalue('official')}"
    (tmp_path / "acl").mkdir()
    text = ours.whole_text()
    text = text[: text.index(ours.NNOPBASE)].rpartition("\n")[0] + "\n}\n"
    (tmp_path / "acl" / "acl.h").write_text(text)
    return f"-I{tmp_path}"


@pytest.mark.parametrize("mode", ["device", "host"])
def test_the_two_phase_example_prints_the_right_numbers(
    acl_headers: str, aclnn_headers: Path, compile_cpp: Compile, mode: str
) -> None:
    program = compile_cpp(EXAMPLE, acl_headers, f"-I{aclnn_headers}", *link_flags())
    ended = run(program, ASCEND_SIM_RUN_MODE=mode, ASCEND_SIM_LEAKS="1")
    assert (ended.returncode, ended.stdout) == (0, "0 -2 -6 -12\n"), ended.stderr
    assert ended.stderr == "simulator: 0 leaks at finalise\n"


def test_the_example_reports_a_failure_by_function_and_code(
    aclnn_headers: Path, official: Path, compile_cpp: Compile
) -> None:
    program = compile_cpp(EXAMPLE, f"-isystem{official}", f"-I{aclnn_headers}", *link_flags())
    ended = run(program, ASCEND_SIM_SOC="Ascend310B1")
    assert ended.returncode == 1
    assert "aclnnSigmoidBackwardGetWorkspaceSize failed: 561003" in ended.stderr
    assert "Ascend310B1 has no binary" in ended.stderr


def test_every_official_declaration_is_met_by_a_symbol_of_the_simulator(
    official: Path, aclnn_headers: Path, compile_cpp: Compile
) -> None:
    rows = ",\n".join(f'{{"{name}", reinterpret_cast<void*>(&::{name})}}' for name in DECLARED)
    source = f"""
#include <dlfcn.h>
#include <cstdio>
#include "acl/acl.h"
#include "aclnnop/aclnn_sigmoid_backward.h"
int main() {{
    struct Row {{ const char* name; void* linked; }};
    const Row rows[] = {{{rows}}};
    void* opapi = dlopen("libopapi.so", RTLD_LAZY | RTLD_NOLOAD);
    for (const Row& row : rows) {{
        // As torch_npu does: everything is looked up in libopapi and found in what that depends on.
        if (dlsym(opapi, row.name) != row.linked) std::printf("%s\\n", row.name);
    }}
    aclrtRunMode mode;
    std::printf("%d %s\\n", aclrtGetRunMode(&mode), aclrtGetSocName());
}}
"""
    libraries = [*link_flags()[:2], "-Wl,--no-as-needed", *link_flags()[2:], "-ldl"]
    program = compile_cpp(source, f"-isystem{official}", f"-I{aclnn_headers}", *libraries)
    assert run(program).stdout == "0 Ascend910B1\n"


def test_the_simulator_exports_nothing_else() -> None:
    library = simulator.library_dir() / "libascendcl.so"
    listed = subprocess.run(
        ["nm", "-D", "--defined-only", library], capture_output=True, text=True, check=True
    )
    exported = {line.split()[-1] for line in listed.stdout.splitlines()}
    control = {name for name in exported if name.startswith("onnx_ascend_sim_")}
    assert len(control) == 4
    assert exported - control == set(DECLARED)


@pytest.mark.parametrize("name", ["libascendcl.so", "libnnopbase.so", "libopapi.so"])
def test_each_library_is_found_under_its_name_and_has_everything(name: str) -> None:
    library = ctypes.CDLL(str(simulator.library_dir() / name))
    for function in ("aclInit", "aclCreateTensor", "aclnnSigmoidBackward"):
        assert getattr(library, function) is not None
    dynamic = subprocess.run(
        ["readelf", "-d", simulator.library_dir() / name], capture_output=True, text=True, check=True
    ).stdout
    assert f"[{name}]" in dynamic
    if name != "libascendcl.so":
        assert "$ORIGIN" in dynamic
