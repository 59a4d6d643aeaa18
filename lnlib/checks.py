"""What every public function asks of its arguments. An error names the argument and what was expected."""

import math
from numbers import Real

import numpy as np
from numpy.lib.array_utils import normalize_axis_tuple

from lnlib.rows import PerFeature


def checked(x, axis, eps, **parameters):
    """Return x, the axes in ascending order from 0, eps, and the parameters in the form that `Rows` take."""
    x = real_array("x", x)
    if x.ndim == 0:
        raise ValueError(f"x: expected at least one axis, got the single number {x}")
    try:
        axes = tuple(sorted(normalize_axis_tuple(axis, x.ndim)))
    except TypeError:
        raise TypeError(f"axis: expected an integer or a tuple of them, got {axis!r}") from None
    except (ValueError, OverflowError):
        axes = ()
    if not axes:
        which = f"one of {-x.ndim} to {x.ndim - 1}, or several and none twice"
        raise ValueError(f"axis: expected {which}, for an x of shape {x.shape}, got {axis}")
    shape = tuple(x.shape[a] for a in axes)
    if 0 in shape:
        raise ValueError(f"x: no features to normalize: shape {x.shape} is empty along axis {axis}")
    arrays = (None if p is None else PerFeature(real_array(n, p, shape)) for n, p in parameters.items())
    return x, axes, checked_eps(eps), *arrays


def real_array(name, value, shape=None):
    """Return value as an array of float16, float32, float64 or integers, of this shape if one is given."""
    try:
        array = np.asarray(value)
    except (TypeError, ValueError, RuntimeError) as error:
        raise type(error)(f"{name}: expected an array or evenly nested lists: {error}") from None
    if array.dtype.kind not in "iu" and array.dtype.type not in (np.float16, np.float32, np.float64):
        raise TypeError(f"{name}: expected float16/32/64 or integers, got dtype {array.dtype}")
    if isinstance(value, np.ma.MaskedArray):
        raise TypeError(f"{name}: expected an array without a mask, which would be ignored")
    # Broadcasting would accept (3, 1), and grow the output for (5, 1, 4): ask for the exact shape.
    if shape is not None and array.shape != shape:
        raise ValueError(f"{name}: expected shape {shape}, got {array.shape}")
    return array


def checked_eps(eps):
    """Return eps as a float."""
    if not isinstance(eps, Real) or isinstance(eps, bool):
        raise TypeError(f"eps: expected a real number, got {eps!r}")
    try:
        eps = float(eps)
    except OverflowError:
        eps = math.inf
    if not 0 <= eps < math.inf:
        raise ValueError(f"eps: expected zero or more, and less than infinity in float64, got {eps}")
    return eps
