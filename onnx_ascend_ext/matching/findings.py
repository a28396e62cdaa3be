"""What the matcher found in a model: plain data, shared by the rewriter, the reports and the JSON output."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

Origin = Literal["named", "algebra"]


class Match(NamedTuple):
    """One gradient that can become one kernel node.

    Attributes:
        kernel: name of the kernel in the catalog, such as `SigmoidBackward`.
        scope: where it lies, as a path for a reader: `main`, `main/If_3.then_branch`,
            `function my.domain::f`, `training_info[0].algorithm`.
        nodes: names of the nodes that the match covers, the one that computes `result` last; a node
            without a name is shown as `OpType(first output)`.
        inputs: value name for each of the kernel's formal inputs, by formal name.
        result: name of the value that the kernel node computes.
        origin: `named` for a producer's own operator, `algebra` for spelled-out arithmetic.
        proven_sigmoid: whether `inputs["output"]` was seen to be the result of a Sigmoid.
    """

    kernel: str
    scope: str
    nodes: tuple[str, ...]
    inputs: Mapping[str, str]
    result: str
    origin: Origin
    proven_sigmoid: bool


@dataclass(frozen=True, slots=True)
class NearMiss:
    """A place that looks like a kernel's gradient and was not converted, with the reason."""

    node: str
    scope: str
    reason: str


@dataclass
class Findings:
    """Everything that was found in one model, in the model's own order."""

    matches: list[Match] = field(default_factory=list)
    near_misses: list[NearMiss] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
