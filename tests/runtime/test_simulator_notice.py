"""The warning that the simulator stands in for CANN: once in a process, by whichever door comes first."""

from __future__ import annotations

import pytest

from .support import in_new_process, needs_plugin_ep

NOTICE = "no CANN was found, so kernels run on the CPU simulator"

PROVIDER = """
for name in ("one", "another"):
    onnxruntime.register_execution_provider_library(name, ax.get_library_path())
    onnxruntime.unregister_execution_provider_library(name)
"""
CUSTOM_OP = "custom_op_session(one_node()); custom_op_session(one_node())\n"
PYTHON = "ax.sigmoid_backward(1.0, np.ones(2, np.float32))\n"
C = """
function = native.load().onnx_ascend_simulator_notice
print([(function() or b"").decode() for _ in range(2)], file=sys.stderr)
"""
QUIET = "onnxruntime.set_default_logger_severity(3)\n"
LOUD = "onnxruntime.set_default_logger_severity(2)\n"


def said(code: str, backend: str = "auto") -> str:
    """What code writes to stderr, where every Python warning is shown as well."""
    ended = in_new_process(
        "import sys, warnings, numpy as np, onnxruntime, onnx_ascend_ext as ax\n"
        "from onnx_ascend_ext import native\n"
        "from runtime.support import custom_op_session, one_node\n"
        "warnings.simplefilter('always')\n" + code,
        ONNX_ASCEND_BACKEND=backend,
    )
    assert ended.returncode == 0, ended.stderr
    return ended.stderr


needs_provider = pytest.param(PROVIDER, id="provider", marks=needs_plugin_ep)
DOORS = [
    needs_provider,
    pytest.param(CUSTOM_OP, id="custom op"),
    pytest.param(PYTHON, id="python"),
    pytest.param(C, id="c"),
]


@pytest.mark.parametrize("first", DOORS)
@pytest.mark.parametrize("second", DOORS)
def test_the_first_door_says_it_and_no_other(first, second):
    assert said(first + second).count(NOTICE) == 1


@pytest.mark.parametrize("door", DOORS)
def test_whoever_chose_the_simulator_is_not_told(door):
    assert NOTICE not in said(door, "simulator")


@pytest.mark.parametrize(
    ("door", "place"),
    [
        pytest.param(PROVIDER, "[W:onnxruntime:Default, ", marks=needs_plugin_ep),
        (CUSTOM_OP, "[W:onnxruntime:"),
        (PYTHON, "SimulatorWarning: "),
    ],
)
def test_it_comes_as_a_warning_of_the_door(door, place):
    (line,) = (line for line in said(door).splitlines() if NOTICE in line)
    assert place in line


def test_a_library_whose_operators_are_not_used_has_nothing_to_say():
    registering = (
        "options = onnxruntime.SessionOptions()\noptions.register_custom_ops_library(ax.get_library_path())\n"
    )
    assert said(registering) == ""


@pytest.mark.parametrize("door", [needs_provider, pytest.param(CUSTOM_OP, id="custom op")])
def test_a_log_without_warnings_leaves_it_to_the_next_door(door):
    assert NOTICE not in said(QUIET + door)
    assert said(QUIET + door + LOUD + CUSTOM_OP).count(NOTICE) == 1
    assert said(QUIET + door + PYTHON).count(NOTICE) == 1
