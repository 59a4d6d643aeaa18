"""The course's drawings.

Each public function draws one picture from the numbers it is given and returns a `Drawing`,
which a notebook shows as SVG and a screen reader reads as its alternative text.
"""

from lnlib.figures.blocks import block, rows_before_after
from lnlib.figures.comparisons import collapse, eps_cliff, pairs, restored, shielded, signed_bars
from lnlib.figures.curves import spread_after
from lnlib.figures.rows import balance, number_lines, squares
from lnlib.figures.style import (
    COLORS, DECIMALS, FAINT, INK, MEAN, NORMALIZED, OUTPUT, PAPER, RAW, SPREAD, Drawing,
)

__all__ = [
    "COLORS", "DECIMALS", "FAINT", "INK", "MEAN", "NORMALIZED", "OUTPUT", "PAPER", "RAW", "SPREAD",
    "Drawing", "balance", "block", "collapse", "eps_cliff", "number_lines", "pairs", "restored",
    "rows_before_after", "shielded", "signed_bars", "spread_after", "squares",
]
