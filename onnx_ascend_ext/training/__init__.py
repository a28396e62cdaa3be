"""Training with the artifacts of onnxruntime-training, on stock ONNX Runtime."""

from onnx_ascend_ext.training.checkpoint import (
    Checkpoint,
    OptimizerGroup,
    read_checkpoint,
)
from onnx_ascend_ext.training.checkpoint_writer import write_checkpoint
from onnx_ascend_ext.training.evaluation import Evaluation
from onnx_ascend_ext.training.trainer import Trainer

__all__ = ["Checkpoint", "Evaluation", "OptimizerGroup", "Trainer", "read_checkpoint", "write_checkpoint"]
