"""Layer normalization, forward and backward.

Source of the formulas: Ba, Kiros and Hinton, "Layer Normalization", 2016, https://arxiv.org/abs/1607.06450,
sections 3 and 3.1, with eps inside the root as all common implementations have it, and the chain rule.
Read `rows` as a float64 array of shape (rows, features). `lnlib.rows` says why it is more than that.
"""

from dataclasses import dataclass
from numbers import Integral

import numpy as np

from lnlib.checks import checked, checked_eps, real_array
from lnlib.rows import blocks, numerics, result_of


def center(rows):
    """Move each row so that its mean is zero; return the mean as a sum: a value and the rest."""
    origin = rows.move_origin()  # only differences count, and now a large offset costs no digits
    rest = rows.mean()
    rows -= rest
    return origin, rest


def squeeze_and_guard(rows):
    """Divide each row by its guarded spread; return its mean square and the guarded spread."""
    # The mean square of a centered row is its variance. It is the population's (it divides by the
    # number of features): the row is all there is, nothing was sampled.
    mean_square = rows.mean(times=rows)
    guarded = np.sqrt(mean_square + rows.eps)
    rows *= 1 / guarded
    return mean_square, guarded


@numerics
def layer_norm(x, gamma=None, beta=None, *, axis=-1, eps=1e-5):
    """Return gamma * (x - mean) / sqrt(variance + eps) + beta, each row by its own statistics.

    x : array_like of float16, float32, float64 or integers (taken as float64), any shape but ().
    gamma, beta : array_like of exactly the normalized shape, which is x's sizes along `axis`, axes
        ascending. Left out, they act as ones and zeros.
    axis : int or tuple of int, the axes whose values make a row: they share one mean and variance.
    eps : zero or more, in the unit of the variance, x's unit squared. With eps = 0 a row of equal
        values is 0/0 and comes back as NaN.

    Returns an array of x's shape and dtype (float64 for integers). A row is bitwise the same alone,
    in any batch and in any memory layout; one with NaN or an infinity in x is NaN, and touches no
    other. The error is at most 1e-14 (float64), 1e-6 (float32) or the step to the next number
    (float16), times the largest of 1, the row's outputs, and max |gamma| * max |normalized|.

    Raises TypeError if an argument holds other numbers; ValueError for another shape, a row without
    features, an axis out of range or named twice, and an eps that is negative, NaN or infinite.
    """
    x, axes, eps, gamma, beta = checked(x, axis, eps, gamma=gamma, beta=beta)
    y = result_of(x)
    for rows in blocks(x, axes, eps):
        center(rows)
        squeeze_and_guard(rows)
        # Restyle: give each feature the scale and the shift that it has learned.
        rows *= gamma
        rows += beta
        rows.write(y)
    return y


@numerics
def layer_norm_backward(dy, x, gamma=None, *, axis=-1, eps=1e-5):
    """Return dx, dgamma and dbeta, the gradients of sum(dy * layer_norm(x, gamma, beta)).

    With x_hat the normalized x, dx_hat = gamma * dy and means over each row:
        dx = (dx_hat - mean(dx_hat) - x_hat * mean(dx_hat * x_hat)) / sqrt(variance + eps)
        dgamma = sum over rows of dy * x_hat        dbeta = sum over rows of dy
    x_hat is computed from x again, since y does not determine it where gamma is zero.

    dy has the shape of x, and dy * gamma fits float64; the rest is as in `layer_norm`, errors too.
    dx has the shape and dtype of x (float64 for integers), and the unit of dy over that of x. dgamma
    and dbeta, sums over the batch, have the normalized shape and are float64.
    """
    x, axes, eps, gamma = checked(x, axis, eps, gamma=gamma)
    dy = real_array("dy", dy, x.shape)
    dx, (dgamma, dbeta) = result_of(x), np.zeros((2, *(x.shape[a] for a in axes)))
    for x_hat, gradient in zip(blocks(x, axes, eps), blocks(dy, axes)):
        center(x_hat)
        _, guarded_std = squeeze_and_guard(x_hat)
        gradient.sum_into(dgamma, times=x_hat)
        gradient.sum_into(dbeta)
        gradient *= gamma
        center(gradient)  # the derivative of centering; first, so that equal gradients leave nothing
        back_through_squeeze(gradient, x_hat, guarded_std)
        gradient.write(dx, gradient.exponent - x_hat.exponent)
    return dx, dgamma, dbeta


def back_through_squeeze(gradient, normalized, guarded):
    """Turn the gradient by normalized rows into that by the rows before; use the normalized ones up."""
    # The spread follows a change along the row itself: that share of the gradient has no effect.
    normalized *= gradient.mean(times=normalized)
    gradient -= normalized
    gradient *= 1 / guarded


@dataclass(frozen=True, eq=False)
class LayerNormSteps:
    """Every quantity on the way from a row to its layer norm.

    mean, variance, std and guarded_std are one number a row, with the normalized axes kept at size 1
    to broadcast back; the other fields have the shape of x. All are float64 but for output.
    normalized has no unit, variance (and so eps) has x's unit squared, the others have x's.
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
    """Do what `layer_norm` does, and return every quantity on the way as `LayerNormSteps`."""
    x, axes, eps, gamma, beta = checked(x, axis, eps, gamma=gamma, beta=beta)
    output, (deviations, normalized) = result_of(x), np.empty((2, *x.shape))
    statistics = [np.empty((4, 0, 1))]
    for rows in blocks(x, axes, eps):
        origin, rest = center(rows)
        rows.write(deviations, rows.exponent)
        variance, guarded_std = squeeze_and_guard(rows)
        rows.write(normalized)
        rows *= gamma
        rows += beta
        rows.write(output)
        units = np.reshape([1, 2, 1, 1], (4, 1, 1)) * rows.exponent
        statistics.append(np.ldexp([rest, variance, np.sqrt(variance), guarded_std], units))
        statistics[-1][0] += origin
    kept = [1 if a in axes else n for a, n in enumerate(x.shape)]
    mean, variance, std, guarded_std = np.concatenate(statistics, axis=1).reshape(4, *kept)
    return LayerNormSteps(mean, deviations, variance, std, guarded_std, normalized, output)


class LayerNorm:
    """A layer that normalizes the last axis and owns what training would learn.

    `gamma` (ones) and `beta` (zeros) are float64 arrays of shape (num_features,), and so are `dgamma`
    and `dbeta`, which `backward` fills. Errors are those of the functions.
    """

    def __init__(self, num_features, eps=1e-5):
        if not isinstance(num_features, Integral) or isinstance(num_features, bool):
            raise TypeError(f"num_features: expected an integer, got {num_features!r}")
        if num_features < 1:
            raise ValueError(f"num_features: expected at least 1, got {num_features}")
        self.gamma, self.beta, self.eps = np.ones(num_features), np.zeros(num_features), checked_eps(eps)
        self.dgamma = self.dbeta = self._x = None

    def __call__(self, x):
        """Return the layer norm of x, shape (..., num_features). Do not change x before `backward`."""
        x = real_array("x", x)
        if x.shape[-1:] != self.gamma.shape:
            raise ValueError(f"x: expected shape (..., {self.gamma.size}), got {x.shape}")
        y = layer_norm(x, self.gamma, self.beta, eps=self.eps)
        self._x = x
        return y

    def backward(self, dy):
        """Return dx for the last x, and set dgamma and dbeta; RuntimeError if there was no x."""
        if self._x is None:
            raise RuntimeError("backward: expected a call of the layer with an x before it")
        dx, self.dgamma, self.dbeta = layer_norm_backward(dy, self._x, self.gamma, eps=self.eps)
        return dx
