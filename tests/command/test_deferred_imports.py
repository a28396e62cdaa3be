"""What a command imports, in processes of their own."""

from __future__ import annotations

import subprocess
import sys

import onnx
import pytest
from onnx import TensorProto, helper

PROGRAM = """
import sys
from onnx_ascend_ext.command import main
try:
    main(sys.argv[1:])
finally:
    print(*sorted({"numpy", "ml_dtypes", "onnxruntime"} & sys.modules.keys()), file=sys.stderr)
"""


def model_of(kind, one):
    nodes = [
        helper.make_node("Sigmoid", ["x"], ["y"]),
        helper.make_node("Sub", ["one", "y"], ["rest"]),
        helper.make_node("Mul", ["y", "rest"], ["slope"]),
        helper.make_node("Mul", ["dy", "slope"], ["dx"]),
    ]
    x, dy, dx = (helper.make_tensor_value_info(name, kind, [2]) for name in ("x", "dy", "dx"))
    constant = TensorProto(name="one", data_type=kind, raw_data=one)
    graph = helper.make_graph(nodes, "g", [x, dy], [dx], [constant])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)


@pytest.mark.parametrize(
    ("kind", "one", "imported"),
    [
        (TensorProto.FLOAT, b"\0\0\x80\x3f", []),
        (TensorProto.FLOAT16, b"\0\x3c", []),
        (TensorProto.BFLOAT16, b"\x80\x3f", []),
        (TensorProto.FLOAT8E5M2, b"\x3c", ["ml_dtypes", "numpy"]),
    ],
)
def test_only_a_type_that_needs_numpy_imports_it(tmp_path, kind, one, imported):
    onnx.save(model_of(kind, one), tmp_path / "in.onnx")
    ended = subprocess.run(
        [sys.executable, "-c", PROGRAM, "convert", "-o", "out.onnx", "in.onnx"],
        capture_output=True, text=True, check=False, cwd=tmp_path,
    )  # fmt: skip
    assert ended.returncode == 0
    assert "1 gradient, 0 near misses" in ended.stdout
    assert ended.stderr.split() == imported
    converted = onnx.load(tmp_path / "out.onnx")
    assert [node.op_type for node in converted.graph.node] == ["Sigmoid", "SigmoidBackward"]


@pytest.mark.parametrize(
    ("call", "imported"),
    [
        ("defer_imports()", "False"),
        ("", "True"),
        # Another thread might use onnx at the same time.
        ("threading.Thread(target=time.sleep, args=[2], daemon=True).start(); defer_imports()", "True"),
    ],
)
def test_onnx_imports_numpy_unless_its_modules_are_deferred(call, imported):
    program = f"""
import sys, threading, time
from onnx_ascend_ext.command.deferred_imports import defer_imports
{call}
import onnx
print("numpy" in sys.modules)
"""
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert ended.stdout.split() == [imported]


def test_modules_of_onnx_are_whole_at_their_first_use():
    program = """
from onnx_ascend_ext.command.deferred_imports import defer_imports
defer_imports()
import onnx
node = onnx.helper.make_node("Relu", ["x"], ["y"])
import numpy
print(node.op_type, *onnx.numpy_helper.to_array(onnx.numpy_helper.from_array(numpy.ones(2))))
"""
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert ended.stdout.split() == ["Relu", "1.0", "1.0"]
