"""The gradients, against exact derivatives, difference quotients and numbers worked by hand."""

import itertools

import numpy as np
import pytest

from lnlib import LayerNorm, layer_norm, layer_norm_backward, layer_norm_steps, rms_norm, rms_norm_backward
from tests.exact import exact_gradient


@pytest.mark.parametrize(
    "size, eps", [(1, 1e-5), (1, 0.25), *itertools.product([2, 3, 8], [0.0, 1e-5, 0.25])]
)
@pytest.mark.parametrize("offset, scale", [(0.0, 1.0), (1e6, 1.0), (0.0, 1e-3), (3.0, 1e5)])
def test_dx_is_the_exact_derivative(size, eps, offset, scale):
    rng = np.random.default_rng(size)
    x, dy, gamma = offset + scale * rng.normal(size=size), rng.normal(size=size), rng.normal(size=size)
    expected = np.float64(exact_gradient(dy, x, eps, gamma))
    dx, dgamma, dbeta = layer_norm_backward(dy, x, gamma, eps=eps)
    tolerance = 1e-14 * np.abs(dy * gamma).max() / np.sqrt(np.var(x) + eps)
    np.testing.assert_allclose(dx, expected, rtol=0, atol=tolerance)
    np.testing.assert_allclose(dgamma, dy * layer_norm(x, eps=eps), rtol=1e-14)
    np.testing.assert_allclose(dbeta, dy, rtol=0)


def difference_quotients(function, value, h=1e-5):
    """Return the derivative of function(value) by each number in value."""
    slopes = np.empty_like(value)
    for position in np.ndindex(value.shape):
        ahead, behind = value.copy(), value.copy()
        ahead[position] += h
        behind[position] -= h
        slopes[position] = (function(ahead) - function(behind)) / (2 * h)
    return slopes


@pytest.mark.parametrize(
    "shape, axis", [((3, 5), -1), ((3, 5), 0), ((2, 3, 4), 1), ((2, 3, 4), (1, 2)), ((2, 3, 2, 2), (0, 2))]
)
def test_all_three_gradients_are_slopes(shape, axis):
    rng = np.random.default_rng(3)
    x, dy = rng.normal(2.0, 1.5, size=(2, *shape))
    axes = [a % len(shape) for a in np.atleast_1d(axis)]
    gamma, beta = rng.normal(size=(2, *(shape[a] for a in axes)))
    gamma.flat[0] = 0.0  # x_hat cannot be had from y there

    def loss(x, gamma, beta):
        return np.sum(dy * layer_norm(x, gamma, beta, axis=axis, eps=0.1))

    dx, dgamma, dbeta = layer_norm_backward(dy, x, gamma, axis=axis, eps=0.1)
    assert dx.shape == x.shape
    assert dgamma.shape == dbeta.shape == gamma.shape
    np.testing.assert_allclose(dx, difference_quotients(lambda v: loss(v, gamma, beta), x), atol=1e-8)
    np.testing.assert_allclose(dgamma, difference_quotients(lambda v: loss(x, v, beta), gamma), atol=1e-8)
    np.testing.assert_allclose(dbeta, difference_quotients(lambda v: loss(x, gamma, v), beta), atol=1e-8)


@pytest.mark.parametrize("shape, axis", [((3, 5), -1), ((3, 5), 0), ((2, 3, 4), (0, 2))])
def test_both_rms_gradients_are_slopes(shape, axis):
    rng = np.random.default_rng(4)
    x, dy = rng.normal(2.0, 1.5, size=(2, *shape))
    gamma = rng.normal(size=[shape[a] for a in np.atleast_1d(axis)])

    def loss(x, gamma):
        return np.sum(dy * rms_norm(x, gamma, axis=axis, eps=0.1))

    dx, dgamma = rms_norm_backward(dy, x, gamma, axis=axis, eps=0.1)
    np.testing.assert_allclose(dx, difference_quotients(lambda v: loss(v, gamma), x), atol=1e-8)
    np.testing.assert_allclose(dgamma, difference_quotients(lambda v: loss(x, v), gamma), atol=1e-8)


def test_a_second_derivative():
    # The sum of (1, 2) * LN((t, 0)) at eps = 1/4 is -t / sqrt(t**2 + 1): by hand, its second
    # derivative is 3 t / (t**2 + 1)**(5/2).
    def slope(t):
        return layer_norm_backward([1.0, 2.0], [t, 0.0], eps=0.25)[0][0]

    h = 1e-5
    second = (slope(0.7 + h) - slope(0.7 - h)) / (2 * h)
    assert abs(second) == pytest.approx(0.7749142, abs=5e-8)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("value", [0.0, 5.0, -1234.0])
def test_on_a_flat_row_only_centering_and_eps_are_left(dtype, value):
    x, dy, eps = np.full((2, 4), value, dtype), np.array([[1, 2, 4, 9], [0, 0, 3, -1]], dtype), 0.25
    dx, dgamma, dbeta = layer_norm_backward(dy, x, eps=eps)
    assert dx.dtype == dtype
    np.testing.assert_array_equal(dx, (dy - dy.mean(axis=-1, keepdims=True)) / np.sqrt(eps))
    assert not dgamma.any()
    assert dbeta.tolist() == [1, 2, 7, 8]


@pytest.mark.parametrize("value", [0.0, 1.0, 1e200, -1.7e308, 5e-324])
@pytest.mark.parametrize("eps", [1e-5, 1e-320, 5e-324, 1e300])
@pytest.mark.parametrize("size", [1, 3, 200])
@pytest.mark.filterwarnings("error")
def test_a_flat_row_of_any_size_and_with_any_eps(value, eps, size):
    rng = np.random.default_rng(size)
    x, dy, gamma = np.full(size, value), rng.normal(size=size), rng.normal(size=size)
    dx, dgamma, _ = layer_norm_backward(dy, x, gamma, eps=eps)
    g = dy * gamma
    expected = (g - g.mean()) / np.sqrt(eps)
    np.testing.assert_allclose(dx, expected, rtol=0, atol=1e-15 * np.abs(g).max() / np.sqrt(eps))
    assert not dgamma.any()
    steps = layer_norm_steps(x, eps=eps)
    assert steps.mean == value and not steps.deviations.any() and steps.variance == steps.std == 0
    assert steps.guarded_std == pytest.approx(np.sqrt(eps), rel=1e-15, abs=0)


def test_sums_over_the_batch_are_float64_whatever_the_batch_is():
    # Added up in float16, 4,096 ones would stop at 2,048.
    dy = np.ones((4096, 2), np.float16)
    x = np.tile(np.float16([1, 3]), (4096, 1))
    dx, dgamma, dbeta = layer_norm_backward(dy, x, np.float16([1, 2]), eps=0)
    assert (dx.dtype, dgamma.dtype, dbeta.dtype) == (np.float16, np.float64, np.float64)
    assert dbeta.tolist() == [4096, 4096]
    assert dgamma.tolist() == [-4096, 4096]


@pytest.mark.parametrize("power", [-1000, -450, 450, 1000])
@pytest.mark.parametrize("backward", [layer_norm_backward, rms_norm_backward])
def test_a_scale_of_x_divides_dx_to_the_last_bit(backward, power):
    rng = np.random.default_rng(5)
    x, dy, gamma = rng.normal(size=(3, 6))
    dx, *others = backward(dy, x, gamma, eps=0)
    scaled, *same = backward(dy, np.ldexp(x, power), gamma, eps=0)
    np.testing.assert_array_equal(scaled, np.ldexp(dx, -power))
    np.testing.assert_array_equal(same, others)


@pytest.mark.parametrize("power", [-1000, -450, 450, 1000])
@pytest.mark.parametrize("backward", [layer_norm_backward, rms_norm_backward])
def test_a_scale_of_dy_multiplies_every_gradient_to_the_last_bit(backward, power):
    rng = np.random.default_rng(6)
    x, dy, gamma = rng.normal(size=(3, 6))
    for gamma in (gamma, np.float32(gamma)):
        results, scaled = backward(dy, x, gamma), backward(np.ldexp(dy, power), x, gamma)
        for result, after in zip(results, scaled, strict=True):
            np.testing.assert_array_equal(after, np.ldexp(result, power))


def test_a_common_part_of_dy_has_no_effect_however_large():
    rng = np.random.default_rng(7)
    x, dy = rng.normal(size=(2, 6))
    dy = np.round(dy, 3)
    expected = np.float64(exact_gradient(1e9 + dy, x, 1e-5, np.ones(6)))
    np.testing.assert_allclose(layer_norm_backward(1e9 + dy, x)[0], expected, rtol=0, atol=1e-13)


@pytest.mark.parametrize("power", [-1060, -500, 500, 1015])
@pytest.mark.parametrize("backward", [layer_norm_backward, rms_norm_backward])
def test_gradients_as_extreme_as_x(backward, power):
    x, dy = np.float64([1, 2, 5, 4]), np.float64([3, 1, 0, 2])
    expected = backward(dy, x, eps=0)[0]
    np.testing.assert_array_equal(backward(np.ldexp(dy, power), np.ldexp(x, power), eps=0)[0], expected)


@pytest.mark.parametrize("backward", [layer_norm_backward, rms_norm_backward])
def test_a_wide_gamma_makes_narrow_gradients_wide(backward):
    x = np.float64([1, 2, 3, 5])
    narrow = backward(np.float32([1, 2, 3, 1]), x, [1e300] * 4)[0]
    np.testing.assert_array_equal(narrow, backward([1.0, 2.0, 3.0, 1.0], x, [1e300] * 4)[0])
    assert np.isfinite(narrow).all()
    x = np.random.default_rng(0).normal(size=1000)
    assert not layer_norm_backward(np.ones(1000, np.float32), x, np.full(1000, 0.1))[0].any()


def test_the_layer_keeps_what_its_backward_needs():
    layer = LayerNorm(3, eps=0.1)
    with pytest.raises(RuntimeError, match="^backward: expected a call of the layer"):
        layer.backward(np.ones(3))
    assert layer.dgamma is None and layer.dbeta is None
    rng = np.random.default_rng(8)
    first, x, dy = rng.normal(size=(3, 2, 4, 3))
    layer.gamma[:] = (0.5, 0, 2)
    layer(first)
    layer(x)
    dx = layer.backward(dy)
    expected = layer_norm_backward(dy.reshape(8, 3), x.reshape(8, 3), (0.5, 0, 2), eps=0.1)
    np.testing.assert_array_equal(dx.reshape(8, 3), expected[0])
    np.testing.assert_array_equal(layer.dgamma, expected[1])
    np.testing.assert_array_equal(layer.dbeta, expected[2])


def test_an_x_that_the_layer_refused_is_not_kept():
    layer = LayerNorm(2)
    layer([1.0, 3.0])
    with pytest.raises(TypeError):
        layer(np.array([1j, 2]))
    assert layer.backward([1.0, 0.0]).shape == (2,)


@pytest.mark.parametrize("backward", [layer_norm_backward, rms_norm_backward])
@pytest.mark.parametrize(
    "dy, x, gamma, error, message",
    [
        ([1, 2, 3], [[1, 2, 3]], None, ValueError, r"^dy: expected shape \(1, 3\), got \(3,\)"),
        ([1j, 2], [1, 2], None, TypeError, "^dy: .*complex128"),
        ([1, 2], [1, 2], [1], ValueError, r"^gamma: expected shape \(2,\), got \(1,\)"),
        ([1, 2], ["a", "b"], None, TypeError, "^x: "),
    ],
)
def test_bad_input_is_named(backward, dy, x, gamma, error, message):
    with pytest.raises(error, match=message):
        backward(dy, x, gamma)
    with pytest.raises(ValueError, match="^eps: "):
        backward([1, 2], [1, 2], eps=-1)
    with pytest.raises(ValueError, match="^axis"):
        backward([1, 2], [1, 2], axis=1)


def test_gradients_of_integers_and_of_inputs_that_stay_unchanged():
    x, dy = np.array([[0, 10, 20]], np.uint8), np.array([[1, 0, 0]], np.uint8)
    dx, dgamma, dbeta = layer_norm_backward(dy, x, np.array([1, 2, 3], np.int8), eps=0)
    np.testing.assert_allclose(dx, np.float64([exact_gradient([1, 0, 0], [0, 10, 20], 0, [1, 2, 3])]), atol=1e-16)
    assert x.tolist() == [[0, 10, 20]] and dy.tolist() == [[1, 0, 0]]
