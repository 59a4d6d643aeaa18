"""The course's drawings.

Each public function draws one picture from the numbers it is given and returns a `Drawing`,
which a notebook shows as SVG and a screen reader reads as its alternative text.
"""

from lnlib.figures.blocks import block, rows_before_after
from lnlib.figures.claims import (
    company, fork, guard_triangles, merged, over_factors, rounded_on_the_way, side_by_side,
)
from lnlib.figures.comparisons import collapse, eps_cliff, pairs, restored, signed_bars
from lnlib.figures.curves import shielded, spread_after
from lnlib.figures.moves import (
    bars, center_move, dots, flat_row, four_moves, guard_values, guard_widths, one_for_two, restyle_move, slots,
    squeeze_move,
)
from lnlib.figures.rows import balance, number_lines, squares
from lnlib.figures.style import (
    COLORS, DECIMALS, FAINT, INK, MEAN, NORMALIZED, OUTPUT, PAPER, RAW, SPREAD, Drawing,
)
