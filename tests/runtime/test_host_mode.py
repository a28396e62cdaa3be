"""A device with memory of its own: copies, streams, memory, and what IoBinding does with them."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from .support import succeeds

HOST = {"ASCEND_SIM_RUN_MODE": "host"}

PRELUDE = """
import gc, numpy as np, onnxruntime as ort
from runtime.support import *
from onnx_ascend_ext import simulator

NPU = "npu", 0, 0x19E5

def float_operands(*shape, seed=0):
    return operands("float", shape, shape, seed)

def prepared(*shape):
    return ep_session(one_node()), *float_operands(*shape)

def computes(session, g, y):
    assert_close(run(session, g, y), expected(g, y), "float")

def calls(work):
    before = simulator.counters()
    work()
    after = simulator.counters()
    return {k: after[k] - before[k] for k in after if after[k] != before[k] and not k.startswith("live_")}

def on_npu(array):
    value = ort.OrtValue.ortvalue_from_shape_and_type(array.shape, array.dtype.type, *NPU)
    ort.copy_tensors([ort.OrtValue.ortvalue_from_numpy(array)], [value])
    return value

def bound(session, g, y):
    binding = session.io_binding()
    binding.bind_ortvalue_input("g", g)
    binding.bind_ortvalue_input("y", y)
    return binding

def made_on_npu(binding):
    binding._iobinding.bind_output("z", ort.OrtDevice.make(*NPU)._get_c_device())
    return binding
"""


@pytest.fixture
def in_host_mode() -> Callable[..., None]:
    """Runs code, after PRELUDE and in a process of its own, where the device has memory of its own."""

    def run(code: str, **environment: str) -> None:
        succeeds(PRELUDE + code, **HOST, **environment)

    return run


@pytest.mark.parametrize("file", ["test_execution_provider.py", "test_c_api.py", "test_custom_op.py"])
@pytest.mark.parametrize("latency", ["0", "2000"], ids=["prompt", "late"])
def test_everything_again_with_copies(file, latency):
    # A launch that runs late shows whatever does not wait for it.
    if os.environ.get("ASCEND_SIM_RUN_MODE") == "host":
        pytest.skip("this is the run in host mode")
    ended = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(Path(__file__).with_name(file))],
        env=os.environ | HOST | {"ASCEND_SIM_ASYNC": "1", "ASCEND_SIM_LATENCY_US": latency},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert ended.returncode == 0, ended.stdout[-5000:]


def test_a_run_in_steady_state_is_four_tasks_and_one_wait(in_host_mode):
    in_host_mode(
        """
session, g, y = prepared(64, 33)
for _ in range(3):
    computes(session, g, y)
counted = calls(lambda: run(session, g, y))
assert counted["copies_host_to_device"] == 2, counted
assert counted["copies_device_to_host"] == 1, counted
assert counted["launches"] == 1, counted
assert counted["aclrtSynchronizeStream"] == 1, counted
allowed = {
    "aclrtMemcpyAsync", "aclnnSigmoidBackward", "aclrtSynchronizeStream", "aclrtGetCurrentContext",
    "aclSetInputTensorAddr", "aclSetOutputTensorAddr",
    "launches", "copies_host_to_device", "copies_device_to_host",
}
assert set(counted) <= allowed, counted
"""
    )


def test_a_new_shape_is_a_miss_and_a_repeated_one_a_hit(in_host_mode):
    in_host_mode(
        """
session = ep_session(one_node())
def phase_one(shape):
    g, y = float_operands(*shape)
    return calls(lambda: run(session, g, y)).get("aclnnSigmoidBackwardGetWorkspaceSize", 0)
assert phase_one((4, 5)) == 1
assert phase_one((4, 5)) == 0
assert phase_one((5, 4)) == 0, "the same elements in a row are the same to the kernel"
assert phase_one((4, 6)) == 1
assert phase_one((4, 5)) == 0
"""
    )


def test_the_executor_cache_is_bounded(in_host_mode):
    in_host_mode(
        """
session = ep_session(one_node())
for n in range(1, 400):
    g, y = float_operands(1, n, seed=n)
    computes(session, g, y)
counters = simulator.counters()
assert counters["live_executors"] <= 256 + 64, counters["live_executors"]
assert counters["live_tensors"] <= 3 * counters["live_executors"]
g, y = float_operands(1, 399)
assert "aclnnSigmoidBackwardGetWorkspaceSize" not in calls(lambda: run(session, g, y))
"""
    )


def test_an_executor_that_may_not_be_kept_is_used_once(in_host_mode):
    in_host_mode(
        """
for dtype in ("double", "float"):
    session = ep_session(one_node(dtype))
    if dtype == "float":
        simulator.fault("aclSetAclOpExecutorRepeatable", 1, 561000)
    g, y = operands(dtype, (6, 7), (6, 7))
    for turn in range(5):
        counted = calls(lambda: assert_close(run(session, g, y), expected(g, y), dtype))
        assert counted["aclnnSigmoidBackwardGetWorkspaceSize"] == 1, counted
        assert counted.get("aclSetAclOpExecutorRepeatable", 0) == (1 if turn == 0 else 0), (dtype, turn)
        assert counted["aclCreateTensor"] == counted["aclDestroyTensor"] == 3
"""
    )


def test_two_nodes_in_a_row_stay_on_the_device(in_host_mode):
    in_host_mode(
        """
model = parse(
    "g (float[N] g, float[N] y, float[N] x) => (float[N] z) { "
    "t = onnx_ascend_ext.SigmoidBackward (g, y) "
    "z = onnx_ascend_ext.SigmoidBackward (t, x) }"
)
session = ep_session(model)
g, y = float_operands(1000)
feeds = {"g": g, "y": y, "x": y}
session.run(None, feeds)
counted = calls(lambda: session.run(None, feeds))
assert counted["launches"] == 2
assert counted["copies_host_to_device"] == 3
assert counted["copies_device_to_host"] == 1
assert counted["aclrtSynchronizeStream"] == 1
assert "copies_device_to_device" not in counted
"""
    )


def test_io_binding_with_everything_on_the_device_copies_nothing(in_host_mode):
    in_host_mode(
        """
session, g, y = prepared(50, 20)
on_device = on_npu(g), on_npu(y)
target = ort.OrtValue.ortvalue_from_shape_and_type([50, 20], np.float32, *NPU)
assert on_device[0].device_name() == "npu"

given = bound(session, *on_device)
given.bind_ortvalue_output("z", target)
for binding in (given, made_on_npu(bound(session, *on_device))):
    session.run_with_iobinding(binding)
    counted = calls(lambda: session.run_with_iobinding(binding))
    assert counted["launches"] == 1, counted
    assert not [key for key in counted if key.startswith("copies_")], counted
    assert_close(binding.get_outputs()[0].numpy(), expected(g, y), "float")
assert_close(target.numpy(), expected(g, y), "float")
"""
    )


def test_io_binding_from_and_to_the_host(in_host_mode):
    in_host_mode(
        """
session, g, y = prepared(5, 4)
binding = session.io_binding()
binding.bind_cpu_input("g", g)
binding.bind_ortvalue_input("y", on_npu(y))
binding.bind_output("z", "cpu")
for _ in range(2):
    binding.synchronize_inputs()
    session.run_with_iobinding(binding)
    binding.synchronize_outputs()
    assert_close(binding.copy_outputs_to_cpu()[0], expected(g, y), "float")
"""
    )


def test_a_value_outlives_its_session_and_the_library(in_host_mode):
    in_host_mode(
        """
session, g, y = prepared(5, 4)
binding = made_on_npu(bound(session, on_npu(g), on_npu(y)))
session.run_with_iobinding(binding)
result = binding.get_outputs()[0]
kept = on_npu(g)
del binding, session
gc.collect()
assert_close(result.numpy(), expected(g, y), "float")
del result
gc.collect()
ort.unregister_execution_provider_library(EP)
del kept
gc.collect()
"""
    )


def test_memory_goes_back_into_the_pool_and_serves_the_next_run(in_host_mode):
    in_host_mode(
        """
session, g, y = prepared(300, 100)
for _ in range(3):
    run(session, g, y)
in_use = simulator.counters()["bytes_in_use"]
for _ in range(50):
    assert "aclrtMalloc" not in calls(lambda: run(session, g, y))
assert simulator.counters()["bytes_in_use"] == in_use
"""
    )


def test_memory_goes_back_to_the_device_with_the_last_session(in_host_mode):
    in_host_mode(
        """
g, y = float_operands(300, 100)
run(ep_session(one_node()), g, y)
gc.collect()
in_use = simulator.counters()["bytes_in_use"]
assert in_use < g.nbytes, in_use
for _ in range(20):
    run(ep_session(one_node()), g, y)
gc.collect()
assert simulator.counters()["bytes_in_use"] == in_use
"""
    )


def test_a_device_without_memory_left_gets_it_from_the_pool(in_host_mode):
    in_host_mode(
        """
session = ep_session(one_node())
for rows in (3000, 2500, 2000, 3100, 1500):
    g, y = float_operands(rows, 100)
    computes(session, g, y)
try:
    g, y = float_operands(20000, 100)
    run(session, g, y)
    raise SystemExit("8 MB three times do not fit into 6 MB")
except Exception as error:
    assert "memory" in str(error).lower() or "alloc" in str(error).lower(), error
g, y = float_operands(100, 100)
computes(session, g, y)
""",
        ASCEND_SIM_MEMORY=str(6 << 20),
    )


def test_several_devices(in_host_mode):
    in_host_mode(
        """
devices = ep_devices()
assert [device.ep_metadata["index"] for device in devices] == ["0", "1", "2"]
sessions = []
for device in devices:
    options = ort.SessionOptions()
    options.add_provider_for_devices([device], {})
    sessions.append(ort.InferenceSession(one_node().SerializeToString(), options))
g, y = float_operands(30, 3)
for _ in range(3):
    for session in sessions:
        computes(session, g, y)
options = ort.SessionOptions()
options.add_provider_for_devices([devices[1]], {"device_id": "1"})
session = ort.InferenceSession(one_node().SerializeToString(), options)
computes(session, g, y)
""",
        ASCEND_SIM_DEVICES="3",
    )
