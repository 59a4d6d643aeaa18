"""The course's drawings: one style, one color language, one way to store a picture.

Each public function draws one picture from the numbers it is given and returns a `Drawing`,
which a notebook shows as SVG and a screen reader reads as its alternative text. The same numbers
give the same bytes on every machine, so a stored picture can be compared like any other result.
"""

from dataclasses import dataclass
from functools import wraps
from io import StringIO
from itertools import count
from math import floor
import re

import matplotlib
from matplotlib.figure import Figure
from matplotlib.patches import Polygon, Rectangle
import numpy as np

# What each color means, everywhere in the course: (on a light page, on a dark page). Each has at
# least 4.5:1 against its page. Light values must differ: they are how a color is found in the SVG.
COLORS = {
    "paper": ("#ffffff", "#121212"),
    "ink": ("#2b2f36", "#ced6dd"),
    "faint": ("#8b929c", "#79828d"),
    "raw": ("#6f5bbf", "#b8a9f0"),  # lavender
    "mean": ("#c8452f", "#ff8a73"),  # coral
    "spread": ("#0b7d68", "#5fd6b8"),  # mint
    "normalized": ("#2f7d32", "#8fdc8f"),  # green
    "output": ("#8f6a00", "#f2cf5b"),  # butter
}
PAPER, INK, FAINT, RAW, MEAN, SPREAD, NORMALIZED, OUTPUT = (light for light, _ in COLORS.values())

# Narrow, so that a phone shows a picture at nearly its own size and its letters stay readable.
WIDTH = 4.8  # inches

STYLE = {
    "font.family": "DejaVu Sans",  # comes with matplotlib, so every machine has the same letters
    "font.size": 10,
    "mathtext.fontset": "dejavusans",
    "svg.fonttype": "path",
    "svg.hashsalt": "lnlib",
    "figure.facecolor": PAPER,
    "savefig.facecolor": PAPER,
    "axes.facecolor": PAPER,
    "axes.edgecolor": FAINT,
    "axes.labelcolor": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "text.color": INK,
    "xtick.color": FAINT,
    "ytick.color": FAINT,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "lines.linewidth": 1.8,
}

DECIMALS = 3  # of a point, which is 1/72 inch


@dataclass(frozen=True, repr=False)
class Drawing:
    """A finished picture: its SVG source and the text that stands for it."""

    svg: str
    alt: str

    def __repr__(self):
        return self.alt

    def _repr_mimebundle_(self, include=None, exclude=None):
        return {"image/svg+xml": self.svg, "text/plain": self.alt}


def _drawing(draw):
    """Make a function that returns (figure, alternative text) return a `Drawing` in our style."""

    @wraps(draw)
    def drawn(*args, **kwargs):
        with matplotlib.rc_context():
            matplotlib.rcdefaults()  # a reader's own matplotlibrc must not change a picture
            matplotlib.rcParams.update(STYLE)
            figure, alt = draw(*args, **kwargs)
            source = StringIO()
            figure.savefig(source, format="svg", metadata={"Date": None, "Creator": None})
        return Drawing(stable_svg(source.getvalue()), alt)

    return drawn


def stable_svg(source):
    """Return matplotlib's SVG with every machine-dependent detail taken out, colors by name.

    Coordinates are rounded to `DECIMALS`; identifiers, which matplotlib hashes from unrounded
    coordinates, are numbered in order; the colors of `COLORS` become CSS variables that follow
    the page's color scheme; the prolog and the metadata go.
    """
    svg = source[source.index("<svg") :].strip()
    svg = re.sub(r"\s*<metadata>.*?</metadata>", "", svg, flags=re.S)

    def rounded(match):
        # Tidy coordinates such as 0.0625 sit on rounding boundaries, where a processor's last bit
        # would decide. Moving the boundaries by an untidy amount keeps them clear of any.
        value = floor(float(match[0]) * 10**DECIMALS + 0.5 + 0.0437) / 10**DECIMALS
        return f"{value:.{DECIMALS}f}".rstrip("0").rstrip(".")

    # A glyph's scale is one constant for all machines, and rounding it would resize the letters.
    parts = re.split(r"(scale\([^)]*\))", svg)
    parts[::2] = [re.sub(r"-?\d+\.\d+(e-?\d+)?", rounded, part) for part in parts[::2]]
    svg = "".join(parts)

    serial = count(1)
    names = {name: f"i{next(serial)}" for name in dict.fromkeys(re.findall(r'\bid="([^"]+)"', svg))}
    svg = re.sub(r'\bid="([^"]+)"', lambda m: f'id="{names[m[1]]}"', svg)
    svg = re.sub(r"#([\w-]+)(?=[\")])", lambda m: "#" + names.get(m[1], m[1]), svg)

    for name, (light, _) in COLORS.items():
        svg = svg.replace(light, f"var(--{name}, {light})")
    scheme = f"{_scheme(0)} @media (prefers-color-scheme: dark) {{{_scheme(1)}}}"
    return svg.replace(">", f"><style>{scheme}</style>", 1)


def _scheme(which):
    return "svg{" + ";".join(f"--{name}:{pair[which]}" for name, pair in COLORS.items()) + "}"


def tidy(values):
    """Return values as float64 without the last bits, so that 3.9999999999999996 counts as 4.

    Values that are equal on paper then stack in a picture on every processor, and no zero has a sign.
    """
    return np.round(np.asarray(values, float), 12) + 0.0


def number(value):
    """Write a number as the pictures do: four significant digits, a true minus sign."""
    return f"{tidy(value):.4g}".replace("-", "\N{MINUS SIGN}")


def row(values):
    """Write a row as the pictures do: (2, 2, 6, 6)."""
    return "(" + ", ".join(number(v) for v in np.ravel(values)) + ")"


@_drawing
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
        heights = [0.42 + 0.62 * np.sum(values[:i] == v) for i, v in enumerate(values)]
        mean, std = values.mean(), values.std()
        ax.axvline(0, color=FAINT, lw=0.8, ls=(0, (2, 3)), zorder=0)
        ax.axvline(mean, ymax=0.8, color=MEAN, lw=1.6, zorder=1)
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
        ax.tick_params(labelsize=8)
    axes[-1].set_xlabel("vertical line: mean      thick bar: one std to each side", fontsize=8)
    steps = "; ".join(
        f"{t}: {row(v)}, mean {number(v.mean())}, std {number(v.std())}" for t, v in zip(titles, rows)
    )
    return figure, f"The same row on {len(rows)} number lines, one below the other. {steps}."


@_drawing
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
    for i, value in enumerate(x):
        height = 0.5 + 0.85 * np.sum(x[:i] == value)
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


@_drawing
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
        ax.annotate(number(deviation**2), (start + size / 2, low + size / 2), ha="center", va="center")
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


@_drawing
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


@_drawing
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
            ax.annotate("", (length + 0.68, y + 0.25), (length, y + 0.25),
                        arrowprops={"arrowstyle": "-|>", "color": INK, "shrinkA": 1, "shrinkB": 0})
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


@_drawing
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
