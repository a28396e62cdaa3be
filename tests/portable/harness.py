"""One training-only node as a model, run by stock ONNX Runtime after conversion and by its own kernel."""

from __future__ import annotations

import itertools
import json
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
from onnx import helper

import onnx_ascend_ext as ax

from .values import read_values, write_values

Values = dict[str, Any]
NDArray = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Case:
    """One node with its inputs.

    Attributes:
        op_type: the operator.
        inputs: the values of its inputs by formal name, None for one that is left out.
        outputs: for each of its outputs, the element type; None for one that is left out.
        attributes: its attributes.
        opset: the version of the default domain.
        domain: its operator domain.
        shapes: the shapes that the model states for outputs, by name.
        hide_shapes: whether the model does not state the sizes of its inputs.
    """

    op_type: str
    inputs: dict[str, Any]
    outputs: Mapping[str, Any]
    attributes: dict[str, Any] = field(default_factory=dict)
    opset: int = 17
    domain: str = "com.microsoft"
    shapes: Mapping[str, Sequence[int | str | None]] = field(default_factory=dict)
    hide_shapes: bool = False

    @property
    def feeds(self) -> Values:
        return {name: value for name, value in self.inputs.items() if value is not None}

    def model(self) -> onnx.ModelProto:
        node = helper.make_node(
            self.op_type,
            [name if value is not None else "" for name, value in self.inputs.items()],
            [name if dtype is not None else "" for name, dtype in self.outputs.items()],
            name="node",
            domain=self.domain,
            **self.attributes,
        )
        inputs = [self._info(name, value) for name, value in self.feeds.items()]
        outputs = [
            helper.make_tensor_value_info(
                name, helper.np_dtype_to_tensor_dtype(np.dtype(dtype)), self.shapes.get(name)
            )
            if not isinstance(dtype, list)
            else _sequence_info(name, dtype[0])
            for name, dtype in self.outputs.items()
            if dtype is not None
        ]
        opsets = [helper.make_opsetid("", self.opset), helper.make_opsetid("com.microsoft", 1)]
        return helper.make_model(
            helper.make_graph([node], "case", inputs, outputs), opset_imports=opsets, ir_version=8
        )

    def _info(self, name: str, value: Any) -> onnx.ValueInfoProto:
        if isinstance(value, list):
            return _sequence_info(name, value[0].dtype)
        dtype = helper.np_dtype_to_tensor_dtype(value.dtype)
        hidden = [f"{name}_{axis}" for axis in range(value.ndim)]
        return helper.make_tensor_value_info(name, dtype, hidden if self.hide_shapes else value.shape)


def _sequence_info(name: str, dtype: Any) -> onnx.ValueInfoProto:
    return helper.make_tensor_sequence_value_info(
        name, helper.np_dtype_to_tensor_dtype(np.dtype(dtype)), None
    )


def convert(model: onnx.ModelProto) -> ax.Conversion:
    """Converts a model so that nothing is left that stock ONNX Runtime does not have."""
    conversion = ax.convert(model, portable=True)
    assert conversion.portable is not None
    assert conversion.portable.remaining == []
    return conversion


def run_stock(model: onnx.ModelProto, feeds: Values) -> Values:
    """The outputs of a model, by name, on stock ONNX Runtime."""
    assert not hasattr(onnxruntime, "training"), "stock ONNX Runtime is needed here"
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(names, feeds), strict=True))


def run_portable(case: Case) -> Values:
    """The outputs of a case by formal name, after conversion; the converted model is valid."""
    model = convert(case.model()).model
    found = run_stock(model, case.feeds)
    check(model, found)
    return found


def check(model: onnx.ModelProto, found: Values) -> None:
    """Checks a model, whose outputs get the ranks of their values where it states none."""
    for output in model.graph.output:
        tensor = output.type.tensor_type
        if output.type.HasField("tensor_type") and not tensor.HasField("shape"):
            tensor.shape.SetInParent()
            for _ in range(found[output.name].ndim):
                tensor.shape.dim.add()
    onnx.checker.check_model(model, full_check=True)


class TrainingRuntime:
    """onnxruntime-training in a process of its own environment."""

    def __init__(self, python: str, folder: Path) -> None:
        self._folder = folder
        self._numbers = itertools.count()
        worker = Path(__file__).with_name("training_worker.py")
        self._process = subprocess.Popen(
            [python, worker], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
        )
        self.version = self._answer()

    def run(self, model: onnx.ModelProto, feeds: Values) -> Values:
        """The outputs of a model by name; and, as `after/NAME`, what is in the inputs' memory afterwards."""
        number = next(self._numbers)
        paths = {
            name: str(self._folder / f"{number}-{name}{suffix}")
            for name, suffix in (("model", ".onnx"), ("inputs", ".npz"), ("outputs", ".npz"))
        }
        onnx.save(model, paths["model"])
        write_values(paths["inputs"], feeds)
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(paths) + "\n")
        if problem := self._answer():
            raise RuntimeError(problem)
        return read_values(paths["outputs"])

    def close(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(timeout=60)
        assert self._process.stdout is not None
        self._process.stdout.close()

    def _answer(self) -> str:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError("the process of onnxruntime-training has ended")
        return line.strip()


def assert_close(found: Values, expected: Values, rtol: float = 1e-5, atol: float = 1e-6) -> None:
    """Every expected value is found, with the same type and shape, and equal within a tolerance."""
    for name, value in expected.items():
        pairs = zip(found[name], value, strict=True) if isinstance(value, list) else [(found[name], value)]
        for actual, wanted in pairs:
            wanted = np.asarray(wanted)
            assert actual.dtype == wanted.dtype, name
            assert actual.shape == wanted.shape, name
            np.testing.assert_allclose(actual, wanted, rtol=rtol, atol=atol, err_msg=name)
