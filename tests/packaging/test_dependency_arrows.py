"""Imports flow one way: each layer knows only what lies below it."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[2] / "onnx_ascend_ext"

# What the modules of each layer may import from this package; the layers below come first.
LAYERS: dict[str, set[str]] = {
    "errors": set(),
    "resources": set(),
    "algebra": set(),
    "catalog": {"errors", "resources"},
    "graph": {"errors"},
    "matching": {"errors", "algebra", "catalog", "graph"},
    "rewriting": {"errors", "catalog", "graph", "matching"},
    "portable": {"errors", "catalog", "graph", "rewriting"},
    "model_files": {"errors"},
    "conversion": {"errors", "catalog", "graph", "matching", "rewriting", "portable", "model_files"},
    "native": {"errors", "resources"},
    "simulator": {"errors", "resources", "native"},
    "direct_call": {"errors", "native"},
    "sessions": {"errors", "catalog", "native"},
    "verification": {"errors", "catalog", "native", "sessions", "model_files", "conversion"},
    "training": {"errors", "catalog", "sessions", "model_files", "conversion"},
    "diagnosis": {"errors", "native", "sessions"},
}


def imported(path: Path) -> set[str]:
    """Names below `onnx_ascend_ext` that a module imports, at the top or inside a function."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            modules = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path} has a relative import"
            modules = [f"{node.module}.{alias.name}" for alias in node.names]
        else:
            continue
        found |= {name.split(".")[1] for name in modules if name.startswith("onnx_ascend_ext.")}
    return found


def modules_of(layer: str) -> list[Path]:
    folder = PACKAGE / layer
    return sorted(folder.rglob("*.py")) if folder.is_dir() else [folder.with_suffix(".py")]


@pytest.mark.parametrize("layer", LAYERS)
def test_a_layer_imports_only_what_lies_below_it(layer: str) -> None:
    for module in modules_of(layer):
        assert imported(module) <= LAYERS[layer] | {layer}, module


def test_every_part_of_the_package_is_a_layer() -> None:
    parts = {
        path.stem for path in PACKAGE.iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()
    }
    assert parts - {"__init__", "__main__", "command"} == set(LAYERS)


@pytest.mark.parametrize("module", ["onnx", "onnxruntime", "numpy"])
def test_the_algebra_knows_no_onnx(module: str) -> None:
    for path in modules_of("algebra"):
        tree = ast.parse(path.read_text())
        names = {
            alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names
        }
        names |= {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.module}
        assert not [name for name in names if name.split(".")[0] == module]


def test_no_source_file_is_too_long_to_read_at_a_sitting() -> None:
    root = PACKAGE.parent
    sources = [*PACKAGE.rglob("*.py"), *(root / "runtime").rglob("*.cpp"), *(root / "runtime").rglob("*.h")]
    too_long = {str(path.relative_to(root)) for path in sources if len(path.read_text().splitlines()) > 400}
    assert too_long == set()
