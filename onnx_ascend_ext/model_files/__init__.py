"""Reading and writing model files: never reads weights, never leaves a half-written file."""

from onnx_ascend_ext.model_files.batch import PlannedOutput, collect, make_folders, plan_outputs
from onnx_ascend_ext.model_files.copying import Progress
from onnx_ascend_ext.model_files.damage import blaming_damage
from onnx_ascend_ext.model_files.reading import load
from onnx_ascend_ext.model_files.writing import SavedFiles, save

__all__ = [
    "PlannedOutput",
    "Progress",
    "SavedFiles",
    "blaming_damage",
    "collect",
    "load",
    "make_folders",
    "plan_outputs",
    "save",
]
