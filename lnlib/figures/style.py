"""The one style of all drawings: colors and their meaning, letters, and how a picture becomes text.

The same numbers give the same bytes on every machine, so a stored picture can be compared like
any other result.
"""

from dataclasses import dataclass
from functools import wraps
from io import StringIO
from itertools import count
from math import floor
import re

import matplotlib
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


def drawing(draw):
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


def equals_before(values):
    """Return for each value how many equal ones come before it: its place when they are stacked."""
    return np.array([np.sum(values[:i] == v) for i, v in enumerate(values)])


def number(value):
    """Write a number as the pictures do: four significant digits, a true minus sign."""
    return f"{tidy(value):.4g}".replace("-", "\N{MINUS SIGN}")


def decimal(value):
    """Write a small number in full, where number() would turn to 1e-05."""
    return np.format_float_positional(value, precision=4, fractional=False, trim="-")


def row(values):
    """Write a row as the pictures do: (2, 2, 6, 6)."""
    return "(" + ", ".join(number(v) for v in np.ravel(values)) + ")"
