"""Registration, each case in an interpreter of its own."""

from __future__ import annotations

import pytest


def passes(ended) -> None:
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout == "done\n"
    assert ended.stderr == ""


def test_twice_and_from_several_threads(python) -> None:
    passes(
        python(
            "import threading, onnxruntime, onnx_ascend_ext as ax\n"
            "failures = []\n"
            "def register():\n"
            "    try: ax.register()\n"
            "    except Exception as error: failures.append(error)\n"
            "threads = [threading.Thread(target=register) for _ in range(8)]\n"
            "[thread.start() for thread in threads]; [thread.join() for thread in threads]\n"
            "ax.register()\n"
            "assert not failures, failures\n"
            "devices = [d for d in onnxruntime.get_ep_devices() if d.ep_name == ax.get_ep_name()]\n"
            "assert len(devices) == 1\n"
            "print('done')"
        )
    )


def test_after_a_failed_try(python) -> None:
    passes(
        python(
            "import onnxruntime, onnx_ascend_ext as ax\n"
            "from onnx_ascend_ext.sessions import registration\n"
            "real = registration.get_library_path\n"
            "registration.get_library_path = lambda: '/no/such/library.so'\n"
            "try: ax.register()\n"
            "except ax.BackendError as error: assert '/no/such/library.so' in str(error)\n"
            "else: raise SystemExit('no error')\n"
            "registration.get_library_path = real\n"
            "ax.register()\n"
            "ax.session_options()\n"
            "print('done')"
        )
    )


def test_where_the_application_registered_under_its_own_name(python) -> None:
    passes(
        python(
            "import onnxruntime, onnx_ascend_ext as ax\n"
            "onnxruntime.register_execution_provider_library('mine', ax.get_library_path())\n"
            "ax.register()\n"
            "devices = [d for d in onnxruntime.get_ep_devices() if d.ep_name == ax.get_ep_name()]\n"
            "assert len(devices) == 1\n"
            "print('done')"
        )
    )


def test_again_after_the_application_unregistered(python) -> None:
    passes(
        python(
            "import onnxruntime, onnx_ascend_ext as ax\n"
            "ax.register()\n"
            "onnxruntime.unregister_execution_provider_library(ax.get_ep_name())\n"
            "ax.register()\n"
            "ax.session_options()\n"
            "print('done')"
        )
    )


def test_after_the_application_registered_while_acl_could_not_start(python) -> None:
    passes(
        python(
            "import onnxruntime, onnx_ascend_ext as ax\n"
            "onnxruntime.set_default_logger_severity(3)\n"
            "onnxruntime.register_execution_provider_library(ax.get_ep_name(), ax.get_library_path())\n"
            "ax.session_options()\n"
            "print('done')",
            ASCEND_SIM_FAULT="aclInit:1:507899",
        )
    )


def test_without_any_device_registration_succeeds_and_a_session_says_why_not(python) -> None:
    passes(
        python(
            "import onnxruntime, onnx_ascend_ext as ax\n"
            "onnxruntime.set_default_logger_severity(3)  # the library's own warning of the same\n"
            "ax.register(); ax.register()\n"
            "try: ax.session_options()\n"
            "except ax.BackendError as error: assert 'libascendcl.so' in str(error), error\n"
            "else: raise SystemExit('no error')\n"
            "print('done')",
            ONNX_ASCEND_BACKEND="cann",
            ASCEND_HOME_PATH="/opt/no-such-cann",
        )
    )


@pytest.mark.parametrize("version", ["1.23.2", "1.17.0", "1.19.2"])
def test_an_older_onnx_runtime_gives_a_clear_error(python, version: str) -> None:
    passes(
        python(
            "import onnxruntime, onnx_ascend_ext as ax\n"
            f"onnxruntime.__version__ = '{version}'\n"
            "try: ax.register()\n"
            "except ax.BackendError as error: message = str(error)\n"
            "else: raise SystemExit('no error')\n"
            f"assert '{version}' in message and '1.24' in message, message\n"
            "print('done')"
        )
    )


def test_a_missing_onnx_runtime_names_what_to_install(python) -> None:
    passes(
        python(
            "import sys\n"
            "sys.modules['onnxruntime'] = None\n"
            "import onnx_ascend_ext as ax\n"
            "try: ax.register()\n"
            "except ax.BackendError as error: assert 'onnx-ascend-ext[ort]' in str(error), error\n"
            "else: raise SystemExit('no error')\n"
            "print('done')"
        )
    )


def test_the_simulator_is_announced_once_and_only_where_it_was_not_chosen(python) -> None:
    program = (
        "import numpy, warnings\n"
        "import onnx_ascend_ext as ax\n"
        "with warnings.catch_warnings(record=True) as caught:\n"
        "    warnings.simplefilter('always')\n"
        "    ax.register(); ax.session_options(); ax.sigmoid_backward(1.0, numpy.ones(2, 'f4'))\n"
        "print(len([w for w in caught if issubclass(w.category, ax.SimulatorWarning)]))"
    )
    assert python(program, ONNX_ASCEND_BACKEND="auto").stdout == "1\n"
    assert python(program, ONNX_ASCEND_BACKEND="simulator").stdout == "0\n"


@pytest.mark.parametrize(
    "call",
    [
        "ax.register()",
        "ax.session_options()",
        "ax.InferenceSession(model)",
        "ax.sigmoid_backward(1.0, numpy.ones(2, 'f4'))",
    ],
)
def test_the_announcement_points_at_the_line_that_called_the_package(python, call: str) -> None:
    program = (
        "import numpy, onnx.parser, warnings\n"
        "import onnx_ascend_ext as ax\n"
        'model = onnx.parser.parse_model(\'<ir_version: 8, opset_import: ["": 18]>'
        "g (float[N] a) => (float[N] b) { b = Neg (a) }')\n"
        "def of_the_user():\n"
        f"    {call}\n"
        "with warnings.catch_warnings(record=True) as caught:\n"
        "    warnings.simplefilter('always')\n"
        "    of_the_user()\n"
        "print([(w.filename, w.lineno) for w in caught if issubclass(w.category, ax.SimulatorWarning)])"
    )
    assert python(program, ONNX_ASCEND_BACKEND="auto").stdout == "[('<string>', 5)]\n"


_SESSION = (
    "import onnx.parser, numpy as np, onnx_ascend_ext as ax\n"
    'model = onnx.parser.parse_model(\'\'\'<ir_version: 8, opset_import: ["": 18, "onnx_ascend_ext": 1]>\n'
    "g (float[N] a, float[N] y) => (float[N] dx) { dx = onnx_ascend_ext.SigmoidBackward (a, y) }\n"
    '<domain: "onnx_ascend_ext", opset_import: ["": 18]>\n'
    "SigmoidBackward (a, y) => (dx) { u = Constant <value_float: float = 1.0> () o = CastLike (u, y)\n"
    "c = Sub (o, y) s = Mul (a, c) dx = Mul (s, y) }''')\n"
    "session = ax.InferenceSession(model)\n"
    "x = np.full(5, 0.5, np.float32)\n"
    "assert session.run(None, {'a': x, 'y': x})[0].tolist() == [0.125] * 5\n"
    "print('done', flush=True)\n"
)


@pytest.mark.parametrize(
    ("ending", "status"),
    [
        ("", 0),
        ("import sys; sys.exit(3)", 3),
        ("raise ValueError('on purpose')", 1),
        ("import os, signal; os.kill(os.getpid(), signal.SIGTERM)", -15),
        ("session = None", 0),
        ("import threading; threading.Thread(target=session.run, args=(None, {'a': x, 'y': x})).start()", 0),
    ],
)
def test_the_interpreter_exits_cleanly_with_a_live_session(python, ending: str, status: int) -> None:
    ended = python(_SESSION + ending)
    assert ended.returncode == status
    assert ended.stdout == "done\n"
    lines = [
        line for line in ended.stderr.splitlines() if not line.startswith(("Traceback", "  ", "ValueError"))
    ]
    assert lines == []
