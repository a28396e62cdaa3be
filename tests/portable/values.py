"""Arrays and sequences of arrays in one `.npz` file; for both environments, so nothing but numpy is used."""

from __future__ import annotations

from typing import Any

import numpy as np


def write_values(path: str, values: dict[str, Any]) -> None:
    arrays = {}
    for name, value in values.items():
        if isinstance(value, list):
            arrays[f"sequence/{len(value)}/{name}"] = np.zeros(0)
            arrays.update({f"item/{position}/{name}": item for position, item in enumerate(value)})
        else:
            arrays[f"array/{name}"] = value
    np.savez(path, **arrays)


def read_values(path: str) -> dict[str, Any]:
    values: dict[str, Any] = {}
    with np.load(path) as arrays:
        for key in arrays.files:
            kind, rest = key.split("/", 1)
            if kind == "array":
                values[rest] = arrays[key]
            elif kind == "sequence":
                length, name = rest.split("/", 1)
                values[name] = [arrays[f"item/{position}/{name}"] for position in range(int(length))]
    return values
