"""CANN's C functions of the simulator, through ctypes. Their types are read from the C declarations."""

from __future__ import annotations

import ctypes
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

_ACL = Path(__file__).parents[2] / "runtime" / "acl"
DECLARATIONS = (_ACL / "abi_types.h").read_text() + (_ACL / "abi.h").read_text()

_SCALARS = {
    "int32_t": ctypes.c_int32,
    "int64_t": ctypes.c_int64,
    "uint32_t": ctypes.c_uint32,
    "uint64_t": ctypes.c_uint64,
    "size_t": ctypes.c_size_t,
    "aclError": ctypes.c_int,
    "aclnnStatus": ctypes.c_int32,
    "aclrtStream": ctypes.c_void_p,
    "aclrtEvent": ctypes.c_void_p,
    "aclrtContext": ctypes.c_void_p,
    "aclrtCallback": ctypes.c_void_p,
}


def _without_comments(text: str) -> str:
    return re.sub(r"//[^\n]*", "", text)


def _ctype(declaration: str, enums: set[str]) -> Any:
    declaration = declaration.replace("const ", "").strip()
    if declaration.endswith("char*"):
        return ctypes.c_char_p
    if "*" in declaration:
        return ctypes.c_void_p
    return ctypes.c_int if declaration in enums else _SCALARS[declaration]


def prototypes() -> dict[str, tuple[str, list[str]]]:
    """Return type and parameter types of every declared function, as C text."""
    text = _without_comments(DECLARATIONS)
    found = {}
    for result, name, parameters in re.findall(
        r"^((?:const )?\w+\*?) ([aA]cl\w+)\(([^)]*)\);", text[text.index('extern "C"') :], re.MULTILINE
    ):
        types = [re.sub(r"\s*\b\w+$", "", part.strip()) for part in parameters.split(",") if part.strip()]
        found[name] = (result, types)
    return found


def constants() -> dict[str, int]:
    """Every enumerator and constant of the declarations."""
    text = _without_comments(DECLARATIONS)
    values = {}
    for body in re.findall(r"enum \w+ : \w+ \{(.*?)\};", text, re.DOTALL):
        following = 0
        for name, value in re.findall(r"(\w+)(?:\s*=\s*([-\w]+))?\s*,", body):
            following = int(value, 0) if value else following
            values[name] = following
            following += 1
    for name, value in re.findall(r"constexpr \w+ (\w+) = (\w+);", text):
        values[name] = int(value.rstrip("U"), 0)
    return values


globals().update(constants())


def bind(library: Path) -> Any:
    """The library's functions with their types; pointers are integers or ctypes objects."""
    text = _without_comments(DECLARATIONS)
    enums = set(re.findall(r"enum (\w+) : \w+ \{", text))
    loaded = ctypes.CDLL(str(library))
    for name, (result, parameters) in prototypes().items():
        function = getattr(loaded, name)
        function.restype = _ctype(result, enums)
        function.argtypes = [_ctype(parameter, enums) for parameter in parameters]
    return loaded


def address_of(value: Any) -> Any:
    """The address of a ctypes object, as a parameter."""
    return ctypes.cast(ctypes.byref(value), ctypes.c_void_p)


class Acl:
    """Calls the simulator; `acl.name(...)` is the C function, the methods take and give Python values."""

    def __init__(self, library: Path) -> None:
        self.library = bind(library)

    def __getattr__(self, name: str) -> Callable[..., Any]:
        function: Callable[..., Any] = getattr(self.library, name)
        return function

    def ok(self, name: str, *arguments: Any) -> None:
        """Calls a function that has to succeed."""
        status = getattr(self.library, name)(*arguments)
        assert status == 0, f"{name} -> {status}: {self.library.aclGetRecentErrMsg()}"

    def made(self, name: str, *arguments: Any) -> int:
        """Calls a function that answers through its first parameter, a pointer to a pointer."""
        made = ctypes.c_void_p()
        self.ok(name, address_of(made), *arguments)
        assert made.value is not None
        return made.value

    def asked(self, name: str, ctype: Any, *before: Any) -> Any:
        """Calls a function that answers through its last parameter."""
        value = ctype()
        self.ok(name, *before, address_of(value))
        return value.value

    def message(self) -> str:
        """The thread's last message, which is cleared by asking for it."""
        text = self.library.aclGetRecentErrMsg()
        return "" if text is None else text.decode()

    def dims(self, values: Any) -> Any:
        """An array of int64."""
        return (ctypes.c_int64 * max(len(values), 1))(*values)

    def tensor(
        self,
        address: int | None,
        shape: Any,
        dtype: int,
        *,
        strides: Any = None,
        offset: int = 0,
        storage: Any = None,
        form: int = 2,
    ) -> int:
        """A tensor over `address`, contiguous where no strides are given."""
        storage = shape if storage is None else storage
        made: int | None = self.library.aclCreateTensor(
            self.dims(shape),
            len(shape),
            dtype,
            None if strides is None else self.dims(strides),
            offset,
            form,
            self.dims(storage),
            len(storage),
            address,
        )
        assert made is not None, self.message()
        return made

    def phase_one(self, *tensors: int | None) -> tuple[int, int, int]:
        """Status, workspace size and executor (0 where it failed)."""
        size = ctypes.c_uint64()
        executor = ctypes.c_void_p()
        status = self.library.aclnnSigmoidBackwardGetWorkspaceSize(
            *tensors, address_of(size), address_of(executor)
        )
        return status, size.value, executor.value or 0

    def start(self, device: int = 0) -> None:
        """Initialises ACL (another part of the process may have) and sets the device."""
        assert self.library.aclInit(None) in (0, 100002)
        self.ok("aclrtSetDevice", device)
