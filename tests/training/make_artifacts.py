"""Make `artifacts/` again, and the losses of onnxruntime-training with them.

    python tests/training/make_artifacts.py

The environment has the packages of tests/portable/training-requirements.txt.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from kinds import FEATURES, HIDDEN, KINDS, LEARNING_RATE, OUTPUTS, draw
from onnxruntime.training import artifacts, onnxblock
from reference import Reference

ARTIFACTS = Path(__file__).parent / "artifacts"
PARAMETERS = {
    "hidden_weight": (HIDDEN, FEATURES),
    "hidden_bias": (HIDDEN,),
    "scores_weight": (OUTPUTS, HIDDEN),
    "scores_bias": (OUTPUTS,),
}
CLIP = 0.5


def network() -> onnx.ModelProto:
    model = onnx.parser.parse_model(f"""
        <ir_version: 8, opset_import: ["": 17]>
        network (float[N, {FEATURES}] x) => (float[N, {OUTPUTS}] y) {{
            h = Gemm <transB = 1> (x, hidden_weight, hidden_bias)
            s = Sigmoid (h)
            y = Gemm <transB = 1> (s, scores_weight, scores_bias)
        }}
    """)
    generator = np.random.RandomState(1)
    for name, shape in PARAMETERS.items():
        values = (0.5 * generator.standard_normal(shape)).astype(np.float32)
        model.graph.initializer.append(onnx.numpy_helper.from_array(values, name))
    return model


def options(kind: str) -> dict[str, Any]:
    chosen: dict[str, Any] = {
        "requires_grad": list(PARAMETERS),
        "loss": artifacts.LossType.CrossEntropyLoss,
        "optimizer": artifacts.OptimType.AdamW,
    }
    optim = onnxblock.optim
    special: dict[str, dict[str, Any]] = {
        "squared_error": {"loss": artifacts.LossType.MSELoss},
        "absolute_error": {"loss": artifacts.LossType.L1Loss},
        "binary_cross_entropy": {"loss": artifacts.LossType.BCEWithLogitsLoss},
        "sgd": {"optimizer": artifacts.OptimType.SGD},
        "sgd_clipped": {"optimizer": optim.SGD(clip_grad=optim.ClipGradNorm(CLIP))},
        "adamw_clipped": {
            "optimizer": optim.AdamW(clip_grad=optim.ClipGradNorm(CLIP), weight_decay=0.1, eps=1e-3)
        },
        "adamw_uncorrected": {"optimizer": optim.AdamW(bias_correction=False, betas=(0.8, 0.95))},
        "frozen": {
            "requires_grad": [name for name in PARAMETERS if name != "hidden_bias"],
            "frozen_params": ["hidden_bias"],
        },
        "more_outputs": {"additional_output_names": ["y"]},
    }
    return {**chosen, **special[kind]}


def main() -> None:
    losses: dict[str, list[float]] = {}
    for kind in KINDS:
        folder = ARTIFACTS / kind
        folder.mkdir(parents=True, exist_ok=True)
        artifacts.generate_artifacts(network(), artifact_directory=folder, **options(kind))
        reference = Reference(folder, learning_rate=LEARNING_RATE)
        losses[kind] = [reference.step(*batch) for batch in draw(kind)]
    (ARTIFACTS / "losses.json").write_text(json.dumps(losses, indent=1) + "\n")


if __name__ == "__main__":
    main()
