"""Rows as float64 numbers, a cacheful at a time: what makes the arithmetic both right and fast.

- All arithmetic is float64: float16 and float32 have digits to spare in it, and their squares fit.
- A float64 row whose squares would overflow or vanish is measured in another unit, a power of two.
  Its layer norm is the same if eps is measured in that unit squared.
- A block of rows fits the processor's cache, so that a chain of plain NumPy steps on it costs little
  more than reading it once. No temporary is larger, however large the array.
- A row is summed in an order that depends on its length only, and a float64 row in a tree of short
  runs, so that rounding errors hardly grow with the length.
"""

from functools import reduce
import math

import numpy as np

VALUES = 60_000  # float64 numbers in a block: 480 kB
NARROW = np.float16, np.float32  # they leave so much of float64 free that sums and products need no care
RUN = 128  # products that are added one after the other
NARROW_RUN = 8192  # the same if the factors were narrow; einsum cuts longer runs by their place in memory
HUGE = 2.0**960  # what can be taken from any float64 without overflow; from half of one, any half can
SAFE = 2.0**400  # numbers from 1 / SAFE to SAFE have squares and sums of squares far from float64's limits

# For every function that works on `blocks`. Where NaN and infinities come from stands in its docstring.
numerics = np.errstate(all="ignore")


def blocks(array, axes, eps=0):
    """Yield `Rows` that together hold every row of the array once, in order.

    axes are those that make a row, ascending; eps is in the unit of the array squared. Be done with
    a block before asking for the next: it lies in the same memory. Decorate the caller with `numerics`.
    """
    if not array.size:
        return
    if array.size > 512:
        # With a larger buffer, a number to be broadcast over a short row is copied into it first, and
        # the step takes twice as long. At the end of `numerics` the size is what it was.
        np.setbufsize(512)
    order = tuple(a for a in range(array.ndim) if a not in axes) + axes
    source = array.transpose(order)
    others, features = source.shape[: -len(axes)], source.shape[-len(axes) :]
    size, parts = math.prod(features), list(_cuts(features, VALUES))
    memory = np.empty(min(array.size, VALUES))
    for block in _cuts(others, max(1, VALUES // max(size, 8))):  # a short row has temporaries of its own
        yield Rows(source[block], order, block, parts, size, memory, eps)


def _cuts(shape, most):
    """Yield, in order, the indices that cut an array of this shape into pieces of at most `most` values."""
    inner, whole = math.prod(shape[1:]), (slice(None),) * len(shape[1:])
    if math.prod(shape) <= most:
        yield (slice(None),) * len(shape)
    elif inner > most:
        yield from ((i, *cut) for i in range(shape[0]) for cut in _cuts(shape[1:], most))
    else:
        step = most // inner
        yield from ((slice(start, start + step), *whole) for start in range(0, shape[0], step))


class PerFeature:
    """One number a feature, such as gamma: an array of the normalized shape, used as float64."""

    def __init__(self, parameter):
        self._parameter, self.narrow = parameter, parameter.dtype.type in NARROW

    def at(self, part):
        return np.asarray(self._parameter[part], np.float64, order="C").reshape(-1)


class Rows:
    """A few rows as float64 values of shape (rows, features), changed in place.

    What is added, subtracted or multiplied is one number a row, shape (rows, 1), or `PerFeature`,
    or the `Rows` of another array at the same place. None changes nothing. Such steps are noted, and
    done when values are asked for: again each time, if a row is longer than a block.

    `block` is the index of these rows among the axes that make no row. The values are in the unit
    2**exponent, which is zero or integers of shape (rows, 1), and eps in that unit squared.
    """

    def __init__(self, source, order, block, parts, size, memory, eps):
        self.block, self.exponent, self.eps = block, 0, eps
        self._source, self._order, self._parts, self._size, self._memory = source, order, parts, size, memory
        self._own_eps, self._narrow = eps, source.dtype.type in NARROW
        self._safe, self._steps, self._part = self._narrow, [], None

    def at(self, part):
        """Return the values of a part, to be left as they are."""
        if part != self._part:
            source = self._source[(..., *part)]
            values = self._memory[: source.size].reshape(source.shape)
            np.copyto(values, source, casting="unsafe")
            self._part, self._done = part, 0
            self._values = values.reshape(self._source.size // self._size, -1)
        for ufunc, other in self._steps[self._done :]:
            ufunc(self._values, other if isinstance(other, np.ndarray) else other.at(part), out=self._values)
        self._done = len(self._steps)
        return self._values

    def _then(self, ufunc, other):
        if isinstance(other, PerFeature):
            self._narrow = self._safe = self._narrow and other.narrow
        if other is not None:
            self._steps.append((ufunc, other))
        return self

    def __iadd__(self, other):
        return self._then(np.add, other)

    def __isub__(self, other):
        return self._then(np.subtract, other)

    def __imul__(self, other):
        return self._then(np.multiply, other)

    def move_origin(self):
        """Measure rows from their first value, so that an offset costs no digits; return that value."""
        if self._narrow:
            return 0.0
        first = self.at(self._parts[0])[:, :1].copy()
        if not self._is_safe():
            self._change_unit(np.int64(np.abs(first) > HUGE))
        self._then(np.subtract, first if self._safe else np.ldexp(first, -self.exponent))
        self._choose_unit()
        return first

    def _is_safe(self):
        """Tell whether a quick look finds no row that needs another unit."""
        self._safe = self._safe or self._own_eps > SAFE**-2 and self._largest(axis=None) < SAFE
        return self._safe

    def _choose_unit(self):
        """Measure the rows whose squares are not safe in a unit in which they are."""
        if not self._is_safe():
            largest = np.maximum(self._largest(axis=-1), np.ldexp(np.sqrt(self._own_eps), -self.exponent))
            unsafe = (largest > SAFE) | (largest < 1 / SAFE)
            self._change_unit(np.where(unsafe, np.frexp(largest)[1], 0))
            self._safe = True

    def _change_unit(self, power):
        if power.any():
            self._then(np.ldexp, -power)
            self.exponent = self.exponent + power
            self.eps = np.ldexp(self._own_eps, -2 * self.exponent)

    def _largest(self, axis):
        sizes = (np.maximum.reduce(np.abs(self.at(part)), axis, keepdims=True) for part in self._parts)
        return reduce(np.maximum, sizes)

    def mean(self, times=None):
        """Return each row's mean, or that of its product with other `Rows`, which may be itself."""
        if times:
            self._choose_unit()
        run = NARROW_RUN if self._narrow and (times or self)._narrow else RUN
        sums = (_row_sums(self.at(part), times and times.at(part), run) for part in self._parts)
        return reduce(np.add, sums)[:, np.newaxis] / self._size

    def sum_into(self, total, times=None):
        """Add all rows, or their products with other `Rows`, to an array of the normalized shape."""
        for part in self._parts:
            values = self.at(part)
            sums = np.einsum("rf,rf->f", values, times.at(part)) if times else np.add.reduce(values)
            total[part] += sums.reshape(total[part].shape)

    def write(self, array, exponent=0):
        """Write the values, times 2**exponent, to their places in an array shaped like their own."""
        target = array.transpose(self._order)[self.block]
        for part in self._parts:
            values, piece = self.at(part), target[(..., *part)]
            values = values if isinstance(exponent, int) else np.ldexp(values, exponent)
            piece[...] = values.reshape(piece.shape)


def _row_sums(a, b, run):
    """Return the sum of a, or of a * b if b is not None, over each row."""
    # einsum is faster, but it adds one by one; reduce adds in a tree of short runs.
    if a.shape[1] <= run:
        return np.einsum("rf->r", a) if b is None else np.einsum("rf,rf->r", a, b)
    return np.add.reduce(a if b is None else a * b, -1)


def result_of(x):
    """Return an empty array with the shape of x and its dtype, or float64 if x holds integers."""
    return np.empty(x.shape, x.dtype if x.dtype.kind == "f" else np.float64)
