"""RMS norm and batch norm against numbers worked by hand, exact arithmetic, and layer norm itself."""

from fractions import Fraction

import numpy as np
import pytest

from lnlib import batch_norm, layer_norm, rms_norm, rms_norm_backward
from tests.exact import exact_layer_norm, fractions, root


def test_rms_norm_by_hand():
    # The squares of (1, 2, 2, 4) have the mean 25/4, whose root is 2.5.
    assert rms_norm([1, 2, 2, 4], eps=0).tolist() == [0.4, 0.8, 0.8, 1.6]
    assert rms_norm([1, 2, 2, 4], [10, 0, -5, 5], eps=0).tolist() == [4, 0, -4, 8]
    # With eps inside the root: 1 / sqrt(1 + 3).
    assert rms_norm([1, -1], eps=3).tolist() == [0.5, -0.5]


@pytest.mark.parametrize("dtype, bound", [(np.float32, 1e-6), (np.float64, 1e-14)])
@pytest.mark.parametrize("scale", [1e-300, 1e-30, 1.0, 1e30, 1e300])
@pytest.mark.parametrize("eps", [0.0, 1e-5, 1e-310])
@pytest.mark.filterwarnings("error")
def test_rms_norm_agrees_with_rational_arithmetic(dtype, bound, scale, eps):
    with np.errstate(over="ignore"):
        x = (scale * np.random.default_rng(1).normal(size=9)).astype(dtype)
    if not (np.isfinite(x).all() and x.any()):
        x = np.array([3, -4, 1e-45, 0, 3e38], dtype)
    squares = [v * v for v in fractions(x)]
    guarded_rms = root(sum(squares) / len(x) + Fraction(eps))
    expected = np.float64([v / guarded_rms for v in fractions(x)])
    np.testing.assert_allclose(rms_norm(x, eps=eps), expected, rtol=0, atol=bound)


def test_rms_norm_of_a_centered_row_is_its_layer_norm():
    x = np.array([[-3.0, 1.0, 2.0], [-6.0, 2.0, 4.0]])
    np.testing.assert_allclose(rms_norm(x, [1, 2, 3]), layer_norm(x, [1, 2, 3]), rtol=1e-15)


@pytest.mark.filterwarnings("error")
def test_rms_norm_of_zeros():
    assert rms_norm(np.zeros((2, 3))).tolist() == [[0] * 3] * 2
    assert np.isnan(rms_norm(np.zeros((2, 3)), eps=0)).all()
    assert rms_norm(np.zeros((0, 3), np.float16)).shape == (0, 3)
    assert rms_norm(np.float16([300, 300, -300])).tolist() == [1, 1, -1]


def test_rms_gradient_by_hand():
    # x_hat = (0.6, 0.8) * sqrt(2), guarded rms = 5 / sqrt(2), dx_hat = (1, 0):
    # dx = (1 - 0.6 * 0.6, -0.6 * 0.8) * sqrt(2) / 5, dgamma = (0.6 * sqrt(2), 0).
    dx, dgamma = rms_norm_backward([1.0, 0.0], [3.0, 4.0], eps=0)
    np.testing.assert_allclose(dx, np.array([0.64, -0.48]) * 2**0.5 / 5, rtol=1e-15)
    np.testing.assert_allclose(dgamma, [0.6 * 2**0.5, 0], rtol=1e-15)


def test_batch_norm_by_hand():
    x = [[2, 10, 7], [2, 10, 7], [6, 14, 7], [6, 14, 7]]
    assert batch_norm(x, eps=0).tolist()[0][:2] == [-1, -1]
    y = batch_norm(x, [1, 2, 3], [0, 5, 4])
    np.testing.assert_allclose(y[:2], [[-0.99999875, 3.0000025, 4]] * 2, rtol=0, atol=1e-8)
    np.testing.assert_allclose(y[2:], [[0.99999875, 6.9999975, 4]] * 2, rtol=0, atol=1e-8)


@pytest.mark.parametrize("shape", [(5, 3), (2, 4, 3), (2, 3, 2, 3), (1, 3), (1, 1, 3)])
def test_batch_norm_takes_its_statistics_over_every_axis_but_the_last(shape):
    rng = np.random.default_rng(2)
    x = rng.normal(1e3, 2.0, size=shape)
    gamma, beta = rng.normal(size=(2, 3))
    y = batch_norm(x, gamma, beta, eps=0.1)
    assert y.shape == shape
    for feature in range(3):
        column = x[..., feature].ravel()
        expected = exact_layer_norm(column, 0.1, [gamma[feature]] * column.size, [beta[feature]] * column.size)
        np.testing.assert_allclose(y[..., feature].ravel(), np.float64(expected), rtol=0, atol=1e-14)
    np.testing.assert_array_equal(batch_norm(x, beta=beta, eps=0.1), batch_norm(x, np.ones(3), beta, eps=0.1))
    np.testing.assert_array_equal(batch_norm(x, gamma, eps=0.1), batch_norm(x, gamma, np.zeros(3), eps=0.1))


@pytest.mark.filterwarnings("error")
def test_batch_norm_keeps_dtypes_and_empty_batches():
    for dtype in (np.float16, np.float32, np.float64):
        y = batch_norm(np.array([[1], [3]], dtype), np.float32([2]), eps=0)
        assert y.dtype == dtype and y.tolist() == [[-2], [2]]
    assert batch_norm(np.array([[0], [200]], np.uint8), eps=0).tolist() == [[-1], [1]]
    assert batch_norm(np.zeros((0, 4), np.float32)).shape == (0, 4)
    assert batch_norm(np.zeros((4, 0))).shape == (4, 0)
    assert np.isnan(batch_norm(np.ones((4, 2)), eps=0)).all()


def test_in_a_batch_of_features_a_bad_value_spoils_its_feature_only():
    x = np.random.default_rng(3).normal(size=(6, 3))
    clean = batch_norm(x)
    x[2, 1] = np.nan
    spoiled = batch_norm(x)
    assert np.isnan(spoiled[:, 1]).all()
    np.testing.assert_array_equal(spoiled[:, [0, 2]], clean[:, [0, 2]])


@pytest.mark.parametrize(
    "function, arguments, error, message",
    [
        (rms_norm, dict(x=3.0), ValueError, "^x: expected at least one axis"),
        (rms_norm, dict(x=[1, 2], gamma=[1]), ValueError, r"^gamma: expected shape \(2,\), got \(1,\)"),
        (rms_norm, dict(x=[1, 2], eps=-1), ValueError, "^eps: "),
        (rms_norm, dict(x=[1, 2], axis=2), ValueError, "^axis"),
        (batch_norm, dict(x=[1.0, 2.0]), ValueError, r"^x: expected at least two axes, .*\(2,\)"),
        (batch_norm, dict(x=[["a"]]), TypeError, "^x: "),
        (batch_norm, dict(x=np.ones((2, 3)), gamma=np.ones(2)), ValueError, r"^gamma: expected shape \(3,\)"),
        (batch_norm, dict(x=np.ones((2, 3)), beta=np.ones((2, 3))), ValueError, r"^beta: expected shape \(3,\)"),
        (batch_norm, dict(x=np.ones((2, 3)), beta=[None] * 3), TypeError, "^beta: "),
        (batch_norm, dict(x=np.ones((2, 3)), eps=np.nan), ValueError, "^eps: "),
    ],
)
def test_bad_input_is_named(function, arguments, error, message):
    with pytest.raises(error, match=message):
        function(**arguments)
