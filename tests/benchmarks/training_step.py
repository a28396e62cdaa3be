"""Time a training step here and in onnxruntime-training, side by side.

    python tests/benchmarks/training_step.py --reference PYTHON [--case ort_mnist_mlp] [--batch-size 64]

PYTHON is the interpreter of an environment with the packages of tests/portable/training-requirements.txt.
Both sides get the same batch and the same number of threads, and take turns in short rounds, so that whatever
else the machine does meets both. A step is forward, gradients and update, from numpy arrays to the loss as a
Python number.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

os.environ.setdefault("ONNX_ASCEND_BACKEND", "simulator")

ROOT = Path(__file__).parents[2]
REFERENCE = ROOT / "tests" / "training" / "reference.py"
sys.path.insert(0, str(REFERENCE.parent))

from batches import SHAPES, draw  # noqa: E402 - the folder of the tests is no package

from onnx_ascend_ext.training import Trainer  # noqa: E402

WARM_UP = 50


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--reference", required=True, metavar="PYTHON", help="with onnxruntime-training")
    parser.add_argument("--case", default="ort_mnist_mlp", choices=SHAPES)
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--steps", type=int, default=25, help="steps of each side in a round")
    options = parser.parse_args()

    trainer = Trainer.from_artifacts(ROOT / "models" / options.case, threads=options.threads)
    batch = next(draw(options.case, steps=1, size=options.batch_size))
    size, threads = str(options.batch_size), str(options.threads)
    command = [options.reference, REFERENCE, "time", options.case, "--batch-size", size, "--threads", threads]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None

        def reference(steps: int) -> list[float]:
            print(steps, file=process.stdin, flush=True)
            return json.loads(process.stdout.readline())

        def ours(steps: int) -> list[float]:
            seconds = []
            for _ in range(steps):
                start = time.perf_counter()
                trainer.step(batch)
                seconds.append(time.perf_counter() - start)
            return seconds

        reference(WARM_UP)
        ours(WARM_UP)
        rounds = [(ours(options.steps), reference(options.steps)) for _ in range(options.rounds)]
        process.stdin.close()
    medians = [tuple(map(statistics.median, pair)) for pair in rounds]
    mine, theirs = (statistics.median(pair[side] for pair in medians) for side in (0, 1))
    ratio = statistics.median(theirs / mine for mine, theirs in medians)
    print(f"{options.case}, batch {size}, {threads} thread(s), {len(rounds)} rounds of {options.steps} steps")
    print(f"onnx-ascend-ext       {1e3 * mine:8.3f} ms a step, {1 / mine:8.0f} steps/s (medians)")
    print(f"onnxruntime-training  {1e3 * theirs:8.3f} ms a step, {1 / theirs:8.0f} steps/s")
    print(f"throughput ratio      {ratio:8.2f}  (above 1: faster than onnxruntime-training)")
    best = min(theirs for _, theirs in medians) / min(mine for mine, _ in medians)
    print(f"of the best rounds    {best:8.2f}")


if __name__ == "__main__":
    main()
