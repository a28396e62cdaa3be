"""Small models with external data in every place that ONNX allows, for the tests in this folder."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
from onnx import ModelProto, SparseTensorProto, TensorProto, helper

WEIGHTS = np.arange(1, 5, dtype=np.float32)


def external_tensor(name: str, location: str, dims: tuple[int, ...] = (4,), **keys: object) -> TensorProto:
    """A float32 tensor whose data lies in `location`; `keys` are "offset", "length", "checksum" or others."""
    tensor = TensorProto(
        name=name, data_type=TensorProto.FLOAT, dims=dims, data_location=TensorProto.EXTERNAL
    )
    for key, value in {"location": location, **keys}.items():
        tensor.external_data.add(key=key, value=str(value))
    return tensor


def model_with(*initializers: TensorProto) -> ModelProto:
    """A model that adds up its initializers of 4 floats each."""
    names = [tensor.name for tensor in initializers]
    graph = helper.make_graph(
        [helper.make_node("Sum", names, ["y"], name="sum")],
        "graph",
        [],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [4])],
        list(initializers),
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def write_model(folder: Path, model: ModelProto, name: str = "model.onnx") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    path.write_bytes(model.SerializeToString())
    return path


def write_external_model(folder: Path, location: str = "weights.bin") -> Path:
    """`model.onnx` with one tensor in `location`, which begins at byte 8 of that file."""
    model = model_with(external_tensor("w", location, offset=8, length=16, checksum="1f2e"))
    data = folder / location
    data.parent.mkdir(parents=True, exist_ok=True)
    data.write_bytes(b"\xaa" * 8 + WEIGHTS.tobytes() + b"\xbb" * 4)
    return write_model(folder, model)


def value_of(path: Path) -> np.ndarray:
    """What the model file `path` computes in ONNX Runtime, which reads the data files."""
    import onnxruntime

    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    return np.asarray(session.run(None, {})[0])


def tree(folder: Path) -> dict[str, bytes]:
    """Every file below `folder`, hidden ones included, with its content."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def external_everywhere() -> dict[str, ModelProto]:
    """One model for each place where ONNX allows a tensor, with that tensor outside, in "there.bin"."""
    tensor = external_tensor("there", "there.bin", length=16)
    indices = TensorProto(name="i", data_type=TensorProto.INT64, dims=[1], int64_data=[0])
    sparse = SparseTensorProto(values=tensor, dims=[4])
    sparse.indices.CopyFrom(indices)
    sparse_indices = SparseTensorProto(values=indices, dims=[4])
    sparse_indices.indices.CopyFrom(tensor)
    constant = helper.make_node("Constant", [], ["c"], value=tensor)
    body = helper.make_graph([constant], "body", [], [helper.make_tensor_value_info("c", 1, [4])])
    branches = helper.make_node("If", ["cond"], ["r"], then_branch=body, else_branch=body)
    nested = helper.make_graph([branches], "outer", [], [helper.make_tensor_value_info("r", 1, [4])])
    foreign = helper.make_node("Foreign", [], ["f"], domain="other")

    def attribute(**value: object) -> onnx.NodeProto:
        node = onnx.NodeProto()
        node.CopyFrom(foreign)
        node.attribute.append(helper.make_attribute(*next(iter(value.items()))))
        return node

    def with_node(node: onnx.NodeProto) -> ModelProto:
        model = model_with(TensorProto(name="w", data_type=1, dims=[4], float_data=[0] * 4))
        model.graph.node.insert(0, node)
        return model

    models = {
        "initializer": model_with(tensor),
        "Constant": with_node(constant),
        "list of tensors": with_node(attribute(several=[indices, tensor])),
        "sparse attribute": with_node(attribute(one=sparse)),
        "list of sparse": with_node(attribute(several=[sparse_indices])),
        "body": with_node(branches),
        "body of a body": with_node(
            helper.make_node("If", ["cond"], ["r"], then_branch=nested, else_branch=nested)
        ),
        "list of graphs": with_node(attribute(graphs=[body])),
    }
    plain = model_with(TensorProto(name="w", data_type=1, dims=[4], float_data=[0] * 4))

    def place(name: str) -> ModelProto:
        model = ModelProto()
        model.CopyFrom(plain)
        models[name] = model
        return model

    place("sparse initializer").graph.sparse_initializer.append(sparse)
    place("indices of a sparse initializer").graph.sparse_initializer.append(sparse_indices)
    opsets = [helper.make_opsetid("", 17)]
    place("function").functions.append(helper.make_function("local", "F", [], ["c"], [constant], opsets))
    default = helper.make_function("local", "G", [], ["c"], [], opsets)
    default.attribute_proto.append(helper.make_attribute("value", tensor))
    place("default of a function's attribute").functions.append(default)
    place("training algorithm").training_info.add().algorithm.CopyFrom(body)
    place("training initialization").training_info.add().initialization.initializer.append(tensor)
    return models
