"""Every declaration of runtime/acl/abi.h has the type and value that the official headers give it."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from abi import declarations as ours

Compile = Callable[..., Path]


def test_the_parts_of_the_header_are_found() -> None:
    assert len(ours.functions(ours.ACL)) > 60
    assert len(ours.functions(ours.NNOPBASE)) > 40
    assert ours.functions(ours.OPAPI) == ["aclnnSigmoidBackwardGetWorkspaceSize", "aclnnSigmoidBackward"]
    assert len(ours.enums()) > 10
    assert ours.aggregates()["aclrtPtrAttributes"] == ["location", "pageSize", "rsv"]


def test_our_values_are_what_the_compiler_makes_of_our_header(compile_cpp: Compile) -> None:
    """So the values that the other tests read by text are the real ones."""
    values = ours.constants(ours.CONSTANTS) | ours.constants(ours.NNOPBASE_CONSTANTS)
    checks = [f"static_assert({name} == {value});" for name, value in values.items()]
    compile_cpp('#include "acl/abi.h"\n' + "\n".join(checks), f"-I{ours.RUNTIME}", link=False)


def test_types_and_values_are_the_official_ones(official: Path, compile_cpp: Compile) -> None:
    checks = []
    for enum, enumerators in ours.enums().items():
        checks.append(f"static_assert(sizeof(::{enum}) == sizeof(ours::{enum}));")
        underlying = f"std::underlying_type_t<::{enum}>, std::underlying_type_t<ours::{enum}>"
        checks.append(f"static_assert(std::is_same_v<{underlying}>);")
        for name in enumerators:
            checks.append(f"static_assert(static_cast<long>(::{name}) == static_cast<long>(ours::{name}));")
            checks.append(f"static_assert(std::is_same_v<decltype(::{name}), ::{enum}>);")
    for aggregate, members in ours.aggregates().items():
        checks.append(f"static_assert(sizeof(::{aggregate}) == sizeof(ours::{aggregate}));")
        checks.append(f"static_assert(alignof(::{aggregate}) == alignof(ours::{aggregate}));")
        for member in members:
            checks.append(
                f"static_assert(offsetof(::{aggregate}, {member}) == offsetof(ours::{aggregate}, {member}));"
            )
            checks.append(
                f"static_assert(sizeof(::{aggregate}::{member}) == sizeof(ours::{aggregate}::{member}));"
            )
    # aclnnStatus is libnnopbase's.
    for alias in set(ours.aliases()) - {"aclnnStatus"}:
        checks.append(f"static_assert(std::is_same_v<::{alias}, ours::{alias}>);")
    for name, value in ours.constants(ours.CONSTANTS).items():
        checks.append(f"static_assert(({name}) == {value});")
    assert len(checks) > 350
    source = '#include <cstddef>\n#include <type_traits>\n#include "acl/acl.h"\n'
    source += '#include "acl/error_codes/rt_error_codes.h"\n'
    source += "namespace ours {\n" + ours.section(ours.TYPES) + "}\n" + "\n".join(checks)
    compile_cpp(source, f"-isystem{official}", link=False)


def test_functions_have_the_official_types(official: Path, compile_cpp: Compile) -> None:
    # Our text, read with the official types in sight, declares the very type of the official function.
    checks = [
        f"static_assert(std::is_same_v<decltype(::{name}), decltype(ours::{name})>);"
        for name in ours.functions(ours.ACL)
    ]
    source = '#include <type_traits>\n#include "acl/acl.h"\n'
    source += "namespace ours {\n" + ours.section(ours.ACL) + "}\n" + "\n".join(checks)
    compile_cpp(source, f"-isystem{official}", link=False)


def test_a_wrong_declaration_would_be_noticed(official: Path, compile_cpp: Compile) -> None:
    wrong = ours.section(ours.ACL).replace(
        "aclrtGetDeviceCount(uint32_t* count)", "aclrtGetDeviceCount(int32_t*)"
    )
    source = '#include <type_traits>\n#include "acl/acl.h"\nnamespace ours {\n' + wrong + "}\n"
    source += (
        "static_assert(std::is_same_v<decltype(::aclrtGetDeviceCount), decltype(ours::aclrtGetDeviceCount)>);"
    )
    with pytest.raises(AssertionError, match="static assertion failed"):
        compile_cpp(source, f"-isystem{official}", link=False)


def test_functions_of_libnnopbase_have_the_types_that_torch_npu_calls_them_by(
    official: Path, compile_cpp: Compile
) -> None:
    # No wheel has CANN's aclnn headers; torch_npu states the types of those that it looks up by name.
    header = official / "third_party/op-plugin/op_plugin/utils/op_api_common_base.h"
    typedefs = re.findall(r"typedef [^;{}]*?\(\*_acl\w+\)\s*\([^;]*?\);", header.read_text())
    names = [re.search(r"\*_(acl\w+)\)", text)[1] for text in typedefs]  # type: ignore[index]
    declared = set(ours.functions(ours.NNOPBASE))
    assert declared >= set(names)
    assert len(names) >= 13
    opaque = "\n".join(f"struct {name};" for name in ours.opaque_types())
    checks = [f"static_assert(std::is_same_v<decltype(&ours::{name}), _{name}>);" for name in names]
    checks.append(
        "using Launch = int (*)(void*, uint64_t, aclOpExecutor*, const aclrtStream);\n"
        "static_assert(std::is_same_v<decltype(&ours::aclnnSigmoidBackward), Launch>);"
    )
    source = '#include <type_traits>\n#include "acl/acl.h"\nusing aclnnStatus = int32_t;\n' + opaque
    source += "\nnamespace ours {\n" + ours.section(ours.NNOPBASE) + ours.section(ours.OPAPI) + "}\n"
    source += "\n".join(typedefs + checks)
    compile_cpp(source, f"-isystem{official}", link=False)
