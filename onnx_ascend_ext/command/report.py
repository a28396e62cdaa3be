"""The tables that several subcommands print."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from onnx_ascend_ext.command.output import count, listed, log, number, print_line, print_table

if TYPE_CHECKING:
    from onnx_ascend_ext.matching.findings import Match, NearMiss
    from onnx_ascend_ext.native.backend import Device
    from onnx_ascend_ext.portable import PortableReport
    from onnx_ascend_ext.verification import Execution, Verification


def warnings(messages: Iterable[str]) -> None:
    """Complains on stderr."""
    for message in messages:
        log(f"warning: {message}")


# As many rows as `inspect` prints, whose tables are its result.
ALL = 1000


def matches(found: Sequence[Match], most: int = 20) -> None:
    """Prints a table of what was found."""
    if not found:
        return
    columns = {
        "result": [match.result for match in found[:most]],
        "gradient, sigmoid": [", ".join(match.inputs.values()) for match in found[:most]],
        "replaces": [" ".join(match.nodes) for match in found[:most]],
        "found by": [_origin(match) for match in found[:most]],
    }
    # What is the same in every row of most models is a column only where it is not.
    if len({match.kernel for match in found}) > 1:
        columns["kernel"] = [match.kernel for match in found[:most]]
    if {match.scope for match in found} != {"main"}:
        columns["scope"] = [match.scope for match in found[:most]]
    print_table("", list(columns), list(zip(*columns.values(), strict=True)), most, len(found))


def _origin(match: Match) -> str:
    return match.origin if match.proven_sigmoid else f"{match.origin}, sigmoid not seen"


def near_misses(missed: Sequence[NearMiss], most: int = 20) -> None:
    """Prints a table of what was not converted, and why."""
    if not missed:
        return
    title = f"not converted: {count(len(missed), 'near miss', 'near misses')}"
    rows = [(miss.node, miss.reason, miss.scope) for miss in missed[:most]]
    print_table(title, ("node", "reason", "scope"), rows, most, len(missed))


def portable(found: PortableReport) -> None:
    """Prints tables of the training-only operators that became functions, of new outputs, of what stays."""
    counts = Counter((entry.op_type, entry.function) for entry in found.expanded)
    if counts:
        rows = [(op_type, str(number), function) for (op_type, function), number in counts.items()]
        print_table("made portable", ("training-only operator", "nodes", "function"), rows)
    if found.updates:
        print_table(
            "overwritten in place before; the new value is an output of the model now",
            ("value", "output with the new value"),
            [(update.value, update.output) for update in found.updates],
        )
    if found.remaining:
        print_table(
            f"not portable: {count(len(found.remaining), 'training-only node')}",
            ("node", "operator", "reason", "scope"),
            [(node.node, node.op_type, node.reason, node.scope) for node in found.remaining],
        )


def device(used: Device | None) -> str:
    """A device in words; the simulator is named as such."""
    if used is None:
        return "the CPU"
    return f"npu:{used.id}, {used.soc}{' (simulator on the CPU, no NPU)' if used.simulated else ''}"


def place(run: Execution) -> str:
    """Where a run took place: the NPU only where converted nodes ran there."""
    return device(run.device)


def execution(run: Execution, model: str | None = None) -> None:
    """Prints where each converted node ran, and complains on stderr where that was not the NPU.

    Args:
        run: the run.
        model: the model's name, None for one that has just been written.
    """
    if run.nodes:
        print_table("", ("converted node", "ran on"), list(run.nodes.items()))
    elif model is not None:
        print_line(f"{model} has no converted node; `onnx-ascend convert` makes them")
    if run.note:
        log(f"warning: {run.note}")
    if run.fallen_back:
        log(
            f"WARNING: {count(len(run.fallen_back), 'converted node')} ran on the CPU, not on the NPU: "
            f"{listed(run.fallen_back)}; `onnx-ascend doctor` lists what each device supports"
        )
        for reason in dict.fromkeys(run.reasons.values()):
            log(f"reason: {reason}")


def verification(result: Verification, model: str | None = None) -> None:
    """Prints where the nodes of a model ran, as `execution` does, and the differences."""
    execution(result.execution, model)
    print_table(
        "",
        ("output", "dtype", "max |error|", "max relative", "rtol", "atol", "equal"),
        [
            (
                comparison.name,
                comparison.dtype,
                number(comparison.max_abs_error),
                number(comparison.max_rel_error),
                number(comparison.tolerance.rtol),
                number(comparison.tolerance.atol),
                "yes" if comparison.ok else f"NO {comparison.note}".strip(),
            )
            for comparison in sorted(result.comparisons, key=lambda comparison: comparison.ok)
        ],
    )
    if result.reference_note:
        log(f"note: {result.reference_note}")
    verdict = "equal within the tolerance" if result.values_agree else "NOT EQUAL"
    print_line(
        f"verify: {verdict}; largest absolute error {number(result.max_abs_error)}, "
        f"largest relative error {number(result.max_rel_error)}; on {place(result.execution)}"
    )
