"""LSTM and GRU: the forward pass with what the gradient needs, and the gradient."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import onnx_ascend_ext as ax

from .harness import Case, NDArray, TrainingRuntime, Values, assert_close, run_portable

STEPS, BATCH, INPUTS, HIDDEN = 4, 3, 5, 2
STEP = 1e-6


def sigmoid(x: NDArray) -> NDArray:
    return 1 / (1 + np.exp(-x))


def lstm(values: Values, late: int = 0) -> Values:
    """The outputs of LSTMTraining, in the element type of its inputs."""
    del late
    w, r, b = values["W"][0], values["R"][0], values["B"][0]
    hidden, cell = values["Ht0"][0], values["Ct0"][0]
    found: dict[str, list[NDArray]] = {"HAll": [], "CAll": [], "iofc": []}
    for x in values["X"]:
        gates = x @ w.T + hidden @ r.T + b[: 4 * HIDDEN] + b[4 * HIDDEN :]
        i, o, f, c = np.split(gates, 4, axis=1)
        i, o, f, c = sigmoid(i), sigmoid(o), sigmoid(f), np.tanh(c)
        cell = f * cell + i * c
        hidden = o * np.tanh(cell)
        for name, value in zip(found, (hidden, cell, np.concatenate([i, o, f, c], axis=1)), strict=True):
            found[name].append(value)
    results: Values = {name: np.stack(steps)[:, np.newaxis] for name, steps in found.items()}
    return results | {"HFinal": hidden[np.newaxis], "CFinal": cell[np.newaxis]}


def gru(values: Values, late: int = 0) -> Values:
    """The outputs of GRUTraining, in the element type of its inputs."""
    w, r, b = values["W"][0], values["R"][0], values["B"][0]
    wz, wr, wh = np.split(w, 3)
    rz, rr, rh = np.split(r, 3)
    bz, br, bh, cz, cr, ch = np.split(b, 6)
    hidden = values["Ht0"][0]
    found: dict[str, list[NDArray]] = {"HAll": [], "zrh": []}
    for x in values["X"]:
        z = sigmoid(x @ wz.T + hidden @ rz.T + bz + cz)
        reset = sigmoid(x @ wr.T + hidden @ rr.T + br + cr)
        recurrent = reset * (hidden @ rh.T + ch) if late else (reset * hidden) @ rh.T + ch
        h = np.tanh(x @ wh.T + recurrent + bh)
        hidden = (1 - z) * h + z * hidden
        for name, value in zip(found, (hidden, np.concatenate([z, reset, h], axis=1)), strict=True):
            found[name].append(value)
    results: Values = {name: np.stack(steps)[:, np.newaxis] for name, steps in found.items()}
    return results | {"HFinal": hidden[np.newaxis]}


NETWORKS = {"LSTM": (lstm, 4), "GRU": (gru, 3)}


def operands(network: str, dtype: Any, without: set[str]) -> Values:
    rng = np.random.default_rng(1)
    gates = NETWORKS[network][1]
    shapes = {
        "X": (STEPS, BATCH, INPUTS),
        "W": (1, gates * HIDDEN, INPUTS),
        "R": (1, gates * HIDDEN, HIDDEN),
        "B": (1, 2 * gates * HIDDEN),
        "Ht0": (1, BATCH, HIDDEN),
        "Ct0": (1, BATCH, HIDDEN),
    }
    if network == "GRU":
        del shapes["Ct0"]
    return {
        name: np.zeros(shape, dtype) if name in without else (0.7 * rng.normal(size=shape)).astype(dtype)
        for name, shape in shapes.items()
    }


def attributes_of(network: str, late: int) -> dict[str, Any]:
    attributes: dict[str, Any] = {"hidden_size": HIDDEN, "direction": "forward"}
    return attributes | ({"linear_before_reset": late} if network == "GRU" else {"input_forget": 0})


def forward_case(
    network: str, late: int = 0, opset: int = 17, without: set[str] = frozenset(), dtype: Any = np.float32
) -> Case:
    values = operands(network, dtype, without)
    inputs: dict[str, Any] = {
        name: None if name in without else values[name] for name in ("X", "W", "R", "B")
    }
    inputs["SL"] = None
    inputs |= {name: None if name in without else values[name] for name in values if name not in inputs}
    names = ["HAll", "HFinal", "CFinal", "CAll", "iofc"] if network == "LSTM" else ["HAll", "HFinal", "zrh"]
    return Case(
        f"{network}Training", inputs, dict.fromkeys(names, dtype), attributes_of(network, late), opset
    )


def gradient_case(
    network: str,
    late: int = 0,
    opset: int = 17,
    without: set[str] = frozenset(),
    dtype: Any = np.float32,
    *,
    initial: bool = True,
) -> tuple[Case, Values]:
    """The node, and the whole set of operands, zeros for those that the node leaves out."""
    values = operands(network, dtype, without)
    forward = NETWORKS[network][0](values, late)
    rng = np.random.default_rng(2)
    given = {f"d{name}": rng.normal(size=forward[name].shape).astype(dtype) for name in ("HAll", "HFinal")}
    if network == "LSTM":
        given["dCFinal"] = rng.normal(size=forward["CFinal"].shape).astype(dtype)
    given = {name: np.zeros_like(value) if name in without else value for name, value in given.items()}
    order = ["X", "W", "R", "SL", "Ht0", "Ct0", "HAll", "CAll", "iofc"]
    if network == "GRU":
        order = ["X", "W", "R", "B", "SL", "Ht0", "HAll", "zrh"]
    everything = (
        {"SL": None} | values | {name: value.astype(dtype) for name, value in forward.items()} | given
    )
    inputs = {name: None if name in without else everything[name] for name in (*order, *given)}
    names = ["dX", "dW", "dR", "dB", "dH0", "dC0"] if network == "LSTM" else ["dX", "dW", "dR", "dB", "dH0"]
    outputs = {name: dtype if initial or name[:3] not in ("dH0", "dC0") else None for name in names}
    case = Case(f"{network}Grad", inputs, outputs, attributes_of(network, late), opset)
    return case, values | given


CASES = [("LSTM", 0), ("GRU", 0), ("GRU", 1)]
LEFT_OUT: list[set[str]] = [set(), {"B"}, {"Ht0"}, {"Ht0", "Ct0", "B"}]


def _label(names: set[str]) -> str:
    """The same in every process, unlike `str` of a set."""
    return "+".join(sorted(names)) or "nothing"


@pytest.mark.parametrize(("network", "late"), CASES)
@pytest.mark.parametrize("without", LEFT_OUT, ids=_label)
@pytest.mark.parametrize("opset", [13, 17, 18, 21])
def test_the_forward_pass(network: str, late: int, without: set[str], opset: int) -> None:
    case = forward_case(network, late, opset, without)
    expected = NETWORKS[network][0](operands(network, np.float64, without), late)
    assert_close(run_portable(case), {name: value.astype(np.float32) for name, value in expected.items()})


@pytest.mark.parametrize(("network", "late"), CASES)
@pytest.mark.parametrize("without", [set(), {"Ht0"}], ids=_label)
def test_the_kernel_of_the_forward_pass_computes_the_same(
    network: str, late: int, without: set[str], training_runtime: TrainingRuntime
) -> None:
    case = forward_case(network, late, without=without)
    expected = training_runtime.run(case.model(), case.feeds)
    assert_close(run_portable(case), {name: expected[name] for name in case.outputs})


@pytest.mark.parametrize(("network", "late"), CASES)
@pytest.mark.parametrize("without", [*LEFT_OUT, {"dHAll"}, {"dHFinal", "dCFinal"}], ids=_label)
@pytest.mark.parametrize("opset", [13, 18])
def test_the_gradient_is_the_slope_of_the_forward_pass(
    network: str, late: int, without: set[str], opset: int
) -> None:
    case, values = gradient_case(network, late, opset, without, np.float64)
    found = run_portable(case)
    forward = NETWORKS[network][0]
    given = {name: value for name, value in values.items() if name.startswith("d")}

    def objective(moved: Values) -> float:
        outputs = forward(moved, late)
        return sum(float(np.sum(value * outputs[name[1:]])) for name, value in given.items())

    rng = np.random.default_rng(3)
    for operand, gradient in (
        ("X", "dX"),
        ("W", "dW"),
        ("R", "dR"),
        ("B", "dB"),
        ("Ht0", "dH0"),
        ("Ct0", "dC0"),
    ):
        if gradient not in case.outputs:
            continue
        assert found[gradient].shape == values[operand].shape
        direction = rng.normal(size=values[operand].shape)
        moved = [objective(values | {operand: values[operand] + sign * STEP * direction}) for sign in (1, -1)]
        slope = (moved[0] - moved[1]) / (2 * STEP)
        np.testing.assert_allclose(np.sum(found[gradient] * direction), slope, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize(("network", "late"), CASES)
@pytest.mark.parametrize("without", [set(), {"dHFinal", "dCFinal"}])
def test_the_kernel_computes_the_same_gradient(
    network: str, late: int, without: set[str], training_runtime: TrainingRuntime
) -> None:
    case, _ = gradient_case(network, late, without=without)
    expected = training_runtime.run(case.model(), case.feeds)
    assert_close(run_portable(case), {name: expected[name] for name in case.outputs}, 1e-4, 1e-5)


@pytest.mark.parametrize(
    ("attribute", "value", "reason"),
    [
        ("direction", "reverse", "direction is reverse"),
        ("clip", 1.0, "usual activations without clipping"),
        ("activations", ["Relu", "Tanh", "Tanh"], "usual activations"),
        ("input_forget", 1, "separate input and forget gates"),
    ],
)
def test_a_network_of_another_kind_has_no_body(attribute: str, value: Any, reason: str) -> None:
    case = forward_case("LSTM")
    case.attributes[attribute] = value
    report = ax.convert(case.model(), portable=True).portable
    assert report is not None
    assert reason in report.remaining[0].reason
