"""Drawings of what comes out against what goes in."""

from matplotlib.figure import Figure
import numpy as np

from lnlib.figures.style import FAINT, INK, NORMALIZED, SPREAD, WIDTH, drawing, number


@drawing
def spread_after(stds, with_eps, without_eps, *, eps, mark):
    """Draw how wide rows come out of layer norm against how wide they went in.

    stds: std of each row before, ascending; with_eps, without_eps: std of each after. mark: the
    (before, after) of one row to point at.
    """
    figure = Figure(figsize=(WIDTH, 2.7), layout="constrained")
    ax = figure.subplots()
    ax.plot(stds, without_eps, color=FAINT, ls=(0, (4, 3)), label="eps = 0")
    ax.plot(stds, with_eps, color=NORMALIZED, lw=2.6, label=f"eps = {eps:g}")
    ax.axvline(eps**0.5, color=SPREAD, lw=1.2)
    ax.annotate("std = $\\sqrt{eps}$", (eps**0.5, 0.06), (5, 0), textcoords="offset points", color=SPREAD)
    ax.plot(*mark, "o", ms=9, color=NORMALIZED)
    ax.annotate("our row", mark, (0, -9), textcoords="offset points", ha="center", va="top")
    ax.set_xscale("log", subs=[])
    ax.set(xlabel="std of the row before", ylabel="std after", ylim=(0, 1.18))
    ax.legend(frameon=False, loc="center right", labelcolor=INK)
    middle = np.interp(eps**0.5, stds, with_eps)
    return figure, (
        f"Std of a row after layer norm against its std before, from {stds[0]:f} to {stds[-1]:g}. "
        f"With eps = 0 the curve is flat at {number(np.mean(without_eps))}. With eps = {eps:f} it "
        f"agrees for wide rows, passes {number(middle)} where std is the root of eps, and falls to "
        f"{with_eps[0]:f} at the left end: nearly flat rows fade to zero instead of being stretched. "
        f"Our row, with std {number(mark[0])}, comes out with {mark[1]:.4f}."
    )
