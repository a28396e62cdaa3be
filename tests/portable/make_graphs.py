"""Makes the training graphs in `graphs/`, with the `generate_artifacts` of onnxruntime-training.

Each begins as a small network written in ONNX's text syntax, chosen so that the gradients of many operators
are in its training graph. Runs in an environment with `training-requirements.txt` and torch, which
`onnxruntime.training` imports: `python make_graphs.py`.
"""

from __future__ import annotations

import contextlib
import shutil
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx.parser
from onnx import helper, numpy_helper
from onnxruntime.training import artifacts

FOLDER = Path(__file__).with_name("graphs")

Loss = artifacts.LossType


def graph(
    text: str, parameters: dict[str, tuple[int, ...]], constants: dict[str, Any], opset: int
) -> onnx.ModelProto:
    built = onnx.parser.parse_graph(text)
    rng = np.random.default_rng(0)
    for name, shape in parameters.items():
        built.initializer.append(
            numpy_helper.from_array((0.3 * rng.normal(size=shape)).astype(np.float32), name)
        )
    for name, value in constants.items():
        array = np.asarray(value)
        array = array.astype(np.float32) if array.dtype == np.float64 else array
        built.initializer.append(numpy_helper.from_array(array, name))
    opsets = [helper.make_opsetid("", opset), helper.make_opsetid("com.microsoft", 1)]
    model = helper.make_model(built, opset_imports=opsets, ir_version=8)
    onnx.checker.check_model(model)
    return onnx.shape_inference.infer_shapes(model)


def make(
    name: str,
    text: str,
    parameters: dict[str, tuple[int, ...]],
    constants: dict[str, Any] | None = None,
    loss: Loss = Loss.CrossEntropyLoss,
    opset: int = 17,
) -> None:
    model = graph(text, parameters, constants or {}, opset)
    with tempfile.TemporaryDirectory() as folder:
        artifacts.generate_artifacts(
            model,
            requires_grad=list(parameters),
            loss=loss,
            optimizer=artifacts.OptimType.SGD,
            artifact_directory=folder,
        )
        shutil.copyfile(Path(folder) / "training_model.onnx", FOLDER / f"{name}.onnx")


def main() -> None:
    FOLDER.mkdir(exist_ok=True)
    with contextlib.redirect_stderr(None):
        make_all()


def make_all() -> None:
    make(
        "attention",
        """g (int64[N,6] ids) => (float[N,6,5] y) {
            embedded = Gather <axis = 0> (table, ids)
            placed = Add (embedded, positions)
            normal, mean1, inverse1 = LayerNormalization <axis = -1> (placed, scale1, bias1)
            q0 = MatMul (normal, wq)
            k0 = MatMul (normal, wk)
            v0 = MatMul (normal, wv)
            q1 = Reshape (q0, heads)
            k1 = Reshape (k0, heads)
            v1 = Reshape (v0, heads)
            q = Transpose <perm = [0, 2, 1, 3]> (q1)
            k = Transpose <perm = [0, 2, 3, 1]> (k1)
            v = Transpose <perm = [0, 2, 1, 3]> (v1)
            scores0 = MatMul (q, k)
            scores = Mul (scores0, factor)
            weights = Softmax <axis = -1> (scores)
            mixed0 = MatMul (weights, v)
            mixed1 = Transpose <perm = [0, 2, 1, 3]> (mixed0)
            mixed = Reshape (mixed1, joined)
            attended = MatMul (mixed, wo)
            sum1 = Add (placed, attended)
            normal2, mean2, inverse2 = LayerNormalization <axis = -1> (sum1, scale2, bias2)
            wide0 = MatMul (normal2, w1)
            wide1 = Add (wide0, b1)
            wide = com.microsoft.Gelu (wide1)
            narrow0 = MatMul (wide, w2)
            narrow = Add (narrow0, b2)
            sum2 = Add (sum1, narrow)
            y = MatMul (sum2, head)
        }""",
        {
            "table": (12, 8),
            "positions": (6, 8),
            "scale1": (8,),
            "bias1": (8,),
            "wq": (8, 8),
            "wk": (8, 8),
            "wv": (8, 8),
            "wo": (8, 8),
            "scale2": (8,),
            "bias2": (8,),
            "w1": (8, 16),
            "b1": (16,),
            "w2": (16, 8),
            "b2": (8,),
            "head": (8, 5),
        },
        {"heads": [0, 6, 2, 4], "joined": [0, 6, 8], "factor": 0.5},
        Loss.MSELoss,
    )
    make(
        "convolution",
        """g (float[4,3,12,12] x) => (float[4,5] y) {
            c1 = Conv <kernel_shape = [3, 3], pads = [1, 1, 1, 1], strides = [2, 2]> (x, w1, b1)
            r1 = Relu (c1)
            m = MaxPool <kernel_shape = [3, 3], pads = [1, 1, 1, 1]> (r1)
            c2 = Conv <kernel_shape = [3, 3], group = 2> (m, w2)
            r2 = LeakyRelu <alpha = 0.1> (c2)
            mean = GlobalAveragePool (r2)
            flat = Flatten (mean)
            y = Gemm <transB = 1> (flat, w3, b3)
        }""",
        {"w1": (4, 3, 3, 3), "b1": (4,), "w2": (6, 2, 3, 3), "w3": (5, 6), "b3": (5,)},
    )
    make(
        "convolution_3d_and_1d",
        """g (float[2,2,6,6,6] x) => (float[2,5] y) {
            c1 = Conv <kernel_shape = [2, 2, 2], strides = [2, 2, 2], pads = [1, 0, 0, 0, 0, 1]> (x, w1, b1)
            r1 = Relu (c1)
            line = Reshape (r1, shape)
            c2 = Conv <kernel_shape = [3], dilations = [2], strides = [3]> (line, w2)
            p = AveragePool <kernel_shape = [2], strides = [2], count_include_pad = 1> (c2)
            sum = ReduceSum <keepdims = 0> (p, axes)
            y = MatMul (sum, w3)
        }""",
        {"w1": (3, 2, 2, 2, 2), "b1": (3,), "w2": (4, 3, 3), "w3": (4, 5)},
        {"shape": [2, 3, -1], "axes": [2]},
    )
    make(
        "batch_normalisation",
        """g (float[4,3,8,8] x) => (float[4,5] y) {
            c = Conv <kernel_shape = [3, 3]> (x, w1)
            n, mean, var = BatchNormalization <training_mode = 1> (c, scale, bias, old_mean, old_var)
            t = Tanh (n)
            p = AveragePool <kernel_shape = [2, 2], strides = [2, 2]> (t)
            flat = Flatten (p)
            y = Gemm <transB = 1> (flat, w2, b2)
        }""",
        {"w1": (4, 3, 3, 3), "scale": (4,), "bias": (4,), "w2": (5, 36), "b2": (5,)},
        {"old_mean": [0.0] * 4, "old_var": [1.0] * 4},
    )
    make(
        "slicing",
        """g (float[4,8] x) => (float[4,5] y) {
            h = MatMul (x, w1)
            part = Slice (h, starts, ends, axes)
            left, right = Split <axis = 1> (h, sizes)
            s = Sigmoid (left)
            t = Tanh (right)
            st = Mul (s, t)
            joined = Concat <axis = 1> (part, st)
            chosen = Where (mask, joined, other)
            picked = GatherElements <axis = 1> (chosen, indices)
            squared = Pow (picked, two)
            quotient = Div (squared, divisor)
            centre = ReduceMean <axes = [1], keepdims = 1> (quotient)
            centred = Sub (quotient, centre)
            probabilities = LogSoftmax <axis = -1> (centred)
            y = MatMul (probabilities, w2)
        }""",
        {"w1": (8, 6), "w2": (5, 5), "other": (4, 6)},
        {
            "starts": [1],
            "ends": [4],
            "axes": [1],
            "sizes": [3, 3],
            "mask": [[True, False, True, True, True, True]],
            "indices": [[0, 1, 2, 3, 4], [5, 4, 3, 2, 1], [0, 0, 1, 1, 5], [2, 3, 4, 5, 5]],
            "two": 2.0,
            "divisor": [1.0, 2.0, 3.0, 4.0, 5.0],
        },
    )
    make(
        "unknown_sizes",
        """g (float[N,8] x, int64[K] shape) => (float y) {
            h = MatMul (x, w1)
            unknown = Reshape (h, shape)
            sum = Add (unknown, b1)
            product = Mul (sum, factors)
            quotient = Div (product, divisors)
            difference = Sub (b2, quotient)
            t = Tanh (difference)
            y = ReduceMean <keepdims = 0> (t)
        }""",
        {"w1": (8, 6), "b1": (1, 6), "factors": (1,), "b2": (3, 1, 1)},
        {"divisors": [[2.0], [3.0], [4.0], [5.0]]},
        Loss.MSELoss,
    )
    make(
        "gathering",
        """g (float[N,2,8] x) => (float[N,2,5] y) {
            h = MatMul (x, w1)
            larger = Unsqueeze (h, axes)
            same = Squeeze (larger, axes)
            wide = Expand (same, shape)
            picked = GatherND (wide, indices)
            fast = com.microsoft.FastGelu (picked)
            quick = com.microsoft.QuickGelu <alpha = 1.5> (fast)
            y = MatMul (quick, w2)
        }""",
        {"w1": (8, 6), "w2": (6, 5)},
        {"axes": [1], "shape": [1, 2, 6], "indices": [[[0, 0], [0, 1]]]},
        Loss.L1Loss,
    )
    make(
        "recurrent",
        """g (float[3,2,6] x) => (float[3,2,4] y) {
            h, last, cell = LSTM <hidden_size = 5> (x, w1, r1, b1, , h0, c0)
            s = Squeeze (h, axes)
            g, final = GRU <hidden_size = 4, linear_before_reset = 1> (s, w2, r2, b2, , g0)
            y = Squeeze (g, axes)
        }""",
        {
            "w1": (1, 20, 6),
            "r1": (1, 20, 5),
            "b1": (1, 40),
            "w2": (1, 12, 5),
            "r2": (1, 12, 4),
            "b2": (1, 24),
        },
        {
            "h0": np.zeros((1, 2, 5)),
            "c0": np.zeros((1, 2, 5)),
            "g0": np.zeros((1, 2, 4)),
            "axes": [1],
        },
        Loss.MSELoss,
    )
    make(
        "transposed_convolution",
        """g (float[2,3,4,4] x) => (float[2,2,9,9] y) {
            s = Sigmoid (x)
            h = Mul (s, factors)
            y = ConvTranspose <kernel_shape = [3, 3], strides = [2, 2]> (h, w, b)
        }""",
        {"factors": (3, 1, 1), "w": (3, 2, 3, 3), "b": (2,)},
        loss=Loss.MSELoss,
    )
    for opset in (12, 14, 18):
        make(
            f"perceptron_opset_{opset}",
            """g (float[N,8] x) => (float[N,5] y) {
                h = MatMul (x, w1)
                sum = Add (h, b1)
                s = Sigmoid (sum)
                r = Relu (s)
                p = Softmax <axis = 1> (r)
                y = MatMul (p, w2)
            }""",
            {"w1": (8, 6), "b1": (6,), "w2": (6, 5)},
            opset=opset,
        )


if __name__ == "__main__":
    main()
