"""Names that collide with nothing in a model."""

from __future__ import annotations

import onnx

from onnx_ascend_ext.rewriting.bodies import bodies


class FreshNames:
    """Gives names that no value, or no node, of any scope of a model has.

    A name that only a stale `value_info` mentions is taken as well: its type would apply to a new value. The
    model is read at the first request.
    """

    def __init__(self, model: onnx.ModelProto) -> None:
        self._model = model
        self._values: _Names | None = None
        self._nodes: _Names | None = None

    def value(self, wish: str) -> str:
        """A new value name: the wish itself, or with the lowest number after it that makes it new."""
        if self._values is None:
            self._values = _Names(_value_names(self._model))
        return self._values.take(wish)

    def node(self, wish: str) -> str:
        """A new node name, in the same way."""
        if self._nodes is None:
            self._nodes = _Names({node.name for body, _ in bodies(self._model) for node in body.node})
        return self._nodes.take(wish)


class _Names:
    """Names that are taken, and the number that each wish was given last."""

    def __init__(self, taken: set[str]) -> None:
        self._taken = taken
        self._last: dict[str, int] = {}

    def take(self, wish: str) -> str:
        number = self._last.get(wish, 0)
        name = f"{wish}_{number}" if number else wish
        while name in self._taken:
            number += 1
            name = f"{wish}_{number}"
        self._taken.add(name)
        self._last[wish] = number
        return name


def _value_names(model: onnx.ModelProto) -> set[str]:
    names: set[str] = set()
    for body, _ in bodies(model):
        for node in body.node:
            names.update(node.input)
            names.update(node.output)
        names.update(info.name for info in body.value_info)
        if isinstance(body, onnx.GraphProto):
            names.update(info.name for info in (*body.input, *body.output))
            names.update(tensor.name for tensor in body.initializer)
            names.update(tensor.values.name for tensor in body.sparse_initializer)
        else:
            names.update(body.input, body.output)
    return names
