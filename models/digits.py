"""Make the artifacts of `digits_mlp/` again: a sigmoid network for the 8x8 images of scikit-learn's digits.

`python models/digits.py` needs the extra `models-ort`, as the `ort_*` cases of `make_models.py` do, and
gives the same files byte for byte.
"""

from __future__ import annotations

import argparse
import logging
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from make_models import MODELS, ORT_CASES, Shape, make_ort_case

if TYPE_CHECKING:
    import torch

NAME = "digits_mlp"
PIXELS, HIDDEN, CLASSES = 64, 96, 10


def digits_mlp() -> tuple[torch.nn.Module, Shape]:
    from torch import nn

    class Mlp(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.hidden = nn.Linear(PIXELS, HIDDEN)
            self.scores = nn.Linear(HIDDEN, CLASSES)

        def forward(self, x: torch.Tensor) -> Any:
            return self.scores(self.hidden(x).sigmoid())

    return Mlp(), (PIXELS,)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, default=MODELS, help="folder that the case is written below")
    folder = parser.parse_args(arguments).output / NAME
    folder.mkdir(parents=True, exist_ok=True)
    logging.getLogger("torch.onnx").setLevel(logging.ERROR)
    ORT_CASES[NAME] = digits_mlp
    make_ort_case(NAME, folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
