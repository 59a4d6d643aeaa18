"""What a row may not notice: its batch, the memory it lies in, and the blocks it is worked on in."""

import tracemalloc

import numpy as np
import pytest

from lnlib import batch_norm, layer_norm, layer_norm_backward, layer_norm_steps, rms_norm, rms_norm_backward, rows


def same_bits(a, b):
    return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()


def a_batch(dtype, count, size):
    """Rows of every scale, among them rows that need another unit, flat rows, NaN and infinity."""
    rng = np.random.default_rng(size)
    x = rng.normal(size=(count, size))
    if dtype == np.float64:
        x[::3] *= 10.0 ** rng.integers(-300, 300, size=(len(x[::3]), 1))
    x[1::7] = 3.0
    if dtype == np.float64:
        x[4::9] = np.where(rng.random(x[4::9].shape) < 0.5, 1.7e308, -1.7e308)
        x[5::9] = 5e-324 * rng.integers(-3, 4, size=x[5::9].shape)
    x[2::11, size // 2] = np.nan
    x[3::13, 0] = np.inf
    with np.errstate(over="ignore"):
        return x.astype(dtype)


@pytest.fixture(params=[None, 64], ids=["usual blocks", "tiny blocks"])
def block_size(request, monkeypatch):
    """With tiny blocks, rows of a hundred features already come in several parts."""
    if request.param:
        monkeypatch.setattr(rows, "VALUES", request.param)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("size", [1, 2, 3, 7, 8, 9, 64, 127, 128, 129, 257, 700])
def test_a_row_is_the_same_alone_and_in_any_batch(dtype, size, block_size):
    x = a_batch(dtype, 40, size)
    gamma, beta = np.random.default_rng(0).normal(size=(2, size))
    together = layer_norm(x, gamma, beta)
    steps, rms = layer_norm_steps(x, gamma, beta), rms_norm(x, gamma)
    dx, _, _ = layer_norm_backward(x, x, gamma)
    for i in range(0, 40, 3):
        alone = layer_norm(x[i], gamma, beta)
        assert same_bits(together[i], alone)
        assert same_bits(steps.output[i], alone)
        assert same_bits(layer_norm(x[i : i + 3], gamma, beta)[0], alone)
        assert same_bits(rms[i], rms_norm(x[i], gamma))
        assert same_bits(dx[i], layer_norm_backward(x[i], x[i], gamma)[0])


@pytest.mark.parametrize("size", [8191, 8192, 8193, 9000, 20_000, 60_000, 60_001, 70_000])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_long_row_is_the_same_alone_and_in_any_batch(dtype, size):
    # Compared in float64, where no rounding to float32 hides a difference: in the gradients by
    # parameters of one row, in statistics, and in dx of a float64 x.
    rng = np.random.default_rng(size)
    x, dy = rng.normal(size=(2, 8, size)).astype(dtype)
    gamma = rng.normal(size=size)
    together, dx = layer_norm_steps(x), layer_norm_backward(dy, np.float64(x), gamma)[0]
    plain_dx, rms = layer_norm_backward(dy, np.float64(x))[0], rms_norm_backward(x, np.float64(dy))[0]
    for i in range(8):
        alone = layer_norm_steps(x[i])
        for name in ("mean", "variance", "guarded_std", "deviations", "normalized", "output"):
            assert same_bits(getattr(together, name)[i], getattr(alone, name))
        assert same_bits(dx[i], layer_norm_backward(dy[i], np.float64(x[i]), gamma)[0])
        assert same_bits(plain_dx[i], layer_norm_backward(dy[i], np.float64(x[i]))[0])
        assert same_bits(rms[i], rms_norm_backward(x[i], np.float64(dy[i]))[0])


LAYOUTS = {
    "every second row": lambda x: np.repeat(x, 2, axis=0)[::2],
    "every second feature": lambda x: np.repeat(x, 2, axis=-1)[..., ::2],
    "backward": lambda x: x[::-1, ..., ::-1].copy()[::-1, ..., ::-1],
    "transposed": lambda x: x.T.copy().T,
    "Fortran order": np.asfortranarray,
    "other axes first": lambda x: np.moveaxis(np.moveaxis(x, 1, 0).copy(), 0, 1),
    "read-only": lambda x: np.frombuffer(x.tobytes(), x.dtype).reshape(x.shape),
    "unaligned": lambda x: np.frombuffer(b"." + x.tobytes(), x.dtype, offset=1).reshape(x.shape),
    "inside a wider array": lambda x: np.pad(x, 3)[3:-3, 3:-3, 3:-3],
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("axis", [-1, 0, (0, 2), (0, 1, 2)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_layout_in_memory_changes_no_bit(layout, axis, dtype, block_size):
    rng = np.random.default_rng(1)
    x, dy = rng.normal(size=(2, 5, 6, 33)).astype(dtype)
    gamma, beta = rng.normal(size=(2, *(x.shape[a] for a in np.atleast_1d(axis))))
    moved, moved_dy = LAYOUTS[layout](x), LAYOUTS[layout](dy)
    np.testing.assert_array_equal(moved, x)
    moved_gamma = np.repeat(gamma, 2, axis=0)[::2]
    assert same_bits(layer_norm(moved, moved_gamma, beta, axis=axis), layer_norm(x, gamma, beta, axis=axis))
    assert same_bits(rms_norm(moved, gamma, axis=axis), rms_norm(x, gamma, axis=axis))
    assert same_bits(batch_norm(moved), batch_norm(x))
    for a, b in zip(
        layer_norm_backward(moved_dy, moved, moved_gamma, axis=axis),
        layer_norm_backward(dy, x, gamma, axis=axis),
    ):
        assert same_bits(a, b)


def test_one_value_may_stand_for_a_whole_array():
    x = np.broadcast_to(np.float32([1, 2, 3]), (1000, 3))
    assert (layer_norm(x) == layer_norm([[1, 2, 3]]).astype(np.float32)).all()


def test_byte_order_is_kept_and_changes_no_value():
    x = np.random.default_rng(2).normal(size=(4, 5)).astype(">f4")
    y, native = layer_norm(x), layer_norm(x.astype("<f4"))
    assert y.dtype == np.dtype(">f4")
    np.testing.assert_array_equal(y, native)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.filterwarnings("error")
def test_nan_and_infinity_stay_in_their_row(bad, dtype, block_size):
    x = np.random.default_rng(3).normal(size=(6, 100)).astype(dtype)
    clean, clean_dx = layer_norm(x), layer_norm_backward(x, x)[0]
    spoiled = x.copy()
    spoiled[2, 17] = bad
    y, dx = layer_norm(spoiled), layer_norm_backward(x, spoiled)[0]
    assert np.isnan(y[2]).all() and np.isnan(dx[2]).all()
    others = [0, 1, 3, 4, 5]
    assert same_bits(y[others], clean[others]) and same_bits(dx[others], clean_dx[others])
    rms, rms_dx = rms_norm(spoiled), rms_norm_backward(x, spoiled)[0]
    # Nothing is subtracted in RMS norm, so what is finite is divided by infinity.
    expected = np.where(np.isfinite(spoiled[2]) & np.isinf(bad), 0, np.nan)
    np.testing.assert_array_equal(rms[2], expected)
    assert np.isnan(rms_dx[2]).all()
    assert same_bits(rms[others], rms_norm(x)[others])
    assert same_bits(rms_dx[others], rms_norm_backward(x, x)[0][others])
    # A bad gradient spoils its row of dx, and no other.
    assert np.isnan(layer_norm_backward(spoiled, x)[0]).all(axis=-1).tolist() == [False, False, True] + [False] * 3


def assert_close_in_each_row(a, b):
    finite = np.isfinite(a)  # the variance of a row near 2**600 is not
    assert (finite == np.isfinite(b)).all()
    size = np.abs(np.where(finite, a, 1)).max(axis=-1, keepdims=True)
    difference = np.abs(np.where(finite, a, 0) - np.where(finite, b, 0))
    assert (difference <= 1e-11 * size).all()


@pytest.mark.parametrize("size", [5, 63, 64, 65, 200, 1000])
@pytest.mark.parametrize("backward, gradients", [(layer_norm_backward, 3), (rms_norm_backward, 2)])
def test_rows_in_parts_agree_with_rows_in_one(size, backward, gradients, monkeypatch):
    rng = np.random.default_rng(size)
    x, dy = 1e5 + rng.normal(size=(2, 3, size))
    x[1] *= 2.0**600
    gamma, beta = rng.normal(size=(2, size))
    whole = [layer_norm(x, gamma, beta), rms_norm(x, gamma), *backward(dy, x, gamma)]
    steps = layer_norm_steps(x, gamma, beta)
    monkeypatch.setattr(rows, "VALUES", 64)
    parts = [layer_norm(x, gamma, beta), rms_norm(x, gamma), *backward(dy, x, gamma)]
    assert len(parts) == 2 + gradients
    for a, b in zip(whole, parts, strict=True):
        assert_close_in_each_row(a, b)
    in_parts = layer_norm_steps(x, gamma, beta)
    for name in ("mean", "deviations", "variance", "std", "guarded_std", "normalized", "output"):
        assert_close_in_each_row(getattr(steps, name), getattr(in_parts, name))


def test_parts_of_a_row_that_has_several_axes(monkeypatch):
    rng = np.random.default_rng(9)
    x, dy = rng.normal(size=(2, 3, 5, 7, 4))
    gamma, beta = rng.normal(size=(2, 3, 7, 4))
    arguments = dict(axis=(0, 2, 3))
    whole = [layer_norm(x, gamma, beta, **arguments), *layer_norm_backward(dy, x, gamma, **arguments)]
    for values in (1, 3, 4, 8, 28, 30, 84):
        monkeypatch.setattr(rows, "VALUES", values)
        parts = [layer_norm(x, gamma, beta, **arguments), *layer_norm_backward(dy, x, gamma, **arguments)]
        for a, b in zip(whole, parts, strict=True):
            np.testing.assert_allclose(a, b, rtol=0, atol=1e-13)


@pytest.mark.parametrize(
    "shape, most, pieces",
    [
        ((), 1, 1), ((7,), 7, 1), ((7,), 3, 3), ((2, 6), 12, 1), ((2, 6), 11, 2), ((2, 6), 6, 2), ((2, 6), 4, 4),
        ((3, 4, 5), 60, 1), ((3, 4, 5), 59, 2), ((3, 4, 5), 20, 3), ((3, 4, 5), 19, 6), ((3, 4, 5), 5, 12),
        ((3, 4, 5), 4, 24), ((3, 4, 5), 1, 60), ((5, 1, 1), 2, 3), ((1, 1, 5), 2, 3),
    ],
)
def test_arrays_are_cut_into_few_pieces_that_hold_each_value_once(shape, most, pieces):
    values = np.arange(int(np.prod(shape))).reshape(shape)
    cut = [values[index] for index in rows._cuts(shape, most)]
    assert len(cut) == pieces
    assert max(piece.size for piece in cut) <= most
    # In order, so that the sum over a row's parts depends on its shape only.
    assert np.concatenate([np.ravel(piece) for piece in cut]).tolist() == list(range(values.size))


MEGABYTE = 1e6  # bytes


@pytest.mark.parametrize(
    "shape, axis, dtype, scale",
    [
        ((2000, 300), -1, np.float64, 1),
        ((2000, 300), 0, np.float64, 1e300),
        ((1, 500_000), -1, np.float32, 1),
        ((500_000, 1), -1, np.float64, 1),
        *(
            pytest.param(*case, marks=pytest.mark.slow)
            for case in [
                ((8192, 768), -1, np.float32, 1),
                ((32, 16384), -1, np.float32, 1),
                ((1, 4_000_000), -1, np.float32, 1),
                ((3_000_000, 1), -1, np.float64, 1e300),
                ((2000, 1500), 0, np.float64, 1e300),
                ((20, 300, 500), (0, 2), np.float16, 1),
                ((2, 4, 200, 300), (1, 2, 3), np.float64, 1e300),
                ((4000, 700), -1, np.uint8, 1),
            ]
        ),
    ],
)
def test_temporaries_stay_below_two_megabytes(shape, axis, dtype, scale):
    x = (scale * np.random.default_rng(0).integers(0, 100, size=shape)).astype(dtype)
    axes = [a % x.ndim for a in np.atleast_1d(axis)]
    gamma = np.ones([x.shape[a] for a in axes], np.float32, order="F")

    def extra(function):
        tracemalloc.start()
        results = function()
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        return (peak - sum(a.nbytes for a in results)) / MEGABYTE

    assert extra(lambda: [layer_norm(x, gamma, gamma, axis=axis)]) < 2
    assert extra(lambda: [rms_norm(x, gamma, axis=axis)]) < 2
    assert extra(lambda: layer_norm_backward(x, x, gamma, axis=axis)) < 2
    assert extra(lambda: rms_norm_backward(x, x, gamma, axis=axis)) < 2
    assert extra(lambda: [batch_norm(x)]) < 2


def test_numpy_is_left_as_it_was():
    before = np.getbufsize(), np.geterr()
    layer_norm(a_batch(np.float64, 9, 5))
    with pytest.raises(ValueError):
        layer_norm([1.0, 2.0], [1.0])
    assert (np.getbufsize(), np.geterr()) == before
