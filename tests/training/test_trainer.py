"""The trainer: its numbers, what it keeps, and what it refuses."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import helper

import onnx_ascend_ext as ax
from onnx_ascend_ext import simulator
from onnx_ascend_ext.errors import BackendError, ModelError
from onnx_ascend_ext.training import Checkpoint, Trainer, read_checkpoint

from . import oracle
from .batches import draw

STEPS, SIZE = 12, 20
CASE = "ort_digits"


def batches(seed: int = 0) -> list[tuple[Any, Any]]:
    return list(draw(CASE, steps=STEPS, size=SIZE, seed=seed))


def optimizer_model(*nodes: onnx.NodeProto) -> onnx.ModelProto:
    graph = helper.make_graph(list(nodes), "optimizer", [], [])
    return helper.make_model(graph)


def sgd(*inputs: str) -> onnx.NodeProto:
    return helper.make_node("SGDOptimizerV2", list(inputs), ["flag"], domain="com.microsoft")


def adamw(**attributes: Any) -> onnx.NodeProto:
    inputs = ["learning_rate", "step", "params", "gradients", "first", "second"]
    return helper.make_node("AdamWOptimizer", inputs, ["flag"], domain="com.microsoft", **attributes)


def follows(trainer: Trainer, reference: Any) -> None:
    """Steps of both have the same losses, and leave the same parameters."""
    for x, labels in batches():
        assert trainer.step({"x": x, "labels": labels}) == pytest.approx(reference.step(x, labels), rel=2e-5)
    moved = 0.0
    for name, array in trainer.parameters.items():
        np.testing.assert_allclose(array, reference.parameters[name], rtol=1e-3, atol=2e-5)
        moved = max(moved, float(np.abs(array - reference.start[name]).max()))
    assert moved > 1e-3


def test_adamw_follows_its_formulas(digits: Path, checkpoint: Checkpoint) -> None:
    reference = oracle.AdamW(checkpoint.trainable, rate=0.01)
    reference.start = checkpoint.trainable  # type: ignore[attr-defined]
    trainer = Trainer.from_artifacts(digits, learning_rate=0.01)
    follows(trainer, reference)
    state = trainer.state
    assert state.step == STEPS
    for name, momentums in state.states.items():
        np.testing.assert_allclose(momentums["momentum0"], reference.first[name], rtol=1e-3, atol=1e-6)
        np.testing.assert_allclose(momentums["momentum1"], reference.second[name], rtol=1e-3, atol=1e-9)


def test_weight_decay_follows_its_formula(training_model: onnx.ModelProto, checkpoint: Checkpoint) -> None:
    reference = oracle.AdamW(checkpoint.trainable, rate=0.01, decay=0.5)
    reference.start = checkpoint.trainable  # type: ignore[attr-defined]
    model = optimizer_model(adamw(epsilon=1e-6, weight_decay=0.5, adam_mode=1))
    follows(Trainer(training_model, checkpoint, optimizer_model=model, learning_rate=0.01), reference)


@pytest.mark.parametrize("has_model", [False, True])
def test_gradient_descent_follows_its_formula(
    training_model: onnx.ModelProto, checkpoint: Checkpoint, has_model: bool
) -> None:
    reference = oracle.Sgd(checkpoint.trainable, rate=0.5)
    reference.start = checkpoint.trainable  # type: ignore[attr-defined]
    model = optimizer_model(sgd("learning_rate", "params", "gradients")) if has_model else None
    trainer = Trainer(training_model, checkpoint, optimizer_model=model, learning_rate=0.5)
    follows(trainer, reference)
    assert trainer.state.states == {name: {} for name in checkpoint.trainable}


def test_clipping_follows_its_formula(training_model: onnx.ModelProto, checkpoint: Checkpoint) -> None:
    reference = oracle.Sgd(checkpoint.trainable, rate=0.5, max_norm=1.15)
    reference.start = checkpoint.trainable  # type: ignore[attr-defined]
    clip = helper.make_node(
        "InplaceClipGradNorm", ["gradients"], ["clipped"], domain="com.microsoft", max_norm=1.15
    )
    model = optimizer_model(clip, sgd("learning_rate", "params", "clipped"))
    follows(Trainer(training_model, checkpoint, optimizer_model=model, learning_rate=0.5), reference)
    assert min(reference.norms) < 1.15 < max(reference.norms)


def test_the_learning_rate_may_change_between_steps(digits: Path, checkpoint: Checkpoint) -> None:
    trainer = Trainer.from_artifacts(digits)
    assert trainer.learning_rate == 1e-3
    reference = oracle.AdamW(checkpoint.trainable, rate=1e-3)
    for index, (x, labels) in enumerate(batches()):
        trainer.learning_rate = reference.rate = 1e-3 * (index + 1)
        assert trainer.step((x, labels)) == pytest.approx(reference.step(x, labels), rel=2e-5)


def test_a_frozen_parameter_stays(training_model: onnx.ModelProto, checkpoint: Checkpoint) -> None:
    name = "hidden.bias"
    for node in [
        node for node in training_model.graph.node if f"{name}_grad.accumulation.buffer" in node.input
    ]:
        training_model.graph.node.remove(node)
    for field in (training_model.graph.input, training_model.graph.output):
        for value in [value for value in field if value.name.startswith(f"{name}_grad")]:
            field.remove(value)
    checkpoint.frozen[name] = checkpoint.trainable.pop(name)
    trainer = Trainer(training_model, checkpoint, learning_rate=0.01)
    for batch in batches():
        trainer.step(batch)
    found = trainer.parameters
    assert np.array_equal(found[name], checkpoint.frozen[name])
    assert all(not np.array_equal(found[other], array) for other, array in checkpoint.trainable.items())


def test_a_step_that_fails_changes_nothing(digits: Path) -> None:
    trainer, undisturbed = (Trainer.from_artifacts(digits, learning_rate=0.01) for _ in range(2))
    for x, labels in batches():
        with pytest.raises(BackendError) as caught:
            trainer.step((x, labels + 10))
        assert "\n" not in str(caught.value)
        assert trainer.step((x, labels)) == undisturbed.step((x, labels))
    assert trainer.state.step == STEPS
    for name, array in undisturbed.parameters.items():
        assert np.array_equal(trainer.parameters[name], array)


def test_parameters_and_state_are_copies(digits: Path) -> None:
    trainer, undisturbed = (Trainer.from_artifacts(digits, learning_rate=0.01) for _ in range(2))
    for batch in batches():
        assert trainer.step(batch) == undisturbed.step(batch)
        for array in trainer.parameters.values():
            array.fill(7)
        for momentums in trainer.state.states.values():
            momentums["momentum0"].fill(7)


@pytest.mark.parametrize("form", ["mapping", "sequence", "other types", "not contiguous"])
def test_a_batch_is_taken_in_several_forms(digits: Path, form: str) -> None:
    trainer, plain = (Trainer.from_artifacts(digits) for _ in range(2))
    x, labels = batches()[0]
    batch: Any = {
        "mapping": {"labels": labels, "x": x},
        "sequence": [x, labels],
        "other types": (x.astype(np.float64), labels.astype(np.uint8)),
        "not contiguous": (np.asfortranarray(x), np.repeat(labels, 2)[::2]),
    }[form]
    assert trainer.step(batch) == plain.step((x, labels))


@pytest.mark.parametrize(
    ("batch", "words"),
    [
        ({"x": np.zeros((2, 64), np.float32)}, "a batch is x, labels, and not x"),
        ((np.zeros((2, 64), np.float32),), "and not 1 arrays"),
        ({"x": np.zeros((2, 64)), "y": np.zeros(2, int)}, "and not x, y"),
        ((np.zeros((2, 63), np.float32), np.zeros(2, int)), r"x has the shape \[2, 63\]"),
        ((np.zeros((2, 64), np.float32), np.zeros((2, 1), int)), r"labels has the shape \[2, 1\]"),
        ((np.zeros((2, 64), np.complex64), np.zeros(2, int)), "x is complex64"),
        ((np.zeros((2, 64), np.float32), np.zeros(2)), "labels is float64"),
    ],
)
def test_a_batch_that_does_not_fit_is_refused(digits: Path, batch: Any, words: str) -> None:
    trainer = Trainer.from_artifacts(digits)
    with pytest.raises(ModelError, match=words):
        trainer.step(batch)
    with pytest.raises(ModelError, match=words):
        trainer.evaluate(batch)


def test_evaluation_uses_the_present_parameters(digits: Path) -> None:
    trainer = Trainer.from_artifacts(digits, learning_rate=0.01)
    for x, labels in batches():
        parameters = {name: array.astype(np.float64) for name, array in trainer.parameters.items()}
        found = trainer.evaluate({"x": x, "labels": labels})
        logits = oracle.scores(parameters, x)
        assert found.loss == pytest.approx(oracle.loss_and_gradients(parameters, x, labels)[0], rel=1e-5)
        assert found.accuracy == (logits.argmax(axis=1) == labels).mean()
        assert any(np.allclose(array, logits, atol=1e-5) for array in found.outputs.values())
        assert trainer.step((x, labels)) == pytest.approx(found.loss, rel=1e-6)


def test_ignored_labels_do_not_count_in_the_accuracy(
    training_model: onnx.ModelProto, eval_model: onnx.ModelProto, checkpoint: Checkpoint
) -> None:
    loss = next(node for node in eval_model.graph.node if node.op_type == "SoftmaxCrossEntropyLoss")
    loss.attribute.append(helper.make_attribute("ignore_index", 9))
    trainer = Trainer(training_model, checkpoint, eval_model=eval_model)
    x, labels = batches()[0]
    right = oracle.scores(checkpoint.trainable, x).argmax(axis=1) == labels
    assert 0 < (labels == 9).sum() < SIZE
    assert trainer.evaluate((x, labels)).accuracy == right[labels != 9].mean()
    nothing = trainer.evaluate((x, np.full(SIZE, 9)))
    assert nothing.accuracy is not None
    assert np.isnan(nothing.accuracy)


def test_what_needs_an_evaluation_model_says_so(
    training_model: onnx.ModelProto, checkpoint: Checkpoint, tmp_path: Path
) -> None:
    trainer = Trainer(training_model, checkpoint)
    assert not trainer.can_evaluate
    with pytest.raises(ModelError, match="no eval_model.onnx"):
        trainer.evaluate(batches()[0])
    with pytest.raises(ModelError, match="no eval_model.onnx"):
        trainer.export(tmp_path / "out.onnx")


Save = Callable[[Trainer, Path], None]


@pytest.mark.parametrize("save", [Trainer.save, Trainer.save_checkpoint], ids=["npz", "checkpoint"])
def test_a_loaded_training_goes_on_where_it_was(digits: Path, tmp_path: Path, save: Save) -> None:
    whole = Trainer.from_artifacts(digits, learning_rate=0.01)
    losses = [whole.step(batch) for batch in batches()]
    first = Trainer.from_artifacts(digits, learning_rate=0.01)
    for batch in batches()[:5]:
        first.step(batch)
    save(first, tmp_path / "state")
    second = Trainer.from_artifacts(digits)
    second.step(batches(seed=1)[0])
    second.load(tmp_path / "state")
    assert second.learning_rate == pytest.approx(0.01)
    second.learning_rate = 0.01
    assert [second.step(batch) for batch in batches()[5:]] == losses[5:]


def test_a_checkpoint_with_optimiser_state_is_a_start(
    digits: Path, training_model: onnx.ModelProto, tmp_path: Path
) -> None:
    first = Trainer.from_artifacts(digits, learning_rate=0.01)
    for batch in batches()[:5]:
        first.step(batch)
    first.save_checkpoint(tmp_path / "state")
    stored = read_checkpoint(tmp_path / "state")
    assert stored.groups["group0"].step == 5
    second = Trainer(
        training_model, stored, optimizer_model=onnx.load(digits / "optimizer_model.onnx"), learning_rate=0.01
    )
    assert [second.step(batch) for batch in batches()[5:]] == [first.step(batch) for batch in batches()[5:]]


def test_parameters_alone_leave_the_optimiser_as_it_is(digits: Path, tmp_path: Path) -> None:
    trainer = Trainer.from_artifacts(digits)
    for batch in batches()[:3]:
        trainer.step(batch)
    wanted = {name: array + 1 for name, array in trainer.parameters.items()}
    np.savez(tmp_path / "parameters.npz", **wanted)
    before = trainer.state
    trainer.load(tmp_path / "parameters.npz")
    assert trainer.state.step == before.step == 3
    for name, array in trainer.parameters.items():
        assert np.array_equal(array, wanted[name])
        assert np.array_equal(trainer.state.states[name]["momentum1"], before.states[name]["momentum1"])


def test_loaded_parameters_get_the_types_of_the_models(
    training_model: onnx.ModelProto, checkpoint: Checkpoint, tmp_path: Path
) -> None:
    checkpoint.frozen["more"] = np.arange(3, dtype=np.int64)
    trainer = Trainer(training_model, checkpoint)
    wider = {name: array.astype(np.float64) for name, array in checkpoint.trainable.items()}
    np.savez(tmp_path / "wider.npz", **wider, more=np.arange(3, dtype=np.int8))
    trainer.load(tmp_path / "wider.npz")
    assert {name: array.dtype for name, array in trainer.parameters.items()} == {
        name: array.dtype for name, array in checkpoint.parameters.items()
    }
    trainer.step(batches()[0])
    np.savez(tmp_path / "text.npz", **wider, more=np.array(["a", "b", "c"]))
    with pytest.raises(ModelError, match="more is <U1"):
        trainer.load(tmp_path / "text.npz")


def test_a_state_of_another_model_is_refused_and_changes_nothing(
    digits: Path, models: Path, tmp_path: Path
) -> None:
    trainer = Trainer.from_artifacts(digits)
    before = trainer.parameters
    missing = dict(list(before.items())[1:])
    reshaped = {name: array.reshape(-1) for name, array in before.items()}
    more = {**before, "another": np.zeros(1)}
    for name, arrays in {"missing": missing, "reshaped": reshaped, "more": more}.items():
        np.savez(tmp_path / f"{name}.npz", **arrays)
    paths = [models / "ort_deep" / "checkpoint", *sorted(tmp_path.glob("*.npz")), digits / "eval_model.onnx"]
    for path in paths:
        with pytest.raises(ModelError) as caught:
            trainer.load(path)
        assert str(caught.value).startswith(str(path))
        assert "\n" not in str(caught.value)
    assert all(np.array_equal(array, before[name]) for name, array in trainer.parameters.items())


def test_the_exported_model_is_the_network_with_its_parameters(digits: Path, tmp_path: Path) -> None:
    trainer = Trainer.from_artifacts(digits, learning_rate=0.01)
    for batch in batches():
        trainer.step(batch)
    trainer.export(tmp_path / "network.onnx")
    model = onnx.load(tmp_path / "network.onnx")
    onnx.checker.check_model(model, full_check=True)
    assert [value.name for value in model.graph.input] == ["x"]
    assert {entry.domain for entry in model.opset_import} == {""}
    session = onnxruntime.InferenceSession(tmp_path / "network.onnx", providers=["CPUExecutionProvider"])
    x, _ = batches(seed=9)[0]
    (found,) = session.run(None, {"x": x})
    np.testing.assert_allclose(found, oracle.scores(trainer.parameters, x), rtol=1e-4, atol=1e-5)
    start = oracle.scores(read_checkpoint(digits / "checkpoint").trainable, x)
    assert not np.allclose(found, start, atol=1e-2)


def test_another_value_can_be_exported(digits: Path, eval_model: onnx.ModelProto, tmp_path: Path) -> None:
    trainer = Trainer.from_artifacts(digits)
    hidden = next(node.output[0] for node in eval_model.graph.node if node.op_type == "Sigmoid")
    trainer.export(tmp_path / "hidden.onnx", outputs=[hidden])
    model = onnx.load(tmp_path / "hidden.onnx")
    onnx.checker.check_model(model, full_check=True)
    assert {tensor.name for tensor in model.graph.initializer} == {"hidden.weight", "hidden.bias"}
    with pytest.raises(ModelError, match="no value nothing"):
        trainer.export(tmp_path / "none.onnx", outputs=["nothing"])


def test_artifacts_that_do_not_belong_together_are_refused(
    training_model: onnx.ModelProto, checkpoint: Checkpoint
) -> None:
    Trainer(training_model, checkpoint)
    whole = checkpoint.trainable
    checkpoint.trainable = {name: array for name, array in whole.items() if name != "hidden.bias"}
    with pytest.raises(ModelError, match=r"hidden\.bias, which the checkpoint lacks"):
        Trainer(training_model, checkpoint)
    checkpoint.trainable = {**whole, "hidden.bias": np.zeros(96)}
    with pytest.raises(ModelError, match=r"hidden\.bias is float64"):
        Trainer(training_model, checkpoint)
    checkpoint.trainable = {**whole, "hidden.bias": np.zeros(95, np.float32)}
    with pytest.raises((ModelError, BackendError), match="training model"):
        Trainer(training_model, checkpoint).step(batches()[0])


def test_models_of_another_kind_are_refused(
    training_model: onnx.ModelProto, eval_model: onnx.ModelProto, checkpoint: Checkpoint
) -> None:
    with pytest.raises(ModelError, match="no com.microsoft::InPlaceAccumulatorV2"):
        Trainer(eval_model, checkpoint)
    gradient = next(node for node in training_model.graph.node if node.op_type.endswith("LossGrad"))
    gradient.op_type = "UnheardOf"
    with pytest.raises(BackendError, match="the training model does not load"):
        Trainer(training_model, checkpoint)


@pytest.mark.parametrize(
    ("nodes", "words"),
    [
        ([], "no optimiser"),
        ([sgd("rate", "params", "gradients"), sgd("rate", "params", "gradients")], "not understood"),
        ([helper.make_node("Mul", ["a", "b"], ["c"])], "not understood"),
        ([sgd("rate", "params", "gradients", "signal")], "update signal"),
    ],
)
def test_an_optimizer_model_of_another_kind_is_refused(
    training_model: onnx.ModelProto, checkpoint: Checkpoint, nodes: list[onnx.NodeProto], words: str
) -> None:
    with pytest.raises(ModelError, match=words):
        Trainer(training_model, checkpoint, optimizer_model=optimizer_model(*nodes))


def test_a_folder_without_artifacts_is_refused(tmp_path: Path, digits: Path) -> None:
    with pytest.raises(ModelError, match="is no folder"):
        Trainer.from_artifacts(tmp_path / "missing")
    with pytest.raises(ModelError, match="has no training_model.onnx"):
        Trainer.from_artifacts(tmp_path)
    for name in ("a_training_model.onnx", "b_training_model.onnx"):
        (tmp_path / name).write_bytes((digits / "training_model.onnx").read_bytes())
    with pytest.raises(ModelError, match="several"):
        Trainer.from_artifacts(tmp_path)


def test_artifacts_can_be_given_one_by_one_as_files(digits: Path, tmp_path: Path) -> None:
    trainer = Trainer(
        digits / "training_model.onnx",
        str(digits / "checkpoint"),
        eval_model=digits / "eval_model.onnx",
        optimizer_model=digits / "optimizer_model.onnx",
    )
    whole = Trainer.from_artifacts(digits)
    for batch in batches():
        assert trainer.step(batch) == whole.step(batch)
        assert trainer.evaluate(batch).loss == whole.evaluate(batch).loss
    trainer.export(tmp_path / "network.onnx")
    with pytest.raises(ModelError, match=r"nothing\.onnx: cannot be read"):
        Trainer(digits / "nothing.onnx", digits / "checkpoint")


def test_artifacts_with_a_prefix_are_found(tmp_path: Path, digits: Path) -> None:
    for path in digits.iterdir():
        (tmp_path / f"mine_{path.name}").write_bytes(path.read_bytes())
    trainer = Trainer.from_artifacts(tmp_path)
    assert trainer.can_evaluate
    assert trainer.optimizer == "AdamWOptimizer"


def test_the_trainer_is_part_of_the_package() -> None:
    assert ax.Trainer is Trainer


def test_a_kernel_that_fails_changes_nothing(digits: Path) -> None:
    trainer, undisturbed = (Trainer.from_artifacts(digits, learning_rate=0.01) for _ in range(2))
    for batch in batches():
        failing = simulator.fault("aclnnSigmoidBackward", code=561000)
        with failing, pytest.raises(BackendError, match="aclnnSigmoidBackward"):
            trainer.step(batch)
        assert trainer.step(batch) == undisturbed.step(batch)
    for name, array in undisturbed.parameters.items():
        assert np.array_equal(trainer.parameters[name], array)
