"""The parts of our C declarations, as text: runtime/acl/abi_types.h and runtime/acl/abi.h."""

from __future__ import annotations

import re
from pathlib import Path

RUNTIME = Path(__file__).parents[2] / "runtime"
HEADERS = [RUNTIME / "acl" / "abi_types.h", RUNTIME / "acl" / "abi.h"]

_SECTION = re.compile(r"^// ---- (.*) ----$", re.MULTILINE)


def whole_text() -> str:
    """Both headers as one."""
    types, functions = (header.read_text() for header in HEADERS)
    return types + functions.replace("#pragma once", "").replace('#include "acl/abi_types.h"', "")


def _sections() -> dict[str, str]:
    text = whole_text().replace('extern "C" {', "").replace('}  // extern "C"', "")
    parts = _SECTION.split(text)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


# Titles of the sections.
TYPES = "types"
CONSTANTS = "constants (macros or static ints in the official headers)"
NNOPBASE_CONSTANTS = "constants of libnnopbase (opdev/op_errno.h; not among the ACL headers)"
ACL = "functions"
NNOPBASE = "functions of libnnopbase (aclnn/acl_meta.h, aclnn/aclnn_base.h; not among the ACL headers)"
OPAPI = "functions of libopapi (aclnnop/aclnn_sigmoid_backward.h; not among the ACL headers)"


def section(title: str) -> str:
    """The text of a section."""
    return _sections()[title]


def functions(title: str) -> list[str]:
    """Names of the functions that a section declares."""
    return re.findall(r"^(?:const )?\w+\*? ([aA]cl\w+)\(", section(title), re.MULTILINE)


def opaque_types() -> list[str]:
    """Structs that are only declared."""
    return re.findall(r"^struct (\w+);", section(TYPES), re.MULTILINE)


def enums() -> dict[str, list[str]]:
    """Enumerators by enum."""
    found = re.findall(r"enum (\w+) : \w+ \{(.*?)\};", section(TYPES), re.DOTALL)
    return {name: re.findall(r"^\s*(\w+)", body, re.MULTILINE) for name, body in found}


def aggregates() -> dict[str, list[str]]:
    """Members by struct or union that is defined, not only declared."""
    found = re.findall(r"(?:struct|union) (\w+) \{(.*?)\};", section(TYPES), re.DOTALL)
    return {name: re.findall(r"(\w+)(?:\[\d+\])?;", body) for name, body in found}


def aliases() -> list[str]:
    """Names given by `using`."""
    return re.findall(r"^using (\w+) =", section(TYPES), re.MULTILINE)


def constants(title: str) -> dict[str, int]:
    """Values of the constants of a section."""
    found = re.findall(r"constexpr \w+ (\w+) = (\w+);", section(title))
    return {name: int(value.rstrip("U"), 0) for name, value in found}
