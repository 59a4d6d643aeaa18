"""The two relatives that layer norm is compared with, made of the same moves."""

import numpy as np

from lnlib.checks import checked, checked_eps, real_array
from lnlib.layer_norm import back_through_squeeze, center, squeeze_and_guard
from lnlib.rows import blocks, numerics, result_of


@numerics
def rms_norm(x, gamma=None, *, axis=-1, eps=1e-5):
    """Return gamma * x / sqrt(mean(x**2) + eps): layer norm without centering and without beta.

    Source: Zhang and Sennrich, "Root Mean Square Layer Normalization", 2019, https://arxiv.org/abs/1910.07467,
    equation 4, with eps inside the root. Arguments, result and errors are those of `layer_norm`. With
    eps = 0 a row of zeros comes back as NaN; in a row with an infinity the finite values become zeros.
    """
    x, axes, eps, gamma = checked(x, axis, eps, gamma=gamma)
    y = result_of(x)
    for rows in blocks(x, axes, eps):
        squeeze_and_guard(rows)
        rows *= gamma
        rows.write(y)
    return y


@numerics
def rms_norm_backward(dy, x, gamma=None, *, axis=-1, eps=1e-5):
    """Return dx and dgamma, the gradients of sum(dy * rms_norm(x, gamma)).

    As in `layer_norm_backward`, but dx = (dx_hat - x_hat * mean(dx_hat * x_hat)) / sqrt(mean(x**2) + eps).
    """
    x, axes, eps, gamma = checked(x, axis, eps, gamma=gamma)
    dy = real_array("dy", dy, x.shape)
    dx, dgamma = result_of(x), np.zeros([x.shape[a] for a in axes])
    for x_hat, gradient in zip(blocks(x, axes, eps), blocks(dy, axes)):
        _, guarded_rms = squeeze_and_guard(x_hat)
        gradient.sum_into(dgamma, times=x_hat)
        gradient *= gamma
        back_through_squeeze(gradient, x_hat, guarded_rms)
        gradient.write(dx, gradient.exponent - x_hat.exponent)
    return dx, dgamma


@numerics
def batch_norm(x, gamma=None, beta=None, *, eps=1e-5):
    """Return layer norm turned around: each feature by its statistics over the batch.

    Source: Ioffe and Szegedy, "Batch Normalization", 2015, https://arxiv.org/abs/1502.03167, algorithm 1.
    Mean and variance run over every axis but the last, as in training; no running averages are kept.
    x has at least two axes; gamma and beta have shape (features,). The rest is as in `layer_norm`.
    """
    x, eps = real_array("x", x), checked_eps(eps)
    if x.ndim < 2:
        raise ValueError(f"x: expected at least two axes, batch and features, got shape {x.shape}")
    gamma = None if gamma is None else real_array("gamma", gamma, x.shape[-1:])
    beta = None if beta is None else real_array("beta", beta, x.shape[-1:])
    y = result_of(x)
    for rows in blocks(x, tuple(range(x.ndim - 1)), eps):
        center(rows)
        squeeze_and_guard(rows)
        # One feature makes a row here: it has its gamma and beta to itself.
        rows *= None if gamma is None else np.float64(gamma[rows.block])[:, np.newaxis]
        rows += None if beta is None else np.float64(beta[rows.block])[:, np.newaxis]
        rows.write(y)
    return y
