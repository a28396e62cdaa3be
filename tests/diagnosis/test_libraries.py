"""CANN's library files: each fault is put into a copy that is right without it."""

from __future__ import annotations

import os

import pytest

from onnx_ascend_ext import simulator

NAME = "CANN libraries"
AARCH64 = (183).to_bytes(2, "little")
X86_64 = (62).to_bytes(2, "little")


@pytest.fixture
def runtime(cann):
    return cann.libraries / "libascendcl.so"


def build_for_another_machine(library) -> str:
    """Changes the machine in an ELF header; returns its name."""
    data = bytearray(library.read_bytes())
    other, name = (X86_64, "x86_64") if data[18:20] == AARCH64 else (AARCH64, "aarch64")
    data[18:20] = other
    library.write_bytes(data)
    return name


def test_a_library_for_another_machine_is_told_with_both(doctor, cann, runtime) -> None:
    assert doctor(**cann.environment).all(NAME) == []
    name = build_for_another_machine(runtime)
    found = doctor(**cann.environment, ONNX_ASCEND_BACKEND="cann")
    status, detail = found.one(NAME)
    assert status == "failed"
    own = os.uname().machine
    assert (
        detail
        == f"{runtime} is built for {name}, and this process is {own}: install the CANN package for {own}"
    )
    assert found.one("CANN environment")[0] == "ok"
    assert found.one("ACL backend")[1].endswith(": for the reason above")


def test_it_is_found_where_the_loader_passes_over_it(doctor, cann, runtime) -> None:
    path = {"LD_LIBRARY_PATH": f"/nowhere:{cann.libraries}"}
    assert doctor(**path).all(NAME) == []
    build_for_another_machine(runtime)
    assert doctor(**path).one(NAME)[1].startswith(f"{runtime} is built for ")


def test_one_that_is_not_needed_is_no_fault(doctor, cann, tmp_path) -> None:
    unused = tmp_path / "unused"
    unused.mkdir()
    (unused / "libascendcl.so").write_text("not a library")
    found = doctor(**cann.environment, LD_LIBRARY_PATH=f"{unused}:{cann.libraries}")
    assert found.ok
    assert found.all(NAME) == []


def test_a_file_that_is_no_library_is_named(doctor, cann, runtime) -> None:
    runtime.write_text("<html>")
    status, detail = doctor(**cann.environment).one(NAME)
    assert status == "warning"
    assert detail.startswith(f"{runtime} is no shared library")


def test_a_library_that_this_user_may_not_read_is_told_with_its_owner(
    doctor_as_ordinary_user, cann, runtime
) -> None:
    assert doctor_as_ordinary_user(**cann.environment).all(NAME) == []
    runtime.chmod(0o200)
    status, detail = doctor_as_ordinary_user(**cann.environment).one(NAME)
    assert status == "warning"
    assert detail.startswith(f"{runtime} may not be read by the user ")
    assert f"({runtime.owner()}:{runtime.group()}, mode 0200)" in detail


def test_a_link_into_a_removed_installation_is_told_with_its_target(doctor, cann, runtime) -> None:
    runtime.unlink()
    runtime.symlink_to("/nowhere/libascendcl.so")
    assert doctor(**cann.environment).one(NAME)[1] == (
        f"{runtime} is a link to /nowhere/libascendcl.so, which does not exist: reinstall CANN"
    )


@pytest.mark.parametrize(
    ("needed", "words"),
    [("ascend_hal", "libascend_hal.so of the NPU driver"), ("other", "libother.so, which is not found")],
)
def test_a_library_that_another_one_needs_is_named(doctor, cann, runtime, compiled, needed, words) -> None:
    dependency = compiled(cann.libraries / f"lib{needed}.so", "int nothing;")
    compiled(runtime, "", "-Wl,--no-as-needed", f"-L{cann.libraries}", f"-l{needed}")
    dependency.unlink()
    assert doctor(**cann.environment).one(NAME)[1].startswith(f"{runtime} needs {words}")


def test_a_library_without_a_symbol_is_told_with_it(doctor, cann, runtime, compiled) -> None:
    assert doctor(**cann.environment).one("ACL backend")[0] == "ok"
    # Everything but one function is missing.
    compiled(runtime, "int aclInit(const char* path) { return path != 0; }")
    found = doctor(**cann.environment)
    status, detail = found.one("ACL backend")
    assert status == "failed"
    assert f"cann (ONNX_ASCEND_BACKEND=auto) does not start: {runtime} has no symbol acl" in detail
    assert detail.endswith("; use CANN 8.0 or newer")
    # One fault, one line.
    assert found.all("devices") == found.all("kernels") == []


def test_operators_without_the_kernel_are_told_with_their_library(doctor, cann, compiled) -> None:
    operators = cann.libraries / "libopapi.so"
    assert doctor(**cann.environment).all("kernels") == []
    compiled(operators, "int nothing;")
    found = doctor(**cann.environment)
    assert not found.ok
    status, detail = found.one("kernels")
    assert status == "failed"
    assert "SigmoidBackward: no operator library has aclnnSigmoidBackward" in detail
    assert str(operators) in detail


def test_a_broken_operator_library_is_named_though_acl_starts(doctor, cann) -> None:
    operators = cann.libraries / "libopapi.so"
    build_for_another_machine(operators)
    found = doctor(**cann.environment)
    assert found.one("ACL backend")[0] == "ok"
    assert found.one(NAME)[1].startswith(f"{operators} is built for ")
    assert found.one("kernels")[0] == "failed"


def test_what_the_library_refuses_by_itself_keeps_its_reason(doctor) -> None:
    folder = str(simulator.library_dir())
    # The simulator is no CANN.
    found = doctor(LD_LIBRARY_PATH=folder, ONNX_ASCEND_BACKEND="cann")
    assert found.one(NAME)[1] == f"{folder}/libascendcl.so cannot be used: this is the simulator, not CANN"
    assert doctor(LD_LIBRARY_PATH=folder, ONNX_ASCEND_BACKEND="simulator").all(NAME) == []
