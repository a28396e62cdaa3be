"""The simulator: CANN's C functions on the CPU, for machines without an NPU and for tests.

Its libraries have CANN's names, so a program written for CANN links against those in `library_dir()`. The
functions here read and steer the simulator of this process; its environment variables begin with
`ASCEND_SIM_`.
"""

from onnx_ascend_ext.simulator.control import Fault, counters, fault, library_dir, reset

__all__ = ["Fault", "counters", "fault", "library_dir", "reset"]
