"""Takes kernel nodes back to standard operators, by writing out their function bodies."""

from __future__ import annotations

from collections.abc import Mapping

import onnx
from onnx import TensorProto

from onnx_ascend_ext.catalog import DOMAIN, Kernel
from onnx_ascend_ext.errors import ModelError
from onnx_ascend_ext.rewriting.bodies import Importer, bodies
from onnx_ascend_ext.rewriting.field_edits import edit_nodes, remove_where
from onnx_ascend_ext.rewriting.function_body import UnfitError, fit_function, recognise_function
from onnx_ascend_ext.rewriting.names import FreshNames
from onnx_ascend_ext.rewriting.opsets import align_opset, default_opset
from onnx_ascend_ext.rewriting.provenance import without_provenance


def inline_kernels(model: onnx.ModelProto, kernels: Mapping[str, Kernel]) -> int:
    """Replaces every node of `DOMAIN` by its function body, and drops the functions and the imports.

    Everything else is kept. The body of a kernel is written out at the opset of the place it goes to.

    Args:
        model: changed in place.
        kernels: the catalog, by kernel name.

    Returns:
        The number of nodes replaced.

    Raises:
        ModelError: a node of `DOMAIN` has no body that can be written out; the model may be half changed
            then.
    """
    functions = {function.name: function for function in model.functions if function.domain == DOMAIN}
    names = FreshNames(model)
    replaced = 0
    for body, importer in list(bodies(model)):
        if isinstance(importer, onnx.FunctionProto):
            if importer.domain == DOMAIN:
                continue
            if any(node.domain == DOMAIN for node in body.node):
                align_opset(importer, model)
        inserted: dict[int, list[onnx.NodeProto]] = {}
        for position, node in enumerate(body.node):
            if node.domain == DOMAIN:
                function = _function_for(node.op_type, importer, functions, kernels)
                _ensure_default_import(importer, function)
                inserted[position] = _write_out(node, function, names)
        edit_nodes(body.node, inserted.keys(), inserted)
        replaced += len(inserted)
    remove_where(model.functions, lambda function: function.domain == DOMAIN)
    for owner in (model, *model.functions):
        remove_where(owner.opset_import, lambda entry: entry.domain == DOMAIN)
    return replaced


def _function_for(
    op_type: str,
    importer: Importer,
    functions: Mapping[str, onnx.FunctionProto],
    kernels: Mapping[str, Kernel],
) -> onnx.FunctionProto:
    """The function of a node, at the opset of the place that it goes to."""
    carried, kernel = functions.get(op_type), kernels.get(op_type)
    fitted = recognise_function(kernel, carried) if kernel and carried else None
    if kernel and (fitted or not carried):
        opset = default_opset(importer) or kernel.opset
        dtype = fitted.dtype if fitted else None
        try:
            return fit_function(kernel, opset, [TensorProto.UNDEFINED if dtype is None else dtype]).function
        except UnfitError as error:
            raise ModelError(f"{DOMAIN}::{op_type} cannot be written out: {error}") from error
    if carried is None:
        raise ModelError(
            f"{DOMAIN}::{op_type} is not a kernel of this package and the model carries no function of that "
            "name: restore it with the release of onnx-ascend-ext that wrote it"
        )
    if carried.attribute or carried.attribute_proto or _has_bodies(carried):
        raise ModelError(
            f"the model's own function {DOMAIN}::{op_type} has attributes or bodies of its own: inline it "
            "with onnx.inliner instead"
        )
    return carried


def _has_bodies(function: onnx.FunctionProto) -> bool:
    return any(a.HasField("g") or a.graphs for node in function.node for a in node.attribute)


def _ensure_default_import(importer: Importer, function: onnx.FunctionProto) -> None:
    if default_opset(importer) is None:
        importer.opset_import.extend(entry for entry in function.opset_import if entry.domain != DOMAIN)


def _write_out(node: onnx.NodeProto, function: onnx.FunctionProto, names: FreshNames) -> list[onnx.NodeProto]:
    """The body's nodes on a node's operands; the one that computes its result keeps name and metadata."""
    operands = [*node.input, *[""] * (len(function.input) - len(node.input))]
    bound = {"": ""}
    bound.update(zip(function.input, operands, strict=True))
    bound.update(zip(function.output, node.output, strict=False))
    result = node.output[0]
    written: list[onnx.NodeProto] = []
    for template in function.node:
        copy = onnx.NodeProto()
        copy.CopyFrom(template)
        for inner in template.output:
            if inner not in bound:
                bound[inner] = names.value(f"{result}_{inner}")
        del copy.input[:], copy.output[:]
        copy.input.extend(bound[name] for name in template.input)
        copy.output.extend(bound[name] for name in template.output)
        if result in copy.output:
            copy.name, copy.doc_string = node.name, node.doc_string
            copy.metadata_props.extend(without_provenance(node))
        else:
            copy.name = names.node(f"{node.name or result}_{template.output[0]}")
        written.append(copy)
    return written
