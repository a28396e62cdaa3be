from __future__ import annotations

import time

import onnx
from hypothesis import given
from hypothesis import strategies as st
from onnx import helper

from onnx_ascend_ext.rewriting.field_edits import edit_nodes, remove_where


def named(*names: str) -> list[onnx.NodeProto]:
    return [helper.make_node("Relu", ["x"], ["y"], name=name) for name in names]


@given(st.integers(1, 12), st.data())
def test_edits_equal_those_of_a_list(length, data):
    graph = onnx.GraphProto()
    graph.node.extend(named(*map(str, range(length))))
    positions = st.integers(0, length - 1)
    removed = data.draw(st.sets(positions))
    inserted = data.draw(st.dictionaries(positions, st.lists(st.text(max_size=2), max_size=3), max_size=4))
    edit_nodes(graph.node, removed, {at: named(*names) for at, names in inserted.items()})
    expected = []
    for position in range(length):
        expected.extend(inserted.get(position, []))
        expected.extend([] if position in removed else [str(position)])
    assert [node.name for node in graph.node] == expected


@given(st.lists(st.booleans()))
def test_removal_keeps_the_order_of_the_rest(condemned):
    graph = onnx.GraphProto()
    graph.node.extend(named(*(f"{i} {flag}" for i, flag in enumerate(condemned))))
    remove_where(graph.node, lambda node: node.name.endswith("True"))
    assert [n.name for n in graph.node] == [f"{i} False" for i, flag in enumerate(condemned) if not flag]


def test_many_removals_take_little_time():
    graph = onnx.GraphProto()
    graph.node.extend(named(*map(str, range(100_000))))
    start = time.perf_counter()
    edit_nodes(graph.node, set(range(0, 100_000, 2)))
    assert time.perf_counter() - start < 1
    assert [node.name for node in graph.node[:3]] == ["1", "3", "5"]
    assert len(graph.node) == 50_000
