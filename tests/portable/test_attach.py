"""What a portable conversion does to a model beside computing the right numbers."""

from __future__ import annotations

import numpy as np
import onnx
import onnx.parser
import pytest

import onnx_ascend_ext as ax
from onnx_ascend_ext.catalog import PORTABLE_DOMAIN, load_portable

from .harness import assert_close, check, run_stock

HEADER = '<ir_version: 8, opset_import: ["": 17, "com.microsoft": 1]>'


def parsed(text: str, header: str = HEADER) -> onnx.ModelProto:
    return onnx.parser.parse_model(f"{header} {text}")


def converted(model: onnx.ModelProto) -> tuple[onnx.ModelProto, ax.PortableReport]:
    conversion = ax.convert(model, portable=True)
    assert conversion.portable is not None
    return conversion.model, conversion.portable


TWO_RELUS = """
g (float[3] dy, float[3] x) => (float[3] b) {
    ["first"] a = com.microsoft.ReluGrad (dy, x)
    ["second"] b = com.microsoft.ReluGrad (a, x)
}"""


def test_without_the_option_nothing_changes() -> None:
    model = parsed(TWO_RELUS)
    conversion = ax.convert(model)
    assert conversion.portable is None
    assert conversion.model == model


def test_nodes_with_the_same_body_share_a_function() -> None:
    model, report = converted(parsed(TWO_RELUS))
    assert [function.name for function in model.functions] == ["ReluGrad"]
    assert [node.op_type for node in model.graph.node] == ["ReluGrad", "ReluGrad"]
    assert {node.domain for node in model.graph.node} == {PORTABLE_DOMAIN}
    assert [entry.node for entry in report.expanded] == ["first", "second"]
    assert {entry.function for entry in report.expanded} == {f"{PORTABLE_DOMAIN}::ReluGrad"}


def test_bodies_that_differ_are_numbered() -> None:
    model, _ = converted(
        parsed("""
        g (float[3] dy, float[3] x) => (float[3] c) {
            a = com.microsoft.QuickGeluGrad <alpha = 1.0> (dy, x)
            b = com.microsoft.QuickGeluGrad <alpha = 2.0> (a, x)
            c = com.microsoft.QuickGeluGrad <alpha = 1.0> (b, x)
        }""")
    )
    assert [function.name for function in model.functions] == ["QuickGeluGrad", "QuickGeluGrad_2"]
    assert [node.op_type for node in model.graph.node] == [
        "QuickGeluGrad",
        "QuickGeluGrad_2",
        "QuickGeluGrad",
    ]


def test_a_second_conversion_changes_nothing() -> None:
    once, _ = converted(parsed(TWO_RELUS))
    twice, report = converted(once)
    assert twice == once
    assert report.expanded == []


def test_a_function_of_an_earlier_conversion_is_used_again() -> None:
    model, _ = converted(parsed(TWO_RELUS))
    model.graph.node.add(
        op_type="ReluGrad", domain="com.microsoft", name="third", input=["b", "x"], output=["c"]
    )
    model.graph.node.add(
        op_type="LeakyReluGrad", domain="com.microsoft", name="fourth", input=["c", "x"], output=["d"]
    )
    again, report = converted(model)
    assert [function.name for function in again.functions] == ["ReluGrad", "LeakyReluGrad"]
    assert [entry.node for entry in report.expanded] == ["third", "fourth"]


def test_the_same_model_gives_the_same_bytes() -> None:
    first, second = (converted(parsed(TWO_RELUS))[0].SerializeToString() for _ in range(2))
    assert first == second


def test_the_argument_is_not_changed() -> None:
    model = parsed(TWO_RELUS)
    before = model.SerializeToString()
    converted(model)
    assert model.SerializeToString() == before


def test_names_documentation_and_metadata_of_a_node_are_kept() -> None:
    model = parsed(TWO_RELUS)
    model.graph.node[0].doc_string = "why"
    model.graph.node[0].metadata_props.add(key="origin", value="layer 3")
    node = converted(model)[0].graph.node[0]
    assert (node.name, node.doc_string) == ("first", "why")
    assert [(entry.key, entry.value) for entry in node.metadata_props] == [("origin", "layer 3")]
    assert list(node.output) == ["a"]


def test_the_import_is_added_once_and_the_ir_version_is_that_of_functions() -> None:
    model = parsed(TWO_RELUS)
    model.ir_version = 7
    new, _ = converted(model)
    assert [entry.domain for entry in new.opset_import].count(PORTABLE_DOMAIN) == 1
    assert new.ir_version == 8
    onnx.checker.check_model(new, full_check=True)


def test_nodes_in_bodies_and_functions_are_replaced() -> None:
    model = parsed(
        """
        g (bool c, float[3] dy, float[3] x) => (float[3] z) {
            y = If (c) <
                then_branch = one () => (float[3] t) { t = com.microsoft.ReluGrad (dy, x) },
                else_branch = two () => (float[3] e) { e = com.microsoft.TanhGrad (dy, x) }
            >
            z = local.f (y, x)
        }
        <domain: "local", opset_import: ["": 17, "com.microsoft": 1]>
        f (a, b) => (r) { r = com.microsoft.LeakyReluGrad <alpha: float = 0.5> (a, b) }
        """,
        '<ir_version: 8, opset_import: ["": 17, "com.microsoft": 1, "local": 1]>',
    )
    new, report = converted(model)
    assert report.remaining == []
    assert [entry.scope for entry in report.expanded] == [
        "main/If(y).then_branch",
        "main/If(y).else_branch",
        "function local::f",
    ]
    local = next(function for function in new.functions if function.domain == "local")
    assert PORTABLE_DOMAIN in [entry.domain for entry in local.opset_import]
    feeds = {
        "c": np.array(False),
        "dy": np.array([1, 2, 3], np.float32),
        "x": np.array([0.5, -0.5, 0], np.float32),
    }
    found = run_stock(new, feeds)
    check(new, found)
    assert_close(found, {"z": np.array([0.75, 0.75, 1.5], np.float32)})


def test_an_attribute_that_is_one_of_the_function_around_it_is_refused() -> None:
    model = parsed(
        """
        g (float[3] dy, float[3] x) => (float[3] z) { z = local.f <alpha = 0.5> (dy, x) }
        <domain: "local", opset_import: ["": 17, "com.microsoft": 1]>
        f <alpha> (a, b) => (r) { r = com.microsoft.LeakyReluGrad <alpha: float = @alpha> (a, b) }
        """,
        '<ir_version: 8, opset_import: ["": 17, "com.microsoft": 1, "local": 1]>',
    )
    new, report = converted(model)
    assert "inline that function first" in report.remaining[0].reason
    assert new == model


def in_a_function(opset: int) -> onnx.ModelProto:
    return parsed(
        f"""
        g (float[3] dy, float[3] x) => (float[3] z) {{ z = local.f (dy, x) }}
        <domain: "local", opset_import: ["": {opset}, "com.microsoft": 1]>
        f (a, b) => (r) {{ r = com.microsoft.TanhGrad (a, b) }}
        """,
        f'<ir_version: 8, opset_import: ["": {opset}, "com.microsoft": 1, "local": 1]>',
    )


def test_from_opset_15_on_the_element_type_need_not_be_known() -> None:
    new, report = converted(in_a_function(15))
    assert report.remaining == []
    onnx.checker.check_model(new, full_check=True)


def test_before_opset_15_a_node_of_unknown_element_type_has_no_body() -> None:
    _, report = converted(in_a_function(14))
    assert "element type" in report.remaining[0].reason


def test_types_that_the_model_does_not_state_are_inferred() -> None:
    text = """
    g (float[3] dy, float[3] x) => (float[3] c) {
        y = Tanh (x)
        a = com.microsoft.TanhGrad (dy, y)
        b = Neg (a)
        c = com.microsoft.TanhGrad (b, y)
    }"""
    new, report = converted(parsed(text, '<ir_version: 8, opset_import: ["": 13, "com.microsoft": 1]>'))
    assert report.remaining == []
    assert [function.name for function in new.functions] == ["TanhGrad"]


ACCUMULATOR = """
g (float[2] buffer, float[2] value) => (bool[1] done) {
    ["add"] done = com.microsoft.InPlaceAccumulatorV2 (buffer, value)
}"""


def test_what_was_overwritten_is_an_output_with_the_type_of_the_input() -> None:
    model, report = converted(parsed(ACCUMULATOR))
    assert [(update.node, update.value, update.output) for update in report.updates] == [
        ("add", "buffer", "buffer.updated")
    ]
    assert [output.name for output in model.graph.output] == ["done", "buffer.updated"]
    assert model.graph.output[1].type == model.graph.input[0].type


def test_an_output_that_was_there_already_stays_the_only_one() -> None:
    model = parsed(ACCUMULATOR)
    model.graph.node[0].output.append("sum")
    model.graph.output.add(name="sum", type=model.graph.input[0].type)
    new, report = converted(model)
    assert [output.name for output in new.graph.output] == ["done", "sum"]
    assert report.updates[0].output == "sum"


def test_a_name_that_is_taken_is_not_used_for_a_new_output() -> None:
    model = parsed(ACCUMULATOR)
    model.graph.input.add(name="buffer.updated", type=model.graph.input[0].type)
    _, report = converted(model)
    assert report.updates[0].output == "buffer.updated_1"


def test_a_value_that_is_overwritten_twice_is_refused() -> None:
    model = parsed("""
    g (float[2] buffer, float[2] value) => (bool[1] one, bool[1] two) {
        one = com.microsoft.InPlaceAccumulatorV2 (buffer, value)
        ["again"] two = com.microsoft.InPlaceAccumulatorV2 (buffer, value)
    }""")
    _, report = converted(model)
    assert [entry.node for entry in report.remaining] == ["again"]
    assert "overwrites buffer" in report.remaining[0].reason


def test_a_value_that_is_overwritten_in_a_body_is_refused() -> None:
    model = parsed("""
    g (bool c, float[2] buffer, float[2] value) => (bool[1] done) {
        done = If (c) <
            then_branch = one () => (bool[1] t) { t = com.microsoft.InPlaceAccumulatorV2 (buffer, value) },
            else_branch = two () => (bool[1] e) { e = Constant <value = bool[1] {0}> () }
        >
    }""")
    new, report = converted(model)
    assert "only the main graph can return" in report.remaining[0].reason
    assert new == model


@pytest.mark.parametrize(
    ("node", "reason"),
    [
        ("y = com.microsoft.YieldOp <full_shape_outputs = [0]> (x)", "PyTorch"),
        ("y = com.microsoft.NcclAllReduce (x)", "several processes"),
        ("y = com.microsoft.ReluGrad (x)", "input X is missing"),
        ("y = com.microsoft.ReluGrad (x, x, x)", "has 3 inputs, the operator has 2"),
        ("y = com.microsoft.LeakyReluGrad <alpha = 1> (x, x)", ""),
        ('y = com.microsoft.LeakyReluGrad <alpha = "much"> (x, x)', "alpha is not a number"),
        ("y = com.microsoft.ShrinkGrad (x, x)", "this package does not know it"),
    ],
)
def test_a_node_without_a_body_stays_and_is_reported(node: str, reason: str) -> None:
    model = parsed(f"g (float[3] x) => (float[3] y) {{ {node} }}")
    conversion = ax.convert(model, portable=True)
    assert conversion.portable is not None
    if not reason:
        assert conversion.portable.remaining == []
        return
    assert reason in conversion.portable.remaining[0].reason
    assert conversion.model == model
    assert "1 training-only node has no portable definition" in conversion.warnings[-1]


@pytest.mark.parametrize(
    "node", ["y = Relu (x)", "y = com.microsoft.Gelu (x)", "y = com.example.ReluGrad (x, x)"]
)
def test_an_operator_that_is_not_of_a_training_build_is_left_alone(node: str) -> None:
    model = parsed(
        f"g (float[3] x) => (float[3] y) {{ {node} }}",
        '<ir_version: 8, opset_import: ["": 17, "com.microsoft": 1, "com.example": 1]>',
    )
    new, report = converted(model)
    assert new == model
    assert (report.expanded, report.remaining, report.updates) == ([], [], [])


def test_an_operator_that_the_model_defines_itself_is_left_alone() -> None:
    model = parsed("""
        g (float[3] x) => (float[3] y) { y = com.microsoft.ReluGrad (x, x) }
        <domain: "com.microsoft", opset_import: ["": 17]>
        ReluGrad (a, b) => (r) { r = Add (a, b) }
    """)
    new, report = converted(model)
    assert new == model
    assert (report.expanded, report.remaining) == ([], [])


def test_a_sigmoid_gradient_becomes_the_kernel() -> None:
    text = "g (float[3] dy, float[3] y) => (float[3] dx) { dx = com.microsoft.SigmoidGrad (dy, y) }"
    new, report = converted(parsed(text))
    assert (new.graph.node[0].domain, new.graph.node[0].op_type) == (ax.DOMAIN, "SigmoidBackward")
    assert report.expanded == []
    left = ax.convert(parsed(text), exclude="SigmoidBackward", portable=True).portable
    assert left is not None
    assert "kernel SigmoidBackward" in left.remaining[0].reason


def test_restoring_writes_the_functions_out() -> None:
    model, _ = converted(parsed(TWO_RELUS))
    plain = ax.restore(model)
    assert {node.domain for node in plain.graph.node} == {""}
    assert len(plain.functions) == 0
    assert PORTABLE_DOMAIN not in [entry.domain for entry in plain.opset_import]
    feeds = {"dy": np.array([1, 2, 3], np.float32), "x": np.array([1, -1, 2], np.float32)}
    assert_close(run_stock(plain, feeds), run_stock(model, feeds), 0, 0)


def test_the_report_names_what_a_caller_needs() -> None:
    conversion = ax.convert(parsed(ACCUMULATOR), portable=True)
    assert conversion.to_dict()["portable"] == {
        "expanded": [
            {
                "node": "add",
                "op_type": "com.microsoft::InPlaceAccumulatorV2",
                "scope": "main",
                "function": f"{PORTABLE_DOMAIN}::InPlaceAccumulatorV2",
            }
        ],
        "remaining": [],
        "updates": [{"node": "add", "value": "buffer", "output": "buffer.updated"}],
    }
    assert "buffer.updated is the new value of buffer" in str(conversion)
    assert "portable" not in ax.convert(parsed(ACCUMULATOR)).to_dict()


def test_every_definition_says_which_results_have_the_type_of_an_input() -> None:
    for operator in load_portable().operators.values():
        for output, source in operator.like.items():
            assert output in operator.outputs
            assert source in operator.inputs
        if operator.in_place:
            assert set(operator.in_place.values()) <= set(operator.outputs)
