"""Drawings that set rows, or what becomes of them, side by side."""

from matplotlib.figure import Figure
import numpy as np

from lnlib.figures.style import (
    FAINT, INK, MEAN, NORMALIZED, OUTPUT, PAPER, RAW, WIDTH, decimal, drawing, equals_before, number, row, tidy,
)

MARKERS, DASHES = "s^o", ((0, (6, 2)), (0, (3, 2)), (0, (1, 1.5)))


@drawing
def collapse(rows):
    """Draw up to three raw rows, dashed, and below them the normalized rows, which lie on one another.

    rows: list of (name, raw, normalized), from the highest row to the lowest.
    """
    names, raw, normalized = zip(*rows)
    raw, normalized = tidy(raw), tidy(normalized)
    features = np.arange(1, raw.shape[1] + 1)
    figure = Figure(figsize=(WIDTH, 4.3), layout="constrained")
    above, below = figure.subplots(2, sharex=True)
    for name, values, marker, dashes in zip(names, raw, MARKERS, DASHES):
        above.plot(features, values, color=RAW, ls=dashes, marker=marker, ms=6)
        above.annotate(name, (features[-1], values[-1]), (9, 0), textcoords="offset points", va="center", fontsize=9)
    for values, marker, size in zip(normalized, MARKERS, (16, 11, 4)):
        below.plot(features, values, color=NORMALIZED, lw=2.6, zorder=2)
        below.plot(features, values, marker, ms=size, mfc="none" if size > 4 else NORMALIZED, mec=NORMALIZED, zorder=3)
    for place, value in zip(features, normalized[0]):
        up = value >= normalized[0].mean()
        below.annotate(number(value), (place, value), (0, 12 if up else -12), textcoords="offset points", ha="center",
                       va="bottom" if up else "top")
    below.annotate("all of them", (features[-1], normalized[0, -1]), (12, 0), textcoords="offset points", va="center",
                   fontsize=9)
    above.set_title("raw: three rows", loc="left", fontsize=10, color=RAW, fontweight="bold")
    below.set_title("normalized: one curve", loc="left", fontsize=10, color=NORMALIZED, fontweight="bold")
    above.set(ylim=(-0.06 * raw.max(), 1.1 * raw.max()))
    below.set(ylim=(normalized.min() - 0.9, normalized.max() + 0.9), xlim=(0.6, features[-1] + 1.35))
    below.set_xticks(features, [f"$x_{i}$" for i in features])
    for ax in (above, below):
        ax.tick_params(axis="y", labelsize=8)
    apart = np.abs(normalized - normalized[0]).max()
    return figure, (
        f"Above, {len(rows)} raw rows as dashed lines at different heights: "
        + "; ".join(f"{n}: {row(v)}" for n, v in zip(names, raw))
        + f". Below, the same rows normalized: they lie on one curve, {row(normalized[0])}, and differ by "
        f"at most {number(apart)}."
    )


@drawing
def signed_bars(stages):
    """Draw stages of one row as bars up and down from zero, each stage to its own scale, with its mean.

    stages: list of (title, values, color), from top to bottom.
    """
    figure = Figure(figsize=(WIDTH, 1.45 * len(stages) + 0.2), layout="constrained")
    axes = figure.subplots(len(stages), sharex=True, squeeze=False)[:, 0]
    for ax, (title, values, color) in zip(axes, stages):
        values = tidy(values)
        places = np.arange(1, values.size + 1)
        ax.bar(places, values, width=0.5, color=color)
        ax.plot([0.4, values.size + 0.6], [0, 0], color=INK, lw=0.9)
        mean = tidy(values.mean())
        ax.plot([0.5, values.size + 0.6], [mean, mean], color=MEAN, lw=1.6, ls=(0, (4, 2)), zorder=3)
        ax.annotate(f"mean {number(mean)}", (values.size + 0.65, mean), va="center", color=MEAN, fontsize=9)
        for place, value in zip(places, values):
            up = value >= max(mean, 0) if value else value >= mean
            edge = max(value, mean, 0) if up else min(value, mean, 0)
            ax.annotate(number(value), (place, edge), (0, 3 if up else -3), textcoords="offset points",
                        ha="center", va="bottom" if up else "top")
        reach = max(values.max(), 0) - min(values.min(), 0)
        ax.set(ylim=(min(values.min(), 0) - 0.3 * reach, max(values.max(), 0) + 0.3 * reach), yticks=[],
               xlim=(0.4, values.size + 1.4))
        ax.set_title(title, loc="left", fontsize=10, color=color, fontweight="bold", pad=2)
        ax.spines[["left", "bottom"]].set_visible(False)
        ax.tick_params(axis="x", length=0)
    axes[-1].set_xticks(places, [f"$x_{i}$" for i in places])
    return figure, (
        f"The same row as bars up and down from zero, {len(stages)} times, one below the other. "
        + "; ".join(f"{title}: {row(values)}, mean {number(np.mean(values))}" for title, values, _ in stages)
        + "."
    )


@drawing
def pairs(cases):
    """Draw rows of two features before and after: a circle for the first feature, a square for the second.

    cases: list of (raw, normalized, eps), from top to bottom.
    """
    figure = Figure(figsize=(WIDTH, 0.72 * len(cases) + 0.75), layout="constrained")
    before, after = figure.subplots(1, 2, sharey=True, width_ratios=(1, 1.1))
    heights = np.arange(len(cases))[::-1]
    for column, (ax, color) in enumerate(((before, RAW), (after, NORMALIZED))):
        for y, case in zip(heights, cases):
            values = tidy(case[column])
            ax.plot(values, [y, y], color=FAINT, lw=1.2, zorder=1)
            ax.plot(values[1], y, "s", ms=12, mfc=PAPER, mec=color, mew=2, zorder=2)
            ax.plot(values[0], y, "o", ms=6.5, color=color, zorder=3)
            text = row(values) if column == 0 else f"{_eps(case[2])}: {row(values)}"
            ax.annotate(text, (0.0, y + 0.3), xycoords=("axes fraction", "data"), va="bottom", fontsize=9,
                        bbox={"fc": PAPER, "ec": "none", "pad": 0.6})
        ax.spines["left"].set_visible(False)
        ax.tick_params(axis="y", length=0, labelleft=False)
        ax.tick_params(axis="x", labelsize=8)
    raw = np.array([case[0] for case in cases])
    before.set(xlim=(raw.min() - 0.8, raw.max() + 0.8), ylim=(-0.5, len(cases) - 0.3))
    after.set(xlim=(-1.35, 1.35), xticks=(-1, 0, 1))
    after.axvline(0, color=FAINT, lw=0.8, ls=(0, (2, 3)), zorder=0)
    for ax, title, color in ((before, "raw", RAW), (after, "normalized", NORMALIZED)):
        ax.set_title(title, loc="left", fontsize=10, color=color, fontweight="bold")
    figure.supxlabel("disk: first feature      square: second feature", fontsize=8)
    return figure, (
        f"{len(cases)} rows of two features, before and after layer norm. "
        + "; ".join(f"{row(a)} becomes {row(b)} with {_eps(eps)}" for a, b, eps in cases)
        + "."
    )


def _eps(value):
    return f"eps = {decimal(value)}"


@drawing
def eps_cliff(epsilons, flat, nearly_flat, *, limit, usual):
    """Draw the largest normalized value of a flat and a nearly flat row against eps, and what eps = 0 does.

    epsilons: ascending; flat, nearly_flat: the largest value at each. limit: that of the nearly
    flat row at eps = 0, where the flat one has none. usual: the eps to mark.
    """
    epsilons, flat, nearly_flat = (np.asarray(v, float) for v in (epsilons, flat, nearly_flat))
    figure = Figure(figsize=(WIDTH, 3.2), layout="constrained")
    ax = figure.subplots()
    zero = epsilons[0] / 1e3  # where eps = 0 stands: left of all that a log axis can show
    ax.plot(epsilons, nearly_flat, color=NORMALIZED, ls=(0, (5, 2)), lw=2.2)
    ax.plot(epsilons, flat, color=NORMALIZED, lw=3.2)
    ax.axvline(zero, color=INK, lw=1.4, ls=(0, (2, 2)))
    ax.plot(zero, limit, "o", ms=8, color=NORMALIZED)
    ax.plot(zero, 0, "X", ms=12, mfc=PAPER, mec=INK, mew=1.6, zorder=4)
    ax.annotate("no value: 0/0", (zero, 0), (11, 5), textcoords="offset points", fontsize=9)
    ax.axvline(usual, color=FAINT, lw=1.4)
    exponent = round(np.log10(usual))
    ax.annotate(f"usual eps $10^{{{exponent}}}$", (usual, 1.06 * limit), (5, 0), textcoords="offset points", fontsize=9)
    at_usual = np.interp(np.log(usual), np.log(epsilons), nearly_flat)
    ax.plot(usual, at_usual, "o", ms=6, color=NORMALIZED)
    ax.annotate(number(at_usual), (usual, at_usual), (6, 5), textcoords="offset points", fontsize=9)
    ax.annotate("nearly flat row", (epsilons[0], nearly_flat[0]), (0, -7), textcoords="offset points",
                va="top", fontsize=9)
    ax.annotate(number(limit), (zero, limit), (8, 7), textcoords="offset points", fontsize=9)
    ax.annotate("flat row", (epsilons[-1], flat[-1]), (0, 5), textcoords="offset points", ha="right", va="bottom",
                fontsize=9)
    ax.set_xscale("log", subs=[])
    first, last = round(np.log10(epsilons[0])), round(np.log10(epsilons[-1]))
    decades = range(first + first % 2, last + 1, 2)
    ax.set_xticks([zero, *(10.0**d for d in decades)], ["0", *(f"$10^{{{d}}}$" for d in decades)])
    ax.minorticks_off()
    ax.annotate("//", (zero * 30, 0), xycoords=("data", "axes fraction"), ha="center", va="center", fontsize=10,
                bbox={"fc": PAPER, "ec": "none", "pad": 0.5})
    ax.set(xlabel="eps", xlim=(zero / 8, epsilons[-1] * 2))
    ax.set(ylabel="largest normalized value", ylim=(-0.12 * limit, 1.2 * limit))
    ax.tick_params(axis="x", labelsize=10)  # or nobody could read the exponents
    ax.tick_params(axis="y", labelsize=8)
    return figure, (
        f"Largest normalized value of two rows against eps, from {decimal(epsilons[0])} to {number(epsilons[-1])}, on "
        f"an axis in factors of 100, with eps = 0 apart on the left. The flat row stays at "
        f"{number(np.abs(flat).max())} for every eps above zero, and has no value at eps = 0, where a cross marks the "
        f"cliff. The nearly flat row falls from {number(limit)} at eps = 0 through {number(at_usual)} at the usual "
        f"{_eps(usual)} to {number(nearly_flat[-1])} at the right end."
    )


@drawing
def restored(rows):
    """Draw rows and what gamma and beta make of them after layer norm, one panel a row.

    rows: list of (title, before, after), from top to bottom. Equal values stand side by side.
    """
    figure = Figure(figsize=(WIDTH, 1.55 * len(rows) + 0.3), layout="constrained")
    axes = figure.subplots(len(rows), sharex=True, squeeze=False)[:, 0]
    everything = tidy([[before, after] for _, before, after in rows])
    margin = 0.12 * (everything.max() - everything.min())
    for ax, (title, _, _), (before, after) in zip(axes, rows, everything):
        for values, y, color, marker, side in ((before, 1, RAW, "o", 1), (after, 0, OUTPUT, "D", -1)):
            steps = equals_before(values)
            ax.plot(values, y + side * 0.42 * steps, marker, ms=9, color=color, zorder=3)
            for value, step in dict(zip(values, steps)).items():
                ax.annotate(number(value), (value, y + side * 0.42 * step), (0, side * 8), textcoords="offset points",
                            ha="center", va="bottom" if side > 0 else "top", fontsize=9)
        ax.plot([before, after], [np.ones(before.size), np.zeros(before.size)], color=FAINT, lw=1.2, zorder=1)
        ax.set_title(title, loc="left", fontsize=10, fontweight="bold", pad=2)
        ax.set(ylim=(-1.15, 2.15), yticks=(0, 1), xlim=(everything.min() - margin, everything.max() + margin))
        ax.set_yticklabels(["after", "before"], fontsize=9)
        ax.spines[["left", "bottom"]].set_visible(False)
        ax.tick_params(axis="both", length=0)
        ax.tick_params(axis="x", labelbottom=False)
    axes[-1].set_xlabel("disk: before      diamond: after layer norm, gamma and beta", fontsize=8)
    return figure, (
        "What the same gamma and beta make of different rows after layer norm. "
        + "; ".join(
            f"{title}: {row(before)} comes out as {row(after)}, which is "
            + ("the same" if np.allclose(before, after, rtol=0, atol=1e-9) else "not the same")
            for title, before, after in rows
        )
        + "."
    )
