"""Time lnlib beside the textbook expression, PyTorch and a plain copy: `make bench`.

All contestants take turns, so that a busy machine slows them alike: trust the ratios more than the
milliseconds. Memory is the peak beyond inputs and results, as far as Python can see it.
"""

import math
import statistics
import time
import tracemalloc

import numpy as np

from lnlib import layer_norm, layer_norm_backward

try:
    import torch
except ImportError:
    torch = None

CASES = [
    ((8192, 768), np.float32),
    ((64, 64), np.float32),
    ((32, 16384), np.float32),
    ((8192, 768), np.float64),
    ((8192, 768), np.float16),
]
EPS = 1e-5


def textbook(x, gamma, beta):
    """The formula as one types it, whole arrays at a time, in the dtype of x."""
    mean = x.mean(axis=-1, keepdims=True)
    variance = x.var(axis=-1, keepdims=True)
    return gamma * (x - mean) / np.sqrt(variance + x.dtype.type(EPS)) + beta


def textbook_backward(dy, x, gamma):
    mean = x.mean(axis=-1, keepdims=True)
    rstd = 1 / np.sqrt(x.var(axis=-1, keepdims=True) + x.dtype.type(EPS))
    x_hat = (x - mean) * rstd
    dx_hat = dy * gamma
    share = (dx_hat * x_hat).mean(axis=-1, keepdims=True)
    dx = rstd * (dx_hat - dx_hat.mean(axis=-1, keepdims=True) - x_hat * share)
    return dx, (dy * x_hat).sum(axis=0), dy.sum(axis=0)


def contestants(x, dy, gamma, beta):
    """Return two dictionaries, forward and backward, from names to functions without arguments."""
    forward = {
        "textbook": lambda: textbook(x, gamma, beta),
        "lnlib": lambda: layer_norm(x, gamma, beta, eps=EPS),
        "copy of x": lambda: x.copy(),
    }
    backward = {
        "textbook": lambda: textbook_backward(dy, x, gamma),
        "lnlib": lambda: layer_norm_backward(dy, x, gamma, eps=EPS),
        "copy of x and dy": lambda: (x.copy(), dy.copy()),
    }
    if torch is not None:
        norm, sizes = torch.nn.functional.layer_norm, gamma.shape
        tx, tgamma, tbeta = (torch.tensor(a, requires_grad=True) for a in (x, gamma, beta))
        ty, tdy = norm(tx, sizes, tgamma, tbeta, EPS), torch.tensor(dy)
        fixed = [t.detach() for t in (tx, tgamma, tbeta)]
        forward["PyTorch"] = lambda: norm(fixed[0], sizes, *fixed[1:], EPS)
        # Its backward has kept mean and rstd from the forward; the others compute them anew.
        backward["PyTorch"] = lambda: torch.autograd.grad(ty, (tx, tgamma, tbeta), tdy, retain_graph=True)
    return forward, backward


def medians(functions, seconds=4.0):
    """Return the median time of each function in seconds, after taking turns for about that long."""
    times = {name: [] for name in functions}
    end = time.perf_counter() + seconds
    while time.perf_counter() < end or min(map(len, times.values())) < 4:
        for name, function in functions.items():
            function()  # not timed: what the one before did to caches and memory is not its merit
            for _ in range(2):
                start = time.perf_counter()
                function()
                times[name].append(time.perf_counter() - start)
    return {name: statistics.median(t) for name, t in times.items()}


def extra_memory(function):
    """Return the peak memory in bytes while function() runs, less that of the arrays it returns."""
    tracemalloc.start()
    result = function()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak - sum(a.nbytes for a in (result if isinstance(result, tuple) else (result,)))


def show(title, functions):
    """Print one comparison; return how many times as fast as the textbook lnlib is."""
    took = medians(functions)
    for name, seconds in took.items():
        ratio = took["textbook"] / seconds
        memory = "" if name == "PyTorch" else f"{extra_memory(functions[name]) / 1e6:10.2f} MB"
        print(f"{title:32}{name:18}{1e3 * seconds:12.3f} ms{ratio:8.2f} x{memory}")
        title = ""
    return took["textbook"] / took["lnlib"]


def verdict(target, value, least=None, most=None):
    """Print whether a target is met, and by how much it is missed."""
    met = value >= least if most is None else value <= most
    bound = least if most is None else most
    missed = "" if met else f", missed by {abs(value - bound) / bound:.0%}"
    print(f"{target:78}{value:8.2f}   {'met' if met else 'NOT met'}{missed}")


def main():
    rng = np.random.default_rng(0)
    if torch is None:
        print("PyTorch is not installed and is left out: make oracles\n")
    else:
        torch.set_num_threads(1)
    print(f"{'':50}{'median':>15}{'speed':>10}{'extra memory':>13}")
    speeds, memory = {}, 0
    for shape, dtype in CASES:
        x, dy = rng.normal(size=(2, *shape)).astype(dtype)
        gamma, beta = rng.normal(size=(2, shape[-1])).astype(dtype)
        forward, backward = contestants(x, dy, gamma, beta)
        name = f"{np.dtype(dtype)} {shape}"
        speeds[name] = show(f"{name} forward", forward), show(f"{name} backward", backward)
        memory = max(memory, extra_memory(forward["lnlib"]), extra_memory(backward["lnlib"]))

    print("\nOne row of four")
    calls = []
    for dtype in (np.float32, np.float64):
        x, dy, gamma, beta = rng.normal(size=(4, 1, 4)).astype(dtype)
        forward, _ = contestants(x, dy, gamma[0], beta[0])
        calls.append(1 / show(f"{np.dtype(dtype)} (1, 4) forward", forward))

    print("\nNanoseconds a value by size, float32")
    print(f"{'':12}{'rows of 1,000':>16}{'one row':>16}{'copy':>16}")
    per_value = {}
    for power in range(4, 9):
        x = rng.standard_normal(10**power, dtype=np.float32)
        functions = {"rows": lambda: layer_norm(x.reshape(-1, 1000)), "row": lambda: layer_norm(x), "copy": x.copy}
        per_value[power] = [1e9 * took / x.size for took in medians(functions, seconds=1).values()]
        print(f"1e{power} values  " + "".join(f"{number:16.2f}" for number in per_value[power]))

    print("\nTargets")
    forward, backward = speeds["float32 (8192, 768)"]
    verdict("forward, float32 (8192, 768): at least 2 times as fast as the textbook", forward, least=2)
    verdict("backward, float32 (8192, 768): at least 1.5 times as fast as the textbook", backward, least=1.5)
    verdict("temporaries beyond the results: at most 2 MB", memory / 1e6, most=2)
    verdict("one row of 4: at most 3 times the textbook's time", max(calls), most=3)
    # From 1e5, where one call's overhead no longer shows. A copy leaves the cache on the way, and
    # its exponent is well above one.
    exponents = [1 + math.log10(last / first) / 3 for first, last in zip(per_value[5], per_value[8])]
    verdict("linear: time grows with the size to a power of at most 1.15", max(exponents[:2]), most=1.15)
    print(f"{'        the same for a plain copy':78}{exponents[2]:8.2f}")



if __name__ == "__main__":
    main()
