from __future__ import annotations

import numpy as np
import onnx
import pytest
from float_types import FLOATS
from onnx import TensorProto, helper, numpy_helper
from searching import main_graph, only, reasons, results

GRADIENT = "y = Sigmoid(x) s = Sub(c, y) m = Mul(s, y) r = Mul(g, m)"
HIDDEN = {
    "Identity": "a = Identity(one) c = Identity(a)",
    "Cast of an integer": "i = Constant<value_int: int = 1>() c = Cast<to: int = 1>(i)",
    "CastLike": "i = Constant<value_int: int = 1>() c = CastLike(i, x)",
    "ConstantOfShape of a shape": "h = Shape(x) c = ConstantOfShape<value: tensor = float[1] {1}>(h)",
    "ConstantOfShape of ones": "h = Constant<value_ints: ints = [1, 1]>() "
    "c = ConstantOfShape<value: tensor = float[1] {1}>(h)",
    "Expand to the shape of the activation": "h = Shape(y0) c = Expand(one, h)",
    "Expand to the shape of the gradient": "h = Shape(g) c = Expand(one, h)",
    "value_float": "c = Constant<value_float: float = 1.0>()",
    "value_floats": "c = Constant<value_floats: floats = [1.0]>()",
    "value": "c = Constant<value: tensor = float[1,1] {1}>()",
    "Reshape": "h = Constant<value_ints: ints = [1, 1]>() c = Reshape(one, h)",
    "Unsqueeze": "h = Constant<value_ints: ints = [0]>() c = Unsqueeze(one, h)",
    "Flatten": "h = Constant<value_floats: floats = [1.0]>() c = Flatten(h)",
    "Transpose": "h = Constant<value: tensor = float[4,1] {1, 1, 1, 1}>() c = Transpose(h)",
    "Squeeze of an axis": "h = Constant<value_ints: ints = [0]>() e = Unsqueeze(one, h) c = Squeeze(e, h)",
    "Squeeze": "h = Constant<value_ints: ints = [1]>() e = Reshape(one, h) c = Squeeze(e)",
    "arithmetic": "t = Add(one, one) c = Sub(t, one)",
    "a product with zero": "z = Sub(one, one) n = Neg(one) t = Mul(n, z) c = Sub(one, t)",
    "a chain": "h = Shape(x) "
    "d = Cast<to: int = 11>(one) e = Cast<to: int = 1>(d) f = Identity(e) c = Expand(f, h)",
}


@pytest.mark.parametrize("way", HIDDEN)
def test_a_constant_is_seen_through_what_hides_it(way):
    assert results(main_graph("y0 = Sigmoid(x) " + HIDDEN[way] + " " + GRADIENT)) == ["r"]


@pytest.mark.parametrize(
    "nodes",
    [
        "a = Identity(x) c = Identity(a)",
        "i = Constant<value_int: int = 0>() c = Cast<to: int = 1>(i)",
        "h = Shape(x) c = ConstantOfShape<value: tensor = float[1] {2}>(h)",
        "h = Shape(x) c = ConstantOfShape(h)",
        "c = Constant<value: tensor = float[4] {1, 1, 1, 2}>()",
        "h = Shape(x) e = Constant<value_float: float = 0.99>() c = Expand(e, h)",
        "z = Sub(one, one) t = Mul(x, z) c = Add(t, one)",
        "k = Constant<value_float: float = 1.4>() i = Cast<to: int = 7>(k) "
        "z = Add(i, i) c = Cast<to: int = 1>(z)",
    ],
)
def test_another_number_behind_the_same_operators_is_not_taken_for_one(nodes):
    assert results(main_graph(nodes + " " + GRADIENT)) == []


def model_with(tensor, kind=TensorProto.FLOAT, sparse=False, ir_version=8, is_input=False, shape=("N", 4)):
    nodes = [
        helper.make_node("Sigmoid", ["x"], ["y"]),
        helper.make_node("Sub", ["c", "y"], ["s"]),
        helper.make_node("Mul", ["s", "y"], ["m"]),
        helper.make_node("Mul", ["g", "m"], ["r"]),
    ]
    inputs = [helper.make_tensor_value_info(name, kind, shape) for name in ("g", "x")]
    if is_input:
        inputs.append(helper.make_tensor_value_info("c", kind, tensor.dims))
    graph = helper.make_graph(nodes, "main", inputs, [helper.make_tensor_value_info("r", kind, shape)])
    if sparse:
        graph.sparse_initializer.append(tensor)
    else:
        graph.initializer.append(tensor)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=ir_version)


def stored(kind, number, encoding):
    bits = np.array([number], dtype=FLOATS[kind])
    tensor = TensorProto(name="c", data_type=kind)
    if encoding == "raw":
        tensor.raw_data = bits.tobytes()
    elif encoding == "field" and kind == TensorProto.FLOAT:
        tensor.float_data.append(number)
    elif encoding == "field" and kind == TensorProto.DOUBLE:
        tensor.double_data.append(number)
    elif encoding == "field":
        tensor.int32_data.append(int(bits.view(np.uint16 if bits.itemsize == 2 else np.uint8)[0]))
    else:
        tensor.float_data.append(number)
    return tensor


@pytest.mark.parametrize("encoding", ["raw", "field"])
@pytest.mark.parametrize("kind", FLOATS, ids=TensorProto.DataType.Name)
def test_one_is_recognised_in_every_storage_encoding(kind, encoding):
    assert results(model_with(stored(kind, 1.0, encoding), kind)) == ["r"]
    assert results(model_with(stored(kind, 0.5, encoding), kind)) == []


@pytest.mark.parametrize("kind", [TensorProto.FLOAT16, TensorProto.BFLOAT16], ids=TensorProto.DataType.Name)
def test_one_is_recognised_when_a_half_type_is_stored_as_plain_numbers(kind):
    assert results(model_with(stored(kind, 1.0, "numbers"), kind)) == ["r"]
    assert results(model_with(stored(kind, 2.0, "numbers"), kind)) == []


# TensorProto.FLOAT8E8M0, which onnx has since 1.19.
POWERS = 24


@pytest.mark.parametrize("field", ["raw_data", "int32_data", "float_data"])
@pytest.mark.parametrize(("number", "found"), [(1.0, ["r"]), (2.0, []), (0.5, []), (np.nan, [])])
def test_a_power_of_two_is_recognised_in_every_storage_encoding(field, number, found):
    exponent = 255 if np.isnan(number) else 127 + int(np.log2(number))
    value = {"raw_data": bytes([exponent]), "int32_data": [exponent], "float_data": [number]}[field]
    model = main_graph("c = Cast<to: int = 1>(k) " + GRADIENT)
    model.graph.initializer.append(TensorProto(name="k", data_type=POWERS, **{field: value}))
    assert results(model) == found


@pytest.mark.parametrize(
    ("number", "kind", "shown"),
    [
        (1.000009, TensorProto.FLOAT, "1.000009"),
        (1.0000001, TensorProto.FLOAT, "1.0000001"),
        (0.99999, TensorProto.FLOAT, "0.99999"),
        (1 + 2**-10, TensorProto.FLOAT16, "1.001"),
        (1 - 2**-11, TensorProto.FLOAT16, "0.9995"),
        (1 + 2**-7, TensorProto.BFLOAT16, "1.00781"),
    ],
)
def test_a_number_next_to_one_is_not_one_and_the_report_says_so(number, kind, shown):
    model = model_with(stored(kind, number, "raw"), kind)
    assert results(model) == []
    assert results(model, relaxed=True) == []
    assert reasons(model) == [("Mul(r)", f"constant is {shown}, not 1")]


@pytest.mark.parametrize("number", [np.nan, np.inf, -np.inf, 0.0])
def test_what_is_far_from_one_gives_no_report(number):
    model = model_with(stored(TensorProto.FLOAT, number, "raw"))
    assert results(model) == []
    assert reasons(model) == []


def sparse_ones(count, size, value=1.0):
    values = numpy_helper.from_array(np.full(count, value, dtype=np.float32), "c")
    indices = numpy_helper.from_array(np.arange(count, dtype=np.int64), "c_indices")
    return helper.make_sparse_tensor(values, indices, [size])


def test_sparse_constants():
    assert results(model_with(sparse_ones(4, 4), sparse=True)) == ["r"]
    assert results(model_with(sparse_ones(3, 4), sparse=True)) == []
    assert results(model_with(sparse_ones(4, 4, 2.0), sparse=True)) == []
    model = main_graph("c = Identity(one) " + GRADIENT)
    attribute = helper.make_attribute("sparse_value", sparse_ones(4, 4))
    model.graph.node[0].CopyFrom(onnx.NodeProto(op_type="Constant", output=["c"], attribute=[attribute]))
    assert results(model) == ["r"]


def test_an_initializer_that_a_caller_can_override_is_no_constant():
    tensor = stored(TensorProto.FLOAT, 1.0, "raw")
    model = model_with(tensor, is_input=True)
    assert results(model) == []
    assert results(model, relaxed=True) == []
    assert reasons(model) == [("Mul(r)", "`c` can be overridden by a caller")]


def test_before_ir_version_4_every_initializer_is_an_input_and_a_constant():
    assert results(model_with(stored(TensorProto.FLOAT, 1.0, "raw"), is_input=True, ir_version=3)) == ["r"]


def test_an_initializer_that_training_changes_is_no_constant():
    model = model_with(stored(TensorProto.FLOAT, 1.0, "raw"))
    training = model.training_info.add()
    training.algorithm.name = "step"
    entry = training.update_binding.add()
    entry.key, entry.value = "c", "c_new"
    assert results(model) == []
    assert reasons(model) == [("Mul(r)", "`c` is changed by training")]


def test_a_function_attribute_is_no_constant():
    function = onnx.parser.parse_function(
        '<domain: "user", opset_import: ["": 18]> f <k> (g, x) => (r) '
        "{ c = Constant<value_float: float = @k>() " + GRADIENT + " }"
    )
    model = main_graph("r = user.f<k: float = 1.0>(g, x)")
    model.functions.append(function)
    assert results(model) == []
    fixed = onnx.ModelProto()
    fixed.CopyFrom(model)
    body = main_graph("c = Constant<value_float: float = 1.0>() " + GRADIENT).graph.node
    del fixed.functions[0].node[:]
    fixed.functions[0].node.extend(body)
    assert results(fixed) == ["r"]


SHAPES = [
    ((), ("N", 4), True),
    ((1,), ("N", 4), True),
    ((1, 1), ("N", 4), True),
    ((4,), ("N", 4), True),
    ((1, 4), ("N", 4), True),
    ((1, 1, 1), ("N", 4), False),
    ((1,), (), False),
    ((), (), True),
    ((3, 4), ("N", 4), False),
    ((3, 4), (3, 4), True),
    ((1, 1, 1), (2, 3, 4), True),
    ((4,), ("N", "M"), False),
]


@pytest.mark.parametrize(("shape", "operand", "irrelevant"), SHAPES)
def test_a_constant_may_not_have_made_the_result_larger(shape, operand, irrelevant):
    tensor = numpy_helper.from_array(np.ones(shape, dtype=np.float32), "c")
    model = model_with(tensor, shape=operand)
    if irrelevant:
        assert results(model) == ["r"]
        assert reasons(model) == []
    else:
        assert results(model) == []
        assert reasons(model) == [
            ("Mul(r)", f"constant `c` of shape {list(shape)} may raise the rank or size of the result")
        ]


def test_a_constant_of_rank_one_needs_an_operand_of_known_rank():
    nodes = "y = user.Unknown(x) s = Sub(c, y) m = Mul(s, y) r = Mul(d, m)"
    unknown = main_graph("d = user.Other(g) " + nodes, constants=", float[1] c = {1}")
    assert results(unknown) == []
    assert "may raise the rank" in reasons(unknown)[0][1]
    known = main_graph("d = Relu(g) " + nodes, constants=", float[1] c = {1}")
    assert results(known) == ["r"]
    assert only(known).operands == ("d", "y")


def test_a_constant_in_an_external_file_is_reported():
    tensor = TensorProto(name="c", data_type=TensorProto.FLOAT, data_location=TensorProto.EXTERNAL)
    tensor.external_data.add(key="location", value="weights.bin")
    model = model_with(tensor)
    assert results(model) == []
    assert reasons(model) == [
        ("Mul(r)", "`c` lies in an external file, which is not read for its value"),
    ]


def test_the_shape_of_another_value_is_not_trusted_for_having_the_same_symbols():
    nodes = "h = Shape(w) c = Expand(one, h) s = Sub(c, y) m = Mul(s, y) r = Mul(g, m)"
    head = "{0} g, {0} y, {0} w"
    symbolic = main_graph(nodes, inputs=head.format("float[N]"), outputs="float[K] r")
    assert results(symbolic) == []
    assert reasons(symbolic) == [("Mul(r)", "the shape of `w` may make the result larger")]
    assert results(main_graph(nodes, inputs=head.format("float[3]"), outputs="float[3] r")) == ["r"]


def scaled(kind, k, m):
    nodes = "y = Sigmoid(x) c = Sub(one, y) a = Mul(y, k) b = Mul(c, g) d = Mul(b, m) r = Mul(a, d)"
    head = f"main ({kind}[4] g, {kind}[4] x) => ({kind}[4] r)"
    model = onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["": 18]> {head} {{ {nodes} }}')
    element_type = TensorProto.DataType.Value(kind.upper())
    for name, number in {"one": 1, "k": k, "m": m}.items():
        model.graph.initializer.append(helper.make_tensor(name, element_type, [], [float(number)]))
    return model


@pytest.mark.parametrize(
    ("kind", "k", "m"),
    [("float", "1e20", "1e20"), ("float", "1e-20", "1e-25"), ("float", "1e25", "1e-25")],
)
def test_constant_factors_must_stay_in_the_range_of_the_element_type(kind, k, m):
    assert results(scaled(kind, k, m)) == []
    assert ("Mul(r)", "its constant factors may overflow or underflow") in reasons(scaled(kind, k, m))
    assert results(scaled("double", k, m)) == ["r"]


def test_sixteen_bits_are_too_few_to_split_off_a_factor():
    assert results(scaled("float", "16", "4")) == ["r"]
    reason = "a factor beside the gradient may overflow or underflow in a type of 16 or fewer bits"
    for kind in ("float16", "bfloat16"):
        assert results(scaled(kind, "16", "4")) == []
        assert reasons(scaled(kind, "16", "4")) == [("Mul(r)", reason)]
        assert results(scaled(kind, "4", "0.25")) == ["r"]
