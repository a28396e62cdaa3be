"""Failures of ACL: what the user is told, and that the next run works."""

from __future__ import annotations

import pytest

from .support import succeeds


def passes(code: str, **environment: str) -> None:
    succeeds(PRELUDE + code, silent=False, **environment)


PRELUDE = """
import re
from runtime.support import *
from onnx_ascend_ext import simulator

g, y = operands("float", (6, 7), (6, 7))
model = one_node()

def fails(session, *patterns):
    try:
        run(session, g, y)
    except Exception as error:
        for pattern in patterns:
            assert re.search(pattern, str(error)), (pattern, str(error))
    else:
        raise SystemExit(f"nothing failed; expected {patterns}")

def works(session):
    for _ in range(3):
        assert_close(run(session, g, y), expected(g, y), "float")
"""

MODES = pytest.mark.parametrize("mode", ["device", "host"])

CALLS_OF_A_FIRST_RUN = [
    ("aclnnSigmoidBackwardGetWorkspaceSize", 161002, "ACLNN_ERR_PARAM_INVALID"),
    ("aclnnSigmoidBackwardGetWorkspaceSize", 561003, "no binary of the kernel"),
    ("aclnnSigmoidBackwardGetWorkspaceSize", 561112, "kernel package for this SoC is not installed"),
    ("aclnnSigmoidBackward", 561002, "ACLNN_ERR_INNER_TILING_ERROR"),
    ("aclnnSigmoidBackward", 361001, "ACLNN_ERR_RUNTIME_ERROR"),
    ("aclrtSynchronizeStream", 507015, "ACL_ERROR_RT_AICORE_EXCEPTION"),
    ("aclrtSynchronizeStream", 507046, "ACL_ERROR_RT_STREAM_SYNC_TIMEOUT"),
]


@MODES
@pytest.mark.parametrize("door", ["ep_session", "custom_op_session"])
@pytest.mark.parametrize(("function", "code", "text"), CALLS_OF_A_FIRST_RUN)
def test_a_failed_call_is_told_in_full_and_the_session_goes_on(mode, door, function, code, text):
    # What ONNX Runtime waits for at the end of a run belongs to no node.
    where = "" if function == "aclrtSynchronizeStream" and mode == "host" else "node 'site'"
    passes(
        f"""
session = {door}(model)
# The second time the executor is kept, and there is no first phase.
for _ in range(1 if "GetWorkspaceSize" in {function!r} else 2):
    simulator.fault({function!r}, 1, {code})
    fails(session, {where!r}, {function!r} + " returned {code}", {text!r})
    works(session)
counters = simulator.counters()
assert counters["violations"] == 0
""",
        ASCEND_SIM_RUN_MODE=mode,
    )


@MODES
def test_the_message_names_shapes_types_device_and_what_acl_says(mode):
    passes(
        """
session = ep_session(model)
simulator.fault("aclnnSigmoidBackwardGetWorkspaceSize", 1, 161002)
fails(
    session,
    r"grad_output float32\\[6,7\\], output float32\\[6,7\\]",
    r"grad_input float32\\[6,7\\]",
    r"device 0 \\(Ascend910B1\\)",
    "ACL says: ",
)
""",
        ASCEND_SIM_RUN_MODE=mode,
    )


@pytest.mark.parametrize(
    "function", ["aclrtMalloc", "aclrtMemcpyAsync", "aclCreateTensor", "aclrtCreateStream"]
)
@pytest.mark.parametrize("nth", [1, 2, 3])
def test_nothing_leaks_and_nothing_hangs_when_a_step_of_the_host_mode_fails(function, nth):
    passes(
        f"""
import ctypes
library = ctypes.CDLL(ax.get_library_path())
session = ep_session(model)
simulator.fault({function!r}, {nth}, 207001)
for attempt in range(4):
    try:
        run(session, g, y)
    except Exception:
        continue
    break
simulator.reset()
works(session)
del session
works(custom_op_session(model))
""",
        ASCEND_SIM_RUN_MODE="host",
    )


def test_the_steady_state_survives_a_failed_launch_of_a_kept_executor():
    passes(
        """
session = ep_session(model)
works(session)
before = simulator.counters()
simulator.fault("aclnnSigmoidBackward", 1, 561002)
fails(session, "aclnnSigmoidBackward returned 561002")
works(session)
after = simulator.counters()
assert after["live_executors"] == before["live_executors"], (before, after)
assert after["live_tensors"] == before["live_tensors"]
assert after["aclnnSigmoidBackwardGetWorkspaceSize"] == before["aclnnSigmoidBackwardGetWorkspaceSize"] + 1
"""
    )


def test_failing_calls_do_not_grow():
    passes(
        """
session = ep_session(model)
works(session)
before = simulator.counters()
for _ in range(200):
    simulator.fault("aclnnSigmoidBackward", 1, 561002)
    fails(session, "561002")
works(session)
after = simulator.counters()
for gauge in [key for key in after if key.startswith("live_")]:
    assert after[gauge] <= before[gauge], (gauge, before[gauge], after[gauge])
"""
    )


def test_a_first_session_that_cannot_open_the_device_says_so_and_the_next_can():
    passes(
        """
ep_devices()
simulator.fault("aclrtSetDevice", 1, 507033)
try:
    ep_session(model)
except Exception as error:
    assert "aclrtSetDevice returned 507033" in str(error) and "/dev/davinci" in str(error), error
else:
    raise SystemExit("the device was opened")
works(ep_session(model))
"""
    )


@pytest.mark.parametrize("failures", [1, 2, 3])
def test_a_soc_that_acl_did_not_tell_is_asked_for_again(failures):
    passes(
        f"""
for nth in range(1, {failures} + 1):
    simulator.fault("aclrtGetSocName", nth, 507899)
ep_devices()
session = ep_session(model)
assert nodes_on_ep(session) == ["site"]
works(session)
"""
    )


def test_a_soc_that_acl_never_tells_is_no_kernels():
    passes(
        """
for nth in range(1, 200):
    simulator.fault("aclrtGetSocName", nth, 507899)
session = ep_session(model)
assert nodes_on_ep(session) == []
from onnx_ascend_ext.native import describe
assert "an unknown SoC" in describe().facts["unclaimed"][0]["reason"]
"""
    )


def test_a_failed_aclinit_leaves_no_device_and_the_next_registration_has_one():
    passes(
        """
import onnxruntime
onnxruntime.set_default_logger_severity(4)
simulator.fault("aclInit", 1, 500001)
assert ep_devices() == []
onnxruntime.unregister_execution_provider_library(EP)
works(ep_session(model))
"""
    )


@pytest.mark.parametrize(
    ("soc", "claimed"),
    [
        ("Ascend910A", ["float", "float16", "double"]),
        ("Ascend910B", ["float", "float16", "double"]),
        ("Ascend910B1", ["float", "float16", "bfloat16", "double"]),
        ("Ascend910_9392", ["float", "float16", "bfloat16", "double"]),
        ("Ascend310P3", ["float", "float16", "double"]),
        ("Ascend310B1", []),
    ],
)
def test_the_soc_decides_what_is_claimed_and_the_rest_is_told(soc, claimed):
    passes(
        f"""
import ctypes, json, onnxruntime
onnxruntime.set_default_logger_severity(4)
for dtype in DTYPES:
    options = ep_options()
    options.log_severity_level = 4
    try:
        session = onnxruntime.InferenceSession(one_node(dtype).SerializeToString(), options)
    except Exception:
        # ONNX Runtime's CPU provider has no Sub of bfloat16 for the function body.
        assert dtype == "bfloat16" and dtype not in {claimed}
        continue
    assert (nodes_on_ep(session) == ["site"]) == (dtype in {claimed}), dtype
    a, b = operands(dtype, (5, 6), (5, 6))
    assert_close(run(session, a, b), expected(a, b), dtype)
library = ctypes.CDLL(ax.get_library_path())
buffer = ctypes.create_string_buffer(1 << 16)
library.onnx_ascend_describe(buffer, ctypes.c_size_t(1 << 16))
found = json.loads(buffer.value)
unclaimed = found["unclaimed"]
assert len(unclaimed) == (1 if len({claimed}) == 3 else 1 if not {claimed} else 0), unclaimed
assert all({soc!r} in each["reason"] and "'site'" in each["node"] for each in unclaimed)
real = [name for name in found["kernels"][0]["devices"][0]["dtypes"] if not name.startswith("complex")]
assert sorted(real) == sorted(np.dtype(DTYPES[dtype][0]).name for dtype in {claimed}), real
assert found["kernels"][0]["available"] == bool({claimed})
""",
        ASCEND_SIM_SOC=soc,
    )
