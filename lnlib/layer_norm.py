"""Layer normalization, one step at a time.

Source of every formula here: Ba, Kiros and Hinton, "Layer Normalization", 2016,
https://arxiv.org/abs/1607.06450, sections 3 and 3.1, with eps inside the root as all common
implementations have it.
"""

from dataclasses import dataclass
from numbers import Integral, Real

import numpy as np
from numpy.lib.array_utils import normalize_axis_tuple


@dataclass(frozen=True, eq=False)
class LayerNormSteps:
    """Every quantity on the way from a row to its layer norm.

    For an input of shape (B, T, H) normalized over its last axis, the statistics `mean`,
    `variance`, `std` and `guarded_std` have shape (B, T, 1): one number a row, its axis kept so
    that NumPy broadcasts it back over the row. The other fields have the shape of the input.

    Units: mean, deviations, std and guarded_std share the unit of the input, variance (and so
    eps) has that unit squared, normalized has none.

    dtype: `output` has the input's dtype, or float64 for integers. The other fields have the
    dtype of the arithmetic, which is the same except that float16 is computed as float32.
    """

    mean: np.ndarray
    deviations: np.ndarray
    variance: np.ndarray
    std: np.ndarray
    guarded_std: np.ndarray
    normalized: np.ndarray
    output: np.ndarray


def layer_norm_steps(x, gamma=None, beta=None, *, axis=-1, eps=1e-5):
    """Normalize x over `axis` and keep every intermediate result.

    Takes the arguments of `layer_norm`, raises what it raises, and returns a `LayerNormSteps`
    whose `output` is what `layer_norm` returns.
    """
    x, dtype = _checked_input(x)
    axes = _checked_axes(x, axis)
    gamma = _checked_parameter("gamma", gamma, x, axes)
    beta = _checked_parameter("beta", beta, x, axes)
    eps = _checked_eps(eps)

    # Center: move the row so that its mean is zero.            (B, T, H) -> (B, T, 1)
    mean = x.mean(axis=axes, keepdims=True)
    deviations = x - mean

    # Squeeze and guard: divide by the spread, eps keeping the divisor off zero. The variance is
    # the population's (it divides by H), because the row is all there is: nothing was sampled.
    variance = np.square(deviations).mean(axis=axes, keepdims=True)
    std = np.sqrt(variance)
    guarded_std = np.sqrt(variance + eps)
    # A flat row with eps = 0 is 0/0. NaN is the answer there, so NumPy need not warn of it.
    with np.errstate(invalid="ignore"):
        normalized = deviations / guarded_std

    # Restyle: give each feature the scale and the shift that it has learned.
    output = normalized if gamma is None else gamma * normalized
    output = output if beta is None else output + beta

    return LayerNormSteps(
        mean, deviations, variance, std, guarded_std, normalized, output.astype(dtype)
    )


def layer_norm(x, gamma=None, beta=None, *, axis=-1, eps=1e-5):
    """Return gamma * (x - mean) / sqrt(variance + eps) + beta, each row by its own statistics.

    Parameters
    ----------
    x : array_like
        Real numbers of any shape with at least one axis. float16, float32 and float64 keep their
        dtype; integers become float64. Never changed.
    gamma, beta : array_like, optional
        Scale and shift, one number a feature: exactly the normalized shape, which is x's sizes
        along `axis` in ascending order of the axes. Left out, they act as ones and zeros.
    axis : int or tuple of int
        The axes whose values share one mean and one variance.
    eps : float
        Added to the variance (in its unit, x's unit squared) before the root; zero or more.
        With eps = 0 a row of equal values is 0/0 and comes back as NaN.

    Returns
    -------
    ndarray
        Shape of x; dtype of x, or float64 for integers.

    Raises
    ------
    TypeError
        x, gamma or beta is not float16/32/64 or integer; axis is not an integer; eps not a number.
    ValueError
        gamma or beta has not the normalized shape; an axis is out of range or named twice; there
        are no features to normalize; eps is negative, NaN or infinite; x is a ragged list.
    """
    return layer_norm_steps(x, gamma, beta, axis=axis, eps=eps).output


class LayerNorm:
    """A layer that normalizes the last axis and owns what training would learn.

    `gamma` (ones) and `beta` (zeros) are float64 arrays of shape (num_features,). They are the
    layer's parameters; mean and variance are not kept, they come from each input anew.
    """

    def __init__(self, num_features, eps=1e-5):
        if not isinstance(num_features, Integral) or isinstance(num_features, bool):
            raise TypeError(f"num_features: expected an integer, got {num_features!r}")
        if num_features < 1:
            raise ValueError(f"num_features: expected at least 1, got {num_features}")
        self.eps = _checked_eps(eps)
        self.gamma = np.ones(num_features)
        self.beta = np.zeros(num_features)

    def __call__(self, x):
        """Return the layer norm of x, shape (..., num_features), in the dtype of x.

        Raises ValueError when the last axis of x has another size, and what `layer_norm` raises.
        """
        x = _real_array("x", x)
        if x.shape[-1:] != self.gamma.shape:
            raise ValueError(
                f"x: expected {self.gamma.size} features on the last axis, got shape {x.shape}"
            )
        return layer_norm(x, self.gamma, self.beta, eps=self.eps)


def _real_array(name, value):
    """Return value as an array of float16, float32, float64 or integers; name it if it is none."""
    try:
        array = np.asarray(value)
    except ValueError as error:
        raise ValueError(f"{name}: expected an array or evenly nested lists: {error}") from None
    native = array.dtype.newbyteorder("=")
    if native not in (np.float16, np.float32, np.float64) and native.kind not in "iu":
        raise TypeError(f"{name}: expected float16/32/64 or integers, got dtype {array.dtype}")
    return array


def _checked_input(x):
    """Return x in the dtype of the arithmetic, and the dtype that the result is to have."""
    x = _real_array("x", x)
    dtype = x.dtype if x.dtype.kind == "f" else np.dtype(np.float64)
    # float16 ends at 65504: the squares of everyday values would overflow in it.
    wide = np.float32 if dtype == np.float16 else dtype.newbyteorder("=")
    return x.astype(wide, copy=False), dtype


def _checked_axes(x, axis):
    """Return the axes to normalize as ascending, nonnegative integers."""
    if x.ndim == 0:
        raise ValueError(f"x: expected at least one axis, got the single number {x}")
    try:
        axes = tuple(sorted(normalize_axis_tuple(axis, x.ndim, "axis")))
    except TypeError:
        raise TypeError(f"axis: expected an integer or a tuple of them, got {axis!r}") from None
    if not axes:
        raise ValueError("axis: expected at least one axis, got ()")
    if any(x.shape[a] == 0 for a in axes):
        raise ValueError(f"x: no features to normalize: shape {x.shape} is empty along axis {axis}")
    return axes


def _checked_parameter(name, value, x, axes):
    """Return gamma or beta with size-1 axes put in, so that it lines up with x; None stays None."""
    if value is None:
        return None
    value = _real_array(name, value)
    normalized_shape = tuple(x.shape[a] for a in axes)
    # Broadcasting would accept (3, 1), and grow the output for (5, 1, 4): ask for the exact shape.
    if value.shape != normalized_shape:
        raise ValueError(f"{name}: expected shape {normalized_shape}, got {value.shape}")
    return value.reshape([n if a in axes else 1 for a, n in enumerate(x.shape)])


def _checked_eps(eps):
    if not isinstance(eps, Real) or isinstance(eps, bool):
        raise TypeError(f"eps: expected a real number, got {eps!r}")
    try:
        eps = float(eps)
    except OverflowError:
        raise ValueError(f"eps: expected a number that float64 can hold, got {eps}") from None
    if not 0 <= eps < float("inf"):
        raise ValueError(f"eps: expected a finite number, zero or more, got {eps}")
    return eps
