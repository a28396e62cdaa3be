"""Prepare scikit-learn's digits, 1797 images of 8x8 pixels, for `onnx-ascend train models/ort_digits`.

Writes `digits_train.npz` and `digits_test.npz`: `x`, the pixels between 0 and 1, and `labels`, the digits.
The data is part of scikit-learn (`pip install scikit-learn`); nothing is downloaded.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

BRIGHTEST = 16
TEST_SHARE = 0.25


def main() -> None:
    """Writes both files and says what they hold."""
    parser = argparse.ArgumentParser(description="Prepare scikit-learn's digits for onnx-ascend train.")
    parser.add_argument("--output", type=Path, default=Path(), help="the folder to write to")
    parser.add_argument("--seed", type=int, default=0, help="seed of the split into training and test")
    options = parser.parse_args()
    images, labels = load_digits(return_X_y=True)
    x = (images / BRIGHTEST).astype(np.float32)
    split = train_test_split(
        x, labels.astype(np.int64), test_size=TEST_SHARE, random_state=options.seed, stratify=labels
    )
    for name, part_x, part_labels in (("train", split[0], split[2]), ("test", split[1], split[3])):
        path = options.output / f"digits_{name}.npz"
        np.savez(path, x=part_x, labels=part_labels)
        print(f"{path}: {len(part_x)} images")


if __name__ == "__main__":
    main()
