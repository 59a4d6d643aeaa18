"""Layer normalization, forward and backward.

Source of the formulas: Ba, Kiros and Hinton, "Layer Normalization", 2016,
https://arxiv.org/abs/1607.06450, sections 3 and 3.1, with eps inside the root as all common
implementations have it. The backward follows from them by the chain rule.

Read `rows` as an array of float64 numbers of shape (rows, features). `lnlib.rows` says why it is
more than that.
"""

from dataclasses import dataclass
from numbers import Integral

import numpy as np

from lnlib.checks import checked_axes, checked_eps, normalized_shape, real_array
from lnlib.rows import PerFeature, blocks, numerics, result_of


def center(rows):
    """Move each row so that its mean is zero; return the mean."""
    origin = rows.move_origin()  # only differences count, and now a large offset costs no digits
    mean = rows.mean()
    rows -= mean
    return origin + mean


def squeeze_and_guard(rows):
    """Divide each row by its guarded spread; return its mean square and the guarded spread."""
    # The mean square of a centered row is its variance. It is the population's (it divides by the
    # number of features): the row is all there is, nothing was sampled.
    mean_square = rows.mean(times=rows)
    guarded = np.sqrt(mean_square + rows.eps)
    rows *= 1 / guarded
    return mean_square, guarded


def restyle(rows, gamma, beta):
    """Give each feature the scale and the shift that it has learned."""
    rows *= gamma
    rows += beta


@numerics
def layer_norm(x, gamma=None, beta=None, *, axis=-1, eps=1e-5):
    """Return gamma * (x - mean) / sqrt(variance + eps) + beta, each row by its own statistics.

    Parameters
    ----------
    x : array_like
        Real numbers of any shape with at least one axis. float16, float32 and float64 keep their
        dtype; integers are taken as float64 (exact up to 2**53). Never changed.
    gamma, beta : array_like, optional
        Scale and shift, one number a feature: exactly the normalized shape, which is x's sizes
        along `axis` in ascending order of the axes. Left out, they act as ones and zeros.
    axis : int or tuple of int
        The axes whose values make a row: they share one mean and one variance.
    eps : float
        Added to the variance (in its unit, x's unit squared) before the root; zero or more.
        With eps = 0 a row of equal values is 0/0 and comes back as NaN.

    Returns
    -------
    ndarray
        Shape of x; dtype of x, or float64 for integers. A row is bitwise the same alone, in any
        batch and in any memory layout. One that holds NaN or an infinity is NaN, and no other is.

    Raises
    ------
    TypeError
        x, gamma or beta is not float16/32/64 or integer; axis is not an integer; eps not a number.
    ValueError
        gamma or beta has not the normalized shape; an axis is out of range or named twice; there
        are no features to normalize; eps is negative, NaN or infinite; x is a ragged list.
    """
    x, axes, eps, gamma, beta = checked(x, axis, eps, gamma=gamma, beta=beta)
    y = result_of(x)
    for rows in blocks(x, axes, eps):
        center(rows)
        squeeze_and_guard(rows)
        restyle(rows, gamma, beta)
        rows.write(y)
    return y


@numerics
def layer_norm_backward(dy, x, gamma=None, *, axis=-1, eps=1e-5):
    """Return dx, dgamma and dbeta, the gradients of sum(dy * layer_norm(x, gamma, beta)).

    With x_hat the normalized x, dx_hat = gamma * dy and means over each row:

        dx = (dx_hat - mean(dx_hat) - x_hat * mean(dx_hat * x_hat)) / sqrt(variance + eps)
        dgamma = sum over rows of dy * x_hat        dbeta = sum over rows of dy

    x_hat is computed from x again, since y does not determine it where gamma is zero.

    dy has the shape of x; the other arguments are those of `layer_norm`, and so are the errors.
    dx has the shape and dtype of x (float64 for integers) and the unit of dy over that of x.
    dgamma and dbeta have the normalized shape; they are float64, as sums over the whole batch.
    """
    x, axes, eps, gamma = checked(x, axis, eps, gamma=gamma)
    dy = real_array("dy", dy, x.shape)
    dx = result_of(x)
    dgamma, dbeta = np.zeros((2, *normalized_shape(x, axes)))
    for x_hat, gradient in zip(blocks(x, axes, eps), blocks(dy, axes)):
        center(x_hat)
        _, guarded_std = squeeze_and_guard(x_hat)
        gradient.sum_into(dgamma, times=x_hat)
        gradient.sum_into(dbeta)
        gradient *= gamma
        # Centering is its own derivative. It may come first, and then equal gradients give exact zeros.
        center(gradient)
        back_through_squeeze(gradient, x_hat, guarded_std)
        gradient.write(dx, -x_hat.exponent)
    return dx, dgamma, dbeta


def back_through_squeeze(gradient, normalized, guarded):
    """Turn the gradient by normalized rows into that by the rows before; use up the normalized ones."""
    # The spread follows a change along the row itself: that share of the gradient has no effect.
    normalized *= gradient.mean(times=normalized)
    gradient -= normalized
    gradient *= 1 / guarded


@dataclass(frozen=True, eq=False)
class LayerNormSteps:
    """Every quantity on the way from a row to its layer norm.

    mean, variance, std and guarded_std have the shape of the input with its normalized axes kept
    at size 1: one number a row, which NumPy broadcasts back over it. The other fields have the
    shape of the input. Mean, deviations, std and guarded_std share the unit of the input, variance
    (and so eps) has that unit squared, normalized has none. output has the dtype that `layer_norm`
    returns, all else is float64, the dtype of the arithmetic.
    """

    mean: np.ndarray
    deviations: np.ndarray
    variance: np.ndarray
    std: np.ndarray
    guarded_std: np.ndarray
    normalized: np.ndarray
    output: np.ndarray


@numerics
def layer_norm_steps(x, gamma=None, beta=None, *, axis=-1, eps=1e-5):
    """Do what `layer_norm` does, and return every quantity on the way, as `LayerNormSteps`."""
    x, axes, eps, gamma, beta = checked(x, axis, eps, gamma=gamma, beta=beta)
    deviations, normalized = np.empty((2, *x.shape))
    output = result_of(x)
    statistics = [np.empty((4, 0, 1))]
    for rows in blocks(x, axes, eps):
        mean = center(rows)
        rows.write(deviations, rows.exponent)
        variance, guarded_std = squeeze_and_guard(rows)
        rows.write(normalized)
        restyle(rows, gamma, beta)
        rows.write(output)
        units = [rows.exponent * power for power in (1, 2, 1, 1)]
        statistics.append(np.ldexp([mean, variance, np.sqrt(variance), guarded_std], units))
    kept = [1 if a in axes else n for a, n in enumerate(x.shape)]
    mean, variance, std, guarded_std = np.concatenate(statistics, axis=1).reshape(4, *kept)
    return LayerNormSteps(mean, deviations, variance, std, guarded_std, normalized, output)


class LayerNorm:
    """A layer that normalizes the last axis and owns what training would learn.

    `gamma` (ones) and `beta` (zeros) are float64 arrays of shape (num_features,), its parameters.
    Mean and variance are not kept, they come from each input anew. `backward` fills `dgamma` and
    `dbeta`, None before.
    """

    def __init__(self, num_features, eps=1e-5):
        if not isinstance(num_features, Integral) or isinstance(num_features, bool):
            raise TypeError(f"num_features: expected an integer, got {num_features!r}")
        if num_features < 1:
            raise ValueError(f"num_features: expected at least 1, got {num_features}")
        self.eps = checked_eps(eps)
        self.gamma, self.beta = np.ones(num_features), np.zeros(num_features)
        self.dgamma = self.dbeta = self._x = None

    def __call__(self, x):
        """Return the layer norm of x, shape (..., num_features), and keep x itself for `backward`.

        Raises ValueError when the last axis of x has another size, and what `layer_norm` raises.
        """
        x = real_array("x", x)
        if x.shape[-1:] != self.gamma.shape:
            raise ValueError(
                f"x: expected {self.gamma.size} features on the last axis, got shape {x.shape}"
            )
        y = layer_norm(x, self.gamma, self.beta, eps=self.eps)
        self._x = x
        return y

    def backward(self, dy):
        """Return dx for the last x, given dy of its shape; set dgamma and dbeta, (num_features,).

        Raises RuntimeError when there was no x, and what `layer_norm_backward` raises.
        """
        if self._x is None:
            raise RuntimeError("backward: expected the layer to have been called with an x before")
        dx, self.dgamma, self.dbeta = layer_norm_backward(dy, self._x, self.gamma, eps=self.eps)
        return dx


def checked(x, axis, eps, **parameters):
    """Return x, axes and eps after their checks, and the parameters in the form that `Rows` take."""
    x = real_array("x", x)
    axes = checked_axes(x, axis)
    shape = normalized_shape(x, axes)
    arrays = (None if p is None else PerFeature(real_array(n, p, shape)) for n, p in parameters.items())
    return x, axes, checked_eps(eps), *arrays
