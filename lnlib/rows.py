"""Rows as float64 numbers, a cacheful at a time: what makes the arithmetic both right and fast.

- All arithmetic is float64: float16 and float32 have digits to spare in it, and their squares fit.
- A float64 row whose squares would overflow or vanish is measured in another unit, a power of two.
  Its layer norm is the same if eps is measured in that unit squared.
- A block of rows fits the processor's cache, so that a chain of plain NumPy steps on it costs
  little more than reading it once. No temporary is larger, however large the array.
- A row is copied to contiguous memory and summed in an order that depends on its length only, and
  float64 in a tree of short runs, so that rounding errors hardly grow with the length.
"""

import itertools
import math

import numpy as np

VALUES = 60_000  # float64 numbers in a block: 480 kB
RUN = 128  # float64 products that are added one after the other; a divisor of EINSUM
EINSUM = 8192  # numbers that einsum takes at a time; it would cut longer rows wherever they happen to lie
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
    # A number to be broadcast over a row shorter than NumPy's buffer is first copied into it, and
    # the step takes twice as long. The size goes back to what it was at the end of `numerics`.
    np.setbufsize(512)
    order = tuple(a for a in range(array.ndim) if a not in axes) + axes
    shape = tuple(array.shape[a] for a in order)
    others, features = shape[: -len(axes)], shape[-len(axes) :]
    size, parts = math.prod(features), list(_cuts(features, VALUES))
    memory = np.empty(min(array.size, VALUES))
    for block in _cuts(others, max(1, VALUES // max(size, 8))):  # a short row has temporaries of its own
        yield Rows(array, order, block, parts, size, memory, eps)


def _cuts(shape, most):
    """Yield the indices that cut an array of this shape into pieces of at most `most` values."""
    if math.prod(shape) <= most:
        yield (slice(None),) * len(shape)
        return
    axis, inner = len(shape) - 1, 1
    while shape[axis] * inner <= most:
        inner *= shape[axis]
        axis -= 1
    step, whole = most // inner, (slice(None),) * (len(shape) - axis - 1)
    for outer in itertools.product(*map(range, shape[:axis])):
        for start in range(0, shape[axis], step):
            yield (*outer, slice(start, start + step), *whole)


class PerFeature:
    """One number a feature, such as gamma: an array of the normalized shape, used as float64."""

    def __init__(self, parameter):
        self._parameter, self.narrow = parameter, _is_narrow(parameter)

    def at(self, part):
        return np.asarray(self._parameter[part], np.float64, order="C").reshape(-1)


class Rows:
    """A few rows as float64 values of shape (rows, features), changed in place.

    What is added, subtracted or multiplied is one number a row, shape (rows, 1), or `PerFeature`,
    or the `Rows` of another array at the same place. None changes nothing.

    A row that fits into a block is held in memory. A longer one never is as a whole: its parts are
    read whenever they are needed, and what was done to the row so far is done to them again.

    `block` is the index of these rows among the axes that make no row. The values are in the unit
    2**exponent, which is zero or integers of shape (rows, 1), and eps in that unit squared.
    """

    def __init__(self, array, order, block, parts, size, memory, eps):
        self.block, self.exponent, self.eps, self._own_eps = block, 0, eps, eps
        self._order, self._parts, self._size, self._memory = order, parts, size, memory
        self._source = array.transpose(order)[block]
        self._count = self._source.size // size
        self._narrow = _is_narrow(array)
        self._steps = []
        self._held = self._read(parts[0]) if len(parts) == 1 else None

    def _read(self, part):
        source = self._source[(..., *part)]
        values = self._memory[: source.size].reshape(source.shape)
        np.copyto(values, source, casting="unsafe")
        values = values.reshape(self._count, -1)
        for ufunc, other in self._steps:
            self._step(ufunc, other, part, values)
        return values

    def at(self, part):
        """Return the values of a part, to be left as they are."""
        return self._read(part) if self._held is None else self._held

    def _step(self, ufunc, other, part, values):
        ufunc(values, other if isinstance(other, np.ndarray) else other.at(part), out=values)

    def _do(self, ufunc, other):
        if other is not None and self._held is not None:
            self._step(ufunc, other, self._parts[0], self._held)
        elif other is not None:
            self._steps.append((ufunc, other))
        return self

    def __iadd__(self, other):
        return self._do(np.add, other)

    def __isub__(self, other):
        return self._do(np.subtract, other)

    def __imul__(self, other):
        if isinstance(other, PerFeature):
            self._narrow = self._narrow and other.narrow
        return self._do(np.multiply, other)

    def move_origin(self):
        """Measure rows from their first value, in a safe unit; return that value, in its own unit."""
        if self._narrow:
            return 0.0
        first = self.at(self._parts[0])[:, :1].copy()
        if np.maximum.reduce(np.abs(first), axis=None) > HUGE:
            halved = np.where(np.abs(first) > HUGE, 1, 0)
            self._change_unit(halved)
            self._do(np.subtract, np.ldexp(first, -halved))
        else:
            self._do(np.subtract, first)
        self.choose_unit()
        return first

    def choose_unit(self):
        """Measure the rows of float64 numbers whose squares are not safe in a unit in which they are."""
        if self._narrow or self._own_eps > SAFE**-2 and self._largest(axis=None) < SAFE:
            return
        largest = np.maximum(self._largest(axis=-1), np.ldexp(np.sqrt(self._own_eps), -self.exponent))
        unsafe = (largest > SAFE) | (largest < 1 / SAFE)
        if unsafe.any():
            self._change_unit(np.where(unsafe, np.frexp(largest)[1], 0))

    def _change_unit(self, power):
        self._do(np.ldexp, -power)
        self.exponent = self.exponent + power
        self.eps = np.ldexp(self._own_eps, -2 * self.exponent)

    def _largest(self, axis):
        sizes = [np.maximum.reduce(np.abs(self.at(part)), axis, keepdims=True) for part in self._parts]
        return sizes[0] if len(sizes) == 1 else np.maximum.reduce(sizes)

    def mean(self, times=None):
        """Return each row's mean, or that of its product with other `Rows`, which may be itself."""
        narrow = self._narrow and (times is None or times._narrow)
        sums = []
        for part in self._parts:
            values = self.at(part)
            sums.append(_row_sums(values, values if times is self else times and times.at(part), narrow))
        return (sums[0] if len(sums) == 1 else np.add.reduce(sums))[:, np.newaxis] / self._size

    def sum_into(self, total, times=None):
        """Add all rows, or their products with other `Rows`, to an array of the normalized shape."""
        for part in self._parts:
            values, piece = self.at(part), total[part]
            rows = np.add.reduce(values) if times is None else np.einsum("rf,rf->f", values, times.at(part))
            piece += rows.reshape(piece.shape)

    def write(self, array, exponent=0):
        """Write the values, times 2**exponent, to their places in an array shaped like their own."""
        target = array.transpose(self._order)[self.block]
        for part in self._parts:
            values, piece = self.at(part), target[(..., *part)]
            values = values if isinstance(exponent, int) else np.ldexp(values, exponent)
            piece[...] = values.reshape(piece.shape)


def _is_narrow(array):
    """Tell whether the numbers leave so much of float64 free that their sums and products need no care."""
    return array.dtype.kind == "f" and array.dtype.itemsize < 8


def _row_sums(a, b, narrow):
    """Return the sum of a, or of a * b if b is not None, over each row."""
    # einsum is about twice as fast as anything else, but it adds one by one. That is good enough
    # for narrow numbers and for short runs.
    if a.shape[1] <= (EINSUM if narrow else RUN):
        return np.einsum("rf->r", a) if b is None else np.einsum("rf,rf->r", a, b)
    if b is None:
        return np.add.reduce(a, -1)
    whole = a.shape[1] - a.shape[1] % RUN
    runs = (len(a), whole // RUN, RUN)
    products = np.einsum("rcf,rcf->rc", a[:, :whole].reshape(runs), b[:, :whole].reshape(runs))
    return np.add.reduce(products, -1) + np.einsum("rf,rf->r", a[:, whole:], b[:, whole:])


def result_of(x):
    """Return an empty array with the shape of x and its dtype, or float64 if x holds integers."""
    return np.empty(x.shape, x.dtype if x.dtype.kind == "f" else np.float64)
