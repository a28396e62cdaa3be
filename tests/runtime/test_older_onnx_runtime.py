"""What an ONNX Runtime is told that has no execution providers from plugins, or not yet all they need."""

from __future__ import annotations

import onnx
import onnxruntime
import pytest

import onnx_ascend_ext as ax
from onnx_ascend_ext.sessions.onnxruntime_module import loads_plugin_ep

from .support import assert_close, custom_op_session, expected, one_node, operands, run

if loads_plugin_ep(onnxruntime):
    pytest.skip("this ONNX Runtime loads the execution provider", allow_module_level=True)

REGISTER = getattr(onnxruntime, "register_execution_provider_library", None)


def test_the_package_names_the_version_that_is_needed_and_the_other_door():
    with pytest.raises(ax.BackendError, match=r"needs 1\.24 or newer.*register_custom_ops_library"):
        ax.register()


@pytest.mark.skipif(REGISTER is None, reason="this ONNX Runtime asks no library for execution providers")
def test_the_library_refuses_by_itself_and_the_process_goes_on():
    message = (
        rf"AscendExecutionProvider needs ONNX Runtime 1\.24 or newer, and this is {onnxruntime.__version__}"
    )
    with pytest.raises(Exception, match=message):
        REGISTER("any name", ax.get_library_path())
    g, y = operands("float", (3, 4), (3, 4))
    assert_close(run(custom_op_session(one_node()), g, y), expected(g, y), "float")


def test_the_command_runs_a_model_through_the_custom_op_library(onnx_ascend, tmp_path):
    onnx.save(one_node(), tmp_path / "model.onnx")
    ended = onnx_ascend("run", tmp_path / "model.onnx", "--json")
    assert ended.status == 0, ended.stderr
    assert ended.json["nodes"] == {"site": "custom-op library"}
