"""Runs models with onnxruntime-training's own kernels; started in an environment of its own.

Each line on stdin names a model, its inputs and the file for its outputs. The answer is one line: empty, or
what went wrong. Values are in the form of `values.py`, which lies beside this file.
"""

from __future__ import annotations

import json
import sys

import onnxruntime
from values import read_values, write_values


def run(model: str, inputs: str, outputs: str) -> None:
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    feeds = read_values(inputs)
    names = [output.name for output in session.get_outputs()]
    results = dict(zip(names, session.run(names, feeds), strict=True))
    # What a kernel overwrites is the memory of the input itself.
    results.update({f"after/{name}": value for name, value in feeds.items()})
    write_values(outputs, results)


def main() -> None:
    print(onnxruntime.__version__, flush=True)
    for line in sys.stdin:
        try:
            run(**json.loads(line))
            answer = ""
        except Exception as error:
            answer = " ".join(str(error).split())
        print(answer, flush=True)


main()
