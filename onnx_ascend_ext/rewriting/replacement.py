"""The nodes that compute a site's result by its kernel."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction

import onnx
from onnx import TensorProto, helper

from onnx_ascend_ext.graph import Scope
from onnx_ascend_ext.matching import Site
from onnx_ascend_ext.rewriting.names import FreshNames
from onnx_ascend_ext.rewriting.provenance import become_kernel_node, merge_descriptions

_OPSET_OF_CAST_LIKE = 15


def reads(site: Site) -> Sequence[str]:
    """The existing values that the nodes of a site's replacement read, as often as they do."""
    if not (site.factors or site.views):
        return site.operands
    names = [*site.operands, *site.factors]
    for chain in site.views:
        for node in chain:
            names.extend(name for name in site.scope.inputs[node][1:] if name)
    return names


def scale_obstacle(site: Site, dtype: int) -> str | None:
    """Why a site's scale cannot be written in its scope, or None.

    Args:
        site: the site.
        dtype: the element type of the result, `UNDEFINED` where it is not known.
    """
    if site.scale in (1, -1) or dtype != TensorProto.UNDEFINED:
        return None
    if (site.scope.opset("") or _OPSET_OF_CAST_LIKE) >= _OPSET_OF_CAST_LIKE:
        return None
    return "the element type is not known, which its constant factor needs: run onnx.shape_inference first"


def replace_root(
    site: Site, dtype: int, removed: Iterable[onnx.NodeProto], names: FreshNames
) -> list[onnx.NodeProto]:
    """Turns a site's root into the node that computes its result.

    The root keeps its name and its output. Where the result is more than the kernel's own, the kernel node
    and what it needs go before it.

    Args:
        site: the site.
        dtype: the element type of the result, `UNDEFINED` where it is not known.
        removed: the nodes that are removed together with the root's old computation.
        names: gives the names of new values and nodes.

    Returns:
        The nodes to insert before the root.
    """
    root = site.scope.nodes[site.root]
    root.ClearField("attribute")
    root.ClearField("overload")
    if len(site.scope.outputs[site.root]) > 1:
        # Optional outputs that are left out; the kernel has none.
        del root.output[1:]
    if site.scale == 1 and not (site.factors or site.views or site.activated):
        root.input[:] = site.operands
        merge_descriptions(root, removed)
        become_kernel_node(root, site.match)
        if not root.name:
            root.name = names.node(f"{root.op_type}_{site.result}")
        return []
    return _compose(root, site, dtype, removed, names)


def _compose(
    root: onnx.NodeProto, site: Site, dtype: int, removed: Iterable[onnx.NodeProto], names: FreshNames
) -> list[onnx.NodeProto]:
    """Writes what the operands go through, the kernel node and the product; the last becomes the root."""
    match, stem = site.match, root.name or site.result
    inserted: list[onnx.NodeProto] = []
    operands = list(site.operands)
    # A node without attributes is made without onnx.helper, which imports numpy.
    for position, activated in enumerate(site.activated):
        if activated:
            sigmoid = onnx.NodeProto(op_type="Sigmoid", input=[operands[position]])
            inserted.append(_named(sigmoid, f"{operands[position]}_Sigmoid", names))
            operands[position] = inserted[-1].output[0]
    for position, chain in enumerate(site.views):
        for node in chain:
            inserted.append(_repeated_view(site.scope, node, operands[position], names))
            operands[position] = inserted[-1].output[0]
    kernel = onnx.NodeProto(input=operands)
    merge_descriptions(kernel, [root, *removed])
    become_kernel_node(kernel, match)
    last = kernel
    for factor in site.factors:
        inserted.append(_named(last, f"{stem}_{last.op_type}", names))
        last = onnx.NodeProto(op_type="Mul", input=[last.output[0], factor])
    if site.scale == -1:
        inserted.append(_named(last, f"{stem}_{last.op_type}", names))
        last = onnx.NodeProto(op_type="Neg", input=[last.output[0]])
    elif site.scale != 1:
        inserted.append(_named(last, f"{stem}_{last.op_type}", names))
        constant = _constant(site, dtype, last.output[0], stem, names)
        inserted.extend(constant)
        last = onnx.NodeProto(op_type="Mul", input=[last.output[0], constant[-1].output[0]])
    root.input[:] = last.input
    root.op_type, root.domain = last.op_type, last.domain
    if last is kernel:
        root.name = root.name or names.node(f"{kernel.op_type}_{site.result}")
        root.doc_string = kernel.doc_string
        del root.metadata_props[:]
        root.metadata_props.extend(kernel.metadata_props)
    return inserted


def _named(node: onnx.NodeProto, wish: str, names: FreshNames) -> onnx.NodeProto:
    node.name = names.node(wish)
    node.output.append(names.value(wish))
    return node


def _repeated_view(scope: Scope, node: int, operand: str, names: FreshNames) -> onnx.NodeProto:
    """A node of the scope once more, on another value; the value that it views is its first input."""
    copy = onnx.NodeProto()
    copy.CopyFrom(scope.nodes[node])
    copy.input[0] = operand
    del copy.output[:]
    return _named(copy, f"{operand}_{copy.op_type}", names)


def _constant(site: Site, dtype: int, like: str, stem: str, names: FreshNames) -> list[onnx.NodeProto]:
    """The nodes that compute a site's scale in the element type of its result."""
    value = float(Fraction(site.scale))
    if dtype != TensorProto.UNDEFINED:
        tensor = helper.make_tensor("", dtype, [], [value])
        return [_named(helper.make_node("Constant", [], [], value=tensor), f"{stem}_scale", names)]
    tensor = helper.make_tensor("", TensorProto.DOUBLE, [], [value])
    plain = _named(helper.make_node("Constant", [], [], value=tensor), f"{stem}_scale_double", names)
    typed = onnx.NodeProto(op_type="CastLike", input=[plain.output[0], like])
    return [plain, _named(typed, f"{stem}_scale", names)]
