"""What becomes of models that are damaged, and of faults that are not theirs."""

from __future__ import annotations

import json
import random
from pathlib import Path

import onnx
import pytest

import onnx_ascend_ext as ax
from onnx_ascend_ext import ModelError, conversion

from .patterns import PATTERN, graph

NOT_UTF8 = b"\xff\xfe"


def small_models() -> list[bytes]:
    stored = sorted((Path(__file__).parents[2] / "models").glob("*/*.onnx"))
    contents = [path.read_bytes() for path in stored if path.stat().st_size < 30_000]
    body = f"{PATTERN} e = Sub(one, dx) f = Mul(e, dx) q = Mul(f, y)"
    return [*contents, graph(body, outputs="float[N,4] q").SerializeToString()]


def damaged(content: bytes, chance: random.Random) -> bytes:
    """Some content with one to five bytes changed."""
    changed = bytearray(content)
    for _ in range(chance.choice([1, 1, 2, 5])):
        changed[chance.randrange(len(changed))] = chance.randrange(256)
    return bytes(changed)


def named(content: bytes, old: bytes, new: bytes) -> onnx.ModelProto:
    """The model with another text of the same length in every place."""
    assert len(old) == len(new)
    assert old in content
    return onnx.ModelProto.FromString(content.replace(old, new))


@pytest.mark.parametrize("seed", range(6))
def test_a_model_with_random_bytes_is_converted_or_refused_in_one_line(seed, tmp_path):
    chance, contents = random.Random(seed), small_models()
    source, target = tmp_path / "in.onnx", tmp_path / "out.onnx"
    converted, refusals = 0, []
    for _ in range(60):
        source.write_bytes(damaged(chance.choice(contents), chance))
        try:
            result = ax.convert(source)
            json.dumps(result.to_dict())
            str(result)
            result.save(target)
            ax.restore(target)
            converted += 1
        except ModelError as error:
            refusals.append(str(error))
    assert converted > 5
    assert len(refusals) > 5
    assert all(text.startswith((str(source), str(target))) and text.isprintable() for text in refusals)


@pytest.mark.parametrize("role", ["operand", "result", "node", "near miss"])
def test_a_name_that_is_not_utf8_is_an_error_that_says_where(role):
    old = {"operand": b"dyna", "result": b"dxdx", "node": b"root", "near miss": b"miss"}
    body = """
      rest = Sub(one, y) slope = Mul(rest, y) [root] dxdx = Mul(slope, dyna)
      near = Sub(two, y) hill = Mul(near, y) [miss] q = Mul(hill, dyna)
    """
    model = graph(
        body,
        inputs="float[N,4] y, float[N,4] dyna",
        outputs="float[N,4] dxdx, float[N,4] q",
        values="float one = {1.0}, float two = {1.0000001}",
    )
    content = model.SerializeToString()
    assert len(ax.convert(named(content, old[role], b"same")).matches) == 1
    with pytest.raises(ModelError, match=r"^the model is damaged: graph\.\S+ is not UTF-8 text$"):
        ax.convert(named(content, old[role], NOT_UTF8 + b"me"))


class TestAFaultOfThisPackage:
    @pytest.fixture(autouse=True)
    def _fault(self, monkeypatch):
        def fail(*_):
            raise KeyError("fault")

        monkeypatch.setattr(conversion, "apply", fail)

    def test_shows_as_it_is_for_a_sound_model(self, tmp_path):
        with pytest.raises(KeyError, match="fault"):
            ax.convert(graph())
        path = tmp_path / "sound.onnx"
        onnx.save(graph(), path)
        with pytest.raises(KeyError, match="fault"):
            ax.convert(path)

    def test_is_put_down_to_a_model_that_the_checker_refuses(self, tmp_path):
        model = graph()
        model.graph.initializer[0].ClearField("data_type")
        with pytest.raises(ModelError, match="^the model is damaged: .*data_type"):
            ax.convert(model)
        path = tmp_path / "bad.onnx"
        path.write_bytes(model.SerializeToString())
        with pytest.raises(ModelError, match="bad.onnx: the model is damaged: .*data_type"):
            ax.convert(path)

    def test_is_not_put_down_to_external_data_that_is_fine(self, tmp_path):
        model = graph(f"{PATTERN} q = Neg(w)", outputs="float[N,4] dx, float[9] q")
        weight = model.graph.initializer.add(name="w", data_type=onnx.TensorProto.FLOAT, dims=[9])
        weight.data_location = onnx.TensorProto.EXTERNAL
        weight.external_data.add(key="location", value="w.bin")
        (tmp_path / "w.bin").write_bytes(bytes(36))
        path = tmp_path / "external.onnx"
        path.write_bytes(model.SerializeToString())
        with pytest.raises(KeyError, match="fault"):
            ax.convert(path)


def test_external_data_whose_name_is_not_utf8_is_an_error_that_says_where(tmp_path):
    model = graph()
    tensor = model.graph.initializer.add(name="w", data_type=onnx.TensorProto.FLOAT, dims=[1])
    tensor.data_location = onnx.TensorProto.EXTERNAL
    tensor.external_data.add(key="location", value="data")
    for name in (b"data", NOT_UTF8 + b"ta"):
        (tmp_path / "data").write_bytes(bytes(4))
        path = tmp_path / "model.onnx"
        path.write_bytes(model.SerializeToString().replace(b"\x04data", b"\x04" + name))
        if name == b"data":
            ax.convert(path)
            continue
        with pytest.raises(ModelError, match=r"model.onnx: .*external_data\[0\].value is not UTF-8 text$"):
            ax.convert(path)
