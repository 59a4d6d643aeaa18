"""Rows as float64 numbers, a cacheful at a time: what makes the arithmetic both right and fast.

- All arithmetic is float64: float16 and float32 have digits to spare in it, and their squares fit.
- A float64 row whose squares would overflow or vanish is measured in another unit, a power of two.
  Its layer norm is the same if eps is measured in that unit squared.
- A block of rows fits the processor's cache, so that a chain of plain NumPy steps on it costs
  little more than reading it once. No temporary is larger, however large the array.
- Sums run over contiguous rows, in an order that neither batch nor layout can change, and in a tree
  of short runs, so that rounding errors hardly grow with the length of a row.
"""

import itertools
import math

import numpy as np

VALUES = 60_000  # float64 numbers in a block: 480 kB
RUN = 128  # products that are added one after the other
SAFE = 2.0**400  # numbers up to SAFE, and the last digits of those from 1 / SAFE, have normal squares

# For every function that works on `blocks`. Where NaN and infinities come from stands in its docstring.
numerics = np.errstate(all="ignore")


def blocks(array, axes, eps=None):
    """Yield `Rows` that together hold every row of the array once, in order.

    axes : the axes that make a row, ascending. eps : what will be added to the variance, in the
    array's unit squared; with it rows come in a unit that is safe to square. Be done with a block
    before asking for the next: it lies in the same memory. Decorate the caller with `numerics`.
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
        rows = Rows(array, order, block, parts, size, memory)
        if eps is not None:
            rows.choose_unit(eps)
        yield rows


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
        self._parameter = parameter

    def at(self, part):
        return np.asarray(self._parameter[part], np.float64).reshape(-1)


class Rows:
    """A few rows as float64 values of shape (rows, features), changed in place.

    What is added, subtracted or multiplied is one number a row, shape (rows, 1), or `PerFeature`,
    or the `Rows` of another array at the same place. None changes nothing.

    A row that fits into a block is held in memory. A longer one never is as a whole: its parts are
    read whenever they are needed, and what was done to the row so far is done to them again.

    `block` is the index of these rows among the axes that make no row. The values are in the unit
    2**exponent, integers of shape (rows, 1) or (1, 1), and eps in that unit squared.
    """

    def __init__(self, array, order, block, parts, size, memory):
        self.block, self.exponent, self.eps = block, np.zeros((1, 1), int), None
        self._order, self._parts, self._size, self._memory = order, parts, size, memory
        self._source = array.transpose(order)[block]
        self._narrow = array.dtype.kind == "f" and array.dtype.itemsize < 8
        self._steps = []
        self._held = self._read(parts[0]) if len(parts) == 1 else None

    def _read(self, part):
        source = self._source[(..., *part)]
        values = self._memory[: source.size].reshape(source.shape)
        np.copyto(values, source, casting="unsafe")
        values = values.reshape(self._source.size // self._size, -1)
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
        return self._do(np.multiply, other)

    def move_origin(self):
        """Measure each row from its first value, and return that; do nothing if digits are to spare."""
        if self._narrow:
            return 0.0
        first = self.at(self._parts[0])[:, :1].copy()
        self._do(np.subtract, first)
        return first

    def mean(self, times=None):
        """Return each row's mean, or that of its product with other `Rows`, which may be itself."""
        narrow = self._narrow and (times is None or times._narrow)
        sums = [_row_sums(self.at(part), times and times.at(part), narrow) for part in self._parts]
        return (sums[0] if len(sums) == 1 else np.add.reduce(sums)) / self._size

    def sum_into(self, total, times=None):
        """Add all rows, or their products with other `Rows`, to an array of the normalized shape."""
        for part in self._parts:
            values, piece = self.at(part), total[part]
            rows = np.add.reduce(values) if times is None else np.einsum("rf,rf->f", values, times.at(part))
            piece += rows.reshape(piece.shape)

    def choose_unit(self, eps):
        """Set eps, and another unit for the rows of float64 numbers whose squares are not safe."""
        self.eps = eps
        if self._narrow or SAFE**-2 <= eps <= SAFE**2 and self._largest(axis=None) <= SAFE:
            return
        largest = np.maximum(self._largest(axis=-1), np.sqrt(eps))
        unsafe = (largest > SAFE) | (largest < 1 / SAFE)
        self.exponent = np.where(unsafe, np.frexp(largest)[1], 0)
        self._do(np.ldexp, -self.exponent)
        # An eps that vanishes beside such numbers still has to keep 0 / 0 away.
        self.eps = np.maximum(np.ldexp(eps, -2 * self.exponent), np.finfo(float).tiny if eps else 0)

    def _largest(self, axis):
        sizes = [np.maximum.reduce(np.abs(self.at(part)), axis, keepdims=True) for part in self._parts]
        return sizes[0] if len(sizes) == 1 else np.maximum.reduce(sizes)

    def write(self, array, exponent=None):
        """Write the values, times 2**exponent, to their places in an array shaped like their own."""
        target = array.transpose(self._order)[self.block]
        for part in self._parts:
            values, piece = self.at(part), target[(..., *part)]
            if exponent is not None and exponent.any():
                values = np.ldexp(values, exponent)
            piece[...] = values.reshape(piece.shape)


def _row_sums(a, b, narrow):
    """Return the sum of a, or of a * b if there is a b, over each row; shape (rows, 1)."""
    # einsum is about twice as fast as anything else, but it adds one by one. That is good enough
    # for sums of float16 and float32, and for short runs.
    if narrow or a.shape[1] <= RUN:
        sums = np.einsum("rf->r", a) if b is None else np.einsum("rf,rf->r", a, b)
    elif b is None:
        sums = np.add.reduce(a, -1)
    else:
        whole = a.shape[1] - a.shape[1] % RUN
        runs = (len(a), whole // RUN, RUN)
        products = np.einsum("rcf,rcf->rc", a[:, :whole].reshape(runs), b[:, :whole].reshape(runs))
        sums = np.add.reduce(products, -1) + np.einsum("rf,rf->r", a[:, whole:], b[:, whole:])
    return sums[:, np.newaxis]


def result_of(x):
    """Return an empty array with the shape of x and its dtype, or float64 if x holds integers."""
    return np.empty(x.shape, x.dtype if x.dtype.kind == "f" else np.float64)
