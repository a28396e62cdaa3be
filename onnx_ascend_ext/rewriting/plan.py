"""Decides which sites of a model can be rewritten, and with which functions, before anything changes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import onnx
from onnx import TensorProto

from onnx_ascend_ext.catalog import DOMAIN, Kernel
from onnx_ascend_ext.errors import ModelError
from onnx_ascend_ext.graph import Constants, ModelIndex, Types
from onnx_ascend_ext.matching import Site
from onnx_ascend_ext.rewriting.element_types import element_type
from onnx_ascend_ext.rewriting.function_body import (
    COPYING,
    UnfitError,
    dtype_reason,
    fit_function,
    recognise_function,
)
from onnx_ascend_ext.rewriting.opsets import body_opset, check_kernel_imports
from onnx_ascend_ext.rewriting.replacement import scale_obstacle

UNDEFINED = TensorProto.UNDEFINED


@dataclass
class Plan:
    """What is to be rewritten.

    Attributes:
        sites: the sites that can be rewritten, each with its element type (`UNDEFINED` where it is not known
            or does not matter), in the model's order.
        refused: the sites that cannot, each with the reason.
        functions: the function that the model needs, by kernel name.
    """

    sites: list[tuple[Site, int]] = field(default_factory=list)
    refused: list[tuple[Site, str]] = field(default_factory=list)
    functions: dict[str, onnx.FunctionProto] = field(default_factory=dict)


def plan(index: ModelIndex, sites: Sequence[Site], kernels: Mapping[str, Kernel]) -> Plan:
    """Plans the rewriting of a model.

    Args:
        index: the model.
        sites: the places that a kernel can compute, in the model's order.
        kernels: the catalog, by kernel name.

    Raises:
        ModelError: the model imports the kernels' domain at another version, or defines a kernel differently.
    """
    check_kernel_imports(index.model)
    result = Plan()
    if not sites:
        return result
    opset = body_opset(index.model)
    types = Types(index, Constants(index))
    dtypes = [
        # What does not matter is not looked for.
        element_type(site, types) if _needs_type(site, kernels[site.match.kernel], opset) else UNDEFINED
        for site in sites
    ]
    reasons: dict[int, str] = {}
    for name in dict.fromkeys(site.match.kernel for site in sites):
        own = [i for i, site in enumerate(sites) if site.match.kernel == name]
        function = _fit(index, kernels[name], opset, {i: dtypes[i] for i in own}, reasons)
        if function is not None:
            result.functions[name] = function
    for i, site in enumerate(sites):
        reason = reasons.get(i) or scale_obstacle(site, dtypes[i])
        if reason:
            result.refused.append((site, reason))
        else:
            result.sites.append((site, dtypes[i]))
    used = {site.match.kernel for site, _ in result.sites}
    result.functions = {name: function for name, function in result.functions.items() if name in used}
    return result


def _needs_type(site: Site, kernel: Kernel, opset: int | None) -> bool:
    return (opset is not None and opset < kernel.opset) or site.scale not in (1, -1)


def _fit(
    index: ModelIndex,
    kernel: Kernel,
    opset: int | None,
    dtypes: Mapping[int, int],
    reasons: dict[int, str],
) -> onnx.FunctionProto | None:
    """Fits a kernel's function to a model, together with the nodes that the model has already.

    Args:
        index: the model.
        kernel: the kernel.
        opset: the model's version of the default domain; None where it imports none.
        dtypes: the element type of each site of the kernel, by the site's number.
        reasons: where a site cannot use the function, its number and the reason are added.
    """
    wanted = list(dtypes.values())
    for function in index.model.functions:
        if (function.domain, function.name) == (DOMAIN, kernel.name):
            present = recognise_function(kernel, function)
            if present is None:
                raise ModelError(
                    f"the model defines {DOMAIN}::{kernel.name} with another body than this package: rename "
                    "or remove that function first"
                )
            wanted.insert(0, UNDEFINED if present.dtype is None else present.dtype)
    opset = kernel.opset if opset is None else opset
    try:
        fitted = fit_function(kernel, opset, wanted, copying=_copying(index))
    except UnfitError as error:
        reasons.update(dict.fromkeys(dtypes, str(error)))
        return None
    for number, dtype in dtypes.items():
        if not fitted.serves(dtype):
            reasons[number] = dtype_reason(kernel, opset)
    return fitted.function


def _copying(index: ModelIndex) -> str:
    """An operator that copies nothing in a model with nested bodies; "" for a model without.

    Raises:
        UnfitError: the model uses them all.
    """
    if all(scope.kind != "body" for scope in index.scopes):
        return ""
    own = {scope for (domain, *_), scope in index.functions.items() if domain == DOMAIN}
    used = {
        op_type
        for scope in index.scopes
        if scope not in own
        for op_type, inputs in zip(scope.op_types, scope.inputs, strict=True)
        if op_type in COPYING and len(inputs) == 1
    }
    unused = [op_type for op_type in COPYING if op_type not in used]
    if not unused:
        raise UnfitError(
            f"each of {', '.join(COPYING)} has a single input somewhere, and ONNX Runtime may take such a "
            "copy for the kernel's own: replace one of them by Identity"
        )
    return unused[0]
