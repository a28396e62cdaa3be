"""Adds local functions to a model."""

from __future__ import annotations

from collections.abc import Iterable

import onnx

_IR_OF_FUNCTIONS = 8
"""The IR version that model-local functions belong to."""

_IR_OF_CONSTANT_INITIALIZERS = 4
"""Before this IR version every initializer is a graph input too, and ONNX Runtime holds it constant."""


def add_functions(model: onnx.ModelProto, functions: Iterable[onnx.FunctionProto]) -> list[str]:
    """Adds functions to a model or updates those of the same domain and name.

    The model's IR version is raised where they need it.

    Returns:
        What a user should know about that, one line each.
    """
    present = {(function.domain, function.name): function for function in model.functions}
    for function in functions:
        key = (function.domain, function.name)
        if key in present:
            present[key].CopyFrom(function)
        else:
            model.functions.add().CopyFrom(function)
    old = model.ir_version
    if old >= _IR_OF_FUNCTIONS:
        return []
    inputs = {value.name for value in model.graph.input}
    if old < _IR_OF_CONSTANT_INITIALIZERS and any(t.name in inputs for t in model.graph.initializer):
        return [
            f"IR version {old} is kept, although local functions belong to {_IR_OF_FUNCTIONS}: from "
            f"{_IR_OF_CONSTANT_INITIALIZERS} on, a caller could override the initializers, which are graph "
            "inputs as well"
        ]
    model.ir_version = _IR_OF_FUNCTIONS
    return [f"IR version raised from {old} to {_IR_OF_FUNCTIONS}, which local functions belong to"]
