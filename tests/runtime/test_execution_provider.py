"""The plugin execution provider. `test_host_mode` runs this file again on a device with memory of its own."""

from __future__ import annotations

import json
import threading
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest

import onnx_ascend_ext as ax
from onnx_ascend_ext import simulator

from .support import (
    DTYPES,
    EP,
    assert_close,
    custom_op_session,
    ep_devices,
    ep_options,
    ep_session,
    expected,
    nodes_on_ep,
    one_node,
    operands,
    parse,
    run,
)


def test_device_says_what_it_is():
    device = ep_devices()[0]
    assert device.ep_name == ax.get_ep_name() == EP
    assert device.ep_vendor == "Huawei"
    assert device.device.type == onnxruntime.OrtHardwareDeviceType.NPU
    assert device.device.vendor_id == 0x19E5
    metadata = device.ep_metadata
    assert metadata["simulated"] == "1"
    assert metadata["soc"].startswith("Ascend")
    assert metadata["index"] == "0"
    assert int(metadata["memory"]) > 0
    assert metadata["library_path"] == ax.get_library_path()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(3, 5), (1, 1), (257, 33), (1, 4096)])
def test_computes_every_type(dtype, shape):
    session = ep_session(one_node(dtype))
    assert nodes_on_ep(session) == ["site"]
    g, y = operands(dtype, shape, shape)
    assert_close(run(session, g, y), expected(g, y), dtype)


@pytest.mark.parametrize("dtype", DTYPES)
def test_keeps_the_tail_of_a_saturated_sigmoid(dtype):
    numpy_type = DTYPES[dtype][0]
    one_less = 1 - np.finfo(np.float16).eps
    y = np.array([[0.0, 1.0, one_less, 6e-8, 0.5]]).astype(numpy_type)
    g = np.array([[3.0, -2.0, 7.0, 5e3, np.inf]]).astype(numpy_type)
    result = run(ep_session(one_node(dtype)), g, y)
    assert_close(result[:, :4], expected(g, y)[:, :4], dtype)
    assert np.isposinf(np.asarray(result, np.float64)[0, 4])


def test_nan_stays_nan():
    g = np.array([[np.nan, 1.0, np.inf]], np.float32)
    y = np.array([[0.5, np.nan, 0.0]], np.float32)
    assert np.isnan(run(ep_session(one_node()), g, y)).all()


@pytest.mark.parametrize("dtype", ["float", "float16", "double"])
@pytest.mark.parametrize(
    ("g_shape", "y_shape"),
    [
        ((4, 6), (6,)),
        ((6,), (4, 6)),
        ((4, 1), (1, 6)),
        ((), (4, 6)),
        ((4, 6), ()),
        ((), ()),
        ((2, 3, 4, 5), (3, 1, 1)),
        ((2, 1, 4, 1, 3), (5, 1, 2, 1)),
        ((1,), (7, 1, 2)),
        ((0, 4), (1, 4)),
        ((0,), ()),
        ((3, 0, 2), (3, 1, 2)),
    ],
)
def test_broadcasts(dtype, g_shape, y_shape):
    text = {
        shape: ",".join(map(str, shape))
        for shape in (g_shape, y_shape, np.broadcast_shapes(g_shape, y_shape))
    }
    model = one_node(dtype, text[g_shape], text[y_shape], text[np.broadcast_shapes(g_shape, y_shape)])
    session = ep_session(model)
    assert nodes_on_ep(session) == ["site"]
    g, y = operands(dtype, g_shape, y_shape)
    assert_close(run(session, g, y), expected(g, y), dtype)


@pytest.mark.parametrize("rank", [9, 12])
def test_rank_limits_no_operands_of_one_shape(rank):
    shape = (2, 1) * (rank // 2) + (3,) * (rank % 2)
    text = ",".join(map(str, shape))
    session = ep_session(one_node("float", text, text, text))
    assert nodes_on_ep(session) == ["site"]
    g, y = operands("float", shape, shape)
    assert_close(run(session, g, y), expected(g, y), "float")


def test_symbolic_operands_of_one_shape_and_high_rank_are_claimed():
    text = ",".join("ABCDEFGHI")
    session = ep_session(one_node("float", text, text, text))
    assert nodes_on_ep(session) == ["site"]
    shape = (2, 1, 2, 1, 2, 1, 2, 1, 3)
    g, y = operands("float", shape, shape)
    assert_close(run(session, g, y), expected(g, y), "float")


@pytest.mark.parametrize(
    ("dtype", "g_shape", "y_shape", "launches"),
    [
        ("float", (2, 1, 2, 1, 2, 1, 2, 1), (2,) * 8, 1),
        ("float", (2, 1, 2, 1, 2, 1, 2, 1, 3), (2, 2, 2, 2, 2, 2, 2, 2, 3), 2),
        ("bfloat16", (3, 1, 3, 1, 3, 1, 3, 1, 3, 1), (1, 2, 1, 2, 1, 2, 1, 2, 1, 2), 4),
        ("double", (2, 1, 3, 1, 2), (1, 3, 1, 2, 1), 1),
        ("double", (2, 1, 3, 1, 2, 1, 2), (2, 3, 3, 2, 2, 3, 2), 4),
    ],
)
def test_sizes_that_become_known_in_a_run_may_need_any_number_of_dimensions(
    dtype, g_shape, y_shape, launches
):
    text = ",".join("ABCDEFGHIJ"[: len(g_shape)])
    session = ep_session(one_node(dtype, text, text, text))
    assert nodes_on_ep(session) == ["site"]
    for seed in range(2):
        g, y = operands(dtype, g_shape, y_shape, seed)
        before = simulator.counters()["aclnnSigmoidBackward"]
        assert_close(run(session, g, y), expected(g, y), dtype)
        assert simulator.counters()["aclnnSigmoidBackward"] == before + launches


@pytest.mark.parametrize("size", ["2", "65536"])
def test_a_broadcast_that_needs_too_many_dimensions_is_left_to_the_cpu(size, capfd):
    # The product of the larger ones is 2 to the 160th.
    g_text = ",".join(size if d % 2 else "1" for d in range(10))
    y_text = ",".join("1" if d % 2 else size for d in range(10))
    session = ep_session(one_node("float", g_text, y_text, ",".join([size] * 10)))
    assert nodes_on_ep(session) == []
    assert "at most 8 dimensions" in capfd.readouterr().err


def test_dynamic_shapes_change_from_run_to_run():
    session = ep_session(one_node())
    for seed, shape in enumerate([(2, 3), (7, 1), (2, 3), (0, 5), (64, 64), (2, 3), (1, 1)]):
        g, y = operands("float", shape, shape, seed)
        assert_close(run(session, g, y), expected(g, y), "float")


def test_operands_that_do_not_fit_name_both_and_the_session_goes_on():
    session = ep_session(one_node("float", "N", "M", "K"))
    g, y = operands("float", (3,), (4,))
    with pytest.raises(
        Exception, match=r"'site'.*grad_output float32\[3\] and output float32\[4\] do not broadcast"
    ):
        session.run(None, {"g": g, "y": y})
    g, y = operands("float", (4,), (4,))
    assert_close(run(session, g, y), expected(g, y), "float")


def test_one_value_may_be_both_operands():
    model = parse("g (float[N] y) => (float[N] z) { [site] z = onnx_ascend_ext.SigmoidBackward (y, y) }")
    session = ep_session(model)
    assert nodes_on_ep(session) == ["site"]
    _, y = operands("float", (50,), (50,))
    assert_close(np.asarray(session.run(None, {"y": y})[0]), expected(y, y), "float")


def test_an_initializer_may_be_an_operand():
    model = parse(
        "g (float[3] g) => (float[3] z) <float[3] y = {0.25, 0.5, 0.999}> "
        "{ [site] z = onnx_ascend_ext.SigmoidBackward (g, y) }"
    )
    session = ep_session(model)
    assert nodes_on_ep(session) == ["site"]
    g = np.array([1, -2, 300], np.float32)
    assert_close(
        np.asarray(session.run(None, {"g": g})[0]), expected(g, np.float32([0.25, 0.5, 0.999])), "float"
    )


def test_two_nodes_in_a_row():
    model = parse(
        "g (float[N,M] g, float[N,M] y, float[M] x) => (float[N,M] z) { "
        "[first] t = onnx_ascend_ext.SigmoidBackward (g, y) "
        "[second] z = onnx_ascend_ext.SigmoidBackward (t, x) }"
    )
    session = ep_session(model)
    assert nodes_on_ep(session) == ["first", "second"]
    g, y = operands("float", (6, 5), (6, 5))
    _, x = operands("float", (5,), (5,), seed=1)
    result = np.asarray(session.run(None, {"g": g, "y": y, "x": x})[0])
    assert_close(result, expected(expected(g, y), x), "float")


def test_between_nodes_of_the_cpu():
    model = parse(
        "g (float[N,M] g, float[N,M] x) => (float[N,M] z, float[N,M] y) { "
        "y = Sigmoid (x) "
        "h = Neg (g) "
        "[site] t = onnx_ascend_ext.SigmoidBackward (h, y) "
        "u = Abs (t) "
        "[again] v = onnx_ascend_ext.SigmoidBackward (u, y) "
        "z = Add (v, t) }"
    )
    session = ep_session(model)
    assert nodes_on_ep(session) == ["again", "site"]
    g, x = operands("float", (9, 8), (9, 8))
    for _ in range(3):
        z, y = (np.asarray(each) for each in session.run(None, {"g": g, "x": x}))
        t = expected(-g, y)
        assert_close(z, expected(np.abs(t), y) + t, "float")


@pytest.mark.parametrize("condition", [True, False])
def test_inside_a_branch(condition):
    model = parse(
        "g (bool c, float[N] g, float[N] y) => (float[N] z) { "
        "z = If (c) <"
        "then_branch = then () => (float[N] a) { [inner] a = onnx_ascend_ext.SigmoidBackward (g, y) }, "
        "else_branch = other () => (float[N] b) { "
        "t = Neg (g) [negated] b = onnx_ascend_ext.SigmoidBackward (t, y) }> }"
    )
    session = ep_session(model)
    assert nodes_on_ep(session) == ["inner", "negated"]
    g, y = operands("float", (40,), (40,))
    result = np.asarray(session.run(None, {"c": np.array(condition), "g": g, "y": y})[0])
    assert_close(result, expected(g if condition else -g, y), "float")


def test_inside_a_loop():
    model = parse(
        "g (int64 trips, float[N] g, float[N] y) => (float[N] z) { "
        "more = Constant <value: tensor = bool {1}> () "
        "z = Loop (trips, more, g) <"
        "body = step (int64 i, bool keep, float[N] carried) => (bool still, float[N] next) { "
        "still = Identity (keep) "
        "[inner] t = onnx_ascend_ext.SigmoidBackward (carried, y) "
        "next = Add (t, carried) }> }"
    )
    session = ep_session(model)
    assert nodes_on_ep(session) == ["inner"]
    g, y = operands("float", (300,), (300,))
    wanted = np.asarray(g, np.float64)
    for _ in range(5):
        wanted = expected(wanted, y) + wanted
    result = np.asarray(session.run(None, {"trips": np.array(5), "g": g, "y": y})[0])
    assert_close(result, wanted, "float")


def test_another_domain_is_not_ours():
    model = onnx.parser.parse_model(
        '<ir_version: 9, opset_import: ["" : 18, "com.example" : 1]> '
        "g (float[N] g, float[N] y) => (float[N] z) { [site] z = com.example.SigmoidBackward (g, y) }"
    )
    function = one_node().functions[0]
    function.domain = "com.example"
    model.functions.append(function)
    session = ep_session(model)
    assert nodes_on_ep(session) == []
    g, y = operands("float", (5,), (5,))
    assert_close(run(session, g, y), expected(g, y), "float")


def test_a_type_that_no_kernel_takes_is_left_to_the_cpu(capfd):
    model = parse(
        "g (int32[N] g, int32[N] y) => (int32[N] z) { [site] z = onnx_ascend_ext.SigmoidBackward (g, y) }"
    )
    session = ep_session(model)
    assert nodes_on_ep(session) == []
    assert "'site' does not run on AscendExecutionProvider: element type 6" in capfd.readouterr().err
    result = session.run(None, {"g": np.array([2, 3], np.int32), "y": np.array([2, 5], np.int32)})[0]
    np.testing.assert_array_equal(result, [-4, -60])


def test_no_fallback_to_the_cpu_is_needed():
    session = ep_session(one_node(), session__disable_cpu_ep_fallback="1")
    g, y = operands("float", (5, 5), (5, 5))
    assert_close(run(session, g, y), expected(g, y), "float")


def test_is_selected_by_policy():
    ep_devices()
    options = onnxruntime.SessionOptions()
    options.set_provider_selection_policy(onnxruntime.OrtExecutionProviderDevicePolicy.PREFER_NPU)
    session = onnxruntime.InferenceSession(one_node().SerializeToString(), options)
    assert session.get_providers()[0] == EP


def without_fallback(options: onnxruntime.SessionOptions) -> onnxruntime.InferenceSession:
    """ONNX Runtime 1.24 goes to the CPU when a provider cannot be made, unless told not to."""
    return onnxruntime.InferenceSession(one_node().SerializeToString(), options, enable_fallback=0)


def test_unknown_option_is_named():
    with pytest.raises(Exception, match=r"no option 'speed'; its options are: device_id"):
        without_fallback(ep_options({"speed": "11"}))


@pytest.mark.parametrize(
    ("device_id", "message"),
    [("one", "'one'; it must be the number of a device"), ("-1", "'-1'"), ("7", "is 7, which is not among")],
)
def test_wrong_device_id_is_named(device_id, message):
    with pytest.raises(Exception, match=message):
        without_fallback(ep_options({"device_id": device_id}))


def test_device_id_is_an_option():
    session = onnxruntime.InferenceSession(one_node().SerializeToString(), ep_options({"device_id": "0"}))
    assert nodes_on_ep(session) == ["site"]


def test_ep_context_is_refused_with_a_reason(tmp_path):
    options = ep_options(ep__context_enable="1", ep__context_file_path=str(tmp_path / "context.onnx"))
    with pytest.raises(Exception, match=r"remove the session option ep\.context_enable"):
        onnxruntime.InferenceSession(one_node().SerializeToString(), options)


@pytest.mark.skipif(
    tuple(map(int, onnxruntime.__version__.split(".")[:2])) < (1, 25),
    reason="ONNX Runtime 1.24 takes no profiling events from a plugin",
)
def test_profile_has_an_event_for_each_kernel(tmp_path):
    options = ep_options()
    options.enable_profiling = True
    options.profile_file_prefix = str(tmp_path / "profile")
    session = onnxruntime.InferenceSession(one_node().SerializeToString(), options)
    other = ep_session(one_node())
    g, y = operands("float", (30, 30), (30, 30))
    for _ in range(3):
        run(session, g, y)
        run(other, g, y)
    events = json.loads(Path(session.end_profiling()).read_text())
    ours = [event for event in events if event["name"] == "aclnnSigmoidBackward"]
    assert len(ours) == 3
    nodes = [event for event in events if event["cat"] == "Node" and event["name"].endswith("_kernel_time")]
    spans = [(event["ts"], event["ts"] + event["dur"]) for event in nodes]
    for event in ours:
        assert event["cat"] == "Kernel"
        assert event["args"]["node"] == "site"
        assert any(begin - 1 <= event["ts"] and event["ts"] + event["dur"] <= end + 1 for begin, end in spans)


@pytest.mark.parametrize("provider_first", [True, False])
def test_provider_and_custom_op_library_in_one_session(provider_first):
    options = onnxruntime.SessionOptions()
    steps = [
        lambda: options.add_provider_for_devices(ep_devices()[:1], {}),
        lambda: options.register_custom_ops_library(ax.get_library_path()),
    ]
    for step in steps if provider_first else reversed(steps):
        step()
    options.add_session_config_entry("session.record_ep_graph_assignment_info", "1")
    session = onnxruntime.InferenceSession(one_node().SerializeToString(), options)
    assert nodes_on_ep(session) == ["site"]
    g, y = operands("float", (5, 6), (5, 6))
    assert_close(run(session, g, y), expected(g, y), "float")


def test_both_doors_agree_to_the_bit():
    g, y = operands("float", (100, 7), (7,))
    model = one_node("float", "N,M", "M", "N,M")
    np.testing.assert_array_equal(run(ep_session(model), g, y), run(custom_op_session(model), g, y))


def in_threads(count: int, work) -> None:
    failures: list[BaseException] = []

    def guarded(index: int) -> None:
        try:
            work(index)
        except BaseException as failure:
            failures.append(failure)

    threads = [threading.Thread(target=guarded, args=(index,)) for index in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures, failures


def test_many_threads_on_one_session():
    session = ep_session(one_node())

    def work(index: int) -> None:
        for turn in range(20):
            shape = (1 + (index + turn) % 5, 3 + turn % 7)
            g, y = operands("float", shape, shape, seed=index * 100 + turn)
            assert_close(run(session, g, y), expected(g, y), "float")

    in_threads(8, work)


def test_parallel_execution():
    model = parse(
        "g (float[N] g, float[N] y) => (float[N] p, float[N] q, float[N] s) { "
        "[a] p = onnx_ascend_ext.SigmoidBackward (g, y) n = Neg (g) "
        "[b] q = onnx_ascend_ext.SigmoidBackward (n, y) r = Abs (q) "
        "[c] s = onnx_ascend_ext.SigmoidBackward (r, y) }"
    )
    options = ep_options()
    options.execution_mode = onnxruntime.ExecutionMode.ORT_PARALLEL
    options.inter_op_num_threads = 3
    session = onnxruntime.InferenceSession(model.SerializeToString(), options)
    assert nodes_on_ep(session) == ["a", "b", "c"]
    g, y = operands("float", (777,), (777,))
    p = expected(g, y)
    for _ in range(10):
        results = [np.asarray(result) for result in session.run(None, {"g": g, "y": y})]
        for result, wanted in zip(results, (p, -p, expected(np.abs(p), y)), strict=True):
            assert_close(result, wanted, "float")


def test_many_sessions_on_one_device():
    sessions = [ep_session(one_node()) for _ in range(4)]

    def work(index: int) -> None:
        for turn in range(20):
            g, y = operands("float", (17, 9), (17, 9), seed=index * 100 + turn)
            assert_close(run(sessions[index], g, y), expected(g, y), "float")

    in_threads(4, work)


def test_built_in_one_thread_and_run_in_others():
    made: list[onnxruntime.InferenceSession] = []
    in_threads(1, lambda _: made.append(ep_session(one_node())))

    def work(index: int) -> None:
        g, y = operands("float", (8, 8), (8, 8), seed=index)
        assert_close(run(made[0], g, y), expected(g, y), "float")

    in_threads(3, work)
    work(9)
