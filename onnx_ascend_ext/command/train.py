"""`onnx-ascend train`."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from onnx_ascend_ext.command import output, report
from onnx_ascend_ext.command.options import FILE_PATH, device_options, json_option

if TYPE_CHECKING:
    from collections.abc import Callable

    from onnx_ascend_ext.native.backend import Device
    from onnx_ascend_ext.training import Trainer
    from onnx_ascend_ext.training.epochs import Epoch


_MAX_ROWS = 30
_SECONDS_BETWEEN_LINES = 5.0


@click.command("train", short_help="Train with the artifacts of onnxruntime-training.")
@click.argument("folder", type=FILE_PATH, metavar="DIR")
@click.option(
    "--data",
    "data_file",
    required=True,
    type=FILE_PATH,
    metavar="FILE.npz",
    help="An array of examples for each input, by name.",
)
@click.option(
    "--eval-data",
    "eval_file",
    type=FILE_PATH,
    metavar="FILE.npz",
    help="Examples to evaluate after each epoch.",
)
@click.option(
    "--epochs", type=click.IntRange(min=1), default=10, show_default=True, help="Passes over the data."
)
@click.option(
    "--batch-size",
    type=click.IntRange(min=1),
    metavar="N",
    help="Examples in a step; 32 unless the model says.",
)
@click.option(
    "--learning-rate",
    type=click.FloatRange(min=0, min_open=True),
    help="As in the checkpoint, or 0.001, if not given.",
)
@click.option(
    "--seed",
    type=click.IntRange(min=0),
    default=0,
    show_default=True,
    help="Seed of the order of the examples.",
)
@click.option("--shuffle/--no-shuffle", default=True, show_default=True, help="A new order for each epoch.")
@click.option(
    "--load",
    "load_file",
    type=FILE_PATH,
    metavar="FILE",
    help="Go on from a file of --save, or from a checkpoint.",
)
@click.option(
    "--save",
    "save_file",
    type=FILE_PATH,
    metavar="FILE.npz",
    help="Write parameters and optimiser state here.",
)
@click.option(
    "--export", "export_file", type=FILE_PATH, metavar="FILE.onnx", help="Write the trained network here."
)
@click.option(
    "--plot",
    "plot_file",
    type=FILE_PATH,
    metavar="FILE.png",
    help="Draw the loss here; needs the extra `plot`.",
)
@click.option(
    "--threads",
    type=click.IntRange(min=0),
    default=0,
    show_default=True,
    help="On the CPU; 0 for one per core.",
)
@device_options
@json_option
def command(
    folder: str,
    *,
    data_file: str,
    eval_file: str | None,
    epochs: int,
    batch_size: int | None,
    learning_rate: float | None,
    seed: int,
    shuffle: bool,
    load_file: str | None,
    save_file: str | None,
    export_file: str | None,
    plot_file: str | None,
    threads: int,
    device_id: int,
    allow_cpu: bool,
    as_json: bool,
) -> None:
    """Train on stock ONNX Runtime, the sigmoid gradients on AscendExecutionProvider.

    DIR holds what onnxruntime-training's generate_artifacts writes: training_model.onnx, checkpoint, and
    where there are any eval_model.onnx and optimizer_model.onnx.
    """
    from onnx_ascend_ext.errors import BackendError, ModelError
    from onnx_ascend_ext.model_files import check_target
    from onnx_ascend_ext.native import describe
    from onnx_ascend_ext.sessions.assignment import fallen_back
    from onnx_ascend_ext.training import Trainer
    from onnx_ascend_ext.training.dataset import read_dataset
    from onnx_ascend_ext.training.epochs import fixed_batch_size, train

    for target in (save_file, export_file, plot_file):
        if target is not None:
            check_target(target)
    if plot_file is not None:
        from onnx_ascend_ext.command.loss_curve import check_plot

        check_plot(plot_file)
    trainer = Trainer.from_artifacts(folder, device_id=device_id, threads=threads, allow_cpu=allow_cpu)
    fallen = fallen_back(trainer.nodes)
    if fallen and not allow_cpu:
        raise BackendError(
            f"{output.count(len(fallen), 'converted node')} would run on the CPU ({output.listed(fallen)}): "
            "pass --allow-cpu to train all the same"
        )
    if (eval_file or export_file) and not trainer.can_evaluate:
        raise ModelError(f"{folder} has no eval_model.onnx, which --eval-data and --export need")
    if load_file is not None:
        trainer.load(load_file)
    if learning_rate is not None:
        trainer.learning_rate = learning_rate
    data = read_dataset(data_file, trainer.inputs)
    eval_data = None if eval_file is None else read_dataset(eval_file, trainer.inputs)
    size = batch_size or fixed_batch_size(trainer) or 32
    done: list[Epoch] = []
    log_epoch = _EpochLog(epochs)
    with _progress(epochs * data.batch_count(size)) as on_step:
        for epoch in train(
            trainer,
            data,
            epochs=epochs,
            batch_size=size,
            seed=seed,
            shuffle=shuffle,
            eval_data=eval_data,
            on_step=on_step,
        ):
            done.append(epoch)
            log_epoch(epoch)
    if save_file is not None:
        trainer.save(save_file)
    if export_file is not None:
        trainer.export(export_file)
    if plot_file is not None:
        from onnx_ascend_ext.command.loss_curve import draw

        draw(
            done,
            plot_file,
            f"{trainer.optimizer}, learning rate {trainer.learning_rate:g}, batches of {size}",
        )
    device = describe().device(device_id) if len(fallen) < len(trainer.nodes) else None
    files = {"saved": save_file, "exported": export_file, "plot": plot_file}
    if as_json:
        output.print_json(_document(trainer, done, device, files))
    else:
        _print(trainer, done, device, files)


class _EpochLog:
    """Lines on stderr where it is no terminal, so that a long training is seen to go on; now and then."""

    def __init__(self, epochs: int) -> None:
        self._epochs = epochs
        self._next = time.monotonic() + _SECONDS_BETWEEN_LINES

    def __call__(self, epoch: Epoch) -> None:
        if sys.stderr.isatty() or time.monotonic() < self._next:
            return
        self._next = time.monotonic() + _SECONDS_BETWEEN_LINES
        output.log(f"epoch {epoch.number} of {self._epochs}: loss {epoch.loss:.4g}")


@contextmanager
def _progress(total: int) -> Iterator[Callable[[float], None]]:
    """A bar on stderr, on a terminal only, that each step's loss moves on."""
    if not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    with Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
    ) as bar:
        task = bar.add_task("training", total=total)
        yield lambda loss: bar.update(task, advance=1, description=f"loss {loss:.4g}")


def _document(
    trainer: Trainer, epochs: list[Epoch], device: Device | None, files: dict[str, str | None]
) -> dict[str, Any]:
    from onnx_ascend_ext.verification.agreement import device_dict

    return {
        "schema": 1,
        "ok": True,
        "optimizer": trainer.optimizer,
        "learning_rate": trainer.learning_rate,
        "epochs": [
            {
                "epoch": epoch.number,
                "loss": epoch.loss,
                "steps": len(epoch.step_losses),
                "seconds": epoch.seconds,
                "eval_loss": epoch.eval_loss,
                "eval_accuracy": epoch.eval_accuracy,
            }
            for epoch in epochs
        ],
        "nodes": trainer.nodes,
        "device": device_dict(device),
        **files,
    }


def _print(
    trainer: Trainer, epochs: list[Epoch], device: Device | None, files: dict[str, str | None]
) -> None:
    from onnx_ascend_ext.sessions.assignment import fallen_back

    last = epochs[-1]
    columns = ["epoch", "loss", "steps", "seconds"]
    if last.eval_loss is not None:
        columns.append("evaluation loss")
    if last.eval_accuracy is not None:
        columns.append("accuracy %")
    rows = []
    for epoch in _shown(epochs):
        row = [str(epoch.number), f"{epoch.loss:.4g}", str(len(epoch.step_losses)), f"{epoch.seconds:.2f}"]
        if epoch.eval_loss is not None:
            row.append(f"{epoch.eval_loss:.4g}")
        if epoch.eval_accuracy is not None:
            row.append(f"{100 * epoch.eval_accuracy:.2f}")
        rows.append(row)
    output.print_table("", columns, rows, most=_MAX_ROWS)
    on_device = len(trainer.nodes) - len(fallen_back(trainer.nodes))
    seconds = sum(epoch.seconds for epoch in epochs)
    steps = sum(len(epoch.step_losses) for epoch in epochs)
    output.print_line(
        f"train: {output.count(steps, 'step')} in {seconds:.1f} s; "
        f"loss {epochs[0].loss:.4g} to {last.loss:.4g}; "
        f"{on_device} of {output.count(len(trainer.nodes), 'converted node')} on "
        f"{report.device(device)}"
    )
    for what, path in files.items():
        if path is not None:
            output.print_line(f"{what}: {path}")


def _shown(epochs: list[Epoch]) -> list[Epoch]:
    """At most `_MAX_ROWS` epochs, evenly spaced, the first and the last among them."""
    if len(epochs) <= _MAX_ROWS:
        return epochs
    return [epochs[index * (len(epochs) - 1) // (_MAX_ROWS - 1)] for index in range(_MAX_ROWS)]
