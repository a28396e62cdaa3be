"""Writes the portable functions of a model out in place."""

from __future__ import annotations

import onnx.inliner

from onnx_ascend_ext.catalog import PORTABLE_DOMAIN


def inline_portable(model: onnx.ModelProto) -> None:
    """Replaces every node of `PORTABLE_DOMAIN` by its function's nodes, and drops functions and imports.

    Args:
        model: changed in place.
    """
    functions = [
        (function.domain, function.name) for function in model.functions if function.domain == PORTABLE_DOMAIN
    ]
    if not functions:
        return
    model.CopyFrom(onnx.inliner.inline_selected_functions(model, functions))
    for owner in (model, *model.functions):
        kept = [entry for entry in owner.opset_import if entry.domain != PORTABLE_DOMAIN]
        del owner.opset_import[:]
        owner.opset_import.extend(kept)
    remaining = [function for function in model.functions if function.domain != PORTABLE_DOMAIN]
    del model.functions[:]
    model.functions.extend(remaining)
