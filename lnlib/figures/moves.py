"""Drawings of the four moves: how a row travels from its raw values to its output."""

from matplotlib.figure import Figure
from matplotlib.patches import Circle, Polygon, Rectangle
from matplotlib.ticker import MaxNLocator
import numpy as np

from lnlib.figures.style import (
    FAINT, INK, MEAN, NORMALIZED, OUTPUT, PAPER, RAW, SPREAD, WIDTH, drawing, equals_before, number, row, tidy,
)

INCH = 0.44  # of one unit of height
BELOW, ABOVE = 0.5, 1.68  # what a lane needs below its line and above it, in units of height
STACK = 0.5  # from one of several equal values to the next


def short(value):
    """Write a number with at most three decimals."""
    return number(np.round(value, 3))


def short_row(values):
    return "(" + ", ".join(short(v) for v in np.ravel(values)) + ")"


def statistics(values):
    return f"{short_row(values)}, mean {short(np.mean(values))}, std {short(np.std(values))}"


def heights(values):
    """Return how high each dot lies above its line, so that equal values stand on top of each other."""
    return 0.4 + STACK * equals_before(values)


def lanes(rows, ys, bottom=0.0, top=0.0):
    """Return a figure for rows on number lines at the heights ys, to one scale, with zero marked."""
    low, high = min(0, *(r.min() for r in rows)), max(0, *(r.max() for r in rows))
    margin = 0.11 * (high - low)
    stack = max(heights(r).max() for r in rows) - 0.4
    ylim = (min(ys) - BELOW - bottom, max(ys) + ABOVE + stack + top)
    figure = Figure(figsize=(WIDTH, INCH * (ylim[1] - ylim[0])))
    ax = figure.add_axes((0, 0, 1, 1), xlim=(low - margin, high + margin), ylim=ylim)
    ax.set_axis_off()
    ax.axvline(0, color=FAINT, lw=0.8, ls=(0, (2, 3)), zorder=0)
    return figure, ax


def lane(ax, y, values, color, *, labels=None, mean=True, std=True, lift=8):
    """Draw one row as dots above the number line at height y, its mean and its std; values are the labels."""
    low, high = ax.get_xlim()
    edge = 0.02 * (high - low)
    ticks = MaxNLocator(9, integer=True).tick_values(low, high)
    ticks = ticks[(low + 2 * edge <= ticks) & (ticks <= high - 2 * edge)]
    line = [(low + edge, y), (high - edge, y)]
    for tick in ticks:
        line += [(np.nan, np.nan), (tick, y), (tick, y - 0.1)]
        clear = {"fc": PAPER, "ec": "none", "pad": 0.4} if tick == 0 else None  # or the zero line crosses its 0 out
        ax.annotate(short(tick), (tick, y - 0.14), ha="center", va="top", fontsize=9, zorder=6, bbox=clear)
    ax.plot(*np.transpose(line), color=FAINT, lw=0.8, zorder=2)
    tops = heights(values)
    if mean:
        ax.plot([values.mean()] * 2, [y, y + tops.max() + 0.35], color=MEAN, zorder=3)
    if std:
        ends = values.mean() - values.std(), values.mean() + values.std()
        ax.plot(ends, [y, y], color=SPREAD, lw=5, solid_capstyle="butt", zorder=4)
    ax.plot(values, y + tops, "o", ms=11, color=color, zorder=5)
    for value, top, label in zip(values, tops, labels or map(short, values)):
        if top == tops[values == value].max():
            ax.annotate(
                label, (value, y + top), (0, lift), textcoords="offset points", ha="center", fontsize=9,
                bbox={"fc": PAPER, "ec": "none", "pad": 0.6}, zorder=4,
            )  # fmt: skip


def heading(ax, y, values, title, color, stack=0.0):
    """Write what a lane shows at its left, and its mean and std at its right."""
    low, high = ax.get_xlim()
    edge = 0.02 * (high - low)
    y += ABOVE - 0.58 + stack
    ax.annotate(title, (low + edge, y), va="bottom", color=color, fontsize=10, fontweight="bold", zorder=6,
                bbox={"fc": PAPER, "ec": "none", "pad": 0.6})  # fmt: skip
    spread = ax.annotate(
        f"std {short(values.std())}", (high - edge, y), ha="right", va="bottom", color=SPREAD, fontsize=9, zorder=6,
    )  # fmt: skip
    ax.annotate(
        f"mean {short(values.mean())}", (0, 0), (-9, 0), xycoords=spread, textcoords="offset points",
        ha="right", va="bottom", color=MEAN, fontsize=9, zorder=6,
    )  # fmt: skip


def flow(ax, before, after, start, end):
    """Draw an arrow for each value from one lane's place to another's, and the band of one std each side.

    start, end: the heights between which everything moves.
    """
    corners = [
        (r.mean() + side * r.std(), y)
        for side, order in ((-1, 1), (1, -1))
        for r, y in ((before, start), (after, end))[::order]
    ]
    ax.add_patch(Polygon(corners, fc=SPREAD, ec="none", alpha=0.18, zorder=1))
    ax.plot([before.mean(), after.mean()], [start, end], color=MEAN, lw=1.2, zorder=2)
    a, b = np.transpose(list(dict.fromkeys(zip(before, after))))
    ax.quiver(
        a, np.full(a.size, start), b - a, np.full(a.size, end - start), angles="xy", scale_units="xy", scale=1,
        units="inches", width=0.015, headwidth=6, headlength=7, headaxislength=7, color=INK, zorder=3,
    )  # fmt: skip


def journey(stages, gap):
    """Draw stages (title, values, color) of one row, each below the one before, and what moves where."""
    titles, rows, colors = zip(*stages)
    rows = [tidy(np.ravel(r)) for r in rows]
    stack = max(heights(r).max() for r in rows) - 0.4
    pitch = BELOW + ABOVE + stack + gap
    ys = -pitch * np.arange(len(rows))
    figure, ax = lanes(rows, ys)
    for y, title, values, color in zip(ys, titles, rows, colors):
        lane(ax, y, values, color)
        heading(ax, y, values, title, color, stack)
    for y, before, after in zip(ys, rows, rows[1:]):
        flow(ax, before, after, y - BELOW, y - BELOW - gap)
    return figure, ax, ys


@drawing
def slots(x):
    """Draw a row as slots, each with the symbol that names it, and the count of them."""
    x = tidy(x)
    figure = Figure(figsize=(WIDTH, 1.45))
    ax = figure.add_axes((0, 0, 1, 1), xlim=(-0.75, x.size + 0.4), ylim=(-1.05, 1.15))
    ax.annotate(r"$\mathbf{x}$ =", (-0.12, 0.45), ha="right", va="center", fontsize=13, color=RAW)
    for i, value in enumerate(x):
        ax.add_patch(Rectangle((i + 0.04, 0), 0.92, 0.9, fc=PAPER, ec=RAW, lw=1.8))
        ax.annotate(short(value), (i + 0.5, 0.45), ha="center", va="center", fontsize=13, color=RAW)
        ax.annotate(f"$x_{{{i + 1}}}$", (i + 0.5, -0.07), ha="center", va="top", fontsize=12)
    ax.plot([0.04, 0.04, x.size - 0.04, x.size - 0.04], [-0.5, -0.6, -0.6, -0.5], color=FAINT, lw=1.2)
    ax.annotate(f"$H$ = {x.size} features", (x.size / 2, -0.66), ha="center", va="top")
    ax.set_axis_off()
    named = ", ".join(f"x {i + 1} is {short(v)}" for i, v in enumerate(x))
    return figure, f"The row x as {x.size} slots side by side, H = {x.size} features: {named}."


@drawing
def dots(x, *, mean=False, std=False):
    """Draw a row as dots on a number line, with its mean and its std if asked."""
    x = tidy(x)
    figure, ax = lanes([x], [0.0], bottom=0.75 if std else 0.0, top=-0.23 if mean else -0.5)
    lane(ax, 0.0, x, RAW, labels=[f"$x_{{{i + 1}}}$" for i in range(x.size)], mean=mean, std=std)
    alt = f"The row {row(x)} as dots on a number line with 0 marked."
    if mean:
        top = heights(x).max() + 0.35
        ax.annotate(f"$\\mu$ = {short(x.mean())}", (x.mean(), top), (0, 2), textcoords="offset points",
                    ha="center", va="bottom", color=MEAN, fontweight="bold")  # fmt: skip
        alt += f" A vertical line marks the mean, mu = {short(x.mean())}."
    if std:
        for side in (-1, 1):
            end = x.mean() + side * x.std()
            ax.annotate("", (end, -0.62), (x.mean(), -0.62), arrowprops={
                "arrowstyle": "<|-|>", "color": SPREAD, "shrinkA": 0, "shrinkB": 0})  # fmt: skip
            ax.annotate(f"$\\sigma$ = {short(x.std())}", (x.mean() + side * x.std() / 2, -0.7), ha="center",
                        va="top", color=SPREAD)  # fmt: skip
        inside = np.sum(np.abs(x - x.mean()) <= x.std())
        alt += (
            f" A thick bar reaches one std, sigma = {short(x.std())}, to each side of the mean, from "
            f"{short(x.mean() - x.std())} to {short(x.mean() + x.std())}: {inside} of the {x.size} dots lie within it."
        )
    if not mean and not std:
        sides = f"{np.sum(x > 0)} lie to the right of 0 and {np.sum(x < 0)} to the left"
        alt += f" {sides}; the outermost are {short(x.min())} and {short(x.max())}."
    return figure, alt


@drawing
def center_move(before, after):
    """Draw a row and the same row with its mean taken away."""
    move = f"$x_i - \\mu$, with $\\mu$ = {short(np.mean(before))}"
    figure, _, _ = journey([("the row $x_i$", before, RAW), (f"centered: {move}", after, RAW)], 1.1)
    return figure, (
        f"Two number lines. Above, the row: {statistics(before)}. Below, the centered row: {statistics(after)}. "
        f"Parallel arrows lead from each dot to its new place, {short(abs(np.mean(before)))} farther "
        f"{'left' if np.mean(before) > 0 else 'right'}, and the band of one std to each side keeps its width."
    )


@drawing
def squeeze_move(before, after):
    """Draw a centered row and the same row divided by its std."""
    factor = np.std(before)
    figure, _, _ = journey([
        ("centered: $x_i - \\mu$", before, RAW),
        (f"$\\hat{{x}}_i$: divided by $\\sigma$ = {short(factor)}", after, NORMALIZED),
    ], 1.1)  # fmt: skip
    return figure, (
        f"Two number lines. Above, the centered row: {statistics(before)}. Below, the same row divided by "
        f"{short(factor)}: {statistics(after)}. Arrows lead from each dot to its new place, all "
        f"{'toward' if factor > 1 else 'away from'} 0, and the band of one std to each side ends at "
        f"{short(-np.std(after))} and {short(np.std(after))}."
    )


@drawing
def restyle_move(normalized, gamma, beta):
    """Draw a normalized row, then stretched by one gamma, then slid by one beta."""
    scaled = gamma * np.ravel(normalized)
    figure, _, _ = journey([
        ("normalized: $\\hat{x}_i$", normalized, NORMALIZED),
        (f"stretched: times $\\gamma$ = {short(gamma)}", scaled, OUTPUT),
        (f"$y_i$: slid by $\\beta$ = {short(beta)}", scaled + beta, OUTPUT),
    ], 0.8)  # fmt: skip
    return figure, (
        f"Three number lines, one below the other, arrows leading from each dot to its next place. "
        f"The normalized row: {statistics(normalized)}. "
        f"Times gamma = {short(gamma)}: {statistics(scaled)}. Plus beta = {short(beta)}: {statistics(scaled + beta)}."
    )


def magnification(whisker, scale, room):
    """Return the largest power of ten that keeps a whisker, drawn at scale inches a unit, within room inches."""
    return 10.0 ** np.floor(np.log10(room / (whisker * scale)))


def magnified(names, values, color, what):
    """Draw two lengths that look equal, and their ends magnified; return the figure and the alternative text."""
    short_one, long_one = sorted(values)
    whisker = long_one - short_one
    left, scale = 0.25, 3.3 / long_one  # inches; inches a unit
    times = magnification(whisker, scale, room=2.4)
    figure = Figure(figsize=(WIDTH, 3.1))
    ax = figure.add_axes((0, 0, 1, 1), xlim=(0, WIDTH), ylim=(0, 3.1))
    ax.set_axis_off()
    ends = [left + v * scale for v in values]
    for name, value, end, y in zip(names, values, ends, (2.62, 2.1)):
        ax.add_patch(Rectangle((left, y), end - left, 0.16, fc=color, ec="none"))
        ax.annotate(f"{name} = {value:.7f}", (left, y + 0.19), va="bottom", fontsize=10, color=color)
    ax.annotate("0", (left, 2.03), ha="center", va="top", fontsize=8)
    ax.plot([left, left], [2.06, 2.82], color=FAINT, lw=0.8)
    ax.add_patch(Circle((max(ends), 2.44), 0.46, fc="none", ec=INK, lw=1.2))
    # The same ends below, in a frame that magnifies sideways only.
    frame = Rectangle((0.25, 0.1), WIDTH - 0.5, 1.22, fc=PAPER, ec=INK, lw=1.2)
    ax.add_patch(frame)
    for x, corner in ((max(ends) - 0.3, 0.25), (max(ends) + 0.3, WIDTH - 0.25)):
        ax.plot([x, corner], [2.09, 1.32], color=INK, lw=0.8, ls=(0, (3, 2)))
    wide = whisker * scale * times
    near = (WIDTH - wide) / 2
    places = [near + (v - short_one) * scale * times for v in values]
    for place, y in zip(places, (0.88, 0.56)):
        ax.add_patch(Rectangle((0.25, y), place - 0.25, 0.2, fc=color, ec="none"))
    for place in sorted(places):
        ax.plot([place, place], [0.42, 1.14], color=INK, lw=0.8, ls=(0, (2, 2)))
    ax.annotate("", (near + wide, 0.44), (near, 0.44), arrowprops={
        "arrowstyle": "<|-|>", "color": INK, "shrinkA": 0, "shrinkB": 0})  # fmt: skip
    ax.annotate(f"whisker {whisker:.7f}", (WIDTH / 2, 0.37), ha="center", va="top", fontsize=10)
    ax.annotate(f"the ends, {times:,.0f} times as wide", (WIDTH / 2, 1.35), ha="center", va="bottom", fontsize=10,
                fontweight="bold", bbox={"fc": PAPER, "ec": "none", "pad": 1.5})  # fmt: skip
    return figure, (
        f"Two bars that start at 0 and seem to end at one place: {what[0]}, {values[0]:.7f}, and {what[1]}, "
        f"{values[1]:.7f}. A frame below shows their ends {times:,.0f} times as wide. There the "
        f"{'second' if values[1] > values[0] else 'first'} is longer, by a whisker of {whisker:.7f}."
    )


@drawing
def guard_widths(std, guarded_std):
    """Draw the std and the guarded std, and their ends magnified until one can see the whisker."""
    return magnified(
        ("$\\sigma$", "$\\sqrt{\\sigma^2 + \u03f5}$"), (float(np.squeeze(std)), float(np.squeeze(guarded_std))),
        SPREAD, ("the std", "the guarded std"),
    )  # fmt: skip


@drawing
def guard_values(ideal, guarded):
    """Draw one normalized value without eps and with it, and their ends magnified."""
    return magnified(
        ("$\\hat{x}$ without $\u03f5$", "$\\hat{x}$ with $\u03f5$"), (float(ideal), float(guarded)),
        NORMALIZED, ("a normalized value without epsilon", "the same value with epsilon"),
    )  # fmt: skip


@drawing
def bars(normalized):
    """Draw normalized values as bars from zero, with their squares, and the std as a band around zero."""
    values = tidy(np.ravel(normalized))
    count, std = values.size, values.std()
    reach = np.abs(values).max() + 0.62
    figure = Figure(figsize=(WIDTH, 0.42 * (count + 2.9)))
    ax = figure.add_axes((0, 0, 1, 1), xlim=(-reach - 0.05, reach + 1.0), ylim=(-1.75, count + 1.15))
    ax.add_patch(Rectangle((-std, -0.42), 2 * std, count + 0.42, fc=SPREAD, ec="none", alpha=0.18))
    ax.plot([values.mean()] * 2, [-0.42, count], color=MEAN, lw=1.6)
    for i, value in enumerate(values):
        y = count - 0.5 - i
        ax.add_patch(Rectangle((min(0, value), y - 0.22), abs(value), 0.44, fc=NORMALIZED, ec="none"))
        away = 4 if value >= 0 else -4
        ax.annotate(f"$\\hat{{x}}_{{{i + 1}}}$ = {short(value)}", (0, y), (-away, 0), textcoords="offset points",
                    ha="right" if value >= 0 else "left", va="center", fontsize=9)  # fmt: skip
        ax.annotate(short(value**2), (reach + 0.5, y), ha="center", va="center")
    ax.annotate("square", (reach + 0.5, count + 0.15), ha="center", va="bottom", fontsize=9)
    ax.plot([reach + 0.1, reach + 0.9], [-0.05, -0.05], color=FAINT, lw=1)
    ax.annotate(f"variance {short(np.mean(values**2))}", (reach + 0.5, -0.2), ha="center", va="top", color=SPREAD,
                fontweight="bold")  # fmt: skip
    ax.annotate(f"mean {short(values.mean())}", (values.mean(), count + 0.15), ha="center", va="bottom", color=MEAN,
                fontweight="bold")  # fmt: skip
    ax.plot([-std, std], [-0.42, -0.42], color=SPREAD, lw=5, solid_capstyle="butt")
    for side in (-1, 1):
        ax.annotate(short(side * std), (side * std, -0.58), ha="center", va="top", fontsize=9)
    ax.annotate(f"std {short(std)}", (0, -1.1), ha="center", va="top", color=SPREAD,
                fontweight="bold")  # fmt: skip
    ax.set_axis_off()
    left, right = values[values < 0].sum(), values[values > 0].sum()
    return figure, (
        f"The normalized values {short_row(values)} as bars that start at 0, those on the left adding up to "
        f"{short(left)} and those on the right to {short(right)}, so their mean is {short(values.mean())}. Beside each "
        f"bar stands its square, {short_row(values**2)}, with mean {short(np.mean(values**2))}. A band around 0 "
        f"reaches one std to each side, from {short(-std)} to {short(std)}."
    )


@drawing
def flat_row(before, after):
    """Draw a row of equal values and its normalized values side by side, equal dots stacked."""
    before, after = tidy(np.ravel(before)), tidy(np.ravel(after))
    figure = Figure(figsize=(WIDTH, 2.4))
    panels = (
        ("the row $x_i$", before, RAW),
        ("with $\u03f5$: $\\hat{x}_i$", after, NORMALIZED),
    )  # fmt: skip
    low, high = min(0, *before, *after) - 1.4, max(*before, *after) + 1.4
    for left, (title, values, color) in zip((0.01, 0.51), panels):
        tops = heights(values)
        ax = figure.add_axes((left, 0, 0.48, 1), xlim=(low, high), ylim=(-1.2, tops.max() + 1.5))
        ax.set_axis_off()
        lane(ax, 0.0, values, color, std=False)
        mean, std = values.mean(), values.std()
        ax.plot([mean - std, mean + std], [0, 0], color=SPREAD, lw=5, solid_capstyle="butt", zorder=4)
        left_of_it = mean > (low + high) / 2
        ax.annotate(f"mean {short(mean)}", (mean, tops.max() / 2 + 0.2), (-11 if left_of_it else 11, 0),
                    textcoords="offset points", ha="right" if left_of_it else "left", va="center", color=MEAN,
                    fontweight="bold")  # fmt: skip
        ax.annotate(f"std {short(std)}", ((low + high) / 2, -0.62), ha="center", va="top", color=SPREAD)
        ax.annotate(title, (low + 0.2, tops.max() + 0.95), va="bottom", color=color, fontweight="bold")
    return figure, (
        f"Two panels. Left, the row {row(before)}: {before.size} dots stacked at {short(before.mean())}, the mean line "
        f"through all of them, std {short(before.std())}. Right, its normalized values with epsilon, "
        f"{row(after)}: the dots stacked at {short(after.mean())}, std {short(after.std())}."
    )


@drawing
def one_for_two(first, second, output, second_output):
    """Draw two rows, above and below, and between them the outputs that both become."""
    first, second, output, other = (tidy(np.ravel(r)) for r in (first, second, output, second_output))
    gap = 0.8
    stack = max(heights(r).max() for r in (first, second, output)) - 0.4
    pitch = BELOW + ABOVE + stack + gap
    ys = -pitch * np.arange(3)
    figure, ax = lanes([first, output, other, second], ys)
    lane(ax, ys[0], first, RAW)
    heading(ax, ys[0], first, "first row in", RAW, stack)
    lane(ax, ys[1], output, OUTPUT, lift=11)
    ax.plot(other, ys[1] + heights(other), "o", ms=16, mfc="none", mec=OUTPUT, mew=1.6, zorder=5)
    heading(ax, ys[1], output, "both rows out", OUTPUT, stack)
    lane(ax, ys[2], second, RAW)
    heading(ax, ys[2], second, "second row in", RAW, stack)
    flow(ax, first, output, ys[0] - BELOW, ys[0] - BELOW - gap)
    flow(ax, second, other, ys[1] - BELOW - gap, ys[1] - BELOW)
    ax.annotate("dots: first, rings: second", (ax.get_xlim()[1], ys[1] + 0.4), (-6, 0), textcoords="offset points",
                ha="right", va="center", fontsize=9)  # fmt: skip
    return figure, (
        f"Three number lines. At the top, the first row: {statistics(first)}. At the bottom, the second row: "
        f"{statistics(second)}. Arrows lead from both to the line between them, where the first comes out as "
        f"{short_row(output)} and the second as {short_row(other)}."
    )


@drawing
def four_moves(x, deviations, ideal, guarded, output, *, gamma, beta):
    """Draw the whole way of a row through center, squeeze, guard and restyle."""
    x, deviations, ideal, guarded, output = (np.ravel(v) for v in (x, deviations, ideal, guarded, output))
    figure, ax, ys = journey([
        ("the row $\\mathbf{x}$", x, RAW),
        (f"center: subtract $\\mu$ = {short(x.mean())}", deviations, RAW),
        (f"squeeze: divide by $\\sigma$ = {short(deviations.std())}", ideal, NORMALIZED),
        ("guard: $\\sqrt{\\sigma^2 + \u03f5}$ is never 0", guarded, NORMALIZED),
        (f"restyle: times $\\gamma$ = {short(gamma)}, plus $\\beta$ = {short(beta)}", output, OUTPUT),
    ], 0.62)  # fmt: skip
    scale = WIDTH / np.subtract(*ax.get_xlim()[::-1])  # inches a unit
    # What the guard does to the last dot, in a frame at the right end of its line.
    last, place = tidy(guarded)[-1], ys[3] + heights(tidy(guarded))[-1]
    whisker = abs(ideal[-1] - guarded[-1])
    times = magnification(whisker, scale, room=0.75)
    unit = ax.get_xlim()[1] / 100
    left, right = ax.get_xlim()[1] - 1.42 / scale, ax.get_xlim()[1] - 2 * unit
    ax.add_patch(Rectangle((left, ys[3] + 0.08), right - left, 0.98, fc=PAPER, ec=INK, lw=1, zorder=6))
    ax.plot([last, left], [place, ys[3] + 0.5], color=INK, lw=0.8, ls=(0, (3, 2)), zorder=4)
    middle, wide = (left + right) / 2, whisker * times
    ax.plot([middle - wide / 2], [ys[3] + 0.74], "o", ms=9, color=NORMALIZED, zorder=7)
    ax.plot([middle + wide / 2], [ys[3] + 0.74], "o", ms=9, mfc="none", mec=INK, mew=1.2, zorder=7)
    ax.annotate("", (middle - wide / 2, ys[3] + 0.74), (middle + wide / 2, ys[3] + 0.74), zorder=7, arrowprops={
        "arrowstyle": "-|>", "color": INK, "lw": 0.9, "shrinkA": 4.5, "shrinkB": 4.5})  # fmt: skip
    ax.annotate(f"{times:,.0f} × as wide", (middle, ys[3] + 0.16), ha="center", va="bottom", fontsize=8, zorder=7)
    return figure, (
        f"Five number lines, one below the other, arrows leading from each dot to its next place. The row: "
        f"{statistics(x)}. Center, subtract mu = {short(x.mean())}: {statistics(deviations)}. Squeeze, divide by "
        f"sigma = {short(deviations.std())}: {statistics(ideal)}. Guard, the root of variance plus epsilon is never "
        f"0: {statistics(guarded)}; a frame shows {times:,.0f} times as wide that the last dot moved toward 0, by "
        f"{whisker:.7f}. Restyle, times gamma = {short(gamma)}, plus beta = {short(beta)}: {statistics(output)}."
    )
