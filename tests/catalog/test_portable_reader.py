"""Files of portable definitions: what is in the package, and what is refused with one line that says why."""

from __future__ import annotations

from pathlib import Path

import pytest

from onnx_ascend_ext import catalog
from onnx_ascend_ext.errors import CatalogError
from onnx_ascend_ext.portable.functions import builder

VALID = '''
[[operator]]
op_types = ["ReluGrad"]
domains = ["com.microsoft"]
summary = "Gradient of Relu."
inputs = ["dY", "X"]
outputs = ["dX"]
attributes = { alpha = 0.5 }
opset = 9
like = { dX = "X" }
body = """
    dX = Mul (dY, X)
"""
[[undefined]]
op_types = ["YieldOp"]
domains = ["com.microsoft", ""]
reason = "it waits"
'''


def write(folder: Path, text: str, name: str = "family.toml") -> Path:
    (folder / name).write_text(text, encoding="utf-8")
    return folder


def test_a_valid_file_is_read(tmp_path: Path) -> None:
    found = catalog.load_portable_from(write(tmp_path, VALID))
    operator = found.operators["com.microsoft", "ReluGrad"]
    assert (operator.inputs, operator.outputs, operator.opset) == (("dY", "X"), ("dX",), 9)
    assert dict(operator.attributes) == {"alpha": 0.5}
    assert dict(operator.like) == {"dX": "X"}
    assert operator.builder is None
    assert found.undefined["", "YieldOp"].reason == "it waits"


def test_optional_and_variadic_values_are_marked(tmp_path: Path) -> None:
    text = VALID.replace('inputs = ["dY", "X"]', 'inputs = ["dY", "X?", "rest..."]')
    text = text.replace('body = """\n    dX = Mul (dY, X)\n"""', 'builder = "losses.f"')
    operator = catalog.load_portable_from(write(tmp_path, text)).operators["com.microsoft", "ReluGrad"]
    assert operator.inputs == ("dY", "X", "rest")
    assert operator.optional_inputs == {"X"}
    assert operator.variadic_input
    assert not operator.variadic_output


def test_a_file_of_the_package_is_read_once() -> None:
    assert catalog.load_portable() is catalog.load_portable()


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("[[operator]]", "[operator]", "must be a list of tables"),
        ('op_types = ["ReluGrad"]', "", "op_types: must be a list"),
        ('summary = "Gradient of Relu."', 'summary = ""', "summary: must be a text"),
        ("opset = 9", "opset = 0", "opset: must be an opset version"),
        ("opset = 9", 'opset = 9\ncolour = "red"', "colour: is not a known key"),
        ('"dY", "X"', '"dY", "dX"', "dX is an input as well"),
        ('"dY", "X"', '"dY", "dY?"', "names something twice"),
        ('"dY", "X"', '"dY", "2X"', "is not an identifier"),
        ('outputs = ["dX"]', 'outputs = ["dX?"]', "write them without ?"),
        ('like = { dX = "X" }', 'like = { dX = "Z" }', "like: dX = 'Z'"),
        ('like = { dX = "X" }', 'in_place = { dX = "X" }', "in_place: dX = 'X'"),
        ("alpha = 0.5", "alpha = true", "attributes.alpha: must be a number"),
        ('body = """', 'builder = "a.b"\nbody = """', "either a body or a builder"),
        ('"dY", "X"', '"dY", "X?"', "need a builder"),
        ('["YieldOp"]', '["ReluGrad"]', "is defined twice"),
        ('reason = "it waits"', "", "reason: must be a text"),
        ("[[undefined]]", "[[undefined", "is not a readable TOML file"),
    ],
)
def test_a_file_that_is_not_valid_is_refused(tmp_path: Path, old: str, new: str, problem: str) -> None:
    assert old in VALID
    with pytest.raises(CatalogError) as caught:
        catalog.load_portable_from(write(tmp_path, VALID.replace(old, new, 1)))
    message = str(caught.value)
    assert problem in message
    assert message.startswith("family.toml: ")
    assert "\n" not in message


def test_an_operator_of_two_files_is_refused(tmp_path: Path) -> None:
    write(tmp_path, VALID)
    with pytest.raises(CatalogError, match="defined twice"):
        catalog.load_portable_from(write(tmp_path, VALID, "other.toml"))


def test_a_folder_without_definitions_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CatalogError, match="holds no portable definition"):
        catalog.load_portable_from(tmp_path)
    with pytest.raises(CatalogError, match="no such folder"):
        catalog.load_portable_from(tmp_path / "missing")


@pytest.mark.parametrize("operator", catalog.load_portable().operators.values(), ids=lambda o: o.op_type)
def test_every_builder_of_the_package_exists(operator: catalog.PortableOperator) -> None:
    if operator.builder is not None:
        assert callable(builder(operator))


def test_a_builder_that_does_not_exist_is_refused(tmp_path: Path) -> None:
    text = VALID.replace('body = """\n    dX = Mul (dY, X)\n"""', 'builder = "losses.missing"')
    operator = catalog.load_portable_from(write(tmp_path, text)).operators["com.microsoft", "ReluGrad"]
    with pytest.raises(CatalogError, match=r"there is no losses\.missing"):
        builder(operator)
