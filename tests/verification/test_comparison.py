from __future__ import annotations

import math

import ml_dtypes
import numpy as np
import pytest

from onnx_ascend_ext.verification import compare


def one(expected: np.ndarray, actual: np.ndarray, **tolerance: float):
    (comparison,) = compare({"x": expected}, {"x": actual}, **tolerance)
    return comparison


def test_equal_arrays_have_no_error() -> None:
    array = np.array([0.25, -3.5e7, 0.0], np.float32)
    comparison = one(array, array.copy())
    assert comparison.ok
    assert comparison.max_abs_error == comparison.max_rel_error == 0.0


def test_text_is_equal_or_not_and_named_as_onnx_does() -> None:
    text = np.array(["a", ""], object)
    assert one(text, text.copy()).ok
    comparison = one(text, np.array(["a", "b"], object))
    assert (comparison.ok, comparison.dtype, comparison.note) == (False, "string", "values differ")


def test_errors_are_measured_against_the_reference() -> None:
    comparison = one(np.array([2.0, 4.0]), np.array([2.5, 3.0]))
    assert not comparison.ok
    assert comparison.max_abs_error == 1.0
    assert comparison.max_rel_error == 0.25


def test_nan_equals_nan_and_infinity_equals_infinity() -> None:
    array = np.array([np.nan, np.inf, -np.inf, 1.0], np.float32)
    assert one(array, array.copy()).ok


@pytest.mark.parametrize(
    ("expected", "actual"),
    [(np.nan, 1.0), (1.0, np.nan), (np.inf, -np.inf), (np.inf, 1e30), (1.0, np.inf), (np.nan, np.inf)],
)
def test_non_finite_values_on_one_side_differ_without_a_finite_error(expected: float, actual: float) -> None:
    comparison = one(np.array([expected, 2.0]), np.array([actual, 2.0]), rtol=1e9, atol=1e9)
    assert not comparison.ok
    assert math.isinf(comparison.max_abs_error)
    assert math.isinf(comparison.max_rel_error)


@pytest.mark.parametrize(
    ("dtype", "inside", "outside"),
    [
        (np.float64, 1e-11, 1e-7),
        (np.float32, 1e-6, 1e-3),
        (np.float16, 1e-3, 3e-2),
        (ml_dtypes.bfloat16, 1e-2, 0.2),
    ],
)
def test_tolerance_follows_the_dtype(dtype: type, inside: float, outside: float) -> None:
    reference = np.array([1.0, 0.5], dtype)

    def moved(step: float) -> np.ndarray:
        return (reference.astype(np.float64) + step).astype(dtype)

    assert one(reference, moved(inside)).ok
    assert not one(reference, moved(outside)).ok


def test_absolute_tolerance_scales_with_the_largest_value_of_the_tensor() -> None:
    assert one(np.array([1e6, 0.0], np.float32), np.array([1e6, 0.5], np.float32)).ok
    assert not one(np.array([1.0, 0.0], np.float32), np.array([1.0, 0.5], np.float32)).ok


def test_given_tolerances_replace_the_dtypes_own() -> None:
    assert one(np.array([1.0], np.float32), np.array([1.5], np.float32), atol=0.5).ok
    assert not one(np.array([1.0], np.float32), np.array([1.0000001], np.float32), rtol=0.0, atol=0.0).ok


def test_integers_are_compared_exactly_beyond_the_range_of_doubles() -> None:
    large = np.array([2**53, 2**53 + 1], np.int64)
    assert one(large, large.copy()).ok
    for index in (0, 1):
        other = large.copy()
        other[index] = 2**53 + 1 - index
        assert not one(large, other).ok


def test_booleans_and_strings_are_equal_or_not() -> None:
    assert one(np.array([True, False]), np.array([True, False])).ok
    assert not one(np.array([True, False]), np.array([True, True])).ok
    assert one(np.array(["a"], object), np.array(["a"], object)).ok
    assert not one(np.array(["a"], object), np.array(["b"], object)).ok


@pytest.mark.parametrize(
    ("actual", "note"),
    [(np.zeros((2, 1)), "shape [2, 1], not [2]"), (np.zeros(2, np.float32), "dtype float32, not float64")],
)
def test_another_shape_or_dtype_is_named(actual: np.ndarray, note: str) -> None:
    comparison = one(np.zeros(2), actual)
    assert not comparison.ok
    assert comparison.note == note


def test_outputs_of_one_side_only_are_reported() -> None:
    comparisons = {c.name: c for c in compare({"a": np.zeros(1)}, {"b": np.zeros(1)})}
    assert not comparisons["a"].ok
    assert not comparisons["b"].ok
    assert comparisons["a"].note == "the candidate has no such output"
    assert comparisons["b"].note == "the reference has no such output"


def test_empty_arrays_are_equal() -> None:
    comparison = one(np.zeros((0, 3), np.float32), np.zeros((0, 3), np.float32))
    assert comparison.ok
    assert comparison.max_abs_error == 0.0
