"""Edits long repeated fields in time that does not depend on the number of edits."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from typing import Any

import onnx

# A repeated field deletes or inserts one element in time that grows with its length, and copying the elements
# that stay costs as much as parsing them. `sort` only moves pointers, and calls its key once for each element
# in order: so elements are sorted to where they belong, and what is left over at the end is cut off.


def edit_nodes(
    nodes: Any, removed: Collection[int], inserted: Mapping[int, Sequence[onnx.NodeProto]] | None = None
) -> None:
    """Removes nodes and inserts others before existing ones.

    Args:
        nodes: the `node` field of a graph or a function.
        removed: positions to remove.
        inserted: new nodes, by the position of the old node that they go before.
    """
    if not removed and not inserted:
        return
    length = len(nodes)
    # What stays keeps its order, since the sort is stable.
    keys: list[float] = list(range(length)) if inserted else [0] * length
    for position in removed:
        keys[position] = length
    for position, new in (inserted or {}).items():
        nodes.extend(new)
        keys.extend([position - 0.5] * len(new))
    _sort(nodes, keys)
    del nodes[len(keys) - len(removed) :]


def remove_where(field: Any, condemned: Callable[[Any], bool]) -> None:
    """Removes the elements of a repeated field for which `condemned` holds."""
    keys = [condemned(element) for element in field]
    count = sum(keys)
    if count:
        _sort(field, keys)
        del field[len(keys) - count :]


def _sort(field: Any, keys: Sequence[Any]) -> None:
    # `next(keys, element)` ignores the element, since there is a key for each.
    field.sort(key=partial(next, iter(keys)))
