"""Drawings that put a claim about layer norm to the test."""

from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from matplotlib.ticker import NullLocator
import numpy as np

from lnlib.figures.style import (
    FAINT, INK, NORMALIZED, OUTPUT, PAPER, RAW, SPREAD, WIDTH, decimal, drawing, number, row, tidy,
)


def _fixed(value, places):
    return f"{tidy(value):.{places}f}".replace("-", "\N{MINUS SIGN}")


@drawing
def rounded_on_the_way(value, *, gamma, beta, places):
    """Draw a normalized value and its rounding, and what gamma and beta make of both, magnified.

    Both lines have the same scale. On each, the shaded strip is what rounds to the label in it.
    """
    unit, rounded = 10.0**-places, np.round(value, places)
    off = tidy((value - rounded) / unit)
    reach = max(1.5, abs(gamma * off) + 0.7)
    figure = Figure(figsize=(WIDTH, 2.9))
    ax = figure.add_axes((0.02, 0.02, 0.96, 0.96), xlim=(-reach, reach), ylim=(-0.75, 2.6))
    ax.annotate("", (0, 0.34), (0, 1.25), arrowprops={"arrowstyle": "-|>", "color": INK, "ls": "--"})
    ax.annotate("", (gamma * off, 0.34), (off, 1.52), arrowprops={"arrowstyle": "-|>", "color": INK})
    lines = (
        (1.7, "normalized", off, rounded, NORMALIZED),
        (0, "output", gamma * off, gamma * rounded + beta, OUTPUT),
    )
    for y, title, exact, center, color in lines:
        ax.plot([-reach, reach], [y, y], color=FAINT, lw=1)
        ax.add_patch(Rectangle((np.round(exact) - 0.5, y - 0.42), 1, 0.6, fc=color, alpha=0.2, ec="none"))
        for place in np.arange(-np.floor(reach), reach):
            ax.plot([place, place], [y - 0.1, y], color=FAINT, lw=1)
            label = _fixed(center + place * unit, places)
            ax.annotate(label, (place, y - 0.15), ha="center", va="top", fontsize=9)
        ax.plot(0, y, "s", ms=9, mfc=PAPER, mec=color, mew=2, zorder=4)
        ax.plot(exact, y, "o", ms=9, color=color, zorder=5)
        ax.annotate(title, (-reach, y + 0.3), color=color, fontweight="bold")
    for place, name in ((0, "rounded"), (off, "exact")):
        align = "left" if (name == "exact") == (off >= 0) else "right"
        ax.annotate(name, (place, 2.05), fontsize=9, ha=align)
    ax.set_axis_off()
    late, early = np.round(gamma * value + beta, places), gamma * rounded + beta
    return figure, (
        f"Two magnified number lines to one scale. On the upper one the exact normalized value lies "
        f"{number(abs(off))} of a unit of the last place from its rounding, {_fixed(rounded, places)}, and in the "
        f"strip that rounds to it. After gamma {number(gamma)} and beta {number(beta)} the exact value lies "
        f"{number(abs(gamma * off))} of a unit from {_fixed(early, places)}, the result of the rounded one, and in the "
        f"strip that rounds to {_fixed(late, places)}."
    )


@drawing
def merged(rows, normalized, restored):
    """Draw how two rows come to one normalized row, and what one gamma and beta make of it."""
    figure = Figure(figsize=(WIDTH, 3.1))
    ax = figure.add_axes((0, 0, 1, 1))
    levels = ((2, rows, RAW), (1, normalized, NORMALIZED), (0, restored, OUTPUT))
    styles = ({"marker": "s", "ms": 11, "mew": 1.6}, {"marker": "o", "ms": 6})
    for j, style in enumerate(styles):
        for (top, start, _), (bottom, end, _) in zip(levels, levels[1:]):
            dashes = "-" if j else (0, (4, 2))
            ax.plot([start[j], end[j]], [top, bottom], color=FAINT, lw=1, ls=dashes, zorder=1)
        for y, values, color in levels:
            heights = np.full(len(values[j]), y)
            ax.plot(values[j], heights, ls="", mfc=color if j else PAPER, mec=color, zorder=3 + j, **style)
    low, high = min(map(np.min, (rows, normalized))), np.max(rows)
    for y, values, _ in levels[::2]:
        for value in dict.fromkeys(np.ravel(tidy(values)).round(3)):
            ax.annotate(number(value), (value, y), (0, 9 if y else -9), textcoords="offset points",
                        ha="center", va="bottom" if y else "top")
    ax.annotate("first row", (rows[0].mean(), 2.42), ha="center", color=RAW, fontweight="bold")
    ax.annotate("second row", (rows[1].mean(), 2.42), ha="center", color=RAW, fontweight="bold")
    middle = low + 0.53 * (high - low)
    ax.annotate("normalized:\nboth are one row", (middle, 1), va="center", color=NORMALIZED, fontweight="bold")
    ax.annotate("with gamma and beta:\nstill one row", (middle, 0), va="center", color=OUTPUT, fontweight="bold")
    margin = 0.07 * (high - low)
    ax.set(xlim=(low - margin, high + margin), ylim=(-0.45, 2.75))
    ax.set_axis_off()
    return figure, (
        f"Three levels of dots. On top the rows {row(rows[0])} and {row(rows[1])}, apart. Lines lead from both to the "
        f"same four places in the middle: {row(normalized[0])} and {row(normalized[1])}. From there they lead together "
        f"to {row(np.round(restored[0], 3))} and {row(np.round(restored[1], 3))}: only the first row is back."
    )


@drawing
def over_factors(factors, with_eps, without_eps, *, eps):
    """Draw every normalized value of a row against the factor that the row was multiplied with.

    factors: ascending, of both signs; with_eps, without_eps: a normalized row for each.
    """
    factors = np.asarray(factors)
    figure = Figure(figsize=(WIDTH, 3.1), layout="constrained")
    ax = figure.subplots()
    ax.axhline(0, color=FAINT, lw=0.8, ls=(0, (2, 3)))
    ax.plot([0, 0], [-1.7, 1.6], color=FAINT, lw=0.8, ls=(0, (2, 3)))  # up to the legend
    for i, (solid, dashed) in enumerate(zip(with_eps.T, without_eps.T)):
        for side in (factors < 0, factors > 0):
            label = None if i or side[0] else "eps = 0"
            ax.plot(factors[side], dashed[side], color=FAINT, ls=(0, (4, 3)), label=label)
        ax.plot(factors, solid, color=NORMALIZED, lw=2.4, label=None if i else f"eps = {decimal(eps)}")
        for end, align in ((0, "right"), (-1, "left")):
            ax.annotate(f"feature {i + 1}", (factors[end], solid[end]), (4 if end else -4, 0),
                        textcoords="offset points", ha=align, va="center", fontsize=8)
    ax.set_xscale("symlog", linthresh=1e-4, linscale=0.6)
    ax.xaxis.set_minor_locator(NullLocator())
    ticks = [-1, -0.01, 0, 0.01, 1]
    ax.set_xticks(ticks, [number(t) for t in ticks])
    ax.tick_params(labelsize=8)
    ax.spines["left"].set_visible(False)
    ax.yaxis.tick_left()
    ax.set(xlabel="factor k", ylabel="normalized value", ylim=(-1.7, 2.3), yticks=[-1, 0, 1])
    ax.set_xlim(14 * factors[0], 14 * factors[-1])
    ax.spines["bottom"].set_bounds(factors[0], factors[-1])
    ax.legend(frameon=False, loc="upper center", ncols=2, labelcolor=INK)
    middle = int(np.argmin(np.abs(factors)))
    return figure, (
        f"{with_eps.shape[1]} curves, the normalized values of a row times k, for k from "
        f"{number(factors[0])} to {number(factors[-1])}, "
        f"on an axis that magnifies the surroundings of zero. On the right they are level at "
        f"{row(with_eps[-1])}; on the "
        f"left at {row(with_eps[0])}: every sign is flipped. Near k = 0 the curves with eps leave those levels, and "
        f"at k = {number(factors[middle])} they meet at {row(np.unique(tidy(with_eps[middle])))}. "
        "Without eps they stay level on "
        f"each side and jump."
    )


@drawing
def guard_triangles(stds, afters, *, eps):
    """Draw std, the root of eps and the guarded std as sides of right triangles, one for each std.

    stds: from wide to narrow; afters: the std that each row comes out with.
    """
    root, inch = eps**0.5, 0.4
    figure = Figure(figsize=(WIDTH, 1.75))
    ax = figure.add_axes((0, 0, 1, 1), xlim=(0, WIDTH / inch), ylim=(-3, 1.75 / inch - 3))
    widths = np.asarray(stds) / root
    middles = np.linspace(0.6 + widths[0] / 2, WIDTH / inch - 1.6, len(widths))
    middles[1:-1] += 0.6  # room for the labels of the first triangle
    starts = middles - widths / 2
    for i, (start, width, std, after) in enumerate(zip(starts, widths, stds, afters)):
        ax.add_patch(Rectangle((start, -0.2), width, 0.2, fc=SPREAD, ec="none"))  # whole, also where it is short
        ax.plot([start, start + width], [0, 0], color=FAINT, lw=1)
        ax.plot([start + width, start + width], [0, 1], color=FAINT, lw=1.6)
        ax.plot([start, start + width], [0, 1], color=INK, lw=1.6)
        middle = start + width / 2
        ax.annotate(f"std\n{number(std)}", (middle, -0.4), ha="center", va="top", fontsize=9, color=SPREAD)
        ax.annotate(f"std after\n{after:.3f}", (middle, -1.7), ha="center", va="top", fontsize=9,
                    color=NORMALIZED, fontweight="bold")
        if i == 0:
            ax.annotate("root\nof eps", (start + width, 0.5), (5, 0), textcoords="offset points",
                        va="center", fontsize=9)
            ax.annotate("guarded std", (middle, 0.5), (-4, 5), textcoords="offset points",
                        ha="right", va="bottom", fontsize=9)
    ax.set_axis_off()
    each = "; ".join(f"std {number(s)} gives {a:.3f}" for s, a in zip(stds, afters))
    return figure, (
        f"{len(stds)} right triangles to one scale. The upright side is the root of eps in all of "
        f"them, {number(root)}; the "
        f"side at the bottom is the std of a row, and the slanted side the guarded std. The std after "
        "layer norm is bottom "
        f"over slanted: {each}. The narrower the triangle, the smaller the share."
    )


@drawing
def company(panels, batches):
    """Draw what becomes of one row in several batches; each panel is one way to normalize.

    panels: list of (title, outputs), an output row for each batch; batches: their names.
    """
    figure = Figure(figsize=(WIDTH, 1.3 * len(panels) + 0.2), layout="constrained")
    axes = figure.subplots(len(panels), sharex=True, squeeze=False)[:, 0]
    heights = np.arange(len(batches))[::-1]
    reports = []
    for ax, (title, outputs) in zip(axes, panels):
        outputs = tidy(outputs)
        ax.hlines(heights, -2, 2, color=FAINT, lw=0.6)
        for i, values in enumerate(outputs.T):
            ax.plot(values, heights, "o-", color=NORMALIZED, ms=8, lw=1.6, zorder=3)
            ax.annotate(f"{i + 1}", (values[-1], heights[-1]), (0, -7), textcoords="offset points",
                        ha="center", va="top", fontsize=8)
        same = (outputs == outputs[0]).all()
        ax.set_title(f"{title}: {'always the same' if same else 'depends on the batch'}", loc="left", fontsize=10,
                     color=NORMALIZED, fontweight="bold", pad=3)
        ax.set_yticks(heights, batches, fontsize=9)
        ax.set(xlim=(-1.8, 1.8), ylim=(-0.75, heights[0] + 0.35), xticks=[-1, 0, 1])
        ax.tick_params(axis="y", length=0)
        ax.tick_params(axis="x", labelsize=8)
        ax.spines["left"].set_visible(False)
        each = "; ".join(f"{name} {row(values)}" for name, values in zip(batches, np.round(outputs, 3)))
        reports.append(f"{title}, {'straight' if same else 'bent'} lines: {each}.")
    return figure, (
        f"{len(panels)} panels. Each shows what one row becomes in {len(batches)} batches, with a "
        "line for each of its features, "
        f"which is straight if the batch does not matter. " + " ".join(reports)
    )


@drawing
def side_by_side(rows):
    """Draw rows on number lines to one scale, each with its std; labels alternate so that none collide.

    rows: list of (title, values), from top to bottom.
    """
    figure = Figure(figsize=(WIDTH, 1.1 * len(rows) + 0.3))
    reach = 1.2 * max(np.abs(values).max() for _, values in rows)
    ax = figure.add_axes((0, 0, 1, 1), xlim=(-reach, reach), ylim=(-1.1, 1.6 * len(rows) - 0.4))
    for y, (title, values) in zip(1.6 * np.arange(len(rows))[::-1], rows):
        mean, std = np.mean(values), np.std(values)
        ax.plot([-reach, reach], [y, y], color=FAINT, lw=1)
        ax.plot([mean - std, mean + std], [y, y], color=SPREAD, lw=5, solid_capstyle="butt")
        ax.plot(values, np.full(len(values), y), "o", ms=8, color=NORMALIZED, zorder=3)
        for i, value in enumerate(np.sort(values)):
            side = 1 - 2 * (i % 2)
            ax.annotate(number(value), (value, y), (0, 7 * side), textcoords="offset points", ha="center",
                        va="bottom" if side > 0 else "top", fontsize=9)
        ax.annotate(title, (-reach, y + 0.68), (4, 0), textcoords="offset points",
                    color=NORMALIZED, fontweight="bold")
    ax.annotate("thick bar: one std to each side of the mean", (0, -0.65), ha="center", va="top", fontsize=9)
    ax.set_axis_off()
    each = "; ".join(f"{title}: {row(values)}, std {number(np.std(values))}" for title, values in rows)
    return figure, f"{len(rows)} rows on number lines, one below the other, to one scale. {each}."


@drawing
def fork(gaps, with_eps, without_eps, *, eps, pairs):
    """Draw both normalized values of a row of two against the gap between them.

    gaps: ascending; with_eps, without_eps: a normalized row for each, the smaller number first.
    pairs: list of (row of two, that row normalized) to point at.
    """
    figure = Figure(figsize=(WIDTH, 2.9), layout="constrained")
    ax = figure.subplots()
    ax.axhline(0, color=FAINT, lw=0.8, ls=(0, (2, 3)))
    for i in range(2):
        ax.plot(gaps, without_eps[:, i], color=FAINT, ls=(0, (4, 3)), label=None if i else "eps = 0")
        ax.plot(gaps, with_eps[:, i], color=NORMALIZED, lw=2.4, label=None if i else f"eps = {decimal(eps)}")
    for pair, values in pairs:
        gap, top = np.ptp(pair), np.max(values)
        ax.plot([gap, gap], values, "o:", color=NORMALIZED, ms=8, lw=1.2)
        ax.annotate(row(pair), (gap, top), (3, 8), textcoords="offset points", ha="right", va="bottom", fontsize=9)
    ax.annotate("larger number", (gaps[0], 1.08), fontsize=9)
    ax.annotate("smaller number", (gaps[0], -1.08), fontsize=9, va="top")
    ax.set_xscale("log")
    ax.xaxis.set_minor_locator(NullLocator())
    ticks = [1e-5, 1e-3, 1e-1, 10]
    ax.set_xticks(ticks, [decimal(t) for t in ticks], fontsize=8)
    ax.set(xlabel="gap between the two numbers", ylabel="normalized value", ylim=(-1.5, 2.2), yticks=[-1, 0, 1])
    ax.legend(frameon=False, loc="upper center", ncols=2, labelcolor=INK)
    each = "; ".join(f"{row(pair)}, gap {number(np.ptp(pair))}, gives {row(values)}" for pair, values in pairs)
    return figure, (
        f"Two curves, the normalized values of two numbers, against the gap between them. With eps = "
        "0 they are level at "
        f"{number(without_eps[-1, 0])} and {number(without_eps[-1, 1])}. With eps = {decimal(eps)} they "
        "agree with that on the right, and close "
        f"like the prongs of a fork toward 0 on the left, where the gap is small. {each}."
    )
