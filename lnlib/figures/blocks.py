"""Drawings of many rows at once: batches, sentences, tokens."""

from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
import numpy as np

from lnlib.figures.style import FAINT, INK, MEAN, NORMALIZED, PAPER, RAW, SPREAD, WIDTH, drawing, tidy


@drawing
def block(shape, lit):
    """Draw a (batch, tokens, features) block as sheets of rows, one row lit, and its statistics.

    lit: (batch item, token) of the row to light up, counted from 0.
    """
    batch, tokens, features = shape
    length, step, sheet_gap = 7.2, 0.62, 0.75
    sheet = tokens * step + sheet_gap
    figure = Figure(figsize=(WIDTH, 0.42 * (batch * sheet + 0.35)))
    ax = figure.add_axes((0, 0, 1, 1), xlim=(-1.5, 11.4), ylim=(-0.75, batch * sheet - 0.4))
    columns = ((length + 0.7, MEAN, "mean"), (length + 2.4, SPREAD, "variance"))
    for b, t in np.ndindex(batch, tokens):
        here = (b, t) == tuple(lit)
        y = (batch - b) * sheet - sheet_gap - (t + 1) * step
        ax.add_patch(Rectangle((0, y), length, 0.5, fc=RAW if here else PAPER, ec=RAW if here else FAINT))
        cuts = np.linspace(0, length, 49)[1:-1].repeat(3)
        ax.plot(cuts, np.tile([y, y + 0.5, np.nan], 47), color=PAPER if here else FAINT, lw=0.35)
        for x, color, _ in columns:
            ax.add_patch(Rectangle((x, y), 0.5, 0.5, fc=color if here else PAPER, ec=color if here else FAINT))
        if here:
            ax.plot([length, columns[1][0]], [y + 0.25] * 2, color=INK, lw=1.2, zorder=0)
        ax.annotate(f"token {t}", (-0.12, y + 0.25), ha="right", va="center", fontsize=8,
                    color=RAW if here else INK, fontweight="bold" if here else "normal")
    for b in range(batch):
        ax.annotate(f"sentence {b}", (0, (batch - b) * sheet - sheet_gap + 0.06), va="bottom", fontsize=9)
    for x, color, name in columns:
        ax.annotate(name, (x + 0.25, batch * sheet - sheet_gap + 0.06), ha="center", va="bottom", color=color,
                    fontsize=9, fontweight="bold")
        ax.annotate("1 a row", (x + 0.25, -0.12), ha="center", va="top", fontsize=9, color=color)
    ax.annotate(f"{features} features a row", (length / 2, -0.12), ha="center", va="top", fontsize=9)
    ax.set_axis_off()
    return figure, (
        f"A block of {batch} sentences with {tokens} tokens each, drawn as {batch * tokens} rows of "
        f"{features} features. Beside each row stand one cell for its mean and one for its variance. "
        f"One row is lit, token {lit[1]} of sentence {lit[0]}, with its own two cells: its {features} "
        f"values share them, and no other row does."
    )


@drawing
def rows_before_after(before, after):
    """Draw mean and std of every row of two (B, T, H) blocks, before and after layer norm."""
    figure = Figure(figsize=(WIDTH, 2.9), layout="constrained")
    axes = figure.subplots(1, 2, sharex=True, sharey=True)
    labels = [f"sentence {b}, token {t}" for b, t in np.ndindex(before.shape[:2])]
    places = np.arange(len(labels))[::-1]
    for ax, title, x, color in zip(axes, ("before", "after"), (before, after), (RAW, NORMALIZED)):
        mean, std = x.mean(-1).ravel(), x.std(-1).ravel()
        ax.axvline(0, color=FAINT, lw=0.8, ls=(0, (2, 3)))
        ax.hlines(places, mean - std, mean + std, color=SPREAD, lw=5)
        ax.plot(mean, places, "o", ms=6, color=MEAN)
        ax.set_title(title, loc="left", fontsize=10, color=color, fontweight="bold")
        ax.spines["left"].set_visible(False)
        ax.tick_params(axis="y", length=0)
        ax.tick_params(axis="x", labelsize=8)
    axes[0].set_yticks(places, labels, fontsize=8)
    figure.supxlabel("dot: mean      bar: one std to each side", fontsize=8)

    def span(values):
        return " to ".join(f"{tidy(v):.2f}".replace("-", "\N{MINUS SIGN}") for v in (values.min(), values.max()))

    return figure, (
        f"Mean and std of {len(labels)} rows. Before: means from {span(before.mean(-1))}, stds from "
        f"{span(before.std(-1))}. After: means from {span(after.mean(-1))}, stds from {span(after.std(-1))}."
    )
