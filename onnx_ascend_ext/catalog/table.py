"""A TOML table of a file of the catalog; what is not valid is refused by file and key, with what to do."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from onnx_ascend_ext.errors import CatalogError

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


class Table:
    """A TOML table that is read key by key, so that what is left over is unknown."""

    def __init__(self, content: Mapping[str, Any], file: str, where: str = "") -> None:
        self._content = dict(content)
        self._file = file
        self._where = where

    @classmethod
    def of_file(cls, file: Traversable) -> Table:
        """The whole of a file.

        Raises:
            CatalogError: the file cannot be read.
        """
        try:
            return cls(tomllib.loads(file.read_text(encoding="utf-8")), file.name)
        except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
            reason = " ".join(str(error).split())
            raise CatalogError(f"{file.name}: is not a readable TOML file: {reason}; correct it") from error

    def error(self, key: str, problem: str) -> CatalogError:
        """What is wrong with a key, by file and key."""
        return CatalogError(f"{self._file}: {self._where}{key}: {problem}")

    def text(self, key: str, example: str) -> str:
        """A text that must be there."""
        value = self._content.pop(key, None)
        if not isinstance(value, str) or not value.strip():
            raise self.error(key, f'must be a text that is not empty, such as "{example}"')
        return value

    def texts(self, key: str, example: str, *, allow_empty_text: bool = False) -> tuple[str, ...]:
        """A list of different texts that must be there."""
        value = self._content.pop(key, None)
        valid = isinstance(value, list) and value and all(isinstance(item, str) for item in value)
        if not valid or (not allow_empty_text and not all(value)):
            raise self.error(key, f"must be a list of texts that is not empty, such as {example}")
        if len(set(value)) != len(value):
            raise self.error(key, "names something twice; remove one")
        return tuple(value)

    def name(self, key: str, example: str) -> str:
        """An identifier that must be there."""
        return self.identifier(key, self.text(key, example))

    def names(self, key: str, example: str) -> tuple[str, ...]:
        """A list of different identifiers that must be there."""
        return tuple(self.identifier(key, name) for name in self.texts(key, example))

    def identifier(self, key: str, name: str) -> str:
        """The name itself, where it is an identifier."""
        if not _IDENTIFIER.fullmatch(name):
            raise self.error(key, f'"{name}" is not an identifier; use letters, digits and _')
        return name

    def version(self, key: str) -> int:
        """An opset version that must be there."""
        value = self._content.pop(key, None)
        if not isinstance(value, int) or isinstance(value, bool) or value < 1:
            raise self.error(key, "must be an opset version, such as 15")
        return value

    def flag(self, key: str) -> bool:
        """A truth value, false where it is missing."""
        value = self._content.pop(key, False)
        if not isinstance(value, bool):
            raise self.error(key, "must be true or false")
        return value

    def table(self, key: str) -> Table:
        """A table that must be there."""
        value = self._content.pop(key, None)
        if not isinstance(value, dict):
            raise self.error(key, f"is missing; add a table [{key}]")
        return Table(value, self._file, f"{self._where}{key}.")

    def tables(self, key: str) -> list[Table]:
        """A list of tables, empty where it is missing."""
        value = self._content.pop(key, [])
        if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
            raise self.error(key, "must be a list of tables")
        return [Table(item, self._file, f"{self._where}{key}[{i}].") for i, item in enumerate(value)]

    def optional_text(self, key: str, example: str) -> str | None:
        """A text that may be missing."""
        return self.text(key, example) if key in self._content else None

    def mapping(self, key: str) -> dict[str, Any]:
        """A table of free keys, empty where it is missing."""
        value = self._content.pop(key, {})
        if not isinstance(value, dict):
            raise self.error(key, "must be a table, such as { name = value }")
        return dict(value)

    def finish(self, known: str) -> None:
        """Refuses the keys that were not asked for."""
        for key in self._content:
            raise self.error(key, f"is not a known key; the keys here are {known}")
