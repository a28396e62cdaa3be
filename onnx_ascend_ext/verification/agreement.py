"""Compares a model on stock ONNX Runtime with its converted form on the execution provider."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from onnx_ascend_ext.errors import ModelError
from onnx_ascend_ext.native.backend import Device
from onnx_ascend_ext.verification.comparison import Comparison, compare
from onnx_ascend_ext.verification.execution import Execution, execute, stock_session, timed_run
from onnx_ascend_ext.verification.inputs import make_inputs
from onnx_ascend_ext.verification.source import Source


@dataclass(frozen=True)
class Verification:
    """The result of one comparison.

    Attributes:
        comparisons: one for each output.
        execution: the converted model's run.
        reference_note: what a reader must know of how the reference was run, or an empty string.
        allow_cpu: whether converted nodes may run on the CPU.
    """

    comparisons: list[Comparison]
    execution: Execution
    reference_note: str
    allow_cpu: bool

    @property
    def values_agree(self) -> bool:
        """Whether every output lies within its tolerance."""
        return all(comparison.ok for comparison in self.comparisons)

    @property
    def ok(self) -> bool:
        """Whether the values agree and every converted node ran where it should."""
        return self.values_agree and (self.allow_cpu or not self.execution.fallen_back)

    @property
    def max_abs_error(self) -> float:
        """Largest absolute error of all outputs."""
        return max((comparison.max_abs_error for comparison in self.comparisons), default=0.0)

    @property
    def max_rel_error(self) -> float:
        """Largest relative error of all outputs."""
        return max((comparison.max_rel_error for comparison in self.comparisons), default=0.0)

    def __str__(self) -> str:
        lines = [
            f"{'equal' if self.values_agree else 'NOT EQUAL'}: "
            f"largest absolute error {self.max_abs_error:.2e}, "
            f"largest relative error {self.max_rel_error:.2e}"
        ]
        lines += [f"  {node} ran on {provider}" for node, provider in self.execution.nodes.items()]
        lines += [
            f"  {comparison.name} differs: {comparison.note or f'by {comparison.max_abs_error:.2e}'}"
            for comparison in self.comparisons
            if not comparison.ok
        ]
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """The JSON of `verify --json`; an infinite error is null there."""
        return {
            "schema": 1,
            "ok": self.ok,
            "max_abs_error": _finite(self.max_abs_error),
            "max_rel_error": _finite(self.max_rel_error),
            **execution_dict(self.execution),
            "outputs": [
                asdict(comparison)
                | {
                    "max_abs_error": _finite(comparison.max_abs_error),
                    "max_rel_error": _finite(comparison.max_rel_error),
                }
                for comparison in self.comparisons
            ],
            "reference_note": self.reference_note,
        }


def execution_dict(execution: Execution) -> dict[str, Any]:
    """The part of the JSON that `verify` and `run` share."""
    return {
        "nodes": execution.nodes,
        "device": device_dict(execution.device),
        "cpu_fallback": execution.fallen_back,
        "cpu_reasons": execution.reasons,
        "seconds": execution.seconds,
        "note": execution.note,
    }


def device_dict(device: Device | None) -> dict[str, Any] | None:
    """A device as the JSON shows it."""
    if device is None:
        return None
    return {"name": f"npu:{device.id}", "soc": device.soc, "simulated": device.simulated}


def verify(
    reference: str | os.PathLike[str],
    candidate: str | os.PathLike[str],
    *,
    inputs: str | os.PathLike[str] | None = None,
    seed: int = 0,
    dims: Mapping[str, int] | None = None,
    rtol: float | None = None,
    atol: float | None = None,
    device_id: int = 0,
    allow_cpu: bool = False,
) -> Verification:
    """Runs `reference` on stock ONNX Runtime and `candidate` through the execution provider, on equal inputs.

    Args:
        reference: path of the original model.
        candidate: path of the converted model.
        inputs: an `.npz` file with an array for each input; seeded random inputs where None.
        seed: seed of the random inputs.
        dims: sizes of symbolic dimensions for the random inputs.
        rtol: relative tolerance, in place of the dtype's own.
        atol: absolute tolerance, in place of the dtype's own.
        device_id: the NPU's number as ACL counts.
        allow_cpu: accept converted nodes that run on the CPU.

    Raises:
        BackendError: a model does not load or run.
        ModelError: a model cannot be read, the inputs do not fit, or the two models do not take the same
            inputs.
    """
    original = Source.read(reference)
    session, note = stock_session(original)
    declared = session.get_inputs()
    feeds = make_inputs(declared, inputs, seed=seed, dims=dims)
    expected, _ = timed_run(session, feeds, original)

    def same_feeds(candidate_inputs: Any) -> Mapping[str, Any]:
        names = [value.name for value in candidate_inputs]
        if sorted(names) != sorted(feeds):
            raise ModelError(
                f"{os.fspath(candidate)} takes the inputs {', '.join(names) or 'none'}, "
                f"{os.fspath(reference)} takes {', '.join(feeds) or 'none'}: "
                "these are not two forms of one model"
            )
        return feeds

    execution = execute(Source.read(candidate), same_feeds, device_id=device_id, allow_cpu=allow_cpu)
    return Verification(
        compare(expected, execution.outputs, rtol=rtol, atol=atol), execution, note, allow_cpu
    )


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
