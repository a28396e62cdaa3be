"""Converts models: finds the gradients that a kernel computes and rewrites them to its nodes, and back."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import onnx

from onnx_ascend_ext import catalog, model_files
from onnx_ascend_ext.errors import AscendExtError, ModelError
from onnx_ascend_ext.graph import ModelIndex
from onnx_ascend_ext.graph.collection import paused_collection
from onnx_ascend_ext.matching import Findings, NearMiss, find
from onnx_ascend_ext.rewriting import apply, inline_kernels, plan

if TYPE_CHECKING:
    from onnx_ascend_ext.catalog import Kernel
    from onnx_ascend_ext.model_files import Progress, SavedFiles
    from onnx_ascend_ext.portable import PortableReport

_SHOWN = 10
"""How many matches and near misses a summary lists."""


@dataclass(kw_only=True)
class Inspection(Findings):
    """What was found in a model.

    Attributes:
        matches: the gradients that become kernel nodes, in the model's order.
        near_misses: the places that look like one and stay, with the reason.
        warnings: what else a user should know, one line each.
        source: the model's file, None for an `onnx.ModelProto`.
        converted_before: how many kernel nodes the model had already.
    """

    source: Path | None = None
    converted_before: int = 0

    def to_dict(self) -> dict[str, Any]:
        """The findings as JSON data, `schema` 1; the keys are those of `Match` and `NearMiss`."""
        return {
            "schema": 1,
            "matches": [
                {
                    "kernel": match.kernel,
                    "scope": match.scope,
                    "nodes": list(match.nodes),
                    "inputs": dict(match.inputs),
                    "result": match.result,
                    "origin": match.origin,
                    "proven_sigmoid": match.proven_sigmoid,
                }
                for match in self.matches
            ],
            "near_misses": [asdict(near_miss) for near_miss in self.near_misses],
            "warnings": list(self.warnings),
            "converted_before": self.converted_before,
        }

    def __str__(self) -> str:
        lines = [
            f"{self.source or 'model'}: {_count(len(self.matches), 'match', 'matches')}, "
            f"{_count(len(self.near_misses), 'near miss', 'near misses')}"
            + (f", {self.converted_before} converted before" if self.converted_before else "")
        ]
        for match in self.matches[:_SHOWN]:
            operands = ", ".join(match.inputs.values())
            lines.append(f"  {match.result} = {match.kernel}({operands})  [{match.scope}]")
        for miss in self.near_misses[:_SHOWN]:
            lines.append(f"  {miss.node} stays: {miss.reason}  [{miss.scope}]")
        if len(self.matches) > _SHOWN or len(self.near_misses) > _SHOWN:
            lines.append("  ...")
        lines.extend(f"  warning: {warning}" for warning in self.warnings)
        return "\n".join(lines)


@dataclass(kw_only=True)
class Conversion(Inspection):
    """A converted model and what was found in it.

    Attributes:
        model: the converted model; its external data, if any, is not loaded and lies beside `source`.
        portable: what became of the training-only operators; None where they were not to be replaced.
    """

    model: onnx.ModelProto = field(repr=False)
    portable: PortableReport | None = None

    def to_dict(self) -> dict[str, Any]:
        """As for an inspection, with `portable` where the training-only operators were to be replaced."""
        document = super().to_dict()
        if self.portable is not None:
            document["portable"] = self.portable.to_dict()
        return document

    def __str__(self) -> str:
        if self.portable is None:
            return super().__str__()
        return f"{super().__str__()}\n{self.portable}"

    def save(
        self,
        path: str | os.PathLike[str],
        *,
        external_data: Literal["copy", "link"] = "copy",
        progress: Progress | None = None,
    ) -> SavedFiles:
        """Writes the converted model in one step: the file is the old one or the whole new one.

        Args:
            path: the file to write; `source` itself is fine.
            external_data: in another folder than that of `source`, whether the files that hold weights are
                copied there or hard-linked.
            progress: is told about long copies.

        Raises:
            ModelError: `path` cannot be written, or the external data cannot be used.
        """
        return model_files.save(
            self.model, path, source=self.source, external_data=external_data, progress=progress
        )


def convert(
    model: onnx.ModelProto | str | os.PathLike[str],
    *,
    relaxed: bool = False,
    only: Iterable[str] | None = None,
    exclude: Iterable[str] | None = None,
    portable: bool = False,
) -> Conversion:
    """Rewrites every gradient that a kernel computes to one node of that kernel.

    The model carries the kernel's ONNX function, so that any runtime can still run it. Whatever is not part
    of a gradient is kept as it is. A converted model converts to itself.

    Args:
        model: a model, which is not changed, or the path of a model file.
        relaxed: also rewrite spellings that are more accurate than the kernel near 0 and 1, such as
            `y * Sigmoid(-x)`.
        only: names of the kernels to use; None for all.
        exclude: names of kernels not to use.
        portable: also make the model of a training build of ONNX Runtime run on a stock one: each operator
            that only those have and no kernel computes becomes a function of standard operators. What an
            operator overwrote is another output of the model instead; `portable.updates` of the result says
            which.

    Raises:
        ModelError: the model cannot be read or converted.
        AscendExtError: `only` or `exclude` names a kernel that does not exist.
    """
    kernels = _chosen(only, exclude)
    proto, source, original = _opened(model)
    conversion = Conversion(model=proto, source=source)
    # The collector stays off until all but the result is gone again, and has nothing to walk over then.
    with _blaming(source), model_files.blaming_damage(original), paused_collection():
        _rewrite(proto, kernels, relaxed, conversion)
        _check_texts(conversion)
        if portable:
            # Imported here, since most conversions do not need it.
            from onnx_ascend_ext.portable import attach

            conversion.portable, warnings = attach(proto, catalog.load_portable())
            conversion.warnings.extend(text for text in warnings if text not in conversion.warnings)
    return conversion


def inspect(
    model: onnx.ModelProto | str | os.PathLike[str],
    *,
    relaxed: bool = False,
    only: Iterable[str] | None = None,
    exclude: Iterable[str] | None = None,
) -> Inspection:
    """Finds what `convert` would rewrite, with the same arguments, and changes nothing.

    It converts a copy, since a gradient may only show once others have become kernel nodes.

    Raises:
        ModelError: the model cannot be read or converted.
        AscendExtError: `only` or `exclude` names a kernel that does not exist.
    """
    conversion = convert(model, relaxed=relaxed, only=only, exclude=exclude)
    return Inspection(
        matches=conversion.matches,
        near_misses=conversion.near_misses,
        warnings=conversion.warnings,
        source=conversion.source,
        converted_before=conversion.converted_before,
    )


def restore(model: onnx.ModelProto | str | os.PathLike[str]) -> onnx.ModelProto:
    """Takes a converted model back to standard operators, by writing out our function bodies.

    The functions of kernels and of portable definitions go, with the imports of their domains; everything
    else is kept.

    Args:
        model: a model, which is not changed, or the path of a model file.

    Raises:
        ModelError: the model cannot be read, or has a kernel node whose body is not known.
    """
    from onnx_ascend_ext.portable import inline_portable

    proto, source, original = _opened(model)
    with _blaming(source), model_files.blaming_damage(original):
        inline_portable(proto)
        inline_kernels(proto, catalog.load())
    return proto


def _rewrite(
    model: onnx.ModelProto, kernels: Mapping[str, Kernel], relaxed: bool, report: Inspection
) -> None:
    """Rewrites a model in place until nothing is left to do, and tells `report` what was found."""
    order: dict[tuple[str, str], int] = {}
    index = ModelIndex(model)
    report.converted_before = sum(scope.domains.count(catalog.DOMAIN) for scope in index.scopes)
    while True:
        sites, findings = find(index, list(kernels.values()), relaxed=relaxed)
        planned = plan(index, sites, kernels)
        report.matches.extend(site.match for site, _ in planned.sites)
        report.near_misses[:] = findings.near_misses
        for site, reason in planned.refused:
            report.near_misses.append(NearMiss(site.match.nodes[-1], site.match.scope, reason))
        applied = apply(planned, index)
        warnings = (*findings.warnings, *applied.warnings)
        report.warnings.extend(text for text in warnings if text not in report.warnings)
        if order or applied.may_match_again:
            order = order or _order_of_values(index)
            report.matches.sort(key=lambda match: order.get((match.scope, match.result), len(order)))
        index.release()
        if not applied.may_match_again:
            return
        index = ModelIndex(model)


def _order_of_values(index: ModelIndex) -> dict[tuple[str, str], int]:
    """The rank of every value that a node computes in the model, by the path of its scope and its name."""
    places = ((scope.path, name) for scope in index.scopes for names in scope.outputs for name in names)
    return {place: rank for rank, place in enumerate(places)}


def _chosen(only: Iterable[str] | None, exclude: Iterable[str] | None) -> dict[str, Kernel]:
    kernels = catalog.load()
    wanted = list(kernels) if only is None else _names(only)
    unwanted = [] if exclude is None else _names(exclude)
    for name in (*wanted, *unwanted):
        if name not in kernels:
            raise AscendExtError(f"there is no kernel {name!r}: the kernels are {', '.join(kernels)}")
    return {name: kernels[name] for name in kernels if name in wanted and name not in unwanted}


def _names(names: Iterable[str]) -> list[str]:
    return [names] if isinstance(names, str) else list(names)


def _check_texts(report: Findings) -> None:
    """Raises TypeError where a name is bytes, which protobuf gives for text that is not UTF-8."""
    "".join(match.result for match in report.matches)
    "".join(chain.from_iterable(match.nodes for match in report.matches))
    "".join(chain.from_iterable(match.inputs.values() for match in report.matches))
    "".join(miss.node for miss in report.near_misses)


def _opened(
    model: onnx.ModelProto | str | os.PathLike[str],
) -> tuple[onnx.ModelProto, Path | None, Callable[[], onnx.ModelProto]]:
    """A model that may be changed, its file if any, and how to get it again as it was."""
    if isinstance(model, onnx.ModelProto):
        copied, original = onnx.ModelProto(), model
        copied.CopyFrom(original)
        return copied, None, lambda: original
    if isinstance(model, str | os.PathLike):
        path = Path(model)
        return model_files.load(path), path, lambda: model_files.load(path)
    raise TypeError(f"model must be an onnx.ModelProto or a path, not {type(model).__name__}")


@contextmanager
def _blaming(source: Path | None) -> Iterator[None]:
    """Puts the file's name before what is wrong with a model."""
    try:
        yield
    except ModelError as error:
        raise ModelError(f"{source}: {error}") if source else error from error


def _count(number: int, one: str, several: str) -> str:
    return f"{number} {one if number == 1 else several}"
