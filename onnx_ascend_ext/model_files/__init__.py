"""Reading and writing model files: never reads weights, never leaves a half-written file."""

from onnx_ascend_ext.model_files.arrays import read_npz, write_npz
from onnx_ascend_ext.model_files.batch import PlannedOutput, collect, is_one_file, make_folders, plan_outputs
from onnx_ascend_ext.model_files.copying import Progress
from onnx_ascend_ext.model_files.damage import blaming_damage
from onnx_ascend_ext.model_files.paths import check_target, open_source
from onnx_ascend_ext.model_files.reading import load
from onnx_ascend_ext.model_files.staging import write_files
from onnx_ascend_ext.model_files.streams import STDIN, STDOUT
from onnx_ascend_ext.model_files.writing import SavedFiles, save

__all__ = [
    "STDIN",
    "STDOUT",
    "PlannedOutput",
    "Progress",
    "SavedFiles",
    "blaming_damage",
    "check_target",
    "collect",
    "is_one_file",
    "load",
    "make_folders",
    "open_source",
    "plan_outputs",
    "read_npz",
    "save",
    "write_files",
    "write_npz",
]
