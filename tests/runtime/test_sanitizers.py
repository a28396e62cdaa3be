"""The runtime and the simulator under the sanitizers of gcc.

Building and running take minutes, so they are asked for: `ONNX_ASCEND_TEST_SANITIZERS=1` runs a program in C,
`all` the tests of the runtime as well.
"""

from __future__ import annotations

import os
import shutil
import site
import subprocess
import venv
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

import onnx_ascend_ext
from onnx_ascend_ext import resources

TESTS = Path(__file__).parents[1]
RUNTIME = TESTS.parent / "runtime"
ASKED = os.environ.get("ONNX_ASCEND_TEST_SANITIZERS")
TOOLS = ("cmake", "gcc", "g++")

pytestmark = pytest.mark.skipif(
    ASKED not in ("1", "all") or not all(map(shutil.which, TOOLS)),
    reason=f"set ONNX_ASCEND_TEST_SANITIZERS=1 (or all), with {', '.join(TOOLS)}",
)
with_python = pytest.mark.skipif(ASKED != "all", reason="set ONNX_ASCEND_TEST_SANITIZERS=all")

RUNTIME_TESTS = (
    *("direct_call", "simulator", "runtime/test_c_api.py", "runtime/test_custom_op.py"),
    *("runtime/test_errors.py", "runtime/test_execution_provider.py", "runtime/test_host_mode.py"),
    "runtime/test_lifetime.py",
)


@dataclass(frozen=True)
class Sanitizer:
    library: str
    # For Python and ONNX Runtime, which are not built with the sanitizer; `{folder}` gets the reports.
    options: dict[str, str]
    # Names of tests that cannot be run with it.
    without: tuple[str, ...]


# A sanitizer's own memory grows with what it has seen.
GROWTH = ("registrations_do_not_grow", "runs_do_not_grow")
SANITIZERS = {
    # Python leaks at its end, which is no failure; what it leaks is read for our part in it.
    "address,undefined": Sanitizer(
        "libasan.so",
        {
            "ASAN_OPTIONS": "log_path={folder}/report:exitcode=0:abort_on_error=1:handle_segv=0",
            "UBSAN_OPTIONS": "abort_on_error=1:print_stacktrace=1",
        },
        GROWTH,
    ),
    # The thread sanitizer of gcc 12 ends a forked child that starts a thread.
    "thread": Sanitizer(
        "libtsan.so",
        {
            "TSAN_OPTIONS": "log_path={folder}/report:handle_segv=0:die_after_fork=0:atexit_sleep_ms=0"
            ":history_size=7:ignore_noninstrumented_modules=1"
            f":suppressions={Path(__file__).with_name('thread_sanitizer.supp')}"
        },
        (*GROWTH, "a_forked_child_gets_an_error", "a_child_forked_before"),
    ),
}


@dataclass(frozen=True)
class Built:
    """Our libraries, built with a sanitizer."""

    name: str
    folder: Path
    launcher: tuple[str, ...]

    @property
    def package(self) -> Path:
        return next(self.folder.glob("venv/lib/python*/site-packages")) / "onnx_ascend_ext"

    def run(self, *command: object, **environment: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*self.launcher, *map(str, command)],
            cwd=self.folder,
            env=os.environ | {"ONNX_ASCEND_BACKEND": "simulator"} | environment,
            capture_output=True,
            text=True,
            timeout=1800,
            check=False,
        )

    def run_program(self, define: str, mode: str) -> subprocess.CompletedProcess[str]:
        """Builds the program in C and runs it."""
        library = self.package / "lib"
        subprocess.run(
            (
                *("gcc", "-std=gnu99", "-g", f"-fsanitize={self.name}", f"-D{define}"),
                *(TESTS / "runtime" / "threads.c", "-o", self.folder / define),
                *(f"-I{RUNTIME / 'c_api'}", f"-L{library}", "-lonnx_ascend_ext", f"-Wl,-rpath,{library}"),
                *("-pthread", "-lm"),
            ),
            check=True,
        )
        return self.run(
            self.folder / define,
            ASCEND_SIM_RUN_MODE=mode,
            ASCEND_SIM_ASYNC="1",
            UBSAN_OPTIONS="print_stacktrace=1",
        )

    def run_python(self, *arguments: object, **environment: str) -> subprocess.CompletedProcess[str]:
        """Runs Python with the sanitizer in it; what its reports say of our code goes to stderr."""
        sanitizer = SANITIZERS[self.name]
        listed = subprocess.run(
            ["gcc", f"-print-file-name={sanitizer.library}"], capture_output=True, text=True, check=True
        )
        options = {name: text.format(folder=self.folder) for name, text in sanitizer.options.items()}
        # libstdc++ has to be there before the address sanitizer looks for its functions.
        preloaded = {"LD_PRELOAD": f"{listed.stdout.strip()} libstdc++.so.6"}
        ended = self.run("venv/bin/python", *arguments, **preloaded, **options, **environment)
        for report in self.folder.glob("report.*"):
            parts = report.read_text().split("\n\n")
            ended.stderr += "\n\n".join(part for part in parts if str(RUNTIME) in part)
            report.unlink()
        return ended


@pytest.fixture(scope="module", params=SANITIZERS)
def built(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Built]:
    """The package with sanitized libraries, in an environment that has all else from the present one."""
    # gcc 12's thread sanitizer needs addresses that are not spread at random, where that can be had.
    unspread = ("setarch", "-R")
    possible = (
        bool(shutil.which("setarch")) and subprocess.run((*unspread, "true"), check=False).returncode == 0
    )
    built = Built(request.param, tmp_path_factory.mktemp("sanitized"), unspread if possible else ())
    venv.create(built.folder / "venv", symlinks=True)
    # An editable install's hook would come first, but does not run for a folder that is only listed here.
    built.package.with_name("present.pth").write_text("\n".join(site.getsitepackages()))
    present = Path(onnx_ascend_ext.__file__).parent
    shutil.copytree(present, built.package, ignore=shutil.ignore_patterns("lib", "converters", "__pycache__"))
    shutil.copytree(Path(str(resources.folder("converters"))), built.package / "converters")
    generator = ("-G", "Ninja") if shutil.which("ninja") else ()
    options = ("-DCMAKE_CXX_COMPILER=g++", f"-DONNX_ASCEND_SANITIZER={built.name}")
    for command in (
        ("-S", RUNTIME, "-B", "build", *generator, *options),
        ("--build", "build", "--parallel", "2"),
        ("--install", "build", "--prefix", built.package.parent),
    ):
        subprocess.run(("cmake", *command), cwd=built.folder, check=True, stdout=subprocess.DEVNULL)
    yield built
    shutil.rmtree(built.folder)


def test_threads_without_a_report(built):
    for mode in ("device", "host"):
        ended = built.run_program("SOUND", mode)
        assert (ended.returncode, ended.stderr[:4000]) == (0, "")


def test_threads_that_share_too_small_an_output_are_reported(built):
    for mode in ("device", "host"):
        ended = built.run_program("UNSOUND", mode)
        assert ended.returncode != 0
        assert "Sanitizer" in ended.stderr
        assert str(RUNTIME) in ended.stderr


@with_python
def test_the_tests_of_the_runtime_without_a_report(built):
    files = [TESTS / name for name in RUNTIME_TESTS]
    chosen = " and ".join(f"not {name}" for name in SANITIZERS[built.name].without)
    configuration = ("--rootdir", TESTS.parent, "-c", TESTS.parent / "pyproject.toml")
    ended = built.run_python("-m", "pytest", "-n", "2", "-k", chosen, *configuration, *files)
    assert ended.returncode == 0, ended.stdout[-4000:] + ended.stderr[:4000]
    assert ended.stderr == "", ended.stderr[:4000]


@with_python
def test_a_report_in_python_names_our_code(built):
    ended = built.run_python(
        "-c",
        f"""
import threading
import numpy as np
import onnx_ascend_ext as ax
assert ax.get_library_path().startswith({str(built.package)!r})
operand = np.full(5000, 0.5, np.float32)
too_small = np.lib.stride_tricks.as_strided(np.empty(2500, np.float32), operand.shape, operand.strides)
call = lambda: ax.sigmoid_backward(operand, operand, out=too_small)
threads = [threading.Thread(target=call) for _ in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
""",
        ASCEND_SIM_ASYNC="1",
        ASCEND_SIM_LATENCY_US="2000",
    )
    assert ended.returncode != 0
    assert "Sanitizer" in ended.stderr
    assert str(RUNTIME) in ended.stderr
