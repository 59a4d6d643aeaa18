"""Drawings of what comes out against what goes in."""

from matplotlib.figure import Figure
import numpy as np

from lnlib.figures.style import FAINT, INK, NORMALIZED, SPREAD, WIDTH, decimal, drawing, number


@drawing
def spread_after(stds, with_eps, without_eps, *, eps, mark):
    """Draw how wide rows come out of layer norm against how wide they went in.

    stds: std of each row before, ascending; with_eps, without_eps: std of each after. mark: the
    (before, after) of one row to point at.
    """
    figure = Figure(figsize=(WIDTH, 2.7), layout="constrained")
    ax = figure.subplots()
    ax.plot(stds, without_eps, color=FAINT, ls=(0, (4, 3)), label="eps = 0")
    ax.plot(stds, with_eps, color=NORMALIZED, lw=2.6, label=f"eps = {decimal(eps)}")
    ax.axvline(eps**0.5, color=SPREAD, lw=1.2)
    ax.annotate("std = $\\sqrt{eps}$", (eps**0.5, 0.06), (5, 0), textcoords="offset points", color=SPREAD)
    ax.plot(*mark, "o", ms=9, color=NORMALIZED)
    ax.annotate("our row", mark, (0, -9), textcoords="offset points", ha="center", va="top")
    ax.set_xscale("log", subs=[])
    decades = 10.0 ** np.arange(round(np.log10(stds[0])), round(np.log10(stds[-1])) + 1)
    ax.set_xticks(decades, ["" if i % 2 else decimal(t) for i, t in enumerate(decades)])
    ax.set(xlabel="std of the row before", ylabel="std after", ylim=(0, 1.18))
    ax.legend(frameon=False, loc="center right", labelcolor=INK)
    middle = np.interp(eps**0.5, stds, with_eps)
    return figure, (
        f"Std of a row after layer norm against its std before, from {decimal(stds[0])} to {stds[-1]:g}. "
        f"With eps = 0 the curve is flat at {number(np.mean(without_eps))}. With eps = {decimal(eps)} it "
        f"agrees for wide rows, passes {number(middle)} where std is the root of eps, and falls to "
        f"{decimal(with_eps[0])} at the left end: nearly flat rows fade to zero instead of being stretched. "
        f"Our row, with std {number(mark[0])}, comes out with {mark[1]:.4f}."
    )


@drawing
def shielded(factors, outputs, gradients, *, marks):
    """Draw the largest normalized value and the largest gradient by the input of a row times a factor.

    factors: ascending; outputs, gradients: the largest size for each. marks: two factors whose
    values are written out.
    """
    figure = Figure(figsize=(WIDTH, 3.0), layout="constrained")
    ax = figure.subplots()
    ax.set(xscale="log", yscale="log", xlabel="the row is multiplied by", ylabel="largest size")
    ax.set_ylim(min(gradients) / 4, max(*outputs, *gradients) * 6)
    middle, written = np.sqrt(marks[0] * marks[1]), []
    curves = (
        ("normalized value", "top", outputs, NORMALIZED, "-", "o"),  # below its line, clear of the values above it
        ("gradient", "bottom", gradients, INK, (0, (5, 2)), "s"),
    )
    for name, side, sizes, color, style, marker in curves:
        def at(factor):
            return np.exp(np.interp(np.log(factor), np.log(factors), np.log(sizes)))

        ax.plot(factors, sizes, color=color, ls=style, lw=2.4)
        ax.annotate(name, (middle, at(middle)), (6, 6 if side == "bottom" else -6), textcoords="offset points",
                    va=side, color=color, fontweight="bold")
        for factor in marks:
            ax.plot(factor, at(factor), marker, ms=8, color=color)
            if side == "bottom" and factor > factors[0]:  # a falling line leaves room at its lower left
                place = {"xytext": (-8, -6), "ha": "right", "va": "top"}
            else:
                place = {"xytext": (6, 6)}
            ax.annotate(number(at(factor)), (factor, at(factor)), textcoords="offset points", color=color, **place)
        written.append(" and ".join(f"{number(at(factor))} at {number(factor)}" for factor in marks))
    ax.minorticks_off()
    for axis, (low, high) in ((ax.xaxis, ax.get_xlim()), (ax.yaxis, ax.get_ylim())):
        decades = 10.0 ** np.arange(np.ceil(np.log10(low)), np.log10(high))
        axis.set_ticks(decades, [decimal(t) for t in decades])
    ax.tick_params(labelsize=8)
    return figure, (
        f"Two lines, both axes in factors of 10, against the factor a row is multiplied by, {number(factors[0])} to "
        f"{number(factors[-1])}. The largest normalized value, {number(outputs[0])} at the left and "
        f"{number(outputs[-1])} at the right: {written[0]}. The largest gradient by the input falls from "
        f"{number(gradients[0])} to {number(gradients[-1])}: {written[1]}."
    )
