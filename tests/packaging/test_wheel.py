"""The wheel holds what a user needs and nothing else."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    subprocess.run(
        [
            *(sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps"),
            *("--wheel-dir", str(folder), f"--config-settings=build-dir={folder / 'build'}", str(ROOT)),
        ],
        check=True,
    )
    (path,) = folder.glob("*.whl")
    return path


def names(wheel: Path) -> set[str]:
    with zipfile.ZipFile(wheel) as archive:
        return set(archive.namelist())


def test_it_fits_every_python_on_this_platform(wheel: Path) -> None:
    assert wheel.name.split("-")[2:4] == ["py3", "none"]
    assert wheel.name.split("-")[4] != "any.whl"


@pytest.mark.parametrize(
    "name",
    [
        "onnx_ascend_ext/lib/libonnx_ascend_ext.so",
        "onnx_ascend_ext/include/onnx_ascend_ext.h",
        "onnx_ascend_ext/lib/simulator/libascendcl.so",
        "onnx_ascend_ext/lib/simulator/libnnopbase.so",
        "onnx_ascend_ext/lib/simulator/libopapi.so",
        "onnx_ascend_ext/converters/sigmoid_backward.toml",
        "onnx_ascend_ext/py.typed",
        "onnx_ascend_ext/__init__.py",
    ],
)
def test_it_holds_the_libraries_the_header_the_catalog_and_the_types(wheel: Path, name: str) -> None:
    assert name in names(wheel)


def test_every_module_of_the_source_tree_is_in_it(wheel: Path) -> None:
    modules = {str(path.relative_to(ROOT)) for path in (ROOT / "onnx_ascend_ext").rglob("*.py")}
    assert len(modules) > 20
    assert modules <= names(wheel)


def test_it_holds_no_sources_of_the_library_no_tests_and_no_models(wheel: Path) -> None:
    packaged = [name for name in names(wheel) if ".dist-info/" not in name]
    allowed = (".py", ".so", ".toml", "py.typed", "include/onnx_ascend_ext.h")
    assert [name for name in packaged if not name.endswith(allowed)] == []
    assert all(name.startswith("onnx_ascend_ext/") for name in packaged)
    assert not [name for name in packaged if "/tests/" in name or "/models/" in name]


def test_it_asks_for_no_distribution_of_onnx_runtime_unless_the_extra_is_chosen(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        (metadata,) = (name for name in archive.namelist() if name.endswith("/METADATA"))
        lines = archive.read(metadata).decode().splitlines()
    required = [line for line in lines if line.startswith("Requires-Dist: onnxruntime")]
    assert required
    assert all("extra ==" in line for line in required)
