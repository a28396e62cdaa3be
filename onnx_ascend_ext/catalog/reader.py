"""Reads the kernel files of a folder; what is not valid is refused by file and key, with what to do."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING

from onnx_ascend_ext import resources
from onnx_ascend_ext.catalog.kernel import AclnnBinding, ForeignAttribute, ForeignNode, Kernel
from onnx_ascend_ext.catalog.table import Table
from onnx_ascend_ext.errors import CatalogError

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable


@functools.lru_cache(maxsize=1)
def load() -> Mapping[str, Kernel]:
    """The kernels of this package by name, in the order of their file names; read once.

    Raises:
        CatalogError: a kernel file is missing or not valid, apart from what only `onnx.checker` refuses. The
            tests ask it about the files of this package; it takes longer to start than most conversions.
    """
    return load_from(resources.folder("converters"), trusted=True)


def load_from(directory: Traversable, *, trusted: bool = False) -> Mapping[str, Kernel]:
    """The kernels of a folder of `*.toml` files by name, in the order of their file names.

    Args:
        directory: the folder.
        trusted: whether to go without `onnx.checker`.

    Raises:
        CatalogError: the folder holds no kernel file, or one that is not valid.
    """
    if not directory.is_dir():
        raise CatalogError(f"{directory}: no such folder of kernel files; reinstall onnx-ascend-ext")
    files = sorted((f for f in directory.iterdir() if f.name.endswith(".toml")), key=lambda f: f.name)
    if not files:
        raise CatalogError(f"{directory}: holds no kernel file (*.toml); reinstall onnx-ascend-ext")
    kernels: dict[str, Kernel] = {}
    claims: dict[tuple[str, str], str] = {}
    for file in files:
        kernel = _kernel(Table.of_file(file), trusted=trusted)
        if kernel.name in kernels:
            raise CatalogError(
                f"{file.name}: name: a second kernel called {kernel.name}; rename one of the two"
            )
        for foreign in kernel.foreign:
            if foreign.attributes:
                continue
            key = (foreign.domain, foreign.op_type)
            if key in claims:
                raise CatalogError(
                    f"{file.name}: foreign: {foreign.domain}::{foreign.op_type} already stands for "
                    f"{claims[key]}; keep one of the two"
                )
            claims[key] = kernel.name
        kernels[kernel.name] = kernel
    return MappingProxyType(kernels)


def _kernel(table: Table, *, trusted: bool) -> Kernel:
    name = table.name("name", "SigmoidBackward")
    summary = table.text("summary", "Gradient of Sigmoid.")
    inputs = table.names("inputs", '["grad_output", "output"]')
    outputs = table.names("outputs", '["grad_input"]')
    if shared := sorted(set(inputs) & set(outputs)):
        raise table.error("outputs", f"{shared[0]} is an input as well; rename one of the two")
    kernel = Kernel(
        name=name,
        summary=summary,
        inputs=inputs,
        outputs=outputs,
        opset=table.version("opset"),
        body=table.text("body", "y = Neg (x)"),
        foreign=tuple(node for entry in table.tables("foreign") for node in _foreign_nodes(entry, inputs)),
        aclnn=_aclnn_binding(table.table("aclnn"), name, inputs + outputs),
    )
    table.finish("name, summary, inputs, outputs, opset, body, aclnn, foreign")
    _check_body(table, kernel, trusted=trusted)
    return kernel


def _foreign_nodes(table: Table, inputs: tuple[str, ...]) -> list[ForeignNode]:
    producer = table.text("producer", "PyTorch")
    domains = table.texts("domains", '["com.microsoft"]', allow_empty_text=True)
    op_types = table.texts("op_types", '["SigmoidGrad"]')
    operands = table.texts("operands", str(list(inputs)))
    if sorted(operands) != sorted(inputs):
        raise table.error("operands", f"must name each of {', '.join(inputs)} once, in the producer's order")
    attributes = tuple(_foreign_attribute(entry) for entry in table.tables("attributes"))
    table.finish("producer, domains, op_types, operands, attributes")
    return [
        ForeignNode(producer, domain, op_type, operands, attributes)
        for domain in domains
        for op_type in op_types
    ]


def _foreign_attribute(table: Table) -> ForeignAttribute:
    attribute = ForeignAttribute(
        names=table.texts("names", '["operator"]'),
        values=table.texts("values", '["sigmoid_backward"]', allow_empty_text=True),
        optional=table.flag("optional"),
    )
    table.finish("names, values, optional")
    return attribute


def _aclnn_binding(table: Table, kernel: str, formal: tuple[str, ...]) -> AclnnBinding:
    binding = AclnnBinding(
        symbol=table.text("symbol", f"aclnn{kernel}"), arguments=table.texts("arguments", str(list(formal)))
    )
    if binding.symbol != f"aclnn{kernel}":
        raise table.error("symbol", f'must be "aclnn{kernel}": a kernel is named after its aclnn symbol')
    if sorted(binding.arguments) != sorted(formal):
        raise table.error("arguments", f"must name each of {', '.join(formal)} once, in aclnn's order")
    table.finish("symbol, arguments")
    return binding


def _check_body(table: Table, kernel: Kernel, *, trusted: bool) -> None:
    # Imported here, since onnx takes a noticeable part of a second.
    import onnx.checker
    import onnx.parser

    try:
        function = kernel.function()
        if not trusted:
            context = onnx.checker.C.CheckerContext()
            context.ir_version = onnx.IR_VERSION
            context.opset_imports = {"": kernel.opset}
            onnx.checker.check_function(function, context)
    except (onnx.parser.ParseError, onnx.checker.ValidationError) as error:
        reason = " ".join(str(error).split())
        raise table.error("body", f"is not a valid function body: {reason}; correct it") from error
    defined = set(kernel.inputs)
    constants: set[str] = set()
    for node in function.node:
        if unknown := [name for name in node.input if name not in defined]:
            raise table.error("body", f"{node.op_type} reads {unknown[0]}, which nothing before it defines")
        if node.op_type == "Constant":
            constants.update(node.output)
            # The converter writes a constant in other ways where the model's opset asks for it.
            if [attribute.name for attribute in node.attribute] != ["value_float"]:
                raise table.error("body", f"the Constant {node.output[0]} must be written as value_float")
        elif read := constants.intersection(node.input[1:] if node.op_type == "CastLike" else node.input):
            raise table.error("body", f"{node.op_type} reads the Constant {min(read)}: put CastLike between")
        defined.update(node.output)
    if missing := [name for name in kernel.outputs if name not in defined]:
        raise table.error("body", f"does not compute the output {missing[0]}; add a node that does")
