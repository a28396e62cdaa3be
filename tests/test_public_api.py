"""What `import onnx_ascend_ext` offers."""

from __future__ import annotations

import importlib
import inspect
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import onnx_ascend_ext as ax


def test_every_public_name_is_there_and_is_listed() -> None:
    for name in ax.__all__:
        assert getattr(ax, name) is not None, name
    assert set(ax.__all__) <= set(dir(ax))


def test_public_functions_and_classes_are_documented() -> None:
    for name in ax.__all__:
        value = getattr(ax, name)
        if inspect.isfunction(value) or inspect.isclass(value):
            assert inspect.getdoc(value), name


def test_functions_that_fail_say_how() -> None:
    for name in (
        "convert",
        "inspect",
        "restore",
        "verify",
        "register",
        "session_options",
        "get_library_path",
        "get_include",
        "sigmoid_backward",
    ):
        assert "Raises:" in (inspect.getdoc(getattr(ax, name)) or ""), name


def test_an_unknown_name_is_an_attribute_error() -> None:
    assert not hasattr(ax, "no_such_name")


def test_the_version_is_the_distributions() -> None:
    assert ax.__version__ == version("onnx-ascend-ext")


def test_the_library_has_the_same_version_and_provider_name() -> None:
    library = importlib.import_module("onnx_ascend_ext.native").load()
    assert library.onnx_ascend_version().decode() == ax.__version__
    assert library.onnx_ascend_ep_name().decode() == ax.get_ep_name()


def test_importing_the_package_loads_nothing_heavy(tmp_path: Path) -> None:
    program = (
        "import sys, onnx_ascend_ext\n"
        "print(sorted({'onnx', 'onnxruntime', 'numpy', 'rich', 'click'} & set(sys.modules)))"
    )
    ended = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=tmp_path
    )
    assert ended.stdout == "[]\n"
