"""The network and the optimisers of `models/ort_digits` in numpy's float64, from their formulas."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
Parameters = dict[str, Array]


def scores(parameters: Parameters, x: Array) -> Array:
    return _hidden(parameters, x) @ parameters["scores.weight"].T + parameters["scores.bias"]


def loss_and_gradients(parameters: Parameters, x: Array, labels: Array) -> tuple[float, Parameters]:
    hidden = _hidden(parameters, x)
    logits = scores(parameters, x)
    shifted = np.exp(logits - logits.max(axis=1, keepdims=True))
    probabilities = shifted / shifted.sum(axis=1, keepdims=True)
    rows = np.arange(len(labels))
    loss = -np.log(probabilities[rows, labels]).mean()
    d_logits = probabilities.copy()
    d_logits[rows, labels] -= 1
    d_logits /= len(labels)
    d_hidden = d_logits @ parameters["scores.weight"] * hidden * (1 - hidden)
    gradients = {
        "hidden.weight": d_hidden.T @ x,
        "hidden.bias": d_hidden.sum(axis=0),
        "scores.weight": d_logits.T @ hidden,
        "scores.bias": d_logits.sum(axis=0),
    }
    return float(loss), gradients


def _hidden(parameters: Parameters, x: Array) -> Array:
    return 1 / (1 + np.exp(-(x @ parameters["hidden.weight"].T + parameters["hidden.bias"])))


class AdamW:
    """Decoupled weight decay as Hugging Face's transformers had it: after the update (`adam_mode` 1)."""

    def __init__(self, parameters: Parameters, *, rate: float, decay: float = 0.0) -> None:
        self.parameters = {name: array.astype(np.float64) for name, array in parameters.items()}
        self.first = {name: np.zeros(array.shape) for name, array in parameters.items()}
        self.second = {name: np.zeros(array.shape) for name, array in parameters.items()}
        self.rate, self.decay, self.count = rate, decay, 0

    def step(self, x: Array, labels: Array) -> float:
        loss, gradients = loss_and_gradients(self.parameters, x, labels)
        self.count += 1
        rate = self.rate * np.sqrt(1 - 0.999**self.count) / (1 - 0.9**self.count)
        for name, gradient in gradients.items():
            self.first[name] = 0.9 * self.first[name] + 0.1 * gradient
            self.second[name] = 0.999 * self.second[name] + 0.001 * gradient**2
            self.parameters[name] -= rate * self.first[name] / (np.sqrt(self.second[name]) + 1e-6)
            self.parameters[name] *= 1 - self.rate * self.decay
        return loss


class Sgd:
    """Gradient descent, the gradients together scaled to a norm of at most `max_norm`."""

    def __init__(self, parameters: Parameters, *, rate: float, max_norm: float = np.inf) -> None:
        self.parameters = {name: array.astype(np.float64) for name, array in parameters.items()}
        self.rate, self.max_norm = rate, max_norm
        self.norms: list[float] = []

    def step(self, x: Array, labels: Array) -> float:
        loss, gradients = loss_and_gradients(self.parameters, x, labels)
        norm = np.sqrt(sum(float((gradient**2).sum()) for gradient in gradients.values()))
        self.norms.append(norm)
        for name, gradient in gradients.items():
            self.parameters[name] -= self.rate * gradient * min(1.0, self.max_norm / (norm + 1e-6))
        return loss
