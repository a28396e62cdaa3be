"""CANN's environment: set_env.sh sourced or not, and what it set."""

from __future__ import annotations

import pytest

NAME = "CANN environment"


def test_a_sourced_environment_is_right(doctor, cann) -> None:
    found = doctor(**cann.environment)
    assert found.ok
    assert found.one(NAME) == ("ok", f"ASCEND_HOME_PATH is {cann.home}")
    assert found.one("ACL backend") == ("ok", "cann (ONNX_ASCEND_BACKEND=auto)")
    assert all(check["status"] == "ok" for check in found.document["checks"])


@pytest.mark.parametrize("package", ["cann", "ascend-toolkit"])
def test_an_installed_cann_that_nobody_sourced_comes_with_the_command(doctor, home, package) -> None:
    script = home / "Ascend" / package / "set_env.sh"
    script.parent.mkdir(parents=True)
    script.touch()
    status, detail = doctor().one(NAME)
    assert status == "warning"
    assert "its set_env.sh was not sourced (ASCEND_HOME_PATH is not set)" in detail
    assert f"run `source {script}`" in detail
    required = doctor(ONNX_ASCEND_BACKEND="cann")
    assert required.one(NAME) == ("failed", detail)
    assert not required.ok


def test_a_sourced_cann_beside_another_is_not_told_to_be_sourced(doctor, home, cann) -> None:
    script = home / "Ascend" / "cann" / "set_env.sh"
    script.parent.mkdir(parents=True)
    script.touch()
    assert doctor(**cann.environment).one(NAME)[0] == "ok"


def test_a_home_that_is_not_there_is_named(doctor, tmp_path) -> None:
    gone = str(tmp_path / "gone")
    found = doctor(ASCEND_HOME_PATH=gone, ONNX_ASCEND_BACKEND="cann")
    status, detail = found.one(NAME)
    assert status == "failed"
    assert detail.startswith(f"ASCEND_HOME_PATH is {gone}, which does not exist: ")
    assert "set_env.sh" in detail
    status, detail = found.one("ACL backend")
    assert status == "failed"
    assert (
        detail == "no CANN was found where it was looked for (ONNX_ASCEND_BACKEND=cann): for the reason above"
    )
    looked = [entry["path"] for entry in found.document["backend"]["searched"]]
    assert f"{gone}/lib64/libascendcl.so" in looked


def test_with_the_simulator_in_its_place_a_missing_home_is_a_warning(doctor, tmp_path) -> None:
    found = doctor(ASCEND_HOME_PATH=str(tmp_path / "gone"))
    assert found.ok
    assert found.one(NAME)[0] == "warning"
    status, detail = found.one("ACL backend")
    assert status == "warning"
    assert detail.startswith("the CPU simulator, since no CANN was found")
    assert detail.endswith(": for the reason above")


def test_a_home_that_is_a_file_is_named(doctor, tmp_path) -> None:
    file = tmp_path / "file"
    file.touch()
    assert (
        f"ASCEND_HOME_PATH is {file}, which is no folder" in doctor(ASCEND_HOME_PATH=str(file)).one(NAME)[1]
    )


def test_a_home_without_cann_is_named(doctor, tmp_path) -> None:
    found = doctor(ASCEND_HOME_PATH=str(tmp_path))
    assert f"ASCEND_HOME_PATH is {tmp_path}, which has no lib64/libascendcl.so" in found.one(NAME)[1]


def test_a_home_that_this_user_may_not_enter_is_named(doctor_as_ordinary_user, cann) -> None:
    assert doctor_as_ordinary_user(**cann.environment).one(NAME)[0] == "ok"
    cann.home.chmod(0)
    status, detail = doctor_as_ordinary_user(**cann.environment).one(NAME)
    cann.home.chmod(0o700)
    assert status == "warning"
    assert f"ASCEND_HOME_PATH is {cann.home}, which may not be read by the user " in detail


def test_of_cann_nothing_is_said_where_the_simulator_was_chosen(doctor, tmp_path) -> None:
    found = doctor(ASCEND_HOME_PATH=str(tmp_path / "gone"), ONNX_ASCEND_BACKEND="simulator")
    assert found.ok
    assert found.all(NAME) == found.all("CANN libraries") == found.all("operator package") == []
    assert found.one("ACL backend") == ("ok", "simulator (ONNX_ASCEND_BACKEND=simulator)")


def test_an_unknown_backend_is_the_only_fault_that_is_told(doctor, tmp_path) -> None:
    found = doctor(ONNX_ASCEND_BACKEND="gpu", ASCEND_HOME_PATH=str(tmp_path / "gone"))
    assert found.all(NAME) == []
    status, detail = found.one("ACL backend")
    assert status == "failed"
    assert detail == "ONNX_ASCEND_BACKEND is 'gpu'; it must be 'auto', 'cann' or 'simulator'"
