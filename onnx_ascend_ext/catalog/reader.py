"""Reads the kernel files of a folder; what is not valid is refused by file and key, with what to do."""

from __future__ import annotations

import functools
import re
import sys
from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from onnx_ascend_ext import resources
from onnx_ascend_ext.catalog.kernel import AclnnBinding, ForeignAttribute, ForeignNode, Kernel
from onnx_ascend_ext.errors import CatalogError

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


@functools.lru_cache(maxsize=1)
def load() -> Mapping[str, Kernel]:
    """The kernels of this package by name, in the order of their file names; read once.

    Raises:
        CatalogError: a kernel file is missing or not valid.
    """
    return load_from(resources.folder("converters"))


def load_from(directory: Traversable) -> Mapping[str, Kernel]:
    """The kernels of a folder of `*.toml` files by name, in the order of their file names.

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
        kernel = _Table.of_file(file).kernel()
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


class _Table:
    """A TOML table that is read key by key, so that what is left over is unknown."""

    def __init__(self, content: Mapping[str, Any], file: str, where: str = "") -> None:
        self._content = dict(content)
        self._file = file
        self._where = where

    @classmethod
    def of_file(cls, file: Traversable) -> _Table:
        try:
            return cls(tomllib.loads(file.read_text(encoding="utf-8")), file.name)
        except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
            reason = " ".join(str(error).split())
            raise CatalogError(f"{file.name}: is not a readable TOML file: {reason}; correct it") from error

    def error(self, key: str, problem: str) -> CatalogError:
        return CatalogError(f"{self._file}: {self._where}{key}: {problem}")

    def text(self, key: str, example: str) -> str:
        value = self._content.pop(key, None)
        if not isinstance(value, str) or not value.strip():
            raise self.error(key, f'must be a text that is not empty, such as "{example}"')
        return value

    def texts(self, key: str, example: str, *, allow_empty_text: bool = False) -> tuple[str, ...]:
        value = self._content.pop(key, None)
        valid = isinstance(value, list) and value and all(isinstance(item, str) for item in value)
        if not valid or (not allow_empty_text and not all(value)):
            raise self.error(key, f"must be a list of texts that is not empty, such as {example}")
        if len(set(value)) != len(value):
            raise self.error(key, "names something twice; remove one")
        return tuple(value)

    def names(self, key: str, example: str) -> tuple[str, ...]:
        names = self.texts(key, example)
        for name in names:
            if not _IDENTIFIER.fullmatch(name):
                raise self.error(key, f'"{name}" is not an identifier; use letters, digits and _')
        return names

    def version(self, key: str) -> int:
        value = self._content.pop(key, None)
        if not isinstance(value, int) or isinstance(value, bool) or value < 1:
            raise self.error(key, "must be an opset version, such as 15")
        return value

    def flag(self, key: str) -> bool:
        value = self._content.pop(key, False)
        if not isinstance(value, bool):
            raise self.error(key, "must be true or false")
        return value

    def table(self, key: str) -> _Table:
        value = self._content.pop(key, None)
        if not isinstance(value, dict):
            raise self.error(key, f"is missing; add a table [{key}]")
        return _Table(value, self._file, f"{self._where}{key}.")

    def tables(self, key: str) -> list[_Table]:
        value = self._content.pop(key, [])
        if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
            raise self.error(key, "must be a list of tables")
        return [_Table(item, self._file, f"{self._where}{key}[{i}].") for i, item in enumerate(value)]

    def finish(self, known: str) -> None:
        for key in self._content:
            raise self.error(key, f"is not a known key; the keys here are {known}")

    def kernel(self) -> Kernel:
        name = self.text("name", "SigmoidBackward")
        if not _IDENTIFIER.fullmatch(name):
            raise self.error("name", f'"{name}" is not an identifier; use letters, digits and _')
        summary = self.text("summary", "Gradient of Sigmoid.")
        inputs = self.names("inputs", '["grad_output", "output"]')
        outputs = self.names("outputs", '["grad_input"]')
        if shared := sorted(set(inputs) & set(outputs)):
            raise self.error("outputs", f"{shared[0]} is an input as well; rename one of the two")
        kernel = Kernel(
            name=name,
            summary=summary,
            inputs=inputs,
            outputs=outputs,
            opset=self.version("opset"),
            body=self.text("body", "y = Neg (x)"),
            foreign=tuple(node for table in self.tables("foreign") for node in table.foreign_nodes(inputs)),
            aclnn=self.table("aclnn").aclnn_binding(name, inputs + outputs),
        )
        self.finish("name, summary, inputs, outputs, opset, body, aclnn, foreign")
        self._check_body(kernel)
        return kernel

    def foreign_nodes(self, inputs: tuple[str, ...]) -> list[ForeignNode]:
        producer = self.text("producer", "PyTorch")
        domains = self.texts("domains", '["com.microsoft"]', allow_empty_text=True)
        op_types = self.texts("op_types", '["SigmoidGrad"]')
        operands = self.texts("operands", str(list(inputs)))
        if sorted(operands) != sorted(inputs):
            raise self.error(
                "operands", f"must name each of {', '.join(inputs)} once, in the producer's order"
            )
        attributes = tuple(table.foreign_attribute() for table in self.tables("attributes"))
        self.finish("producer, domains, op_types, operands, attributes")
        return [
            ForeignNode(producer, domain, op_type, operands, attributes)
            for domain in domains
            for op_type in op_types
        ]

    def foreign_attribute(self) -> ForeignAttribute:
        attribute = ForeignAttribute(
            names=self.texts("names", '["operator"]'),
            values=self.texts("values", '["sigmoid_backward"]', allow_empty_text=True),
            optional=self.flag("optional"),
        )
        self.finish("names, values, optional")
        return attribute

    def aclnn_binding(self, kernel: str, formal: tuple[str, ...]) -> AclnnBinding:
        binding = AclnnBinding(
            symbol=self.text("symbol", f"aclnn{kernel}"), arguments=self.texts("arguments", str(list(formal)))
        )
        if binding.symbol != f"aclnn{kernel}":
            raise self.error("symbol", f'must be "aclnn{kernel}": a kernel is named after its aclnn symbol')
        if sorted(binding.arguments) != sorted(formal):
            raise self.error("arguments", f"must name each of {', '.join(formal)} once, in aclnn's order")
        self.finish("symbol, arguments")
        return binding

    def _check_body(self, kernel: Kernel) -> None:
        # Imported here, since onnx takes a noticeable part of a second.
        import onnx.checker
        import onnx.parser

        context = onnx.checker.C.CheckerContext()
        context.ir_version = onnx.IR_VERSION
        context.opset_imports = {"": kernel.opset}
        try:
            function = kernel.function()
            onnx.checker.check_function(function, context)
        except (onnx.parser.ParseError, onnx.checker.ValidationError) as error:
            reason = " ".join(str(error).split())
            raise self.error("body", f"is not a valid function body: {reason}; correct it") from error
        defined = set(kernel.inputs)
        constants: set[str] = set()
        for node in function.node:
            if unknown := [name for name in node.input if name not in defined]:
                raise self.error(
                    "body", f"{node.op_type} reads {unknown[0]}, which nothing before it defines"
                )
            if node.op_type == "Constant":
                constants.update(node.output)
                # The converter writes a constant in other ways where the model's opset asks for it.
                if [attribute.name for attribute in node.attribute] != ["value_float"]:
                    raise self.error("body", f"the Constant {node.output[0]} must be written as value_float")
            elif read := constants.intersection(node.input[1:] if node.op_type == "CastLike" else node.input):
                raise self.error(
                    "body", f"{node.op_type} reads the Constant {min(read)}: put CastLike between"
                )
            defined.update(node.output)
        if missing := [name for name in kernel.outputs if name not in defined]:
            raise self.error("body", f"does not compute the output {missing[0]}; add a node that does")
