"""Opset imports of models and functions."""

from __future__ import annotations

import onnx
import onnx.defs

from onnx_ascend_ext.catalog import DOMAIN, DOMAIN_VERSION
from onnx_ascend_ext.errors import ModelError
from onnx_ascend_ext.rewriting.bodies import Importer, bodies

DEFAULT_DOMAINS = ("", "ai.onnx")
"""The two spellings of ONNX's own domain."""


def default_opset(importer: Importer) -> int | None:
    """The version at which a model or function imports ONNX's own domain; None where it does not.

    Of several imports the last one counts, and `""` before its alias, as for `onnx.checker`.
    """
    versions = {entry.domain: entry.version for entry in importer.opset_import}
    return next((versions[domain] for domain in DEFAULT_DOMAINS if domain in versions), None)


def body_opset(model: onnx.ModelProto) -> int | None:
    """The version of ONNX's own domain that a new local function of a model must import.

    A model without such an import has that of its first function with one, as for `onnx.checker`.
    """
    return next(
        (opset for importer in (model, *model.functions) if (opset := default_opset(importer)) is not None),
        None,
    )


def align_opset(function: onnx.FunctionProto, model: onnx.ModelProto) -> None:
    """Lets a function import ONNX's own domain at the model's version, where its nodes mean the same there.

    `onnx.checker` asks of every node of a function that its operator is the same at both versions, which
    those that are about to be added may not be.
    """
    own, outer = default_opset(function), default_opset(model)
    if own is None or outer is None or own == outer:
        return
    used = {
        node.op_type
        for body, importer in bodies(model)
        if importer is function
        for node in body.node
        if node.domain in DEFAULT_DOMAINS
    }
    if all(_since_version(op_type, own) == _since_version(op_type, outer) for op_type in used):
        for entry in function.opset_import:
            if entry.domain in DEFAULT_DOMAINS:
                entry.version = outer


def _since_version(op_type: str, opset: int) -> int | None:
    try:
        return int(onnx.defs.get_schema(op_type, opset, "").since_version)
    except onnx.defs.SchemaError:
        return None


def import_kernels(importer: Importer) -> None:
    """Adds the import of `DOMAIN` where it is missing."""
    if not any(entry.domain == DOMAIN for entry in importer.opset_import):
        importer.opset_import.add(domain=DOMAIN, version=DOMAIN_VERSION)


def check_kernel_imports(model: onnx.ModelProto) -> None:
    """Refuses a model that imports `DOMAIN` at a version that this package does not know.

    Raises:
        ModelError: it does.
    """
    for importer in (model, *model.functions):
        for entry in importer.opset_import:
            if entry.domain == DOMAIN and entry.version != DOMAIN_VERSION:
                where = (
                    f" in its function {importer.name}" if isinstance(importer, onnx.FunctionProto) else ""
                )
                raise ModelError(
                    f"the model imports {DOMAIN} version {entry.version}{where}, this package knows version "
                    f"{DOMAIN_VERSION}: convert it with the release of onnx-ascend-ext that wrote it"
                )
