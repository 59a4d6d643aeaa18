"""lnlib's error bounds on every finite input, and the bug reports that other implementations have had."""

from fractions import Fraction
import warnings

from hypothesis import assume, given, settings
from hypothesis import strategies as st
import numpy as np
import pytest

from lnlib import LayerNorm, layer_norm, layer_norm_backward
from lnlib import rows as rows_module
from tests.exact import exact_layer_norm

# Absolute error, times the row's largest exact output where that is above one.
BOUND = {np.float64: Fraction(1, 10**14), np.float32: Fraction(1, 10**6)}


def assert_within_bound(x, eps, gamma=None, beta=None):
    """Compare a row with exact arithmetic: no warning, no larger error than the bound of its dtype."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        y = layer_norm(x, gamma, beta, eps=eps)
    assert y.dtype == x.dtype
    expected = exact_layer_norm(x, eps, gamma, beta)
    if expected is None:
        assert np.isnan(y).all()
    elif x.dtype == np.float16:
        nearest = np.float16([float(v) for v in expected])
        assert ((y == nearest) | (y == np.nextafter(nearest, np.float16(np.inf)))
                | (y == np.nextafter(nearest, np.float16(-np.inf)))).all()
    else:
        bound = BOUND[x.dtype.type] * max(1, *(abs(v) for v in expected))
        assert np.isfinite(y).all()
        assert max(abs(Fraction(float(v)) - e) for v, e in zip(y, expected)) <= bound


@st.composite
def rows(draw, dtype):
    """Rows of every kind that rounding can hurt: any floats, neighbors of one number, wide spreads."""
    width = np.finfo(dtype).bits
    number = st.floats(width=width, allow_nan=False, allow_infinity=False)
    size = draw(st.integers(1, 8))
    kind = draw(st.sampled_from(["any", "neighbors", "scaled", "outlier"]))
    if kind == "any":
        values = draw(st.lists(number, min_size=size, max_size=size))
    elif kind == "neighbors":
        base = dtype(draw(number))
        steps = draw(st.lists(st.integers(-4, 4), min_size=size, max_size=size))
        with np.errstate(over="ignore", invalid="ignore"):
            values = [base + dtype(k) * np.spacing(base) for k in steps]
    else:
        info = np.finfo(dtype)
        scale = draw(st.integers(info.minexp - info.nmant, info.maxexp - 5))
        steps = draw(st.lists(st.integers(-16, 16), min_size=size, max_size=size))
        values = [np.ldexp(float(k), scale) for k in steps]
        if kind == "outlier":
            values[draw(st.integers(0, size - 1))] = draw(number)
    x = np.array(values, dtype)
    assume(np.isfinite(x).all())
    return x


epsilons = st.one_of(
    st.sampled_from([0.0, 1e-5, 1e-12, 0.25, 5e-324, 1e-50, 1e39, 1e308]),
    st.floats(min_value=0, allow_infinity=False, allow_nan=False),
)
moderate = st.floats(-8, 8, width=16)


def parameters(size):
    """gamma and beta, each present or absent."""
    one = st.none() | st.lists(moderate, min_size=size, max_size=size)
    return st.tuples(one, one)


every_example = settings(deadline=None)


@pytest.mark.slow
@settings(every_example, max_examples=9000)
@given(x=rows(np.float64), eps=epsilons, data=st.data())
def test_float64_stays_within_its_bound(x, eps, data):
    assert_within_bound(x, eps, *data.draw(parameters(len(x))))


@pytest.mark.slow
@settings(every_example, max_examples=7000)
@given(x=rows(np.float32), eps=epsilons, data=st.data())
def test_float32_stays_within_its_bound(x, eps, data):
    assert_within_bound(x, eps, *data.draw(parameters(len(x))))


@pytest.mark.slow
@settings(every_example, max_examples=4000)
@given(x=rows(np.float16), eps=epsilons, data=st.data())
def test_float16_is_the_nearest_number_or_its_neighbor(x, eps, data):
    assert_within_bound(x, eps, *data.draw(parameters(len(x))))


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16])
@pytest.mark.parametrize("size", [127, 128, 129, 1000, 8000, pytest.param(70_001, marks=pytest.mark.slow)])
def test_long_rows_stay_within_the_bound(dtype, size):
    rng = np.random.default_rng(size)
    gamma, beta = rng.normal(size=(2, size))
    row = rng.normal(size=size)
    assert_within_bound((1e4 + row).astype(dtype), 1e-5, gamma, beta)
    # Equal squares are the worst case for a sum: every rounding error has the same sign.
    for value in (0.1, 0.343, 0.502):
        assert_within_bound(np.where(np.arange(size) % 2, value, -value).astype(dtype), 0.0)
    outlier = np.where(np.arange(size) == 0, 1000, row).astype(dtype)
    assert_within_bound(outlier, 0.0)


# Found by measuring the textbook formula on float32: what it gets wrong, and by how much.
@pytest.mark.parametrize(
    "row, eps",
    [
        pytest.param(1e4 + 1e-3 * np.arange(1000), 1e-5, id="a ramp far from zero (off by 0.09)"),
        pytest.param(np.full(1000, 12345.678), 1e-5, id="a flat row (off by 0.3)"),
        pytest.param([40000, 40001, 40002, 40003], 1e-5, id="one pass gives NaN"),
        pytest.param([1e30, -2e30, 3e30, 1e29], 1e-5, id="squares overflow"),
        pytest.param([1e-30, -2e-30, 3e-30, 1e-31], 0.0, id="squares vanish"),
        pytest.param([3.4e38, -3.4e38, 3.4e38, 3.4e38], 1e-5, id="differences overflow"),
        pytest.param(np.full(4, 1.5), 1e-50, id="an eps below float32"),
        pytest.param([1.0, 2.0], 1e39, id="an eps above float32"),
    ],
)
def test_rows_that_the_textbook_formula_gets_wrong(row, eps):
    assert_within_bound(np.float32(row), eps)


def test_differences_that_overflow_are_taken_of_halves_in_their_row_only():
    # In one batch with them, a subnormal row would lose digits by being halved.
    x = np.float64([[1.7e308, -1.7e308, 1.7e308], [5e-324, 1.5e-323, 0], [-1.7e308, 1.6e308, 1], [9.9e307] * 3])
    y = layer_norm(x, eps=1e-320)
    for row, normalized in zip(x, y, strict=True):
        assert_within_bound(row, 1e-320)
        assert normalized.tolist() == layer_norm(row, eps=1e-320).tolist()


def test_the_largest_value_of_a_long_row_may_stand_in_any_part(monkeypatch):
    monkeypatch.setattr(rows_module, "VALUES", 16)
    for place in (0, 20, 40, 49):
        row = np.ones(50)
        row[place] = 1e300
        assert_within_bound(row, 1e-5)


@pytest.mark.parametrize("scale", [2.0**1000, 2.0**401, 2.0**400, 1.0, 2.0**-400, 2.0**-401, 2.0**-1070])
@pytest.mark.parametrize("eps", [0.0, 2.0**-1074, 2.0**-810, 2.0**-790, 1.0, 2.0**790, 2.0**810, 2.0**1000])
def test_every_pair_of_scale_and_eps(scale, eps):
    assert_within_bound(np.float64([3, -4, 7, 0, 5]) * scale, eps, [1, 2, 3, 4, 5], [0, 1, 0, -1, 0])
    assert_within_bound(np.full(5, scale), eps)
    assert_within_bound(np.float64([1, 1, 1, 1 + 2.0**-52, 1]) * scale, eps)


def test_float16_with_a_wider_gamma_computes_wide_and_returns_float16():
    y = layer_norm(np.float16([-3, 3]), np.float32([70_000, 70_000]), np.float32([70_001, -69_999]), eps=0)
    assert y.dtype == np.float16 and y.tolist() == [1, 1]


# Metamorphic properties, with integers so that the change of the input is exact: what happens to
# the sum of the outputs weighted by gamma when the row changes.
whole_rows = st.lists(st.integers(-1000, 1000), min_size=2, max_size=12).filter(lambda r: len(set(r)) > 1)


def weighted_sum(row, gamma, eps=0.0):
    return layer_norm(np.float64(row), gamma, eps=eps).sum()


def weights(size):
    return np.random.default_rng(size).normal(size=size)


@pytest.mark.slow
@settings(every_example, max_examples=1500)
@given(row=whole_rows, shift=st.integers(-(10**12), 10**12))
def test_a_shift_changes_nothing(row, shift):
    gamma = weights(len(row))
    assert weighted_sum(np.array(row) + shift, gamma) == pytest.approx(weighted_sum(row, gamma), abs=1e-13)


@pytest.mark.slow
@settings(every_example, max_examples=1500)
@given(row=whole_rows, scale=st.integers(1, 10**9))
def test_a_positive_scale_changes_nothing_and_a_negative_one_the_sign(row, scale):
    gamma = weights(len(row))
    expected = weighted_sum(row, gamma)
    assert weighted_sum(np.array(row) * scale, gamma) == pytest.approx(expected, abs=1e-13)
    assert weighted_sum(np.array(row) * -scale, gamma) == pytest.approx(-expected, abs=1e-13)


@pytest.mark.slow
@settings(every_example, max_examples=1000)
@given(row=whole_rows, data=st.data())
def test_features_may_trade_places(row, data):
    order = np.array(data.draw(st.permutations(range(len(row)))))
    gamma = weights(len(row))
    moved = weighted_sum(np.array(row)[order], gamma[order], eps=1e-5)
    assert moved == pytest.approx(weighted_sum(row, gamma, eps=1e-5), abs=1e-13)


@pytest.mark.slow
@settings(every_example, max_examples=1000)
@given(row=whole_rows, eps=st.sampled_from([0.0, 1e-5, 1e-3]))
def test_a_normalized_row_stays_as_it_is_up_to_eps(row, eps):
    once = layer_norm(np.float64(row), eps=eps)
    # Its variance is v / (v + eps) with v that of the row, so doing it again divides by this root.
    variance = np.var(np.float64(row))
    again = np.sqrt(variance / (variance + eps) + eps)
    np.testing.assert_allclose(layer_norm(once, eps=eps), once / again, rtol=0, atol=1e-13)


def test_exact_arithmetic_sees_twenty_thousand_examples():
    properties = (
        test_float64_stays_within_its_bound,
        test_float32_stays_within_its_bound,
        test_float16_is_the_nearest_number_or_its_neighbor,
    )
    assert sum(p._hypothesis_internal_use_settings.max_examples for p in properties) >= 20_000


# Public bug reports about other implementations, by project and number.


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_onnxruntime_28463_a_row_far_from_zero(dtype):
    y = layer_norm(dtype([40000, 40001, 40002, 40003]))
    np.testing.assert_allclose(y, [-1.341635, -0.447212, 0.447212, 1.341635], rtol=0, atol=1e-6)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, np.int32])
def test_onnxruntime_21935_a_large_flat_row_is_zeros(dtype):
    assert layer_norm(np.full((3, 256), 1234, dtype)).tolist() == [[0] * 256] * 3


def test_pytorch_41527_float16_zeros_with_an_eps_that_float16_cannot_hold():
    assert layer_norm(np.zeros((2, 8), np.float16), eps=1e-12).tolist() == [[0] * 8] * 2


@pytest.mark.parametrize("pair", [(7, 3), (-1e-3, 1e-3), (1e300, -1e300), (5e-324, 0.0)])
def test_pytorch_84356_two_features_are_plus_and_minus_one(pair):
    sign = np.sign(pair[0] - pair[1])
    assert layer_norm(np.float64(pair), eps=0).tolist() == [sign, -sign]


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_pytorch_108956_one_feature_leaves_beta(dtype):
    x = np.array([[3.0], [-1e4], [0.0]], dtype)
    assert layer_norm(x, [9.0], [0.5]).tolist() == [[0.5]] * 3


@pytest.mark.parametrize("axis", [-1, (0, 1)])
def test_pytorch_63541_equal_gradients_move_nothing(axis):
    x = np.random.default_rng(0).normal(size=(4, 7))
    gamma = np.ones(7) if axis == -1 else np.ones((4, 7))
    dx, _, dbeta = layer_norm_backward(np.ones_like(x), x, gamma, axis=axis)
    assert not dx.any()
    assert (dbeta == (4 if axis == -1 else 1)).all()


def test_pytorch_79705_beta_without_gamma():
    assert layer_norm([2, 2, 6, 6], beta=[1, 2, 3, 4], eps=0).tolist() == [0, 1, 4, 5]


def test_tensorflow_61287_eps_zero_on_a_flat_row_is_nan_and_the_docstring_says_so():
    assert np.isnan(layer_norm(np.zeros((2, 3)), eps=0)).all()
    assert "eps = 0 a row of equal values is 0/0 and comes back as NaN" in " ".join(layer_norm.__doc__.split())


@pytest.mark.parametrize("shape, axis", [((0, 4), -1), ((3, 0, 4), -1), ((0, 2, 3), (1, 2)), ((4, 0), 0)])
def test_tensorflow_46366_an_empty_batch_returns_empty(shape, axis):
    x = np.zeros(shape, np.float32)
    assert layer_norm(x, axis=axis).shape == shape
    dx, dgamma, dbeta = layer_norm_backward(x, x, axis=axis)
    assert dx.shape == shape
    assert not dgamma.any() and not dbeta.any()
    if axis == -1:
        assert LayerNorm(4)(x).shape == shape
