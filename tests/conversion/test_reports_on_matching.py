"""Faults that users of other rewriters reported about what they took for a pattern: what must not happen.

The numbers are rows of the project's list of such reports; the pattern is `dy * (y * (1 - y))`.
"""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from onnx import TensorProto, numpy_helper

from onnx_ascend_ext import convert

from .checking import check, check_same_values, op_types
from .patterns import IN, PATTERN, graph


class TestA15OverridableConstants:
    def test_an_initializer_that_is_an_input_is_no_constant(self):
        model = graph(inputs=f"{IN}, float one")
        conversion = check(model)
        assert conversion.matches == []
        assert any("overrid" in miss.reason for miss in conversion.near_misses)
        rng = np.random.default_rng(3)
        feeds = {name: rng.uniform(size=(3, 4)).astype(np.float32) for name in ("dy", "y")}
        check_same_values(model, conversion, feeds={**feeds, "one": np.array(2, np.float32)})


class TestA16EncodingsOfOne:
    @pytest.mark.parametrize("encoding", ["raw_data", "int32_data", "float_data"])
    @pytest.mark.parametrize("dtype", [TensorProto.FLOAT16, TensorProto.BFLOAT16])
    def test_one_is_seen_in_each_encoding(self, encoding, dtype):
        name = {TensorProto.FLOAT16: "float16", TensorProto.BFLOAT16: "bfloat16"}[dtype]
        model = graph(
            inputs=f"{name}[N,4] dy, {name}[N,4] y", outputs=f"{name}[N,4] dx", values="float one = {1.0}"
        )
        one = model.graph.initializer[0]
        one.Clear()
        one.name, one.data_type = "one", dtype
        bits = np.array(1, ml_dtypes.bfloat16 if dtype == TensorProto.BFLOAT16 else np.float16).view(
            np.uint16
        )
        if encoding == "raw_data":
            one.raw_data = bits.tobytes()
        elif encoding == "int32_data":
            one.int32_data.append(int(bits))
        else:
            one.float_data.append(1.0)
        conversion = convert(model)
        assert len(conversion.matches) == 1

    def test_weights_of_other_types_keep_their_bits(self):
        model = graph(
            f"{PATTERN} w2 = Identity(w)",
            outputs="float[N,4] dx, int4[3] w2",
            head='ir_version: 10, opset_import: ["" : 21]',
        )
        weight = model.graph.initializer.add(
            name="w", data_type=TensorProto.INT4, dims=[3], raw_data=b"\x2f\x07"
        )
        model.graph.initializer.add(
            name="f8", data_type=TensorProto.FLOAT8E4M3FN, dims=[2], raw_data=b"\x38\xb8"
        )
        conversion = check(model)
        assert len(conversion.matches) == 1
        assert conversion.model.graph.initializer[0] == weight
        assert [t.name for t in conversion.model.graph.initializer] == ["w", "f8"]


class TestA22HiddenConstants:
    @pytest.mark.parametrize(
        "one",
        [
            "one = Identity(unit)",
            "one = Identity(i) i = Identity(unit)",
            "k = Constant<value: tensor = int64 {1}>() one = Cast<to = 1>(k)",
            "k = Constant<value: tensor = int64 {1}>() one = CastLike(k, y)",
            "sh = Shape(y) one = ConstantOfShape<value: tensor = float[1] {1.0}>(sh)",
            "sh = Shape(y) one = Expand(unit, sh)",
            "one = Constant<value_float: float = 1.0>()",
            "one = Constant<value_floats: floats = [1.0]>()",
            "one = Constant<value: tensor = float[1] {1.0}>()",
            "one = Constant<value: tensor = float[1,4] {1.0, 1.0, 1.0, 1.0}>()",
        ],
    )
    def test_one_is_seen(self, one):
        if one.startswith("one = Identity(i)"):
            one = "i = Identity(unit) one = Identity(i)"
        model = graph(f"{one} {PATTERN}", values="float unit = {1.0}")
        conversion = check(model)
        assert len(conversion.matches) == 1
        assert op_types(conversion.model) == ["SigmoidBackward"]
        check_same_values(model, conversion)


class TestA24NearlyOne:
    @pytest.mark.parametrize("value", [1.000009, 0.99999, 1.0000001, float(np.nextafter(np.float32(1), 0))])
    def test_it_is_not_one(self, value):
        model = graph(values="")
        model.graph.initializer.append(numpy_helper.from_array(np.float32(value), "one"))
        conversion = check(model)
        assert conversion.matches == []
        assert len(conversion.near_misses) == 1
        check_same_values(model, conversion)

    @pytest.mark.parametrize("value", [np.float16(1.001), np.float16(0.9995), np.float16("nan")])
    def test_nor_in_float16(self, value):
        model = graph(inputs="float16[N,4] dy, float16[N,4] y", outputs="float16[N,4] dx", values="")
        model.graph.initializer.append(numpy_helper.from_array(np.asarray(value), "one"))
        assert check(model).matches == []


class TestA25OperandOrder:
    @pytest.mark.parametrize(
        "body",
        [
            "a = Sub(one, y) b = Mul(a, y) dx = Mul(b, dy)",
            "a = Sub(one, y) b = Mul(y, a) dx = Mul(dy, b)",
            "a = Sub(one, y) b = Mul(dy, y) dx = Mul(b, a)",
            "a = Sub(one, y) b = Mul(dy, a) dx = Mul(b, y)",
            "q = Mul(y, y) a = Sub(y, q) dx = Mul(a, dy)",
            "n = Neg(y) a = Add(one, n) b = Mul(a, y) dx = Mul(b, dy)",
        ],
    )
    def test_every_order_is_found(self, body):
        model = graph(body)
        conversion = check(model)
        assert conversion.matches[0].inputs == {"grad_output": "dy", "output": "y"}
        check_same_values(model, conversion)

    @pytest.mark.parametrize(
        "body",
        [
            "a = Sub(y, one) b = Mul(a, y) dx = Mul(b, dy)",
            "a = Sub(one, dy) dx = Mul(a, y)",
        ],
    )
    def test_what_is_not_the_gradient_keeps_its_value(self, body):
        model = graph(body)
        conversion = check(model)
        check_same_values(model, conversion)

    def test_a_difference_with_another_value_is_no_match(self):
        assert check(graph("a = Sub(one, dy) dx = Mul(a, y)")).matches == []


class TestA26Casts:
    def test_a_narrowing_cast_is_not_crossed(self):
        model = graph(
            "w = Cast<to = 10>(y) f = Cast<to = 1>(w) d = Sub(one, f) s = Mul(d, y) dx = Mul(s, dy)"
        )
        conversion = check(model)
        assert conversion.matches == []
        check_same_values(model, conversion)

    def test_casts_there_and_back_keep_the_value(self):
        model = graph(
            "w = Cast<to = 1>(y) d = Sub(one, w) h = Cast<to = 10>(d) s = Mul(h, y) dx = Mul(s, dy)",
            inputs="float16[N,4] dy, float16[N,4] y",
            outputs="float16[N,4] dx",
        )
        check_same_values(model, check(model))
