"""Measures SigmoidBackward on the simulator beside ONNX Runtime on the same CPU, and prints a Markdown table.

Run it as `python tests/benchmarks/runtime_speed.py`. `--training-python` names an interpreter with
onnxruntime-training 1.19.2, whose own SigmoidGrad kernel then joins from a process of its own. All sides use
the same number of threads. They take turns in an order that changes, since ONNX Runtime's threads spin for a
while after a run; the best of many turns counts, since other programs can only make one longer.
"""

from __future__ import annotations

import argparse
import ctypes
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import numpy as np
import onnx
import onnxruntime

Turn = Callable[[], object]
Side = Callable[[], float]
"""Takes a turn and returns how many microseconds it took."""

TYPES = {"float": np.dtype(np.float32), "float16": np.dtype(np.float16), "bfloat16": np.dtype(np.uint16)}
# Older ONNX Runtimes bind by numpy type only, and numpy has no bfloat16.
ELEMENT_TYPES = {"float": np.float32, "float16": np.float16, "bfloat16": onnx.TensorProto.BFLOAT16}

MUL = "z = Mul (g, y)"
THREE_NODES = "a = Sub (one, y) b = Mul (y, a) z = Mul (g, b)"
TRAINING = "z = com.microsoft.SigmoidGrad (g, y)"
OURS = "converted: " + TRAINING

TRIAD = """
#include <pthread.h>
#include <stddef.h>
struct part { const float *a, *b; float *c; size_t count; };
static void *run(void *argument) {
    const struct part *p = argument;
    const float *restrict a = p->a, *restrict b = p->b;
    float *restrict c = p->c;
    for (size_t i = 0; i < p->count; ++i) c[i] = a[i] + 3.0f * b[i];
    return NULL;
}
void triad(const float *a, const float *b, float *c, size_t count, size_t threads) {
    pthread_t ids[64];
    struct part parts[64];
    const size_t share = (count + threads - 1) / threads;
    for (size_t t = 0; t < threads; ++t) {
        const size_t begin = t * share < count ? t * share : count;
        const size_t length = count - begin < share ? count - begin : share;
        parts[t] = (struct part){a + begin, b + begin, c + begin, length};
        if (t + 1 < threads) pthread_create(&ids[t], NULL, run, &parts[t]);
        else run(&parts[t]);
    }
    for (size_t t = 0; t + 1 < threads; ++t) pthread_join(ids[t], NULL);
}
"""


def model(dtype: str, body: str) -> bytes:
    # ONNX's text has float16 as its bits.
    one = f"<{dtype} one = {{{'1.0' if dtype == 'float' else 0x3C00}}}> " if "one" in body else ""
    made = onnx.parser.parse_model(
        '<ir_version: 9, opset_import: ["" : 18, "com.microsoft" : 1]> '
        f"graph ({dtype}[N] g, {dtype}[N] y) => ({dtype}[N] z) {one}{{ {body.removeprefix('converted: ')} }}"
    )
    if body == OURS:
        import onnx_ascend_ext as ax  # which need not be there under --serve-training

        made = ax.convert(made).model
    return made.SerializeToString()


def session_turn(
    dtype: str, body: str, arrays: list[np.ndarray], options: onnxruntime.SessionOptions, **kwargs: object
) -> Turn:
    """A run of the model with its inputs and output bound, so that nothing but the run is measured."""
    session = onnxruntime.InferenceSession(model(dtype, body), options, **kwargs)
    binding = session.io_binding()
    for name, array in zip("gy", arrays, strict=False):
        binding.bind_input(name, "cpu", 0, ELEMENT_TYPES[dtype], array.shape, array.ctypes.data)
    binding.bind_output("z", "cpu", 0, ELEMENT_TYPES[dtype], arrays[2].shape, arrays[2].ctypes.data)
    return lambda: session._sess.run_with_iobinding(binding._iobinding, None)


def timed(turn: Turn) -> Side:
    """A side that repeats short turns, so that the clock's own cost does not count."""
    turn()
    begin = time.perf_counter()
    turn()
    repeat = max(1, min(200, int(2e-3 / max(time.perf_counter() - begin, 1e-7))))

    def side() -> float:
        begin = time.perf_counter()
        for _ in range(repeat):
            turn()
        return (time.perf_counter() - begin) / repeat * 1e6

    return side


def best_times(sides: dict[str, Side], seconds: float) -> dict[str, float]:
    """Microseconds of the fastest turn of each side."""
    best = dict.fromkeys(sides, float("inf"))
    order, shuffle = list(sides), random.Random(0).shuffle
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        shuffle(order)
        for name in order:
            best[name] = min(best[name], sides[name]())
    return best


@contextmanager
def training_side(python: str, elements: int, threads: int) -> Iterator[Side]:
    """The SigmoidGrad kernel of onnxruntime-training, in a process that takes a turn for each line."""
    command = [python, __file__, "--serve-training", "--elements", str(elements), "--threads", str(threads)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:

        def side() -> float:
            print(file=process.stdin, flush=True)
            return float(process.stdout.readline())

        yield side
        process.stdin.close()


def serve_training(elements: int, threads: int) -> None:
    """Answers each line on stdin with the time of a turn."""
    arrays = operands("float", elements)
    turn = session_turn("float", TRAINING, arrays, plain_options(threads), providers=["CPUExecutionProvider"])
    side = timed(turn)
    for _ in sys.stdin:
        print(side(), flush=True)


def triad_turn(folder: Path, arrays: list[np.ndarray], threads: int) -> Turn | None:
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        return None
    library = folder / "triad.so"
    subprocess.run(
        [
            compiler,
            "-std=c99",
            "-O3",
            "-march=native",
            "-shared",
            "-fPIC",
            "-x",
            "c",
            "-",
            "-o",
            library,
            "-pthread",
        ],
        input=TRIAD,
        text=True,
        check=True,
    )
    triad = ctypes.CDLL(str(library)).triad
    pointers = [ctypes.c_void_p(array.ctypes.data) for array in arrays]
    count = ctypes.c_size_t(arrays[0].nbytes // 4)
    return lambda: triad(*pointers, count, ctypes.c_size_t(threads))


def operands(dtype: str, elements: int) -> list[np.ndarray]:
    rng = np.random.default_rng(0)
    g = rng.normal(size=elements).astype(np.float32)
    y = rng.uniform(size=elements).astype(np.float32)
    made = [g, y, np.zeros(elements, np.float32)]
    if dtype == "bfloat16":
        return [(array.view(np.uint32) >> 16).astype(np.uint16) for array in made]
    return [array.astype(TYPES[dtype]) for array in made]


def plain_options(threads: int) -> onnxruntime.SessionOptions:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.log_severity_level = 3
    return options


def measure(
    dtype: str, elements: int, threads: int, seconds: float, training: str | None
) -> dict[str, float]:
    import onnx_ascend_ext as ax

    arrays = operands(dtype, elements)
    cpu = {"providers": ["CPUExecutionProvider"]}
    turns: dict[str, Turn] = {}
    if dtype != "bfloat16":  # ONNX Runtime's CPU provider computes none
        turns["Mul"] = session_turn(dtype, MUL, arrays, plain_options(threads), **cpu)
        turns["three nodes"] = session_turn(dtype, THREE_NODES, arrays, plain_options(threads), **cpu)
    ax.register()
    turns["execution provider"] = session_turn(
        dtype, OURS, arrays, ax.session_options(base=plain_options(threads))
    )
    custom = plain_options(threads)
    custom.register_custom_ops_library(ax.get_library_path())
    turns["custom-op library"] = session_turn(dtype, OURS, arrays, custom, **cpu)
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        triad = triad_turn(folder, arrays, threads) if arrays[0].nbytes >= 4 else None
        if triad is not None:
            turns["triad"] = triad
        sides = {name: timed(turn) for name, turn in turns.items()}
        if training is not None and dtype == "float":
            label = "SigmoidGrad of onnxruntime-training"
            sides[label] = stack.enter_context(training_side(training, elements, threads))
        return best_times(sides, seconds)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--elements", type=int, nargs="+", default=[1, 65536, 16_000_000])
    parser.add_argument("--types", nargs="+", choices=TYPES, default=list(TYPES))
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--seconds", type=float, default=12.0, help="for each size and type (default: 12)")
    parser.add_argument("--training-python", help="an interpreter with onnxruntime-training")
    parser.add_argument("--serve-training", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve_training:
        serve_training(options.elements[0], options.threads)
        return
    os.environ.setdefault("ONNX_ASCEND_BACKEND", "simulator")
    os.environ.setdefault("ASCEND_SIM_THREADS", str(options.threads))
    print(f"onnxruntime {onnxruntime.__version__}, {options.threads} threads, microseconds")
    print("\n| elements | type | side | µs | provider is faster by |\n| ---: | --- | --- | ---: | ---: |")
    for elements in options.elements:
        for dtype in options.types:
            best = measure(dtype, elements, options.threads, options.seconds, options.training_python)
            for side, microseconds in best.items():
                factor = microseconds / best["execution provider"]
                print(f"| {elements:,} | {dtype} | {side} | {microseconds:,.2f} | {factor:.2f} |", flush=True)


if __name__ == "__main__":
    sys.exit(main())
