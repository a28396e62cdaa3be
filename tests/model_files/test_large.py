"""Models beyond two gibibytes, in little memory."""

from __future__ import annotations

import resource
import subprocess
import sys
from pathlib import Path

import pytest
from onnx import TensorProto

from onnx_ascend_ext.errors import ModelError
from onnx_ascend_ext.model_files import load, save

from .models import external_tensor, model_with, write_model

SIZE = 2_100_000_000


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """A model with 2.1 GB of external data, which is a hole but for a few bytes at its ends."""
    tensor = external_tensor("big", "big.bin", (SIZE // 4,), length=SIZE)
    path = write_model(tmp_path / "in", model_with(external_tensor("w", "big.bin", length=16), tensor))
    with (path.parent / "big.bin").open("wb") as file:
        file.write(bytes(range(16)))
        file.seek(SIZE - 16)
        file.write(bytes(range(16)))
    return path


@pytest.mark.parametrize("folder", ["in", "out"])
def test_external_data_needs_no_memory(source: Path, tmp_path: Path, folder: str) -> None:
    target = tmp_path / folder / "converted.onnx"
    target.parent.mkdir(exist_ok=True)
    script = (
        "import resource, sys\n"
        "from onnx_ascend_ext.model_files import load, save\n"
        "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "save(load(sys.argv[1]), sys.argv[2], source=sys.argv[1])\n"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)"
    )
    grown = int(subprocess.check_output([sys.executable, "-c", script, source, target]))
    assert grown < 100_000, "kilobytes"
    assert load(target) == load(source)
    data = target.parent / "big.bin"
    assert data.stat().st_size == SIZE
    assert data.stat().st_blocks * 512 < 100 << 20
    with data.open("rb") as file:
        assert file.read(16) == bytes(range(16))
        file.seek(-16, 2)
        assert file.read() == bytes(range(16))


def test_a_model_over_two_gibibytes_without_external_data(tmp_path: Path) -> None:
    if resource.getrlimit(resource.RLIMIT_AS)[0] != resource.RLIM_INFINITY:
        pytest.skip("needs 5 GB of address space")
    model = model_with(TensorProto(name="w", data_type=1, dims=[4], float_data=[0] * 4))
    model.graph.initializer.add(
        name="big", data_type=TensorProto.UINT8, dims=[2**31 + 8], raw_data=bytes(2**31 + 8)
    )
    with pytest.raises(ModelError, match="limit of 2 GiB: keep its weights as external data"):
        save(model, tmp_path / "model.onnx")
    assert list(tmp_path.iterdir()) == []
