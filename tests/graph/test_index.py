from __future__ import annotations

import gc

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper, parser

from onnx_ascend_ext.errors import ModelError
from onnx_ascend_ext.graph import (
    Constants,
    ModelIndex,
    ShapeOf,
    Types,
    broadcast,
    node_label,
    opset_versions,
    paused_collection,
)

HEADER = '<ir_version: 8, opset_import: ["": 18, "user": 1]>'
FLOAT, HALF, INT = TensorProto.FLOAT, TensorProto.FLOAT16, TensorProto.INT64


def index_of(text):
    return ModelIndex(parser.parse_model(HEADER + text))


def with_bodies():
    model = parser.parse_model(
        HEADER + "main (bool b, float[N] x) => (float[N] out) <float w = {1}> "
        "{ a = Relu(x) c = Neg(a) out = Add(c, w) }"
    )
    inner = helper.make_graph(
        [helper.make_node("Mul", ["a", "w"], ["p"]), helper.make_node("Add", ["p", "k"], ["q"])],
        "inner",
        [],
        [helper.make_tensor_value_info("q", FLOAT, None), helper.make_tensor_value_info("x", FLOAT, None)],
    )
    middle = helper.make_graph(
        [helper.make_node("Identity", ["c"], ["k"])],
        "middle",
        [],
        [helper.make_tensor_value_info("k", FLOAT, None)],
    )
    deep = helper.make_node("If", ["b"], ["d", "e"], then_branch=inner, else_branch=inner)
    middle.node.append(deep)
    model.graph.node.append(helper.make_node("If", ["b"], ["z"], name="choose", then_branch=middle))
    return ModelIndex(model)


def test_the_lists_run_parallel_to_the_nodes():
    main = index_of("main (float[N] x) => (float[N] z) { y = Relu(x) z = user.F(y, , x) }").main
    assert main.op_types == ["Relu", "F"]
    assert main.domains == ["", "user"]
    assert [list(names) for names in main.inputs] == [["x"], ["y", "", "x"]]
    assert main.producer == {"y": 0, "z": 1}
    assert (main.input_names, main.output_names) == (["x"], ["z"])
    assert [node_label(node) for node in main.nodes] == ["Relu(y)", "F(z)"]


def test_bodies_lie_inside_their_scopes():
    index = with_bodies()
    assert [scope.path for scope in index.scopes] == [
        "main",
        "main/choose.then_branch",
        "main/choose.then_branch/If(d).else_branch",
        "main/choose.then_branch/If(d).then_branch",
    ]
    main, middle, inner, _ = index.scopes
    assert [scope.path for scope in inner.enclosing()] == [inner.path, middle.path, "main"]
    assert (main.owner, middle.owner, inner.owner) == (-1, 3, 1)


def test_names_resolve_through_outer_scopes():
    main, middle, inner, _ = with_bodies().scopes
    assert inner.find("a") is main
    assert inner.find("w") is main
    assert inner.find("k") is middle
    assert inner.find("p") is inner
    assert main.find("k") is None
    assert inner.find("nowhere") is None


def test_captures_are_what_bodies_need():
    main, middle, inner, _ = with_bodies().scopes
    assert inner.captures == {"a", "w", "k", "x"}
    assert middle.captures == {"a", "b", "c", "w", "x"}
    assert main.captures == frozenset()


def test_the_default_domain_has_two_names_and_its_highest_import_counts():
    imports = [
        helper.make_opsetid("", 17),
        helper.make_opsetid("ai.onnx", 18),
        helper.make_opsetid("user", 2),
    ]
    assert opset_versions(imports) == {"": 18, "user": 2}
    main = index_of("main (float[N] x) => (float[N] y) { y = Relu(x) }").main
    assert main.opset("ai.onnx") == main.opset("") == 18
    assert main.opset("other") is None


def test_functions_are_scopes_with_their_own_imports():
    model = parser.parse_model(HEADER + "main (float[N] x) => (float[N] y) { y = user.F(x) }")
    model.functions.append(
        parser.parse_function('<domain: "user", opset_import: ["": 15]> F (a) => (b) { b = Relu(a) }')
    )
    index = ModelIndex(model)
    function = index.functions["user", "F", ""]
    assert function.path == "function user::F"
    assert function.opset("") == 15
    assert (function.input_names, function.output_names) == (["a"], ["b"])
    assert index.main.called_function(0, index.functions) is function
    assert function.find("x") is None


def test_a_training_graph_sees_inputs_and_initializers_of_the_main_graph_only():
    model = parser.parse_model(HEADER + "main (float[N] x) => (float[N] y) <float w = {1}> { y = Mul(x, w) }")
    training = model.training_info.add()
    training.algorithm.CopyFrom(parser.parse_graph("step () => (float[N] t) { t = Add(x, w) }"))
    entry = training.update_binding.add()
    entry.key, entry.value = "w", "t"
    index = ModelIndex(model)
    algorithm = index.scopes[-1]
    assert algorithm.path == "training_info[0].algorithm"
    assert algorithm.find("w") is index.main
    assert algorithm.find("x") is index.main
    assert algorithm.find("y") is None
    assert index.variable == {"w"}


def test_nodes_are_put_in_order_where_they_are_not():
    sorted_ = index_of("main (float[N] x) => (float[N] c) { a = Relu(x) b = Relu(a) c = Relu(b) }").main
    assert list(sorted_.order()) == [0, 1, 2]
    shuffled = index_of("main (float[N] x) => (float[N] c) { c = Relu(b) a = Relu(x) b = Relu(a) }").main
    assert list(shuffled.order()) == [1, 2, 0]
    assert shuffled.position(0) == 2


def test_a_node_comes_after_what_its_bodies_capture():
    index = with_bodies()
    nodes = list(index.model.graph.node)
    moved = onnx.ModelProto()
    moved.CopyFrom(index.model)
    del moved.graph.node[:]
    moved.graph.node.extend([nodes[3], *nodes[:3]])
    main = ModelIndex(moved).main
    assert list(main.order()).index(0) > list(main.order()).index(2)


def test_malformed_graphs_are_errors():
    with pytest.raises(ModelError, match="two nodes compute the value 'a'"):
        index_of("main (float[N] x) => (float[N] a) { a = Relu(x) a = Neg(x) }")
    cycle = index_of("main (float[N] x) => (float[N] a) { a = Add(x, b) b = Relu(a) }").main
    with pytest.raises(ModelError, match="'Add\\(a\\)' depends on itself"):
        cycle.order()


def test_an_output_that_is_left_out_is_no_value():
    main = index_of("main (float[N] x) => (float[N] a) { a, = Dropout(x) b, = Dropout(a) }").main
    assert "" not in main.producer


def test_the_collector_is_as_it_was_afterwards():
    with paused_collection():
        assert not gc.isenabled()
        with paused_collection():
            pass
        assert not gc.isenabled()
    assert gc.isenabled()


def constant(text, name="c", ir_version=8):
    model = parser.parse_model(HEADER + text)
    model.ir_version = ir_version
    index = ModelIndex(model)
    return Constants(index).uniform(index.main, name), index


def graph(nodes, constants=""):
    return f"main (float[N,4] x) => (float[N,4] z) {constants} {{ {nodes} z = Relu(x) }}"


def test_a_constant_knows_number_type_and_shape():
    found, _ = constant(graph("c = Constant<value: tensor = float[2,1] {3, 3}>()"))
    assert (found.value, found.element_type, found.extent, found.variable) == (3, FLOAT, {(2, 1)}, "")
    found, index = constant(graph("s = Shape(x) c = ConstantOfShape<value: tensor = int64[1] {7}>(s)"))
    assert (found.value, found.element_type) == (7, INT)
    assert found.extent == {ShapeOf(index.main, "x")}
    found, index = constant(graph("k = Constant<value_float: float = 2.0>() s = Shape(x) c = Expand(k, s)"))
    assert (found.value, found.extent) == (2, {ShapeOf(index.main, "x")})


@pytest.mark.parametrize(
    "nodes",
    [
        "c = Constant<value: tensor = float[2] {3, 4}>()",
        'c = Constant<value_string: string = "one">()',
        "c = Relu(x)",
        "c = Identity(x)",
        "c = Constant<value: tensor = float[0] {}>()",
        "c, d = Split<num_outputs: int = 2>(x)",
    ],
)
def test_what_has_no_single_number_is_no_uniform_constant(nodes):
    assert constant(graph(nodes))[0] is None


def test_a_part_of_a_shape_is_not_the_shape():
    found, index = constant(graph("s = Shape<start: int = 1>(x) c = ConstantOfShape(s)"))
    assert found.extent == {ShapeOf(index.main, "c")}


def test_external_and_huge_tensors_are_not_read():
    model = parser.parse_model(HEADER + graph("z0 = Relu(x)"))
    for name, dims in (("c", []), ("w", [2])):
        external = model.graph.initializer.add(name=name, data_type=FLOAT, dims=dims)
        external.data_location = TensorProto.EXTERNAL
        external.external_data.add(key="location", value="nowhere.bin")
    index = ModelIndex(model)
    constants = Constants(index)
    assert constants.uniform(index.main, "c").variable.startswith("`c` lies in an external file")
    assert constants.uniform(index.main, "w") is None


def test_integers_of_axes_and_shapes():
    model = parser.parse_model(HEADER + graph("a = Constant<value_ints: ints = [1, -1]>() b = Identity(a)"))
    model.graph.initializer.append(numpy_helper.from_array(np.array([3, 4]), "s"))
    index = ModelIndex(model)
    constants = Constants(index)
    assert constants.integers(index.main, "b") == (1, -1)
    assert constants.integers(index.main, "s") == (3, 4)
    assert constants.integers(index.main, "x") is None


def types(nodes, inputs="float[N,4] x, float16[4] h"):
    model = parser.parse_model(HEADER + f"main ({inputs}) => (float z) {{ {nodes} z = Relu(x) }}")
    index = ModelIndex(model)
    return Types(index, Constants(index)), index.main


@pytest.mark.parametrize(
    ("nodes", "kind", "shape"),
    [
        ("v = Sigmoid(x)", FLOAT, ("N", 4)),
        ("v = Cast<to: int = 10>(x)", HALF, ("N", 4)),
        ("k = Cast<to: int = 1>(h) v = Add(x, k)", FLOAT, ("N", 4)),
        ("v = CastLike(x, h)", HALF, ("N", 4)),
        ("v = Shape(x)", INT, None),
        ("v = Transpose(x)", FLOAT, (4, "N")),
        ("a = Constant<value_ints: ints = [0]>() v = Unsqueeze(x, a)", FLOAT, (1, "N", 4)),
        ("a = Constant<value_ints: ints = [0]>() u = Unsqueeze(x, a) v = Squeeze(u, a)", FLOAT, ("N", 4)),
        ("s = Constant<value_ints: ints = [2, -1]>() v = Reshape(x, s)", FLOAT, (2, None)),
        ("s = Constant<value_ints: ints = [0, -1]>() v = Reshape(x, s)", FLOAT, ("N", None)),
        ("v = Flatten(x)", FLOAT, ("N", 4)),
        ("v = Flatten<axis: int = 0>(x)", FLOAT, (1, None)),
        ("v = Squeeze(x)", FLOAT, None),
        ("s = Constant<value_ints: ints = [3, 1, 4]>() v = Expand(x, s)", FLOAT, (3, "N", 4)),
        ("w = Transpose(x) v = MatMul(x, w)", FLOAT, ("N", "N")),
        ("v = Gemm<transA: int = 1>(x, x)", FLOAT, (4, 4)),
        ("v = ReduceSum(x)", FLOAT, (None, None)),
        ("v = Constant<value: tensor = float[2,3] {0,0,0,0,0,1}>()", FLOAT, (2, 3)),
        ("v = user.F(x)", 0, None),
        ("u = user.F(x) v = Add(u, x)", FLOAT, None),
        ("u = user.F(x) v = Relu(u)", 0, None),
    ],
)
def test_element_types_and_shapes_follow_from_the_operators(nodes, kind, shape):
    known, main = types(nodes)
    assert known.element_type(main, "v") == kind
    assert known.shape(main, "v") == shape


SIX = "c = ConstantOfShape<value: tensor = float[1] {1}>(d) "


@pytest.mark.parametrize(
    ("view", "shape"),
    [
        ("v = Flatten(c)", (2, 3)),
        ("v = Flatten<axis: int = -1>(c)", (2, 3)),
        ("v = Flatten<axis: int = 0>(c)", (1, 6)),
        ("v = Squeeze(c)", (2, 3)),
        ("a = Constant<value_ints: ints = [-2]>() v = Squeeze(c, a)", (2, 3)),
        ("a = Constant<value_ints: ints = [0, -1]>() v = Unsqueeze(c, a)", (1, 2, 1, 3, 1)),
        ("v = Transpose<perm: ints = [2, 0, 1]>(c)", (3, 2, 1)),
        ("a = Constant<value_ints: ints = [0, -1]>() v = Reshape(c, a)", (2, 3)),
        ("a = Constant<value_ints: ints = [-1]>() v = Reshape(c, a)", (6,)),
    ],
)
def test_a_view_of_a_constant_is_a_constant_of_known_shape(view, shape):
    model = parser.parse_model(HEADER + graph("d = Constant<value_ints: ints = [2, 1, 3]>() " + SIX + view))
    index = ModelIndex(model)
    found = Constants(index).uniform(index.main, "v")
    assert (found.value, found.extent) == (1, frozenset({shape}))
    assert Types(index, Constants(index)).shape(index.main, "v") == shape


@pytest.mark.parametrize(
    "view",
    [
        "v = Squeeze(c, x)",
        "v = Reshape(c, x)",
        "a = Constant<value_ints: ints = [0, 1]>() v = Transpose<perm: ints = [0, 1]>(c)",
    ],
)
def test_a_view_of_a_constant_by_parameters_that_are_not_known_has_a_shape_of_its_own(view):
    model = parser.parse_model(HEADER + graph("d = Constant<value_ints: ints = [2, 1, 3]>() " + SIX + view))
    index = ModelIndex(model)
    assert Constants(index).uniform(index.main, "v").extent == frozenset({ShapeOf(index.main, "v")})


def test_a_declared_type_counts_where_the_operators_say_nothing():
    model = parser.parse_model(
        HEADER + "main (float[N,4] x) => (float z) { v = user.F(x) w = Relu(x) z = Relu(v) }"
    )
    for name in "vw":
        model.graph.value_info.append(helper.make_tensor_value_info(name, HALF, [7]))
    index = ModelIndex(model)
    known = Types(index, Constants(index))
    assert (known.element_type(index.main, "v"), known.shape(index.main, "v")) == (HALF, (7,))
    # What follows from the operators is preferred: value_info may be stale.
    assert (known.element_type(index.main, "w"), known.shape(index.main, "w")) == (FLOAT, ("N", 4))


@pytest.mark.parametrize(
    ("shapes", "result"),
    [
        ([(2, 1), (3,)], (2, 3)),
        ([("N", 4), (1,)], ("N", 4)),
        ([("N",), ("M",)], (None,)),
        ([("N",), (5,)], (5,)),
        ([(), ()], ()),
        ([None, (2,)], None),
    ],
)
def test_broadcasting_of_known_shapes(shapes, result):
    assert broadcast(shapes) == result
