"""Drawings of one row: its values, its mean, its spread."""

from matplotlib.figure import Figure
from matplotlib.patches import Polygon, Rectangle
import numpy as np

from lnlib.figures.style import FAINT, INK, MEAN, PAPER, RAW, SPREAD, WIDTH, drawing, equals_before, number, row, tidy


@drawing
def number_lines(stages):
    """Draw stages of one row on number lines, one below the other, to one scale.

    stages: list of (title, values, color), from top to bottom, each with as many values. Equal
    values stand on top of each other. Each line shows its mean (coral) and its std (mint).
    """
    titles, rows, colors = zip(*stages)
    rows = tidy(rows)
    figure = Figure(figsize=(WIDTH, 1.15 * len(rows) + 0.35), layout="constrained")
    axes = figure.subplots(len(rows), sharex=True, squeeze=False)[:, 0]
    low, high = min(rows.min(), 0), max(rows.max(), 0)
    margin = 0.09 * (high - low)
    for ax, title, values, color in zip(axes, titles, rows, colors):
        heights = 0.42 + 0.62 * equals_before(values)
        mean, std = values.mean(), values.std()
        ax.axvline(0, color=FAINT, lw=0.8, ls=(0, (2, 3)), zorder=0)
        top = max(heights[values == mean], default=1.8)  # a line through dots ends in the last of them
        ax.plot([mean, mean], [-0.25, top], color=MEAN, lw=1.6, zorder=1)
        ax.plot([mean - std, mean + std], [0, 0], color=SPREAD, lw=5, solid_capstyle="butt", zorder=3)
        ax.plot(values, heights, "o", ms=11, color=color, zorder=4)
        for value, top in dict(zip(values, heights)).items():
            ax.annotate(
                number(value), (value, top), (0, 8), textcoords="offset points", ha="center",
                bbox={"fc": PAPER, "ec": "none", "pad": 0.6}, zorder=2,
            )
        ax.set_title(title, loc="left", fontsize=10, color=color, fontweight="bold", pad=2)
        ax.set(ylim=(-0.25, 2.3), yticks=[], xlim=(low - margin, high + margin))
        ax.spines["left"].set_visible(False)
        ax.spines["bottom"].set_position(("data", 0))
        ax.tick_params(labelsize=9)
    axes[-1].set_xlabel("solid line: mean      thick bar: one std to each side", fontsize=9)
    steps = "; ".join(
        f"{t}: {row(v)}, mean {number(v.mean())}, std {number(v.std())}" for t, v in zip(titles, rows)
    )
    return figure, f"The same row on {len(rows)} number lines, one below the other. {steps}."


@drawing
def balance(x):
    """Draw a row as equal weights on a beam that rests on its mean."""
    x = tidy(x)
    mean = x.mean()
    figure = Figure(figsize=(WIDTH, 2.0), layout="constrained")
    ax = figure.subplots()
    low, high = x.min(), x.max()
    reach = 0.16 * (high - low)
    ax.plot([low - reach, high + reach], [0, 0], color=INK, lw=3, solid_capstyle="round")
    ax.add_patch(Polygon([(mean, -0.08), (mean - reach, -1.1), (mean + reach, -1.1)], fc=MEAN, ec="none"))
    ax.annotate(f"mean {number(mean)}", (mean, -1.1), (0, -3), textcoords="offset points",
                ha="center", va="top", color=MEAN, fontweight="bold")
    for value, below in zip(x, equals_before(x)):
        height = 0.5 + 0.85 * below
        ax.plot(value, height, "o", ms=15, color=RAW)
        ax.annotate(number(value), (value, height), ha="center", va="center", color=PAPER, fontsize=9)
    top = 0.5 + 0.85 * max(np.sum(x == v) for v in x)
    for pull in (x[x < mean] - mean, x[x > mean] - mean):
        middle = mean + pull.mean()
        ax.annotate(
            "distances to the mean\n" + " + ".join(number(abs(p)) for p in pull) + f" = {number(abs(pull.sum()))}",
            (middle, top), ha="center", va="bottom", fontsize=9,
        )
    ax.set(ylim=(-1.9, top + 1.5), xlim=(low - 2.2 * reach, high + 2.2 * reach))
    ax.set_axis_off()
    return figure, (
        f"Equal weights at {row(x)} on a beam. It balances on a pivot at the mean, {number(mean)}: "
        f"the distances on the left add up to {number(abs((x[x < mean] - mean).sum()))}, "
        f"those on the right to {number((x[x > mean] - mean).sum())}."
    )


@drawing
def squares(x):
    """Draw each deviation as a bar with its square, and the mean square beside them."""
    x = tidy(x)
    deviations = x - x.mean()
    variance, std = x.var(), x.std()
    sizes = np.abs(deviations)
    gap = 0.35 * sizes.max()
    starts = np.cumsum([0, *(sizes[:-1] + gap)])
    middle = starts[-1] + sizes[-1] + 2 * gap
    right = middle + std
    xlim = (-1.5 * gap, right + 2 * gap)
    ylim = (-sizes.max() - 1.4 * gap, sizes.max() + 1.4 * gap)
    # The page's proportions are the data's, or the squares would not be squares on screen.
    figure = Figure(figsize=(WIDTH, WIDTH * (ylim[1] - ylim[0]) / (xlim[1] - xlim[0])))
    ax = figure.add_axes((0, 0, 1, 1), xlim=xlim, ylim=ylim)
    ax.plot([-gap, middle - gap], [0, 0], color=MEAN)
    ax.annotate("mean", (-gap, 0), (0, 3), textcoords="offset points", color=MEAN, fontsize=9, va="bottom")
    for start, deviation, size in zip(starts, deviations, sizes):
        low = min(0, deviation)
        ax.add_patch(Rectangle((start, low), size, size, fc=RAW, alpha=0.22, ec="none"))
        ax.plot([start, start], [0, deviation], color=RAW, lw=3, solid_capstyle="butt")
        if size > 0.4 * sizes.max():
            ax.annotate(number(deviation**2), (start + size / 2, low + size / 2), ha="center", va="center")
        else:  # the area does not fit into its square: write it across the line
            ax.annotate(number(deviation**2), (start + size / 2, 0), (0, -4 if deviation > 0 else 4),
                        textcoords="offset points", ha="center", va="top" if deviation > 0 else "bottom")
        ax.annotate(number(deviation), (start, deviation), (0, 4 if deviation > 0 else -4), color=RAW,
                    textcoords="offset points", ha="center", va="bottom" if deviation > 0 else "top")
    ax.add_patch(Rectangle((middle, -std / 2), std, std, fc=SPREAD, alpha=0.22, ec="none"))
    ax.annotate(number(variance), (middle + std / 2, 0), ha="center", va="center")
    ax.annotate(f"mean square\nvariance {number(variance)}", (middle + std / 2, std / 2), (0, 5),
                textcoords="offset points", ha="center", va="bottom", fontsize=9, color=SPREAD)
    ax.plot([middle, right], [-std / 2, -std / 2], color=SPREAD, lw=5, solid_capstyle="butt")
    ax.annotate(f"its side\nstd {number(std)}", (middle + std / 2, -std / 2), (0, -6), color=SPREAD,
                textcoords="offset points", ha="center", va="top", fontsize=9)
    ax.set_axis_off()
    return figure, (
        f"The deviations {row(deviations)} as bars from the mean, each with its square: areas "
        f"{row(deviations**2)}. The mean of the areas is the variance, {number(variance)}, and a "
        f"square of that area has side {number(std)}, the std."
    )
