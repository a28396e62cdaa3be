"""Kernel files that are not valid are refused with one line that names the file, the key and what to do."""

from __future__ import annotations

from pathlib import Path

import pytest

from onnx_ascend_ext import catalog, resources
from onnx_ascend_ext.errors import CatalogError

VALID = '''
name = "TanhBackward"
summary = "Gradient of Tanh."
inputs = ["grad_output", "output"]
outputs = ["grad_input"]
opset = 15
body = """
    unit = Constant <value_float: float = 1.0> ()
    one = CastLike (unit, output)
    square = Mul (output, output)
    slope = Sub (one, square)
    grad_input = Mul (grad_output, slope)
"""
[aclnn]
symbol = "aclnnTanhBackward"
arguments = ["grad_output", "output", "grad_input"]
[[foreign]]
producer = "TensorFlow"
domains = ["com.example"]
op_types = ["TanhGrad"]
operands = ["output", "grad_output"]
attributes = [{ names = ["kind"], values = ["tanh"], optional = true }]
'''


def write(folder: Path, text: str, name: str = "tanh_backward.toml") -> Path:
    (folder / name).write_text(text, encoding="utf-8")
    return folder


def refused(folder: Path) -> str:
    with pytest.raises(CatalogError) as caught:
        catalog.load_from(folder)
    message = str(caught.value)
    assert "\n" not in message
    return message


def test_a_valid_file_is_read(tmp_path):
    kernel = catalog.load_from(write(tmp_path, VALID))["TanhBackward"]
    assert kernel.foreign == (
        catalog.ForeignNode(
            "TensorFlow",
            "com.example",
            "TanhGrad",
            ("output", "grad_output"),
            (catalog.ForeignAttribute(("kind",), ("tanh",), optional=True),),
        ),
    )
    assert [node.op_type for node in kernel.function().node] == ["Constant", "CastLike", "Mul", "Sub", "Mul"]


def test_onnx_checker_accepts_the_files_of_the_package():
    assert catalog.load_from(resources.folder("converters")) == catalog.load()


def test_a_body_that_only_the_checker_refuses_passes_where_it_is_trusted(tmp_path):
    write(tmp_path, VALID.replace("Sub (one", "Subtract (one"))
    assert list(catalog.load_from(tmp_path, trusted=True)) == ["TanhBackward"]
    with pytest.raises(CatalogError, match="is not a valid function body"):
        catalog.load_from(tmp_path)


def test_files_are_read_in_the_order_of_their_names(tmp_path):
    write(tmp_path, VALID, "b.toml")
    write(tmp_path, VALID.replace("Tanh", "Sech").replace("com.example", "com.other"), "a.toml")
    (tmp_path / "notes.txt").write_text("not a kernel")
    assert list(catalog.load_from(tmp_path)) == ["SechBackward", "TanhBackward"]


@pytest.mark.parametrize(
    ("old", "new", "parts"),
    [
        ("opset = 15", "opset = 15\nopsets = 3", ["opsets", "not a known key"]),
        ('symbol = "aclnn', 'library = "x"\nsymbol = "aclnn', ["aclnn.library", "not a known key"]),
        ('producer = "Ten', 'order = 1\nproducer = "Ten', ["foreign[0].order", "not a known key"]),
        ("optional = true", "maybe = true", ["foreign[0].attributes[0].maybe", "not a known key"]),
        ('name = "TanhBackward"\n', "", ["name", "must be a text"]),
        ('name = "TanhBackward"', 'name = "Tanh-Backward"', ["name", "not an identifier"]),
        ("opset = 15", 'opset = "15"', ["opset", "must be an opset version"]),
        ("opset = 15", "opset = true", ["opset", "must be an opset version"]),
        ("opset = 15", "opset = 14", ["body", "not a valid function body"]),
        ('inputs = ["grad_output", "output"]', "inputs = []", ["inputs", "must be a list of texts"]),
        ('inputs = ["grad_output", "output"]', 'inputs = ["output", "output"]', ["inputs", "twice"]),
        ('outputs = ["grad_input"]', 'outputs = ["output"]', ["outputs", "is an input as well"]),
        ('operands = ["output", "grad_output"]', 'operands = ["output"]', ["foreign[0].operands", "once"]),
        ('"output", "grad_input"]', '"output"]', ["aclnn.arguments", "once"]),
        ('symbol = "aclnnTanhBackward"', 'symbol = "aclnnTanh"', ["aclnn.symbol", "aclnnTanhBackward"]),
        ("optional = true", 'optional = "yes"', ["foreign[0].attributes[0].optional", "true or false"]),
        ("Mul (output, output)", "Mul (output output)", ["body", "not a valid function body"]),
        ("Mul (output, output)", "Tanb (output)", ["body", "not a valid function body"]),
        ("Mul (output, output)", "Mul (output, nothing)", ["body", "nothing"]),
        ("grad_input = Mul", "other = Mul", ["body", "grad_input"]),
        ("value_float: float = 1.0", "value_int: int = 1", ["body", "value_float"]),
        ("Sub (one, square)", "Sub (unit, square)", ["body", "CastLike"]),
        ("[aclnn]", "[acl]", ["aclnn", "is missing"]),
        ("opset = 15", "opset = ", ["not a readable TOML file"]),
    ],
)
def test_a_mistake_is_named(tmp_path, old, new, parts):
    assert old in VALID
    message = refused(write(tmp_path, VALID.replace(old, new)))
    assert message.startswith("tanh_backward.toml: ")
    for part in parts:
        assert part in message


def test_a_file_that_is_not_utf_8_is_refused(tmp_path):
    (tmp_path / "k.toml").write_bytes(b"name = '\xff'")
    assert "k.toml" in refused(tmp_path)


def test_two_kernels_of_one_name_are_refused(tmp_path):
    write(tmp_path, VALID, "a.toml")
    write(tmp_path, VALID.replace("com.example", "com.other"), "b.toml")
    assert refused(tmp_path).startswith("b.toml: name: a second kernel called TanhBackward")


def test_one_foreign_operator_for_two_kernels_is_refused(tmp_path):
    plain = "\n".join(line for line in VALID.splitlines() if not line.startswith("attributes"))
    write(tmp_path, plain, "a.toml")
    write(tmp_path, plain.replace("TanhBackward", "SechBackward"), "b.toml")
    message = refused(tmp_path)
    assert message.startswith("b.toml: foreign: ")
    assert "com.example::TanhGrad already stands for TanhBackward" in message


def test_an_empty_folder_is_refused(tmp_path):
    assert "holds no kernel file" in refused(tmp_path)


def test_a_missing_folder_is_refused(tmp_path):
    assert "no such folder" in refused(tmp_path / "gone")
