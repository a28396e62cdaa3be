"""Where the kernels' binaries come from."""

from __future__ import annotations

import pytest

NAME = "operator package"


def test_a_package_with_kernels_for_the_device_is_right(doctor, cann) -> None:
    assert doctor(**cann.environment).one(NAME) == ("ok", f"ASCEND_OPP_PATH is {cann.operators}")


def test_no_path_fails_with_the_code_that_a_run_would_end_in(doctor, cann) -> None:
    found = doctor(ASCEND_HOME_PATH=str(cann.home))
    assert not found.ok
    status, detail = found.one(NAME)
    assert status == "failed"
    assert detail.startswith(
        "ASCEND_OPP_PATH is not set, so kernels end with 561107: source CANN's set_env.sh"
    )


def test_a_path_to_nothing_is_named(doctor, cann) -> None:
    status, detail = doctor(**cann.environment | {"ASCEND_OPP_PATH": "/nowhere"}).one(NAME)
    assert status == "failed"
    assert detail.startswith("ASCEND_OPP_PATH is /nowhere, which does not exist, so kernels end with 561107")


@pytest.mark.parametrize(
    ("soc", "family"),
    [("Ascend310P3", "ascend310p"), ("Ascend910_9391", "ascend910_93"), ("Ascend910B", "ascend910")],
)
def test_a_package_for_other_devices_is_told_with_the_device(doctor, cann, soc, family) -> None:
    found = doctor(**cann.environment, ASCEND_SIM_SOC=soc)
    status, detail = found.one(NAME)
    assert status == "warning"
    assert detail.startswith(f"ASCEND_OPP_PATH is {cann.operators}, which has no kernels for {soc}, ")
    # CANN 8.5 has a folder for each repository of operators between.
    installed = cann.kernels(family) / "ops_nn" / "sigmoid_grad.json"
    installed.parent.mkdir(parents=True)
    installed.write_text("{}")
    assert doctor(**cann.environment, ASCEND_SIM_SOC=soc).one(NAME)[0] == "ok"


def test_what_cann_looks_at_first_counts(doctor, cann) -> None:
    cann.operators.rename(cann.home / "opp_latest")
    found = doctor(**cann.environment)
    assert found.one(NAME) == ("ok", f"opp_latest of ASCEND_HOME_PATH is {cann.home / 'opp_latest'}")


def test_a_folder_without_custom_operators_is_named(doctor, cann, compiled, tmp_path) -> None:
    empty, vendor = tmp_path / "empty", tmp_path / "vendor"
    empty.mkdir()
    (vendor / "op_api" / "lib").mkdir(parents=True)
    compiled(vendor / "op_api" / "lib" / "libcust_opapi.so", "int nothing;")
    found = doctor(**cann.environment, ASCEND_CUSTOM_OPP_PATH=f"/nowhere:{vendor}:{empty}")
    (_, first), (_, second) = found.all("custom operators")
    assert first.startswith("ASCEND_CUSTOM_OPP_PATH names /nowhere, which does not exist: ")
    assert second.startswith(
        f"ASCEND_CUSTOM_OPP_PATH names {empty}, which has no op_api/lib/libcust_opapi.so: "
    )
    assert found.ok
