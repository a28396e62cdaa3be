"""LSTM and GRU with what their gradients need, and these gradients: forward, with the usual activations.

Tensors have the layout of ONNX: [steps, batch, features], with an axis of size 1 for the direction in weights
and states. A Scan goes through the steps; what needs no step before is computed for all steps at once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import onnx
from onnx import TensorProto, helper

from onnx_ascend_ext.portable.body import Body
from onnx_ascend_ext.portable.errors import NoBodyError

_DIRECTION_AXIS = 1
"""The axis of the direction in a tensor of all steps; in weights and states it is the first one."""

_Step = Callable[[Sequence[str], Sequence[str]], tuple[list[str], list[str]]]
"""Writes one step: from the states and what is there for the step to the new states and the results."""


def lstm_training(body: Body) -> None:
    """`LSTMTraining`: `iofc` has the values of the gates i, o and f and of the cell's candidate."""
    size = _hidden_size(body, 4)
    gates_of_input = _of_input(body, _both_biases(body, 4 * size))
    recurrent = _transposed(body, _one_direction(body, "R"))

    def step(states: Sequence[str], inputs: Sequence[str]) -> tuple[list[str], list[str]]:
        hidden, cell = states
        gates = body.op("Add", inputs[0], body.op("MatMul", hidden, recurrent), out="gates")
        i, o, f, c = _split(body, gates, size, 4)
        i, o, f = (body.op("Sigmoid", gate) for gate in (i, o, f))
        c = body.op("Tanh", c)
        cell = body.op("Add", body.op("Mul", f, cell), body.op("Mul", i, c), out="cell")
        hidden = body.op("Mul", o, body.op("Tanh", cell), out="hidden")
        return [hidden, cell], [hidden, cell, body.concat(i, o, f, c, axis=-1)]

    initial = [_initial(body, formal, size) for formal in ("Ht0", "Ct0")]
    final, results = _scan(body, initial, [gates_of_input], 3, step)
    for formal, value in zip(("HFinal", "CFinal"), final, strict=True):
        body.result(formal, body.with_axes("Unsqueeze", value, [0]))
    for formal, value in zip(("HAll", "CAll", "iofc"), results, strict=True):
        body.result(formal, body.with_axes("Unsqueeze", value, [_DIRECTION_AXIS]))


def lstm_grad(body: Body) -> None:
    """`LSTMGrad`."""
    size = _hidden_size(body, 4)
    one = body.constant_like(1, "X")
    recurrent = _one_direction(body, "R")
    all_hidden, all_cells, all_gates = (_all_steps(body, formal) for formal in ("HAll", "CAll", "iofc"))
    initial_hidden, initial_cell = (_initial(body, formal, size) for formal in ("Ht0", "Ct0"))
    cells_before = _shifted(body, all_cells, initial_cell)

    def step(states: Sequence[str], inputs: Sequence[str]) -> tuple[list[str], list[str]]:
        gates, cell, cell_before, from_output = inputs
        i, o, f, c = _split(body, gates, size, 4)
        d_hidden = body.op("Add", from_output, states[0], out="d_hidden")
        squashed = body.op("Tanh", cell)
        slope = body.op("Sub", one, body.op("Mul", squashed, squashed))
        through_output = body.op("Mul", body.op("Mul", d_hidden, o), slope)
        d_cell = body.op("Add", through_output, states[1], out="d_cell")
        d_gates = [
            _through_sigmoid(body, body.op("Mul", d_cell, c), i, one),
            _through_sigmoid(body, body.op("Mul", d_hidden, squashed), o, one),
            _through_sigmoid(body, body.op("Mul", d_cell, cell_before), f, one),
            _through_tanh(body, body.op("Mul", d_cell, i), c, one),
        ]
        together = body.concat(*d_gates, axis=-1)
        return [body.op("MatMul", together, recurrent), body.op("Mul", d_cell, f)], [together]

    from_outputs = _all_steps(body, "dHAll") if body.has("dHAll") else body.op("Sub", all_hidden, all_hidden)
    states = [_initial(body, formal, size) for formal in ("dHFinal", "dCFinal")]
    inputs = [all_gates, all_cells, cells_before, from_outputs]
    final, (d_gates,) = _scan(body, states, inputs, 1, step, backwards=True)
    hidden_before = _rows(body, _shifted(body, all_hidden, initial_hidden))
    rows = _rows(body, d_gates)
    body.result("dX", body.op("MatMul", d_gates, _one_direction(body, "W")))
    body.result("dW", _product(body, rows, _rows(body, "X")))
    body.result("dR", _product(body, rows, hidden_before))
    total = body.with_axes("ReduceSum", rows, [0], keepdims=1)
    body.result("dB", body.concat(total, total, axis=-1))
    body.result("dH0", body.with_axes("Unsqueeze", final[0], [0]))
    body.result("dC0", body.with_axes("Unsqueeze", final[1], [0]))


def gru_training(body: Body) -> None:
    """`GRUTraining`: `zrh` has the values of the gates z and r and of the candidate for the hidden state."""
    size = _hidden_size(body, 3)
    one = body.constant_like(1, "X")
    late = body.node.integer("linear_before_reset") != 0
    input_bias, recurrent_bias = _biases(body, 3 * size)
    gates_of_input = _of_input(body, input_bias)
    recurrent = _one_direction(body, "R")
    both, candidate = _split(body, _transposed(body, recurrent), size, 2, sizes=[2 * size, size])
    bias_of_both, bias_of_candidate = _split(body, recurrent_bias, size, 2, sizes=[2 * size, size])

    def step(states: Sequence[str], inputs: Sequence[str]) -> tuple[list[str], list[str]]:
        hidden = states[0]
        for_gates, for_candidate = _split(body, inputs[0], size, 2, sizes=[2 * size, size])
        recurrent_part = body.op("Add", body.op("MatMul", hidden, both), bias_of_both)
        gates = body.op("Sigmoid", body.op("Add", for_gates, recurrent_part), out="gates")
        z, r = _split(body, gates, size, 2)
        if late:
            linear = body.op("Add", body.op("MatMul", hidden, candidate), bias_of_candidate)
            linear = body.op("Mul", r, linear)
        else:
            linear = body.op("MatMul", body.op("Mul", r, hidden), candidate)
            linear = body.op("Add", linear, bias_of_candidate)
        h = body.op("Tanh", body.op("Add", for_candidate, linear))
        kept, new = body.op("Mul", z, hidden), body.op("Mul", body.op("Sub", one, z), h)
        hidden = body.op("Add", new, kept, out="hidden")
        return [hidden], [hidden, body.concat(gates, h, axis=-1)]

    final, results = _scan(body, [_initial(body, "Ht0", size)], [gates_of_input], 2, step)
    body.result("HFinal", body.with_axes("Unsqueeze", final[0], [0]))
    for formal, value in zip(("HAll", "zrh"), results, strict=True):
        body.result(formal, body.with_axes("Unsqueeze", value, [_DIRECTION_AXIS]))


def gru_grad(body: Body) -> None:
    """`GRUGrad`."""
    size = _hidden_size(body, 3)
    one = body.constant_like(1, "X")
    late = body.node.integer("linear_before_reset") != 0
    all_hidden, all_gates = _all_steps(body, "HAll"), _all_steps(body, "zrh")
    before = _shifted(body, all_hidden, _initial(body, "Ht0", size))
    # The weights of the gates z and r, and those of the candidate, as rows.
    recurrent_of_gates, recurrent_of_candidate = _split(
        body, _one_direction(body, "R"), size, 2, sizes=[2 * size, size], axis=0
    )
    _, recurrent_bias = _biases(body, 3 * size)
    bias_of_candidate = _split(body, recurrent_bias, size, 2, sizes=[2 * size, size])[1]
    linear = body.op("MatMul", before, _transposed(body, recurrent_of_candidate))
    linear = body.op("Add", linear, bias_of_candidate)

    def step(states: Sequence[str], inputs: Sequence[str]) -> tuple[list[str], list[str]]:
        gates, hidden_before, linear_part, from_output = inputs
        z, r, h = _split(body, gates, size, 3)
        d_hidden = body.op("Add", from_output, states[0], out="d_hidden")
        d_z = body.op("Mul", d_hidden, body.op("Sub", hidden_before, h))
        d_h = _through_tanh(body, body.op("Mul", d_hidden, body.op("Sub", one, z)), h, one)
        carried = body.op("Mul", d_hidden, z, out="carried")
        if late:
            d_linear = body.op("Mul", d_h, r)
            d_r = body.op("Mul", d_h, linear_part)
            carried = body.op("Add", carried, body.op("MatMul", d_linear, recurrent_of_candidate))
        else:
            d_linear = d_h
            d_product = body.op("MatMul", d_h, recurrent_of_candidate)
            d_r = body.op("Mul", d_product, hidden_before)
            carried = body.op("Add", carried, body.op("Mul", d_product, r))
        d_gates = body.concat(
            _through_sigmoid(body, d_z, z, one), _through_sigmoid(body, d_r, r, one), axis=-1
        )
        carried = body.op("Add", carried, body.op("MatMul", d_gates, recurrent_of_gates))
        return [carried], [d_gates, d_h, d_linear]

    from_outputs = _all_steps(body, "dHAll") if body.has("dHAll") else body.op("Sub", all_hidden, all_hidden)
    inputs = [all_gates, before, linear, from_outputs]
    state = [_initial(body, "dHFinal", size)]
    final, (d_gates, d_candidate, d_linear) = _scan(body, state, inputs, 3, step, backwards=True)
    of_input = body.concat(d_gates, d_candidate, axis=-1)
    body.result("dX", body.op("MatMul", of_input, _one_direction(body, "W")))
    body.result("dW", _product(body, _rows(body, of_input), _rows(body, "X")))
    seen = before
    if not late:
        seen = body.op("Mul", before, _split(body, all_gates, size, 3)[1], out="reset")
    of_gates = _product(body, _rows(body, d_gates), _rows(body, before))
    of_candidate = _product(body, _rows(body, d_linear), _rows(body, seen))
    body.result("dR", body.concat(of_gates, of_candidate, axis=1))
    sums = [
        body.with_axes("ReduceSum", _rows(body, value), [0], keepdims=1)
        for value in (of_input, d_gates, d_linear)
    ]
    body.result("dB", body.concat(*sums, axis=-1))
    body.result("dH0", body.with_axes("Unsqueeze", final[0], [0]))


def _scan(
    body: Body,
    states: Sequence[str],
    inputs: Sequence[str],
    results: int,
    step: _Step,
    *,
    backwards: bool = False,
) -> tuple[list[str], list[str]]:
    """Goes through the steps of some tensors, from the last one where `backwards`.

    Returns:
        The states after the last step gone through, and the results of all steps in the order of the steps.
    """
    dtype = body.node.dtype("X")
    if dtype == TensorProto.UNDEFINED:
        raise NoBodyError("the element type of its input X is not known: run onnx.shape_inference first")
    formal_states = [body.fresh("state") for _ in states]
    formal_inputs = [body.fresh("of_step") for _ in inputs]
    with body.nested() as nodes:
        new_states, outputs = step(formal_states, formal_inputs)
        # An output of a body has to be one of its values once.
        outputs = [body.op("Identity", value, out="result") for value in outputs]

    def infos(names: Sequence[str]) -> list[onnx.ValueInfoProto]:
        return [helper.make_tensor_value_info(name, dtype, [None, None]) for name in names]

    graph = helper.make_graph(
        nodes, "each_step", infos([*formal_states, *formal_inputs]), infos([*new_states, *outputs])
    )
    directions = {"scan_input_directions": len(inputs), "scan_output_directions": results}
    found = body.ops(
        "Scan",
        [*states, *inputs],
        [*(f"last_{name}" for name in formal_states), *(f"all_{name}" for name in outputs)],
        body=graph,
        num_scan_inputs=len(inputs),
        **({name: [1] * number for name, number in directions.items()} if backwards else {}),
    )
    return found[: len(states)], found[len(states) :]


def _hidden_size(body: Body, gates: int) -> int:
    """The size of the hidden state.

    Raises:
        NoBodyError: the node is not one of those that this module writes.
    """
    node = body.node
    if node.text("direction") != "forward":
        raise NoBodyError(
            f"its direction is {node.text('direction')}, and its body is written for forward alone"
        )
    if any(attribute.name in ("activations", "clip") for attribute in node.proto.attribute):
        raise NoBodyError("its body is written for the usual activations without clipping")
    if gates == 4 and node.integer("input_forget"):
        raise NoBodyError("its body is written for separate input and forget gates")
    for formal in ("SL", "P", "dP"):
        if body.has(formal):
            raise NoBodyError(f"its body is written without {formal}: export sequences of one length")
    shape = node.shape("R")
    size = node.integer("hidden_size") or (shape[-1] if shape else None)
    if not size:
        raise NoBodyError("its hidden_size is not known: state it as an attribute")
    return size


def _one_direction(body: Body, formal: str) -> str:
    return body.with_axes("Squeeze", formal, [0])


def _all_steps(body: Body, formal: str) -> str:
    return body.with_axes("Squeeze", formal, [_DIRECTION_AXIS])


def _transposed(body: Body, matrix: str) -> str:
    return body.op("Transpose", matrix, perm=[1, 0])


def _split(
    body: Body, value: str, size: int, count: int, *, sizes: Sequence[int] | None = None, axis: int = -1
) -> list[str]:
    parts = body.constant(list(sizes or [size] * count))
    return body.ops("Split", [value, parts], ["part"] * count, axis=axis)


def _of_input(body: Body, bias: str) -> str:
    """What the input adds to the gates, for all steps."""
    weights = _transposed(body, _one_direction(body, "W"))
    return body.op("Add", body.op("MatMul", "X", weights), bias, out="of_input")


def _biases(body: Body, size: int) -> tuple[str, str]:
    """The bias of the input's weights and that of the recurrence's."""
    if not body.has("B"):
        none = body.op("Expand", body.constant_like(0, "X"), body.constant([size]), out="no_bias")
        return none, none
    of_input, of_recurrence = _split(body, _one_direction(body, "B"), size, 2)
    return of_input, of_recurrence


def _both_biases(body: Body, size: int) -> str:
    of_input, of_recurrence = _biases(body, size)
    return body.op("Add", of_input, of_recurrence, out="bias")


def _initial(body: Body, formal: str, size: int) -> str:
    """[batch, hidden] of a state that is an input, or zeros where the node leaves it out."""
    if body.has(formal):
        return _one_direction(body, formal)
    shape = body.concat(body.dimensions("X", [1]), body.constant([size]))
    return body.op("Expand", body.constant_like(0, "X"), shape, out="zeros")


def _shifted(body: Body, values: str, first: str) -> str:
    """The values of the steps before: the first one, then all but the last of the values."""
    return body.concat(body.with_axes("Unsqueeze", first, [0]), body.slice(values, 0, -1))


def _rows(body: Body, value: str) -> str:
    """[steps * batch, features]."""
    return body.op("Flatten", value, axis=2, out="rows")


def _product(body: Body, gradients: str, values: str) -> str:
    """[1, gradients, values]: the gradient of the weights between them."""
    return body.with_axes("Unsqueeze", body.op("MatMul", _transposed(body, gradients), values), [0])


def _through_sigmoid(body: Body, gradient: str, output: str, one: str) -> str:
    return body.op("Mul", body.op("Mul", gradient, body.op("Sub", one, output)), output)


def _through_tanh(body: Body, gradient: str, output: str, one: str) -> str:
    return body.op("Mul", gradient, body.op("Sub", one, body.op("Mul", output, output)))
