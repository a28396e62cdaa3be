"""The ends of things: processes, registrations, threads, and other users of ACL in the process."""

from __future__ import annotations

import signal

import pytest

from .support import in_new_process, succeeds

PRELUDE = """
import gc, os, signal, sys, threading
import onnxruntime
from runtime.support import *
from onnx_ascend_ext import simulator

g, y = operands("float", (6, 7), (6, 7))
model = one_node()

def works(session):
    assert_close(run(session, g, y), expected(g, y), "float")
"""

MODES = pytest.mark.parametrize("mode", ["device", "host"])
ENDINGS = {
    "return": ("", 0),
    "sys.exit": ("sys.exit(7)", 7),
    "exception": ("sys.stderr = open(os.devnull, 'w'); raise RuntimeError('end')", 1),
    "SIGTERM": ("os.kill(os.getpid(), signal.SIGTERM); import time; time.sleep(60)", -signal.SIGTERM),
    "SIGTERM handled": (
        "signal.signal(signal.SIGTERM, lambda *_: sys.exit(143)); os.kill(os.getpid(), signal.SIGTERM)",
        143,
    ),
    "thread still alive": (
        "threading.Thread(target=lambda: [works(session) for _ in range(200)]).start()",
        0,
    ),
}


@MODES
@pytest.mark.parametrize("ending", ENDINGS)
def test_exit_with_live_sessions_keeps_the_exit_code(mode, ending):
    code, status = ENDINGS[ending]
    ended = in_new_process(
        PRELUDE
        + f"""
session = ep_session(model)
other = custom_op_session(model)
works(session)
works(other)
kept = onnxruntime.OrtValue.ortvalue_from_numpy(g)
{code}
""",
        ASCEND_SIM_RUN_MODE=mode,
    )
    assert ended.returncode == status, ended.stderr
    assert ended.stderr == ""


@MODES
def test_exit_after_unregistering_under_a_live_session(mode):
    ended = in_new_process(
        PRELUDE
        + """
session = ep_session(model)
works(session)
try:
    onnxruntime.unregister_execution_provider_library(EP)
except Exception as error:
    print(error)
""",
        ASCEND_SIM_RUN_MODE=mode,
    )
    assert ended.returncode == 0, ended.stderr


@MODES
def test_a_hundred_registrations_do_not_grow(mode):
    succeeds(
        PRELUDE
        + """
def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

def cycle():
    session = ep_session(model)
    works(session)
    works(custom_op_session(model))
    del session
    gc.collect()
    onnxruntime.unregister_execution_provider_library(EP)

for _ in range(30):
    cycle()
memory, counters = resident(), simulator.counters()
for _ in range(100):
    cycle()
after = simulator.counters()
for gauge in [key for key in after if key.startswith("live_") or key == "bytes_in_use"]:
    assert after[gauge] <= counters[gauge], (gauge, counters[gauge], after[gauge])
assert after["aclInit"] == 1
assert after["aclFinalize"] == 0
assert resident() - memory < 3 << 20, resident() - memory
""",
        timeout=300,
        ASCEND_SIM_RUN_MODE=mode,
    )


@MODES
def test_five_thousand_runs_do_not_grow(mode):
    succeeds(
        PRELUDE
        + """
def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

session = ep_session(model)
for _ in range(1000):
    session.run(None, {"g": g, "y": y})
memory, counters = resident(), simulator.counters()
for _ in range(5000):
    session.run(None, {"g": g, "y": y})
after = simulator.counters()
for gauge in [key for key in after if key.startswith("live_") or key == "bytes_in_use"]:
    assert after[gauge] == counters[gauge], gauge
assert resident() - memory < 1 << 20, resident() - memory
""",
        ASCEND_SIM_RUN_MODE=mode,
    )


@MODES
def test_a_forked_child_gets_an_error_and_the_parent_goes_on(mode):
    succeeds(
        PRELUDE
        + """
import warnings
warnings.simplefilter("ignore")
options = ep_options()
options.intra_op_num_threads = 1
session = onnxruntime.InferenceSession(model.SerializeToString(), options)
works(session)
child = os.fork()
if child == 0:
    status = 9
    try:
        session.run(None, {"g": g, "y": y})
    except Exception as error:
        status = 0 if "was forked" in str(error) else 8
    try:
        ep_session(model)
        status = status or 7
    except Exception as error:
        status = status if "was forked" in str(error) else 6
    del session
    gc.collect()
    os._exit(status)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
works(session)
works(ep_session(model))
""",
        silent=False,
        ASCEND_SIM_RUN_MODE=mode,
    )


def test_a_child_forked_before_the_first_session_works():
    succeeds(
        PRELUDE
        + """
import warnings
warnings.simplefilter("ignore")
child = os.fork()
if child == 0:
    works(ep_session(model))
    os._exit(0)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
works(ep_session(model))
"""
    )


ACL = """
import ctypes
acl = ctypes.CDLL(str(simulator.library_dir() / "libascendcl.so"))
def current():
    context = ctypes.c_void_p()
    return acl.aclrtGetCurrentContext(ctypes.byref(context)), context.value
"""


@MODES
def test_acl_that_somebody_else_started_is_used_and_not_ended(mode):
    succeeds(
        PRELUDE
        + ACL
        + """
assert acl.aclInit(None) == 0
assert acl.aclrtSetDevice(0) == 0
session = ep_session(model)
works(session)
del session
gc.collect()
onnxruntime.unregister_execution_provider_library(EP)
assert simulator.counters()["aclFinalize"] == 0
stream = ctypes.c_void_p()
assert acl.aclrtCreateStream(ctypes.byref(stream)) == 0, "the other user's device is still open"
assert acl.aclrtSynchronizeStream(stream) == 0
assert acl.aclrtDestroyStream(stream) == 0
assert acl.aclrtResetDevice(0) == 0
""",
        ASCEND_SIM_RUN_MODE=mode,
    )


@MODES
def test_the_callers_context_and_device_are_put_back(mode):
    succeeds(
        PRELUDE
        + ACL
        + """
assert acl.aclInit(None) == 0
mine = ctypes.c_void_p()
assert acl.aclrtCreateContext(ctypes.byref(mine), 1) == 0
assert current() == (0, mine.value)
session = ep_session(model)
assert current() == (0, mine.value)
works(session)
assert current() == (0, mine.value)
works(custom_op_session(model))
assert current() == (0, mine.value)
device = ctypes.c_int32(-1)
assert acl.aclrtGetDevice(ctypes.byref(device)) == 0 and device.value == 1
del session
gc.collect()
assert current() == (0, mine.value)
""",
        ASCEND_SIM_RUN_MODE=mode,
        ASCEND_SIM_DEVICES="2",
    )


def test_describing_does_not_hold_the_device():
    succeeds(
        PRELUDE
        + ACL
        + """
library = ctypes.CDLL(ax.get_library_path())
buffer = ctypes.create_string_buffer(1 << 16)
library.onnx_ascend_describe(buffer, ctypes.c_size_t(1 << 16))
counters = simulator.counters()
assert counters["aclrtSetDevice"] == counters["aclrtResetDevice"] == 1
assert counters["live_contexts"] == 0
"""
    )
