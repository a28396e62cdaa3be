"""Decides which sites of a model can be rewritten, and with which functions, before anything changes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import onnx
from onnx import TensorProto

from onnx_ascend_ext.catalog import DOMAIN, Kernel
from onnx_ascend_ext.errors import ModelError
from onnx_ascend_ext.graph import ModelIndex
from onnx_ascend_ext.matching import Site
from onnx_ascend_ext.rewriting.element_types import element_type
from onnx_ascend_ext.rewriting.function_body import UnfitError, dtype_reason, fit_function, recognise_function
from onnx_ascend_ext.rewriting.opsets import body_opset, check_kernel_imports
from onnx_ascend_ext.rewriting.replacement import scale_obstacle


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
    types = [_type_if_needed(site, opset or kernels[site.match.kernel].opset, kernels) for site in sites]
    reasons: dict[int, str] = {}
    for name in dict.fromkeys(site.match.kernel for site in sites):
        own = [i for i, site in enumerate(sites) if site.match.kernel == name]
        function = _fit(index.model, kernels[name], opset, {i: types[i] for i in own}, reasons)
        if function is not None:
            result.functions[name] = function
    for i, site in enumerate(sites):
        reason = reasons.get(i) or scale_obstacle(site, types[i])
        if reason:
            result.refused.append((site, reason))
        else:
            result.sites.append((site, types[i]))
    used = {site.match.kernel for site, _ in result.sites}
    result.functions = {name: function for name, function in result.functions.items() if name in used}
    return result


def _type_if_needed(site: Site, opset: int, kernels: Mapping[str, Kernel]) -> int:
    if opset >= kernels[site.match.kernel].opset and site.scale in (1, -1):
        return TensorProto.UNDEFINED
    return element_type(site)


def _fit(
    model: onnx.ModelProto,
    kernel: Kernel,
    opset: int | None,
    types: Mapping[int, int],
    reasons: dict[int, str],
) -> onnx.FunctionProto | None:
    """Fits a kernel's function to a model, together with the nodes that the model has already.

    Args:
        model: the model.
        kernel: the kernel.
        opset: the model's version of the default domain; None where it imports none.
        types: the element type of each site of the kernel, by the site's number.
        reasons: where a site cannot use the function, its number and the reason are added.
    """
    wanted = list(types.values())
    for function in model.functions:
        if (function.domain, function.name) == (DOMAIN, kernel.name):
            present = recognise_function(kernel, function)
            if present is None:
                raise ModelError(
                    f"the model defines {DOMAIN}::{kernel.name} with another body than this package: rename "
                    "or remove that function first"
                )
            wanted.insert(0, TensorProto.UNDEFINED if present.dtype is None else present.dtype)
    opset = kernel.opset if opset is None else opset
    try:
        fitted = fit_function(kernel, opset, wanted)
    except UnfitError as error:
        reasons.update(dict.fromkeys(types, str(error)))
        return None
    for number, dtype in types.items():
        if not fitted.serves(dtype):
            reasons[number] = dtype_reason(kernel, opset)
    return fitted.function
