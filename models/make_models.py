"""Make the training graphs of this folder again, each with the exporter that it stands for.

`python models/make_models.py CASE...` writes `models/CASE/`: the graph, its inputs and, where stock ONNX
Runtime can run it, the outputs that it gives with all optimisations off. The exporters are the extra
`models`; the `ort_*` cases need onnxruntime-training, which takes onnxruntime's place and numpy 1, and so a
second environment with the extra `models-ort`. `case.json` says what a case is for and is written by hand.
With the versions of those extras every graph comes out byte for byte (the checkpoints of ort_lenet_sigmoid
and ort_deep hold other random weights).
"""

from __future__ import annotations

import argparse
import io
import logging
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx

if TYPE_CHECKING:
    import torch

Shape = tuple[int, ...]

MODELS = Path(__file__).parent
# Inputs of all cases are drawn one after the other from one generator, in the order of `CASES`.
INPUT_SEED = 7
INPUT_SCALE = 0.5
TARGET = 0.3


@dataclass(frozen=True)
class Case:
    """A graph with the inputs that it is checked with."""

    export: Callable[[dict[str, np.ndarray]], onnx.ModelProto]
    inputs: dict[str, Shape]
    dtype: str = "float32"
    target: str | None = None
    """The input that is filled with TARGET instead of random numbers."""
    is_runnable: bool = True


# PyTorch: the gradient function is traced to ATen operators, and that graph is exported.


def export_torch(loss: Callable[..., torch.Tensor], inputs: dict[str, np.ndarray]) -> onnx.ModelProto:
    """Export `loss(x, target, *parameters)` with its gradient by every parameter."""
    import torch
    from torch.fx.experimental.proxy_tensor import make_fx

    tensors = tuple(torch.from_numpy(array) for array in inputs.values())
    gradients = torch.func.grad_and_value(loss, argnums=tuple(range(2, len(tensors))))

    def training_step(*arguments: torch.Tensor) -> tuple[torch.Tensor, ...]:
        by_parameter, value = gradients(*arguments)
        return (value, *by_parameter)

    traced = make_fx(training_step)(*tensors)
    program = torch.onnx.export(traced, tensors, dynamo=True, verbose=False)
    assert program is not None
    return program.model_proto


def torch_mlp(inputs: dict[str, np.ndarray]) -> onnx.ModelProto:
    def loss(x: Any, target: Any, w1: Any, b1: Any, w2: Any, b2: Any) -> Any:
        from torch.nn.functional import linear

        return ((linear(linear(x, w1, b1).sigmoid(), w2, b2) - target) ** 2).mean()

    return export_torch(loss, inputs)


def torch_lstm_cell(inputs: dict[str, np.ndarray]) -> onnx.ModelProto:
    """Three steps of an LSTM cell that gets the same input each time, which is its first state too."""

    def loss(x: Any, target: Any, w_x: Any, b_x: Any, w_h: Any, b_h: Any) -> Any:
        import torch
        from torch.nn.functional import linear

        hidden, cell = x, torch.zeros_like(x)
        for _ in range(3):
            gates = linear(x, w_x, b_x) + linear(hidden, w_h, b_h)
            into, keep, new, out = gates.chunk(4, 1)
            cell = keep.sigmoid() * cell + into.sigmoid() * new.tanh()
            hidden = out.sigmoid() * cell.tanh()
        return ((hidden - target) ** 2).mean()

    return export_torch(loss, inputs)


def torch_glu(inputs: dict[str, np.ndarray]) -> onnx.ModelProto:
    def loss(x: Any, target: Any, w: Any, b: Any) -> Any:
        from torch.nn.functional import glu, linear

        return ((glu(linear(x, w, b)) - target) ** 2).mean()

    return export_torch(loss, inputs)


# JAX


def jax_mlp(inputs: dict[str, np.ndarray]) -> onnx.ModelProto:
    import jax
    import jax.numpy as jnp
    from jax2onnx import to_onnx

    def loss(w1: Any, b1: Any, w2: Any, x: Any, target: Any) -> Any:
        hidden = jax.nn.sigmoid(x @ w1 + b1)  # exported as 1 / (1 + exp(-x))
        return jnp.mean((hidden @ w2 - target) ** 2)

    gradients = jax.grad(loss, argnums=(0, 1, 2))
    return to_onnx(gradients, [jax.ShapeDtypeStruct(array.shape, array.dtype) for array in inputs.values()])


# onnx-ad: differentiates an ONNX graph


def onnxad_mlp(_: dict[str, np.ndarray]) -> onnx.ModelProto:
    import onnx_ad

    weights = np.random.default_rng(0)
    hidden = weights.standard_normal((8, 6)).astype(np.float32)
    last = weights.standard_normal((6, 4)).astype(np.float32)
    model = onnx.parser.parse_model("""
        <ir_version: 10, opset_import: ["" : 18]>
        f (float[8] x) => (float[4] y) {
            h = MatMul (x, w)
            s = Sigmoid (h)
            y = MatMul (s, v)
        }
    """)
    model.graph.initializer.append(onnx.numpy_helper.from_array(hidden, "w"))
    model.graph.initializer.append(onnx.numpy_helper.from_array(last, "v"))
    return onnx_ad.reverse(model)


TORCH_MLP_INPUTS: dict[str, Shape] = {
    "arg0_1": (5, 16),
    "arg1_1": (5, 10),
    "arg2_1": (32, 16),
    "arg3_1": (32,),
    "arg4_1": (10, 32),
    "arg5_1": (10,),
}

CASES = {
    "torch_mlp": Case(torch_mlp, TORCH_MLP_INPUTS, target="arg1_1"),
    "torch_lstm_cell": Case(
        torch_lstm_cell,
        {
            "arg0_1": (5, 16),
            "arg1_1": (5, 16),
            "arg2_1": (64, 16),
            "arg3_1": (64,),
            "arg4_1": (64, 16),
            "arg5_1": (64,),
        },
        target="arg1_1",
    ),
    "torch_mlp_f16": Case(torch_mlp, TORCH_MLP_INPUTS, dtype="float16", target="arg1_1"),
    "torch_glu": Case(
        torch_glu,
        {"arg0_1": (5, 16), "arg1_1": (5, 16), "arg2_1": (32, 16), "arg3_1": (32,)},
        target="arg1_1",
    ),
    "jax_mlp": Case(
        jax_mlp,
        {"in_0": (16, 32), "in_1": (32,), "in_2": (32, 10), "in_3": (5, 16), "in_4": (5, 10)},
        is_runnable=False,  # its exporter declares a shape that its own Gemm contradicts
    ),
    "onnxad_mlp": Case(onnxad_mlp, {"x": (8,), "adj_y": (4, 4)}),
}


def draw_inputs(name: str) -> dict[str, np.ndarray]:
    """The inputs of the case `name`."""
    generator = np.random.default_rng(INPUT_SEED)
    inputs: dict[str, np.ndarray] = {}
    for case_name, case in CASES.items():
        for input_name, shape in case.inputs.items():
            array = generator.standard_normal(shape) * INPUT_SCALE
            if case_name == name:
                inputs[input_name] = np.asarray(array, dtype=case.dtype)
        if case_name == name:
            break
    target = CASES[name].target
    if target is not None:
        inputs[target] = np.full_like(inputs[target], TARGET)
    return inputs


def make_case(name: str, folder: Path) -> None:
    case = CASES[name]
    inputs = draw_inputs(name)
    model = case.export(inputs)
    onnx.save(model, folder / "model.onnx")
    if case.is_runnable:
        np.savez(folder / "inputs.npz", **inputs)
        np.savez(folder / "outputs.npz", **run(folder / "model.onnx", inputs))


def run(path: Path, inputs: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The outputs of the model file `path` in stock ONNX Runtime with all optimisations off."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(names, inputs), strict=True))


# ONNX Runtime training: artifacts are generated from the exported forward graph.


def mnist_mlp() -> tuple[torch.nn.Module, Shape]:
    from torch import nn

    class Mlp(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.a = nn.Linear(784, 128)
            self.b = nn.Linear(128, 64)
            self.c = nn.Linear(64, 10)

        def forward(self, x: torch.Tensor) -> Any:
            return self.c(self.b(self.a(x).sigmoid()).sigmoid())

    return Mlp(), (784,)


def lenet_sigmoid() -> tuple[torch.nn.Module, Shape]:
    from torch import nn

    class LeNet(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.c = nn.Conv2d(1, 4, 5)
            self.d = nn.Conv2d(4, 8, 5)
            self.f = nn.Linear(128, 10)

        def forward(self, x: torch.Tensor) -> Any:
            pool = nn.functional.avg_pool2d
            features = pool(self.d(pool(self.c(x).sigmoid(), 2)).sigmoid(), 2)
            return self.f(features.flatten(1))

    return LeNet(), (1, 28, 28)


def deep() -> tuple[torch.nn.Module, Shape]:
    from torch import nn

    class Deep(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            hidden = [layer for _ in range(8) for layer in (nn.Linear(32, 32), nn.Sigmoid())]
            self.n = nn.Sequential(*hidden, nn.Linear(32, 10))

        def forward(self, x: torch.Tensor) -> Any:
            return self.n(x)

    return Deep(), (32,)


def digits() -> tuple[torch.nn.Module, Shape]:
    """For the 8x8 images of scikit-learn's digits."""
    from torch import nn

    class Mlp(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.hidden = nn.Linear(64, 96)
            self.scores = nn.Linear(96, 10)

        def forward(self, x: torch.Tensor) -> Any:
            return self.scores(self.hidden(x).sigmoid())

    return Mlp(), (64,)


ORT_CASES: dict[str, Callable[[], tuple[torch.nn.Module, Shape]]] = {
    "ort_mnist_mlp": mnist_mlp,
    "ort_lenet_sigmoid": lenet_sigmoid,
    "ort_deep": deep,
    "ort_digits": digits,
}


def make_ort_case(name: str, folder: Path) -> None:
    import torch
    from onnxruntime.training import artifacts

    torch.manual_seed(0)
    module, shape = ORT_CASES[name]()
    exported = io.BytesIO()
    torch.onnx.export(
        module,
        (torch.zeros(2, *shape),),
        exported,
        input_names=["x"],
        output_names=["y"],
        dynamic_axes={"x": {0: "N"}},
        opset_version=17,
        dynamo=False,  # the artifacts need the parameters' own names
    )
    artifacts.generate_artifacts(
        onnx.load_from_string(exported.getvalue()),
        requires_grad=[parameter for parameter, _ in module.named_parameters()],
        loss=artifacts.LossType.CrossEntropyLoss,
        optimizer=artifacts.OptimType.AdamW,
        artifact_directory=folder,
    )


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("cases", nargs="+", metavar="CASE", choices=[*CASES, *ORT_CASES], help="%(choices)s")
    parser.add_argument("--output", type=Path, default=MODELS, help="folder that the cases are written below")
    options = parser.parse_args(arguments)
    logging.getLogger("torch.onnx").setLevel(logging.ERROR)
    for name in options.cases:
        folder = options.output / name
        folder.mkdir(parents=True, exist_ok=True)
        if name in CASES:
            make_case(name, folder)
        else:
            make_ort_case(name, folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
