"""The same rewrite as a pattern of onnx-graphsurgeon, for the one spelling that generated graphs have."""

import sys

import onnx
import onnx_graphsurgeon as gs
from onnx_graphsurgeon.logger import G_LOGGER

G_LOGGER.severity = G_LOGGER.ERROR  # by default it logs every node that it looks at


def subtracts_from_one(node):
    return isinstance(node.inputs[0], gs.Constant) and (node.inputs[0].values == 1).all()


pattern = gs.GraphPattern()
dy, y, one = pattern.variable(), pattern.variable(), pattern.variable()
rest = pattern.add("rest", "Sub", check_func=subtracts_from_one, inputs=[one, y])
slope = pattern.add("slope", "Mul", inputs=[y, rest])
gradient = pattern.add("gradient", "Mul", inputs=[dy, slope])
pattern.set_output_tensors([gradient])

graph = gs.import_onnx(onnx.load(sys.argv[1]))
for match in pattern.match_all(graph):
    node = match["gradient"].onnx_node
    node.op, node.domain = "SigmoidBackward", "onnx_ascend_ext"
    node.inputs = [node.inputs[0], match["slope"].onnx_node.inputs[0]]
onnx.save(gs.export_onnx(graph.cleanup()), sys.argv[2])
