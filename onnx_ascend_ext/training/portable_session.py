"""Loads a graph of the artifacts into stock ONNX Runtime: converted, on one NPU."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import onnx

from onnx_ascend_ext.conversion import convert
from onnx_ascend_ext.errors import BackendError, ModelError
from onnx_ascend_ext.sessions import InferenceSession
from onnx_ascend_ext.sessions.assignment import CPU_EP_NAME, converted_nodes, node_providers
from onnx_ascend_ext.sessions.onnxruntime_module import EXTERNAL_DATA_FOLDER, onnxruntime, quiet_options


@dataclass(frozen=True)
class SessionSettings:
    """How sessions are made.

    Attributes:
        device_id: the NPU's number as ACL counts.
        threads: of ONNX Runtime's CPU provider; 0 for one on each core.
        folder: where external data of the models lies, or None.
        allow_cpu: load on the CPU where the execution provider cannot be used at all.
    """

    device_id: int
    threads: int
    folder: Path | None
    allow_cpu: bool

    def load(self, model: onnx.ModelProto, which: str) -> tuple[Any, dict[str, str]]:
        """A session for a model, and the execution provider of each converted node by its name.

        Args:
            model: with training-only operators.
            which: what the model is called in messages.

        Warns:
            CpuFallbackWarning: a converted node is not run by the execution provider.

        Raises:
            ModelError: the model has an operator that stock ONNX Runtime does not have and that has no
                portable definition.
            BackendError: no such device, or ONNX Runtime does not load the model.
        """
        conversion = convert(model, portable=True)
        if conversion.portable and conversion.portable.remaining:
            listed = "; ".join(
                f"{node.op_type} ({node.node}): {node.reason}" for node in conversion.portable.remaining
            )
            raise ModelError(f"the {which} model has operators that stock ONNX Runtime lacks: {listed}")
        try:
            try:
                session = InferenceSession(conversion.model, self._options(), device_id=self.device_id)
            except BackendError:
                if not self.allow_cpu:
                    raise
                return self._on_cpu(conversion.model)
        except BackendError:
            raise
        except Exception as error:
            raise BackendError(f"the {which} model does not load: {one_line(error)}") from error
        return session, node_providers(session, conversion.model)

    def _on_cpu(self, model: onnx.ModelProto) -> tuple[Any, dict[str, str]]:
        data = model.SerializeToString()
        session = onnxruntime().InferenceSession(data, self._options(), providers=[CPU_EP_NAME])
        return session, dict.fromkeys(converted_nodes(model), CPU_EP_NAME)

    def _options(self) -> Any:
        options = quiet_options()
        options.intra_op_num_threads = self.threads
        if self.folder is not None:
            options.add_session_config_entry(EXTERNAL_DATA_FOLDER, str(self.folder.resolve()))
        return options


def one_line(error: Exception) -> str:
    """What ONNX Runtime says; its exception types have Exception alone in common."""
    return " ".join(str(error).split())
