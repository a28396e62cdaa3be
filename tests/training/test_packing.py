"""Parameters in one vector, in numpy and in the graph."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import helper
from onnx.reference import ReferenceEvaluator

from onnx_ascend_ext.training.packing import Graft, Packing, pack_small

SHAPES = {"a": (2, 3), "scalar": (), "b": (4,), "c": (1, 1, 5)}
PACKING = Packing(SHAPES, np.dtype(np.float32))


def arrays() -> dict[str, np.ndarray]:
    draw = np.random.default_rng(0)
    return {name: draw.normal(size=shape).astype(np.float32) for name, shape in reversed(SHAPES.items())}


def test_unpacks_what_it_packs() -> None:
    vector = PACKING.pack(arrays())
    assert vector.shape == PACKING.shape == (16,)
    assert vector[6] == arrays()["scalar"]
    for name, array in PACKING.unpack(vector).items():
        assert np.array_equal(array, arrays()[name])
        assert array.shape == SHAPES[name]


@pytest.mark.parametrize("opset", [11, 13, 18])
@pytest.mark.parametrize("packing", [PACKING, Packing({"a": (2, 3)}, np.dtype(np.float32))])
def test_the_graph_packs_and_unpacks_alike(opset: int, packing: Packing) -> None:
    model = helper.make_model(
        helper.make_graph([], "g", [packing.value_info("v")], [packing.value_info("w")]),
        opset_imports=[helper.make_opsetid("", opset)],
        ir_version=8,
    )
    # A value that the names of the new ones would collide with.
    model.graph.initializer.append(onnx.numpy_helper.from_array(np.zeros(1), "v/a"))
    graft = Graft(model)
    model.graph.node.extend(graft.unpacked(packing, "v"))
    doubled = {name: f"twice {name}" for name in packing.shapes}
    model.graph.node.extend(helper.make_node("Add", [name, name], [twice]) for name, twice in doubled.items())
    model.graph.node.extend(graft.packed(packing, doubled, "w"))
    onnx.checker.check_model(model, full_check=True)
    vector = np.arange(np.prod(packing.shape), dtype=np.float32).reshape(packing.shape)
    (found,) = ReferenceEvaluator(model).run(None, {"v": vector})
    np.testing.assert_array_equal(found, 2 * vector)


def test_a_name_is_given_once() -> None:
    graft = Graft(helper.make_model(helper.make_graph([], "g", [PACKING.value_info("v")], [])))
    assert graft.fresh("v") != "v"
    assert graft.fresh("w") == "w"
    assert graft.fresh("w") != "w"


def test_large_parameters_have_arrays_of_their_own() -> None:
    parameters: dict[str, np.ndarray] = {
        **arrays(),
        "double": np.zeros(3),
        "large": np.zeros((4, 4), np.float32),
    }
    found = pack_small(parameters, parameters, limit=6)
    assert [list(packing.shapes) for packing in found] == [["a"], ["large"], ["c", "b", "scalar"], ["double"]]
    assert [packing.shape for packing in found] == [(2, 3), (4, 4), (10,), (3,)]
    together = pack_small(arrays(), ["a", "b"], limit=float("inf"))
    assert [list(packing.shapes) for packing in together] == [["a", "b"]]
    for packing in found:
        for name, array in packing.unpack(packing.pack(parameters)).items():
            assert np.array_equal(array, parameters[name])
