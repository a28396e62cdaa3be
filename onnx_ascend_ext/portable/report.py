"""What became of the training-only nodes of a model: plain data, for the reports and the JSON output."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass(frozen=True)
class Expanded:
    """A training-only node that calls a function of standard operators now.

    Attributes:
        node: how the node is shown to a reader: its name, or `OpType(first output)`.
        op_type: the training-only operator that it was, with its domain, as `domain::OpType`.
        scope: where it lies; see `Match.scope`.
        function: the function that it calls.
    """

    node: str
    op_type: str
    scope: str
    function: str


@dataclass(frozen=True)
class Remaining:
    """A training-only node that stays, and why."""

    node: str
    op_type: str
    scope: str
    reason: str


@dataclass(frozen=True)
class Update:
    """A value that a training-only node overwrote, and the output of the graph that holds its new value now.

    Attributes:
        node: the node.
        value: the value that was overwritten; it keeps its old value now.
        output: the name of the graph's output with the new value.
    """

    node: str
    value: str
    output: str


@dataclass
class PortableReport:
    """What became of the training-only nodes of one model, in the model's own order."""

    expanded: list[Expanded] = field(default_factory=list)
    remaining: list[Remaining] = field(default_factory=list)
    updates: list[Update] = field(default_factory=list)

    def __str__(self) -> str:
        lines = [f"portable: {len(self.expanded)} training-only nodes run as functions of standard operators"]
        lines.extend(f"  {update.output} is the new value of {update.value}" for update in self.updates)
        lines.extend(f"  {node.node} stays: {node.reason}  [{node.scope}]" for node in self.remaining)
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """The report as JSON data."""
        return asdict(self)
