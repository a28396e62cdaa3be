"""ONNX Runtime inlines the kernel's function into a graph and the bodies in it, and optimises the result."""

from __future__ import annotations

import numpy as np
import onnx
import onnxruntime as ort
import pytest

from onnx_ascend_ext import DOMAIN, catalog
from onnx_ascend_ext.rewriting.function_body import fit_function

from .checking import check, kernel_nodes, parse

MAIN = "a = Sub(one, y) b = Mul(a, y) o = Mul(b, g)"
PLAIN = "a = Sub(one, y) b = Mul(g, a) o = Mul(b, y)"
BODY = "p = Sub(one, z) q = Mul(p, z) t = Mul(q, g)"
FUNCTION = (
    '<domain: "my", opset_import: ["": 18]> F (g, y) => (o) '
    "{ one = Constant<value_float = 1.0>() a = Sub(one, y) b = Mul(a, y) o = Mul(b, g) }"
)
OTHERWISE = "else_branch = e () => (float[N] e0) { e0 = Neg(g) }"
G, Y, Z = 0.5, 0.3, 0.8
GRADIENT = G * (1 - Z) * Z


def branch(nodes: str) -> str:
    return f"r = If(c) <then_branch = t () => (float[N] w) {{ {nodes} }}, {OTHERWISE}>"


def model_of(nodes: str, *, opset: int = 18, dtype: str = "float", functions: str = "") -> onnx.ModelProto:
    return parse(
        f'<ir_version: 8, opset_import: ["": {opset}, "my": 1]> '
        f"main (float[N] g, float[N] y, float[N] z, bool c) => (float[N] o, float[N] r) <float one = {{1}}> "
        f"{{ {nodes} }} {functions}".replace("float[", f"{dtype}[").replace("float one", f"{dtype} one")
    )


def optimised(model: onnx.ModelProto, dtype: type = np.float32) -> list[np.ndarray]:
    session = ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    feeds = {name: np.full(2, value, dtype) for name, value in (("g", G), ("y", Y), ("z", Z))}
    return session.run(None, feeds | {"c": np.array(True)})


def copies(model: onnx.ModelProto) -> list[str]:
    """The operators with which the kernel's function copies an input."""
    (function,) = (f for f in model.functions if f.domain == DOMAIN)
    return [node.op_type for node in function.node if len(node.input) == 1]


@pytest.mark.parametrize(
    ("main", "body", "added"),
    [
        (MAIN, BODY + " w = Add(t, a)", 1 - Y),
        (PLAIN, BODY + " w = Add(t, a)", 1 - Y),
        (PLAIN, BODY + " w = Add(t, b)", G * (1 - Y)),
        (MAIN, BODY + " w = Add(t, b)", Y * (1 - Y)),
        ("d = Sub(one, y) " + MAIN, BODY + " w = Add(t, d)", 1 - Y),
        (MAIN, "t = my.F(g, z) w = Add(t, a)", 1 - Y),
        ("s = Sum(y) " + MAIN, BODY + " w = Add(t, s)", Y),
        ("s = Max(y) " + MAIN, BODY + " w = Add(t, s)", Y),
    ],
)
def test_a_body_with_a_gradient_reads_the_outer_values_that_are_part_of_another(main, body, added):
    model = model_of(f"{main} {branch(body)}", functions=FUNCTION if "F(" in body else "")
    conversion = check(model)
    assert len(conversion.matches) == 2
    for result in (optimised(model), optimised(conversion.model)):
        np.testing.assert_allclose(result[0], G * (1 - Y) * Y, rtol=1e-5)
        np.testing.assert_allclose(result[1], GRADIENT + added, rtol=1e-5)


@pytest.mark.parametrize("opset", [7, 11, 13, 15, 18])
@pytest.mark.parametrize(("dtype", "numpy_type"), [("float", np.float32), ("double", np.float64)])
def test_so_it_does_at_every_opset(opset, dtype, numpy_type):
    model = model_of(f"{MAIN} {branch(BODY + ' w = Add(t, a)')}", opset=opset, dtype=dtype)
    conversion = check(model)
    assert len(conversion.matches) == 2
    np.testing.assert_allclose(optimised(conversion.model, numpy_type)[1], GRADIENT + 1 - Y, rtol=1e-5)


def test_so_it_does_two_levels_down():
    inner = branch(BODY + " w = Add(t, a)").replace("e0", "e1").replace("r =", "w2 =")
    model = model_of(f"{MAIN} {branch(inner).replace('float[N] w)', 'float[N] w2)', 1)}")
    conversion = check(model)
    assert len(conversion.matches) == 2
    np.testing.assert_allclose(optimised(conversion.model)[1], GRADIENT + 1 - Y, rtol=1e-5)


@pytest.mark.parametrize(
    ("nodes", "expected"),
    [
        (f"{MAIN} r = Neg(a)", []),
        (f"{MAIN} {branch('w = Neg(a)')}", ["Sum"]),
        (f"{MAIN} s = Sum(y) {branch('w = Neg(s)')}", ["Max"]),
        (f"{MAIN} s = Sum(y, g) {branch('w = Neg(s)')}", ["Sum"]),
    ],
)
def test_a_model_with_bodies_computes_with_a_copy_as_it_has_none_itself(nodes, expected):
    assert copies(check(model_of(nodes)).model) == expected


def test_a_model_with_bodies_that_copies_in_every_way_is_left_alone():
    model = model_of(f"s = Sum(y) u = Max(y) v = Min(y) {MAIN} {branch('w = Sum(s, u, v)')}")
    conversion = check(model)
    assert conversion.matches == []
    (miss,) = conversion.near_misses
    assert miss.reason.startswith("each of Sum, Max, Min has a single input somewhere")


def test_a_model_that_was_converted_without_a_copy_stays_as_it_is():
    model = check(model_of(f"{MAIN} {branch(BODY + ' w = Add(t, a)')}")).model
    del model.functions[:]
    model.functions.append(fit_function(catalog.load()["SigmoidBackward"], 18, [1]).function)
    assert check(model).model == model
    assert len(kernel_nodes(model)) == 2


SCALED = "a = Sub(one, y) b = Mul(a, y) d = Mul(b, g) o = Mul(d, z)"


@pytest.mark.parametrize("name", ["d", "o", "b"])
def test_a_result_of_a_body_that_is_named_like_an_outer_one_hinders_the_outer_graph(name):
    model = model_of(f"{SCALED} {branch('w = Relu(g)')}".replace("w", name))
    optimised(model)
    conversion = check(model)
    assert conversion.matches == []
    assert [miss.reason for miss in conversion.near_misses] == [
        f"a nested graph has another value of the name `{name}`: rename it"
    ]
    optimised(conversion.model)


@pytest.mark.parametrize(
    "nodes",
    [
        "r = If(c) <then_branch = t () => (float[N] w) <float[1] {0} = {{2.0}}> {{ w = Mul({0}, g) }}, {1}>",
        "r = Loop(, c, g) <body = t (int64 i, bool d0, float[N] {0}) => (bool d1, float[N] w) "
        "{{ d1 = Not(d0) w = Add({0}, z) }}>",
    ],
)
@pytest.mark.parametrize("name", ["d", "free"])
def test_other_values_of_a_body_do_not(nodes, name):
    model = model_of(f"{SCALED} {nodes.format(name, OTHERWISE)}")
    conversion = check(model)
    assert [match.result for match in conversion.matches] == ["d"]
    for before, after in zip(optimised(model), optimised(conversion.model), strict=True):
        np.testing.assert_allclose(after, before, rtol=1e-5)
