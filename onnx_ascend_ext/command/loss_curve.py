"""Draws the loss of a training."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from onnx_ascend_ext.errors import AscendExtError, ModelError

if TYPE_CHECKING:
    from onnx_ascend_ext.training.epochs import Epoch

_TRAINING, _EVALUATION, _ACCURACY = "tab:blue", "tab:orange", "tab:green"


def check_plot(path: str) -> None:
    """Finds out early that a plot cannot be drawn.

    Raises:
        AscendExtError: matplotlib is missing.
        ModelError: the file's suffix is none that matplotlib writes.
    """
    try:
        from matplotlib.backend_bases import FigureCanvasBase
    except ImportError:
        raise AscendExtError(
            "--plot needs matplotlib, which is not installed: `pip install 'onnx-ascend-ext[plot]'`"
        ) from None
    known = FigureCanvasBase.get_supported_filetypes()
    if Path(path).suffix.removeprefix(".").lower() not in known:
        raise ModelError(f"{path}: has no suffix of a picture: matplotlib writes {', '.join(sorted(known))}")


def draw(epochs: Sequence[Epoch], path: str, title: str) -> None:
    """Draws the loss of each step and epoch, and what was evaluated, over the epochs.

    Raises:
        ModelError: the file cannot be written.
    """
    from matplotlib.figure import Figure

    from onnx_ascend_ext.model_files import write_files

    figure = Figure(figsize=(8, 4.5), layout="constrained")
    axes: Any = figure.add_subplot()
    steps = [
        (epoch.number - 1 + (index + 1) / len(epoch.step_losses), loss)
        for epoch in epochs
        for index, loss in enumerate(epoch.step_losses)
    ]
    numbers = [epoch.number for epoch in epochs]
    axes.plot(*zip(*steps, strict=True), color=_TRAINING, alpha=0.25, linewidth=0.8, label="loss of a step")
    axes.plot(numbers, [epoch.loss for epoch in epochs], color=_TRAINING, label="loss of an epoch")
    if epochs[-1].eval_loss is not None:
        axes.plot(numbers, [epoch.eval_loss for epoch in epochs], color=_EVALUATION, label="evaluation loss")
    axes.set(title=title, xlabel="epoch", ylabel="loss")
    axes.set_ylim(bottom=min(0.0, axes.get_ylim()[0]))
    axes.grid(alpha=0.3)
    handles, labels = axes.get_legend_handles_labels()
    if epochs[-1].eval_accuracy is not None:
        right: Any = axes.twinx()
        right.plot(
            numbers, [epoch.eval_accuracy for epoch in epochs], color=_ACCURACY, label="evaluation accuracy"
        )
        right.set(ylabel="accuracy", ylim=(0, 1))
        more = right.get_legend_handles_labels()
        handles, labels = handles + more[0], labels + more[1]
    axes.legend(handles, labels, loc="center right")
    kind = Path(path).suffix.removeprefix(".").lower()
    write_files({Path(path): lambda file: figure.savefig(file, format=kind, dpi=120)})
