"""lnlib against implementations that others wrote: PyTorch, its autograd, and ONNX's reference."""

import itertools
import os

import numpy as np
import onnx.helper
from onnx.reference import ReferenceEvaluator
import pytest

from lnlib import batch_norm, layer_norm, layer_norm_backward, rms_norm, rms_norm_backward
from tests import bench

# What the sample inputs of PyTorch's own tests look like: shape, number of normalized axes, eps.
TORCH_SAMPLES = [((1, 2, 3), 3, 0.5), ((2, 2, 3), 2, 0.5), ((1,), 1, 1e-5), ((1, 2), 1, 1e-5), ((0, 1), 1, 1e-5)]
SHAPES = [*TORCH_SAMPLES, ((8, 768), 1, 1e-5), ((2, 4, 6, 5), 1, 1e-12), ((2, 4, 6, 5), 3, 1e-5), ((3, 70_001), 1, 1e-5)]
DTYPES = [np.float16, np.float32, np.float64]


def assert_agree(ours, oracle):
    """Compare with an oracle that computed in float64: ours may be off by its own rounding only."""
    oracle = np.asarray(oracle, np.float64)
    assert ours.shape == oracle.shape
    largest = np.abs(oracle).max(initial=1)
    np.testing.assert_allclose(ours, oracle, rtol=0, atol=max(np.finfo(ours.dtype).eps, 1e-13) * largest)


@pytest.fixture
def torch():
    """PyTorch, which stays out of the locked requirements because its builds differ."""
    try:
        import torch
    except ImportError:
        hint = "needs PyTorch: make oracles"
        pytest.fail(hint) if os.environ.get("CI") else pytest.skip(hint)
    torch.set_num_threads(1)
    return torch


def gamma_shape(shape, axes):
    return tuple(shape[a] for a in axes)


def sample(shape, normalized_axes, dtype, seed=0):
    """Return x, dy, gamma, beta and the axes that they are normalized over."""
    rng = np.random.default_rng(seed)
    x, dy = rng.normal(0.5, 2.0, size=(2, *shape)).astype(dtype)
    axes = tuple(range(len(shape) - normalized_axes, len(shape)))
    gamma, beta = rng.normal(size=(2, *gamma_shape(shape, axes))).astype(dtype)
    return x, dy, gamma, beta, axes


def leaf(torch, array):
    """Return an array as a float64 tensor that collects its gradient; None stays None."""
    return None if array is None else torch.tensor(array, dtype=torch.float64, requires_grad=True)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape, normalized_axes, eps", SHAPES)
@pytest.mark.parametrize("with_gamma, with_beta", list(itertools.product([True, False], repeat=2)))
def test_layer_norm_and_its_gradients_agree_with_pytorch(
    torch, dtype, shape, normalized_axes, eps, with_gamma, with_beta
):
    x, dy, gamma, beta, axes = sample(shape, normalized_axes, dtype)
    gamma, beta = gamma if with_gamma else None, beta if with_beta else None
    leaves = [leaf(torch, a) for a in (x, gamma, beta)]
    y = torch.nn.functional.layer_norm(leaves[0], gamma_shape(shape, axes), *leaves[1:], eps)
    y.backward(torch.tensor(dy, dtype=torch.float64))
    assert_agree(layer_norm(x, gamma, beta, axis=axes, eps=eps), y.detach())
    for ours, its in zip(layer_norm_backward(dy, x, gamma, axis=axes, eps=eps), leaves, strict=True):
        if its is not None:
            assert_agree(ours, its.grad)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape, normalized_axes, eps", SHAPES)
@pytest.mark.parametrize("with_gamma", [True, False])
def test_rms_norm_and_its_gradients_agree_with_pytorch(torch, dtype, shape, normalized_axes, eps, with_gamma):
    x, dy, gamma, _, axes = sample(shape, normalized_axes, dtype)
    gamma = gamma if with_gamma else None
    leaves = [leaf(torch, a) for a in (x, gamma)]
    y = torch.nn.functional.rms_norm(leaves[0], gamma_shape(shape, axes), leaves[1], eps)
    y.backward(torch.tensor(dy, dtype=torch.float64))
    assert_agree(rms_norm(x, gamma, axis=axes, eps=eps), y.detach())
    for ours, its in zip(rms_norm_backward(dy, x, gamma, axis=axes, eps=eps), leaves, strict=True):
        if its is not None:
            assert_agree(ours, its.grad)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(5, 5, 5), (3, 2, 4), (3, 1), (3, 2, 3, 4), (2, 1), (1, 2, 3)])
@pytest.mark.parametrize("eps", [0.6, 1e-5])
def test_batch_norm_agrees_with_pytorch_in_training(torch, dtype, shape, eps):
    x, _, gamma, beta, _ = sample((*shape[:1], *shape[2:], shape[1]), 1, dtype)  # features last
    features_second = np.moveaxis(np.float64(x), -1, 1)
    y = torch.nn.functional.batch_norm(
        *(torch.tensor(features_second), None, None),
        *(torch.tensor(np.float64(p)) for p in (gamma, beta)),
        training=True, eps=eps,
    )
    assert_agree(batch_norm(x, gamma, beta, eps=eps), np.moveaxis(y.numpy(), 1, -1))


@pytest.mark.parametrize("value", [0.0, 3.0, -1e3])
@pytest.mark.parametrize("dtype", DTYPES)
def test_gradients_of_flat_rows_agree_with_autograd(torch, value, dtype):
    _, dy, gamma, _, _ = sample((4, 6), 1, dtype)
    x = leaf(torch, np.full((4, 6), value))
    y = torch.nn.functional.layer_norm(x, (6,), leaf(torch, gamma), eps=0.01)
    y.backward(torch.tensor(dy, dtype=torch.float64))
    assert_agree(layer_norm_backward(dy, np.full((4, 6), value, dtype), gamma, eps=0.01)[0], x.grad)


def test_the_second_derivative_agrees_with_autograd(torch):
    def loss(t):
        x = torch.stack([t, torch.zeros_like(t)])
        return (torch.tensor([1.0, 2.0], dtype=torch.float64) * torch.nn.functional.layer_norm(x, (2,), eps=0.25)).sum()

    expected = torch.autograd.functional.hessian(loss, torch.tensor(0.7, dtype=torch.float64)).item()
    slopes = [layer_norm_backward([1.0, 2.0], [t, 0.0], eps=0.25)[0][0] for t in (0.7 + 1e-5, 0.7 - 1e-5)]
    assert (slopes[0] - slopes[1]) / 2e-5 == pytest.approx(expected, abs=1e-9)


def onnx_reference(operator, opset, inputs, axis, eps):
    """Run one ONNX operator in ONNX's own reference implementation."""
    kind = onnx.helper.np_dtype_to_tensor_dtype(inputs["X"].dtype)
    node = onnx.helper.make_node(operator, list(inputs), ["Y"], axis=axis, epsilon=eps)
    graph = onnx.helper.make_graph(
        [node], "one",
        [onnx.helper.make_tensor_value_info(name, kind, a.shape) for name, a in inputs.items()],
        [onnx.helper.make_tensor_value_info("Y", kind, inputs["X"].shape)],
    )
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", opset)])
    return ReferenceEvaluator(model).run(None, inputs)[0]


AXES = [(shape, axis) for shape in [(3, 4), (2, 3, 5), (2, 3, 4, 5)] for axis in range(-len(shape), len(shape))]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape, axis", AXES)
@pytest.mark.parametrize("eps", [1e-5, 0.1])
def test_agrees_with_the_onnx_reference_over_every_axis(dtype, shape, axis, eps):
    x, _, gamma, beta, axes = sample(shape, len(shape) - axis % len(shape), dtype)
    wide = {"X": np.float64(x), "Scale": np.float64(gamma), "B": np.float64(beta)}
    without_beta = {"X": wide["X"], "Scale": wide["Scale"]}
    ours = dict(axis=axes, eps=np.float32(eps))  # ONNX keeps epsilon as float32
    expected = onnx_reference("LayerNormalization", 17, wide, axis, eps)
    assert_agree(layer_norm(x, gamma, beta, **ours), expected)
    expected = onnx_reference("LayerNormalization", 17, without_beta, axis, eps)
    assert_agree(layer_norm(x, gamma, **ours), expected)
    expected = onnx_reference("RMSNormalization", 23, without_beta, axis, eps)
    assert_agree(rms_norm(x, gamma, **ours), expected)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_benchmark_compares_functions_that_agree(torch, dtype):
    rng = np.random.default_rng(1)
    x, dy = rng.normal(size=(2, 6, 10)).astype(dtype)
    gamma, beta = rng.normal(size=(2, 10)).astype(dtype)
    forward, backward = bench.contestants(x, dy, gamma, beta)
    assert list(forward) == ["textbook", "lnlib", "copy of x", "PyTorch"]
    close = dict(rtol=0, atol=100 * np.finfo(dtype).eps)
    for name in ("textbook", "PyTorch"):
        np.testing.assert_allclose(np.asarray(forward[name]()), forward["lnlib"](), **close)
        for gradient, ours in zip(backward[name](), backward["lnlib"](), strict=True):
            np.testing.assert_allclose(np.asarray(gradient), ours, **close)
    assert set(bench.medians(forward, seconds=0)) == set(forward)
    # The textbook keeps whole arrays besides its result, and tracing sees them.
    assert bench.extra_memory(lambda: bench.textbook(x, gamma, beta)) > x.nbytes
