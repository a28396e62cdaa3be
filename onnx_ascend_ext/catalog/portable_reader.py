"""Reads the files of portable definitions; what is not valid is refused by file and key, with what to do."""

from __future__ import annotations

import functools
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from onnx_ascend_ext import resources
from onnx_ascend_ext.catalog.portable import (
    AttributeValue,
    PortableCatalog,
    PortableOperator,
    UndefinedOperator,
)
from onnx_ascend_ext.catalog.table import Table
from onnx_ascend_ext.errors import CatalogError

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

_OPTIONAL = "?"
_VARIADIC = "..."


@functools.lru_cache(maxsize=1)
def load_portable() -> PortableCatalog:
    """The training-only operators of this package; read once.

    Raises:
        CatalogError: a file is missing or not valid.
    """
    return load_portable_from(resources.folder("converters") / "portable")


def load_portable_from(directory: Traversable) -> PortableCatalog:
    """The training-only operators of a folder of `*.toml` files, in the order of the files and in theirs.

    A file holds tables `[[operator]]`, one for each portable definition, and `[[undefined]]`, for operators
    that have none. The keys of the first are the attributes of `PortableOperator`, with lists `op_types` and
    `domains` in place of one name each; an optional input is written `"weight?"`, a variadic last one
    `"inputs..."`.

    Raises:
        CatalogError: the folder holds no such file, or one that is not valid.
    """
    if not directory.is_dir():
        raise CatalogError(f"{directory}: no such folder of portable definitions; reinstall onnx-ascend-ext")
    operators: dict[tuple[str, str], PortableOperator] = {}
    undefined: dict[tuple[str, str], UndefinedOperator] = {}
    for file in sorted((f for f in directory.iterdir() if f.name.endswith(".toml")), key=lambda f: f.name):
        whole = Table.of_file(file)
        for table in whole.tables("operator"):
            for operator in _operators(table):
                _claim((operator.domain, operator.op_type), table, operators, undefined)
                operators[operator.domain, operator.op_type] = operator
        for table in whole.tables("undefined"):
            for entry in _undefined(table):
                _claim((entry.domain, entry.op_type), table, operators, undefined)
                undefined[entry.domain, entry.op_type] = entry
        whole.finish("operator, undefined")
    if not operators:
        raise CatalogError(f"{directory}: holds no portable definition (*.toml); reinstall onnx-ascend-ext")
    return PortableCatalog(MappingProxyType(operators), MappingProxyType(undefined))


def _claim(key: tuple[str, str], table: Table, *known: dict[tuple[str, str], Any]) -> None:
    if any(key in entries for entries in known):
        raise table.error("op_types", f"{key[0]}::{key[1]} is defined twice; keep one of the two")


def _operators(table: Table) -> list[PortableOperator]:
    op_types = table.texts("op_types", '["ReluGrad"]')
    domains = table.texts("domains", '["com.microsoft"]', allow_empty_text=True)
    summary = table.text("summary", "Gradient of Relu.")
    inputs, optional_inputs, variadic_input = _formals(table, "inputs")
    outputs, optional_outputs, variadic_output = _formals(table, "outputs")
    if optional_outputs:
        raise table.error("outputs", "any output may be left out by a node: write them without ?")
    if shared := sorted(set(inputs) & set(outputs)):
        raise table.error("outputs", f"{shared[0]} is an input as well; rename one of the two")
    attributes = {name: _attribute(table, name, value) for name, value in table.mapping("attributes").items()}
    body, builder = table.optional_text("body", "Y = Neg (X)"), table.optional_text("builder", "losses.f")
    if (body is None) == (builder is None):
        raise table.error("body", "either a body or a builder must be given")
    if body is not None and (optional_inputs or variadic_input or variadic_output):
        raise table.error("body", "optional and variadic values need a builder")
    opset = table.version("opset")
    like = _pairs(table, "like", outputs, inputs)
    in_place = _pairs(table, "in_place", inputs, outputs)
    table.finish(
        "op_types, domains, summary, inputs, outputs, attributes, opset, like, in_place, body, builder"
    )
    return [
        PortableOperator(
            op_type=op_type,
            domain=domain,
            summary=summary,
            inputs=inputs,
            optional_inputs=optional_inputs,
            variadic_input=variadic_input,
            outputs=outputs,
            variadic_output=variadic_output,
            attributes=MappingProxyType(attributes),
            opset=opset,
            like=MappingProxyType(like),
            in_place=MappingProxyType(in_place),
            body=body,
            builder=builder,
        )
        for domain in domains
        for op_type in op_types
    ]


def _undefined(table: Table) -> list[UndefinedOperator]:
    op_types = table.texts("op_types", '["YieldOp"]')
    domains = table.texts("domains", '["com.microsoft"]', allow_empty_text=True)
    reason = table.text("reason", "it talks to another process")
    table.finish("op_types, domains, reason")
    return [UndefinedOperator(op_type, domain, reason) for domain in domains for op_type in op_types]


def _formals(table: Table, key: str) -> tuple[tuple[str, ...], frozenset[str], bool]:
    """The names in a list such as `["X", "bias?", "rest..."]`, which are optional, and if one is variadic."""
    written = table.texts(key, '["dY", "weight?"]')
    variadic = written[-1].endswith(_VARIADIC)
    names, optional = [], set()
    for position, text in enumerate(written):
        name = text.removesuffix(_OPTIONAL)
        if variadic and position == len(written) - 1:
            name = text.removesuffix(_VARIADIC)
        elif text.endswith(_OPTIONAL):
            optional.add(name)
        names.append(table.identifier(key, name))
    if len(set(names)) != len(names):
        raise table.error(key, "names something twice; remove one")
    return tuple(names), frozenset(optional), variadic


def _attribute(table: Table, name: str, value: object) -> AttributeValue:
    if isinstance(value, bool) or not isinstance(value, int | float | str | list):
        raise table.error(f"attributes.{name}", "must be a number, a text or a list of numbers")
    return value


def _pairs(table: Table, key: str, sources: tuple[str, ...], targets: tuple[str, ...]) -> dict[str, str]:
    pairs = table.mapping(key)
    for source, target in pairs.items():
        if source not in sources or target not in targets:
            raise table.error(
                key,
                f"{source} = {target!r}: one of {', '.join(sources)} is given one of {', '.join(targets)}",
            )
    return pairs
