"""Train with onnxruntime-training 1.19.2, in an environment of its own: the reference for the tests here.

    python tests/training/reference.py losses        writes reference_losses.json beside this file
    python tests/training/reference.py time CASE     steps on demand, for tests/benchmarks/training_step.py
    python tests/training/reference.py read FILE     what is in a checkpoint, as JSON

The environment has the packages of tests/portable/training-requirements.txt.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
from batches import SHAPES, Array, draw
from onnxruntime.training import api

HERE = Path(__file__).parent
MODELS = HERE.parents[1] / "models"
LOSSES = HERE / "reference_losses.json"

STEPS = 20
SIZE = 16
LEARNING_RATE = 1e-3


class Reference:
    """A training on onnxruntime-training's CPU provider."""

    def __init__(
        self, folder: Path, *, size: int | None = None, threads: int = 0, learning_rate: float = LEARNING_RATE
    ) -> None:
        """Load artifacts; `size` is that of every batch, where a kernel needs to know it."""
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        options.log_severity_level = 3
        self.state = api.CheckpointState.load_checkpoint(folder / "checkpoint")
        with tempfile.TemporaryDirectory() as scratch:
            model = Path(scratch) / "training_model.onnx"
            loaded = onnx.load(folder / "training_model.onnx")
            onnx.save(loaded if size is None else with_batch_size(loaded, size), model)
            self.module = api.Module(
                model, self.state, folder / "eval_model.onnx", device="cpu", session_options=options
            )
        self.optimizer = api.Optimizer(folder / "optimizer_model.onnx", self.module)
        self.optimizer.set_learning_rate(learning_rate)
        self.module.train()

    def step(self, x: Array, labels: Array) -> float:
        outputs = self.module(x, labels)  # the loss, or a tuple that begins with it
        loss = float(outputs[0] if isinstance(outputs, tuple | list) else outputs)
        self.optimizer.step()
        self.module.lazy_reset_grad()
        return loss


def with_batch_size(model: onnx.ModelProto, size: int) -> onnx.ModelProto:
    """Give the symbolic batch a size.

    The CPU kernel of AveragePoolGrad takes the shape of its output from the model, and crashes without one.
    """
    for value in (*model.graph.input, *model.graph.value_info, *model.graph.output):
        for dimension in value.type.tensor_type.shape.dim:
            if dimension.dim_param:
                dimension.dim_value = size
    return model


def write_losses(output: Path) -> None:
    losses = {}
    for case in SHAPES:
        reference = Reference(MODELS / case, size=SIZE)
        losses[case] = [reference.step(*batch) for batch in draw(case, steps=STEPS, size=SIZE)]
    document = {
        "onnxruntime-training": onnxruntime.__version__,
        "batch_size": SIZE,
        "learning_rate": LEARNING_RATE,
        "losses": losses,
    }
    output.write_text(json.dumps(document, indent=1) + "\n")


def serve_times(case: str, size: int, threads: int) -> None:
    """For each number of steps on stdin, make them and print the seconds of each as JSON."""
    reference = Reference(MODELS / case, size=size, threads=threads)
    x, labels = next(draw(case, steps=1, size=size))
    for line in sys.stdin:
        seconds = []
        for _ in range(int(line)):
            start = time.perf_counter()
            reference.step(x, labels)
            seconds.append(time.perf_counter() - start)
        print(json.dumps(seconds), flush=True)


def print_checkpoint(path: Path) -> None:
    state = api.CheckpointState.load_checkpoint(path)
    parameters = {
        name: [list(value.data.shape), float(value.data.astype(np.float64).sum())]
        for name, value in state.parameters
    }
    print(json.dumps({"parameters": parameters, "properties": dict(state.properties)}))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    losses = commands.add_parser("losses")
    losses.add_argument("--output", type=Path, default=LOSSES)
    timing = commands.add_parser("time")
    timing.add_argument("case", choices=SHAPES)
    timing.add_argument("--batch-size", type=int, default=64)
    timing.add_argument("--threads", type=int, default=0)
    reading = commands.add_parser("read")
    reading.add_argument("file", type=Path)
    options = parser.parse_args()
    if options.command == "losses":
        write_losses(options.output)
    elif options.command == "read":
        print_checkpoint(options.file)
    else:
        serve_times(options.case, options.batch_size, options.threads)


if __name__ == "__main__":
    main()
