"""lnlib against numbers worked by hand and against exact rational arithmetic, never against itself."""

import inspect
import itertools
import subprocess
import sys

import numpy as np
import pytest

from lnlib import (
    LayerNorm, LayerNormSteps, batch_norm, layer_norm, layer_norm_backward, layer_norm_steps, rms_norm,
    rms_norm_backward,
)
from tests.exact import exact_layer_norm


# Worked by hand with pencil and paper: row, mean, variance, std, normalized (eps = 0).
BY_HAND = [
    ((2, 2, 6, 6), 4, 4, 2, (-1, -1, 1, 1)),
    ((10, 10, 14, 14), 12, 4, 2, (-1, -1, 1, 1)),
    ((0, 0, 0, 4), 1, 3, 3**0.5, (-1 / 3**0.5, -1 / 3**0.5, -1 / 3**0.5, 3**0.5)),
    ((-7, 7), 0, 49, 7, (-1, 1)),
]


@pytest.mark.parametrize("row, mean, variance, std, normalized", BY_HAND)
def test_each_step_is_what_the_hand_computes(row, mean, variance, std, normalized):
    steps = layer_norm_steps(row, eps=0)
    assert steps.mean == pytest.approx([mean])
    assert steps.deviations == pytest.approx([v - mean for v in row])
    assert steps.variance == pytest.approx([variance])
    assert steps.std == pytest.approx([std])
    assert steps.guarded_std == pytest.approx([std])
    assert steps.normalized == pytest.approx(normalized)
    assert steps.output == pytest.approx(normalized)


def test_the_usual_eps_moves_ones_to_the_known_value():
    # 2 / sqrt(4 + 1e-5), to eight decimals.
    assert np.round(layer_norm([2, 2, 6, 6]), 8).tolist() == [-0.99999875] * 2 + [0.99999875] * 2


def test_eps_stands_inside_the_root():
    # 2 / sqrt(4 + 5) and not 2 / (2 + 5).
    assert layer_norm([2, 2, 6, 6], eps=5).tolist() == pytest.approx([-2 / 3, -2 / 3, 2 / 3, 2 / 3])


@pytest.mark.parametrize("eps", [0.0, 1e-5, 0.25, 3.0])
@pytest.mark.parametrize("features", [2, 3, 7, 64])
def test_agrees_with_rational_arithmetic(features, eps):
    rng = np.random.default_rng(features)
    for scale in (1e-3, 1.0, 1e4):
        x = rng.normal(1.0, scale, features)
        gamma, beta = rng.normal(size=(2, features))
        expected = np.float64(exact_layer_norm(x, eps, gamma, beta))
        np.testing.assert_allclose(layer_norm(x, gamma, beta, eps=eps), expected, rtol=0, atol=1e-12)


def slices_of(x, axes):
    """Yield (index, block) for every set of positions that share their statistics."""
    kept = [a for a in range(x.ndim) if a not in axes]
    for position in itertools.product(*(range(x.shape[a]) for a in kept)):
        index = [slice(None)] * x.ndim
        for a, p in zip(kept, position):
            index[a] = p
        yield tuple(index), x[tuple(index)]


@pytest.mark.parametrize(
    "axis, axes",
    [
        (-1, (2,)),
        (0, (0,)),
        (1, (1,)),
        ((1, 2), (1, 2)),
        ((-1, -2), (1, 2)),
        ((2, 0), (0, 2)),
        ((0, 1, 2), (0, 1, 2)),
    ],
)
def test_any_axes_share_one_mean_and_one_variance(axis, axes):
    rng = np.random.default_rng(7)
    x = rng.normal(3.0, 2.0, (2, 3, 4))
    shape = tuple(x.shape[a] for a in axes)
    gamma, beta = rng.normal(size=(2, *shape))
    y = layer_norm(x, gamma, beta, axis=axis)
    assert y.shape == x.shape
    for index, block in slices_of(x, axes):
        expected = np.float64(exact_layer_norm(block.ravel(), 1e-5, gamma.ravel(), beta.ravel()))
        np.testing.assert_allclose(y[index].ravel(), expected, rtol=0, atol=1e-13)
    statistics = tuple(1 if a in axes else n for a, n in enumerate(x.shape))
    steps = layer_norm_steps(x, axis=axis)
    assert {steps.mean.shape, steps.variance.shape, steps.std.shape} == {statistics}
    assert steps.guarded_std.shape == statistics
    assert steps.deviations.shape == steps.normalized.shape == steps.output.shape == x.shape


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, ">f4", ">f8"])
def test_floats_keep_their_dtype(dtype):
    x = np.array([2, 2, 6, 6], dtype)
    y = layer_norm(x, np.full(4, 3.0), np.full(4, 2.0), eps=0)
    assert y.dtype == dtype
    assert y.tolist() == [-1, -1, 5, 5]


@pytest.mark.parametrize("dtype", [np.uint8, np.int8, np.int64])
def test_integers_become_float64_and_do_not_wrap(dtype):
    y = layer_norm(np.array([0, 0, 100, 100], dtype), eps=0)
    assert y.dtype == np.float64
    assert y.tolist() == [-1, -1, 1, 1]


def test_float16_squares_do_not_overflow():
    assert layer_norm(np.float16([-300, 300])).tolist() == [-1, 1]


def test_a_flat_row_is_zero_with_eps_and_nan_without(recwarn):
    assert layer_norm([5, 5, 5, 5]).tolist() == [0, 0, 0, 0]
    assert np.isnan(layer_norm([5, 5, 5, 5], eps=0)).all()
    assert not recwarn.list


def test_one_feature_leaves_only_beta():
    assert layer_norm([[7.0], [-3.0]], [9.0], [0.5]).tolist() == [[0.5], [0.5]]


def test_an_empty_batch_returns_empty():
    assert layer_norm(np.zeros((0, 4))).shape == (0, 4)


@pytest.mark.parametrize("gamma, beta", [(None, None), ([1.0, 2.0, 3.0], [0.0, 1.0, 2.0])])
def test_inputs_are_never_changed(gamma, beta):
    x = np.array([[1.0, 2.0, 4.0], [8.0, 16.0, 32.0]])
    before = [x.copy(), np.array(gamma), np.array(beta)]
    steps = layer_norm_steps(x, gamma, beta)
    steps.output[:] = 0
    np.testing.assert_array_equal(x, before[0])
    np.testing.assert_array_equal(np.array(gamma), before[1])
    assert steps.normalized.any()


@pytest.mark.parametrize("power", [-600, -450, 450, 600])
@pytest.mark.filterwarnings("error")
def test_steps_of_rows_in_another_unit_are_told_in_their_own(power):
    x = np.array([[2.0, 2.0, 6.0, 6.0], [1.0, 0.0, 0.0, 3.0]])
    steps, scaled = layer_norm_steps(x, eps=0), layer_norm_steps(np.ldexp(x, power), eps=0)
    for name in ("mean", "deviations", "std", "guarded_std"):
        np.testing.assert_array_equal(getattr(scaled, name), np.ldexp(getattr(steps, name), power))
    # The variance in its unit squared is beyond float64 for the outer two: infinity, or zero.
    with np.errstate(over="ignore"):
        np.testing.assert_array_equal(scaled.variance, np.ldexp(steps.variance, 2 * power))
    np.testing.assert_array_equal(scaled.normalized, steps.normalized)
    np.testing.assert_array_equal(scaled.output, steps.output)


def test_steps_are_float64_and_only_the_output_is_as_narrow_as_x():
    steps = layer_norm_steps(np.float16([[2, 2, 6, 6]]), np.ones(4), np.ones(4))
    assert steps.mean.tolist() == [[4]] and steps.variance.tolist() == [[4]]
    assert steps.output.dtype == np.float16
    others = (steps.mean, steps.deviations, steps.variance, steps.std, steps.guarded_std, steps.normalized)
    assert {a.dtype for a in others} == {np.dtype(np.float64)}


def test_steps_of_an_empty_batch_are_empty():
    steps = layer_norm_steps(np.zeros((0, 3, 4)), axis=(1, 2))
    assert steps.output.shape == steps.deviations.shape == steps.normalized.shape == (0, 3, 4)
    assert steps.mean.shape == steps.variance.shape == steps.std.shape == steps.guarded_std.shape == (0, 1, 1)


@pytest.mark.parametrize(
    "function", [layer_norm, layer_norm_steps, layer_norm_backward, rms_norm, rms_norm_backward, batch_norm]
)
def test_signatures_are_as_promised(function):
    parameters = inspect.signature(function).parameters
    named = [p.name for p in parameters.values() if p.kind is p.KEYWORD_ONLY]
    assert named == (["eps"] if function is batch_norm else ["axis", "eps"])
    assert parameters["eps"].default == 1e-5
    assert all(p.kind is p.POSITIONAL_OR_KEYWORD for p in parameters.values() if p.name not in named)


def test_steps_are_frozen():
    steps = layer_norm_steps([2, 2, 6, 6])
    assert isinstance(steps, LayerNormSteps)
    assert steps == steps and steps != layer_norm_steps([2, 2, 6, 6]) and hash(steps)
    with pytest.raises(AttributeError):
        steps.mean = 0


@pytest.mark.parametrize(
    "arguments, error, message",
    [
        (dict(x=[1j, 2]), TypeError, "^x: .*complex128"),
        (dict(x=["1", "2"]), TypeError, "^x: .*<U1"),
        (dict(x=[None, 2]), TypeError, "^x: .*object"),
        (dict(x=[True, False]), TypeError, "^x: .*bool"),
        (dict(x=[[1, 2], [3]]), ValueError, "^x: "),
        (dict(x=3.0), ValueError, "^x: expected at least one axis"),
        (dict(x=np.ones((2, 0))), ValueError, r"^x: no features.*\(2, 0\)"),
        (dict(x=[1, 2], gamma=["a", "b"]), TypeError, "^gamma: "),
        (dict(x=[1, 2], beta=[1j, 2]), TypeError, "^beta: "),
        (dict(x=np.ones((5, 3)), gamma=[1]), ValueError, r"^gamma: expected shape \(3,\), got \(1,\)"),
        (dict(x=np.ones((5, 3)), beta=np.ones((5, 3))), ValueError, r"^beta: .*\(3,\), got \(5, 3\)"),
        (dict(x=[1, 2], gamma=2.0), ValueError, r"^gamma: expected shape \(2,\), got \(\)"),
        (dict(x=np.ones((2, 3, 4)), axis=(1, 2), gamma=np.ones((3, 1))), ValueError, "^gamma: "),
        (dict(x=np.ones((1, 4)), beta=np.ones((5, 1, 4))), ValueError, "^beta: "),
        (dict(x=[1, 2], axis=1), ValueError, "^axis: "),
        (dict(x=[[1, 2]], axis=(0, -2)), ValueError, "^axis: .*none twice"),
        (dict(x=[1, 2], axis=2**100), ValueError, "^axis: expected one of -1 to 0"),
        (dict(x=[[1, 2]], axis=-3), ValueError, "^axis: expected one of -2 to 1"),
        (dict(x=[1, 2], axis="0"), TypeError, "^axis: "),
        (dict(x=[1, 2], axis=[0.5]), TypeError, "^axis: "),
        (dict(x=np.ma.array([1, 2])), TypeError, "^x: .*mask"),
        (dict(x=[1, 2], gamma=np.ma.array([1, 2])), TypeError, "^gamma: .*mask"),
        (dict(x=np.array([1, 2], np.longdouble)), TypeError, "^x: .*got dtype"),
        (dict(x=[1, 2], axis=()), ValueError, "^axis: "),
        (dict(x=[1, 2], axis=0.5), TypeError, "^axis: .*0.5"),
        (dict(x=[1, 2], axis=None), TypeError, "^axis: "),
        (dict(x=[1, 2], eps=-1e-9), ValueError, "^eps: "),
        (dict(x=[1, 2], eps=float("nan")), ValueError, "^eps: "),
        (dict(x=[1, 2], eps=float("inf")), ValueError, "^eps: "),
        (dict(x=[1, 2], eps=10**5000), ValueError, "^eps: .*inf"),
        (dict(x=[1, 2], eps=np.float32("inf")), ValueError, "^eps: "),
        (dict(x=[1, 2], eps="1e-5"), TypeError, "^eps: "),
        (dict(x=[1, 2], eps=True), TypeError, "^eps: "),
    ],
)
def test_bad_input_is_named(arguments, error, message):
    for function in (layer_norm, layer_norm_steps):
        with pytest.raises(error, match=message):
            function(**arguments)


def test_the_layer_starts_as_plain_normalization_and_uses_what_it_learns():
    layer = LayerNorm(4, eps=0)
    assert layer.gamma.tolist() == [1, 1, 1, 1]
    assert layer.beta.tolist() == [0, 0, 0, 0]
    assert layer([[2, 2, 6, 6], [10, 10, 14, 14]]).tolist() == [[-1, -1, 1, 1]] * 2
    layer.gamma[:] = 2
    layer.beta[:] = (0, 0, 0, 2)
    assert layer([2, 2, 6, 6]).tolist() == [-2, -2, 2, 4]
    assert layer(np.float32([2, 2, 6, 6])).dtype == np.float32
    assert LayerNorm(1)([7.0]).tolist() == [0]
    assert LayerNorm(4).eps == 1e-5


def test_the_layer_names_what_is_wrong():
    with pytest.raises(ValueError, match=r"^x: expected shape \(..., 4\), got \(2, 3\)"):
        LayerNorm(4)(np.ones((2, 3)))
    for x in (1.0, np.ones(5), np.ones((4, 2))):
        with pytest.raises(ValueError, match="^x: expected shape"):
            LayerNorm(4)(x)
    with pytest.raises(TypeError, match="^num_features: "):
        LayerNorm(True)
    with pytest.raises(ValueError, match="^x: expected an array or evenly nested"):
        LayerNorm(2)([[1], [1, 2]])
    with pytest.raises(ValueError, match="^num_features: .*0"):
        LayerNorm(0)
    with pytest.raises(TypeError, match="^num_features: "):
        LayerNorm(4.0)
    with pytest.raises(ValueError, match="^eps: "):
        LayerNorm(4, eps=-1)


def test_a_gpt_sized_block_keeps_its_rows_apart():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(2, 4, 768)).astype(np.float32)
    steps = layer_norm_steps(x)
    assert steps.mean.shape == steps.variance.shape == (2, 4, 1)
    assert steps.output.shape == (2, 4, 768)
    changed = x.copy()
    changed[1, 2] *= 1000
    moved = (layer_norm(changed) != steps.output).any(axis=-1)
    assert np.argwhere(moved).tolist() == [[1, 2]]


def test_importing_lnlib_does_not_import_matplotlib():
    code = "import sys, lnlib; sys.exit('matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0
