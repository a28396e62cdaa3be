"""Checks the environment from the installed library up to a device that a session can use.

One module for each subject. A check names what is wrong, where, and what to do, once: what follows from a
fault that has been named refers to it.
"""

from onnx_ascend_ext.diagnosis.check import Check, Status
from onnx_ascend_ext.diagnosis.report import Diagnosis, diagnose

__all__ = ["Check", "Diagnosis", "Status", "diagnose"]
