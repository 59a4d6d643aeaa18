"""Drawings are stable to store, sensitive to their data, readable in both color schemes."""

from functools import lru_cache
import re
from xml.etree import ElementTree

import matplotlib
import numpy as np
import pytest

from lnlib import figures, layer_norm, layer_norm_steps

ROW = np.array([2.0, 2.0, 6.0, 6.0])


def draw_all(x=ROW):
    steps = layer_norm_steps(x)
    widths = np.logspace(-3, 1, 9)
    rows = np.outer(widths, steps.normalized)
    factors = np.array([-1, -1e-3, 0, 1e-3, 1])
    ideal = layer_norm_steps(x, eps=0)
    ones = np.ones(x.size)
    pair, epsilons, growth = x[1:3], np.logspace(-9, 0, 10), np.logspace(0, 3, 4)
    normalized, output = layer_norm(x, eps=0), 3 * layer_norm(x) + 2
    block = np.arange(16.0).reshape(2, 2, 4) ** 2 + x
    return {
        "number_lines": figures.number_lines([("raw", x, figures.RAW), ("centered", steps.deviations, figures.RAW)]),
        "balance": figures.balance(x),
        "squares": figures.squares(x),
        "spread_after": figures.spread_after(
            widths, layer_norm(rows).std(-1), layer_norm(rows, eps=0).std(-1), eps=1e-5, mark=(x.std(), 1.0)
        ),
        "block": figures.block((2, 4, 768), lit=(1, 2)),
        "slots": figures.slots(x),
        "dots": figures.dots(x, mean=True, std=True),
        "center_move": figures.center_move(x, steps.deviations),
        "squeeze_move": figures.squeeze_move(x - x.mean(), steps.normalized),
        "guard_widths": figures.guard_widths(steps.std, steps.guarded_std),
        "guard_values": figures.guard_values(ideal.normalized[3], steps.normalized[3]),
        "bars": figures.bars(steps.normalized),
        "flat_row": figures.flat_row(5 * ones, layer_norm(5 * ones)),
        "restyle_move": figures.restyle_move(steps.normalized, 2, 1),
        "one_for_two": figures.one_for_two(x, 2 * x + 1, x, x),
        "four_moves": figures.four_moves(
            x, steps.deviations, ideal.normalized, steps.normalized, 2 * steps.normalized + 1, gamma=2, beta=1
        ),
        "rows_before_after": figures.rows_before_after(block, layer_norm(block)),
        "rounded_on_the_way": figures.rounded_on_the_way(0.34 * x[0] + 0.1234, gamma=2, beta=1, places=2),
        "merged": figures.merged([x, 2 * x + 7], [steps.normalized] * 2, [x, x]),
        "over_factors": figures.over_factors(
            factors, layer_norm(np.outer(factors, x)), layer_norm(np.outer(factors, x), eps=0), eps=1e-5
        ),
        "guard_triangles": figures.guard_triangles([0.3 * x[0], 0.1], [0.9, 0.5], eps=0.01),
        "side_by_side": figures.side_by_side([("wide", x), ("narrow", steps.normalized)]),
        "fork": figures.fork(
            widths, np.outer(widths, [-x[0], x[0]]), np.outer(widths, [-1, 1]), eps=1e-5, pairs=[([7, 3], [1, -1])]
        ),
        "company": figures.company([("layer norm", [x, x]), ("batch norm", [x, x / 2])], ["alone", "batch A"]),
        "collapse": figures.collapse([("tenfold", 10 * x, normalized), ("as it is", x, normalized)]),
        "signed_bars": figures.signed_bars([("raw", x, figures.RAW), ("centered", steps.deviations, figures.RAW)]),
        "pairs": figures.pairs([(pair, layer_norm(pair, eps=0), 0.0), (pair, layer_norm(pair), 1e-5)]),
        "restored": figures.restored([("one row", x, output), ("another", x[::-1], output)]),
        "eps_cliff": figures.eps_cliff(epsilons, 0 * epsilons, 1 / (1 + 1e5 * epsilons), limit=1.0, usual=1e-5),
        "shielded": figures.shielded(growth, np.full(4, x[2]), 1 / growth, marks=(1, 100)),
    }


DRAWINGS = draw_all()


@pytest.mark.parametrize("name", DRAWINGS)
def test_a_drawing_is_valid_small_and_says_what_it_shows(name):
    drawing = DRAWINGS[name]
    ElementTree.fromstring(drawing.svg)
    assert len(drawing.svg) < 60_000
    assert len(drawing.alt.split()) > 10
    assert drawing._repr_mimebundle_() == {"image/svg+xml": drawing.svg, "text/plain": drawing.alt}


@pytest.mark.parametrize("name", DRAWINGS)
def test_a_drawing_holds_nothing_of_the_machine_that_made_it(name):
    svg = DRAWINGS[name].svg
    assert not re.search(r"matplotlib|<metadata|<!DOCTYPE|\d{4}-\d\d-\d\d|<text", svg)
    coordinates = re.sub(r"scale\([^)]*\)", "", svg)
    assert max(len(d) for d in re.findall(r"\.(\d+)", coordinates)) <= figures.DECIMALS
    assert set(re.findall(r'id="([^"]*)"', svg)) == {f"i{n}" for n in range(1, svg.count(' id="') + 1)}
    for target in re.findall(r'(?:url\(#|href="#)([^")]+)', svg):
        assert f'id="{target}"' in svg


def test_a_readers_own_settings_change_nothing():
    with matplotlib.rc_context({"font.size": 30, "lines.linewidth": 9, "svg.fonttype": "none"}):
        assert {n: d.svg for n, d in draw_all().items()} == {n: d.svg for n, d in DRAWINGS.items()}
        assert matplotlib.rcParams["font.size"] == 30


@pytest.mark.parametrize("feature", range(4))
@pytest.mark.parametrize(
    "name",
    [
        "number_lines", "balance", "squares", "rows_before_after", "dots", "center_move", "squeeze_move", "bars",
        "restyle_move", "one_for_two", "four_moves", "signed_bars", "restored",
    ],
)
def test_a_value_changed_by_one_percent_changes_the_drawing(name, feature):
    assert coordinates(draw_all_with_one_changed(feature)[name]) != coordinates(DRAWINGS[name])


@lru_cache
def draw_all_with_one_changed(feature):
    return draw_all(ROW * np.where(np.arange(4) == feature, 1.01, 1.0))


@pytest.mark.parametrize("place", range(4))
def test_a_point_changed_by_one_percent_changes_the_curve(place):
    def curve(first, second, third, our_row):
        after = [first, second, third]
        return figures.spread_after([1e-3, 1.0, 10.0], after, [1, 1, 1], eps=1e-5, mark=(our_row, 1.0))

    values = [0.3, 1.0, 1.0, 2.0]
    changed = [v * 1.01 if i == place else v for i, v in enumerate(values)]
    assert coordinates(curve(*changed)) != coordinates(curve(*values))


def test_rows_lie_on_one_curve_only_if_they_are_equal():
    normalized = layer_norm(ROW, eps=0)
    assert DRAWINGS["collapse"].alt.endswith("differ by at most 0.")
    apart = figures.collapse([("tenfold", 10 * ROW, normalized * 1.01), ("as it is", ROW, normalized)])
    assert apart.alt.endswith("differ by at most 0.01.")
    assert coordinates(apart) != coordinates(DRAWINGS["collapse"])


def test_a_row_is_called_restored_only_if_it_came_back():
    drawing = figures.restored([("mine", ROW, ROW + 1e-12), ("other", ROW, ROW + 1e-3)])
    assert re.search(r"mine: .*, which is the same; other: .*, which is not the same\.$", drawing.alt)


@pytest.mark.parametrize("place", range(2))
def test_a_feature_changed_by_one_percent_changes_its_pair(place):
    pair, normalized = np.array([3.0, 7.0]), np.array([-1.0, 1.0])
    change = np.where(np.arange(2) == place, 1.01, 1.0)
    plain = coordinates(figures.pairs([(pair, normalized, 0.0)]))
    assert coordinates(figures.pairs([(pair * change, normalized, 0.0)])) != plain
    assert coordinates(figures.pairs([(pair, normalized * change, 0.0)])) != plain


LINES = {"flat": [0.1, 0.1, 0.1], "nearly_flat": [1.0, 0.5, 0.2]}, {"outputs": [1, 1, 1], "gradients": [1, 0.1, 0.01]}


@pytest.mark.parametrize("lines, name", [(lines, name) for lines in LINES for name in lines])
def test_a_point_changed_by_one_percent_changes_its_line(lines, name):
    def draw(lines):
        if "flat" in lines:
            return coordinates(figures.eps_cliff([1e-6, 1e-4, 1e-2], **lines, limit=1.0, usual=1e-5))
        return coordinates(figures.shielded([1.0, 10.0, 100.0], **lines, marks=(1, 30)))

    for place in range(3):
        changed = [v * 1.01 if i == place else v for i, v in enumerate(lines[name])]
        assert draw(lines | {name: changed}) != draw(lines)


@pytest.mark.parametrize("feature", range(4))
def test_a_raw_and_a_normalized_value_changed_by_one_percent_change_the_curves(feature):
    changed = ROW * np.where(np.arange(4) == feature, 1.01, 1.0)
    plain = coordinates(figures.collapse([("as it is", ROW, ROW)]))
    assert coordinates(figures.collapse([("as it is", changed, ROW)])) != plain
    assert coordinates(figures.collapse([("as it is", ROW, changed)])) != plain


def coordinates(drawing):
    """Return the drawing without its letters, so that a label alone cannot tell two apart."""
    return re.sub(r"<use[^>]*>|<defs>.*?</defs>", "", drawing.svg, flags=re.S)


def test_the_last_bit_of_a_coordinate_does_not_show():
    noisy = ROW * (1 + np.finfo(float).eps * np.array([1, -1, 2, -2]))
    assert {n: d.svg for n, d in draw_all(noisy).items()} == {n: d.svg for n, d in DRAWINGS.items()}


def test_squares_are_squares_on_the_page():
    svg = DRAWINGS["squares"].svg
    shaded = re.findall(r'<path d="M ([\d.]+) ([\d.]+) \nL ([\d.]+) ([\d.]+) \nL ([\d.]+) ([\d.]+)[^"]*"[^>]*opacity: 0.22', svg)
    assert len(shaded) == 5
    for x0, y0, x1, _, _, y2 in (map(float, s) for s in shaded):
        assert abs(x1 - x0) == pytest.approx(abs(y2 - y0), abs=0.01)


def test_triangles_are_right_and_to_one_scale():
    svg = figures.guard_triangles([2.0, 0.5], [0.894, 0.447], eps=1.0).svg
    sides = re.findall(r'<path d="M ([\d.]+) ([\d.]+) \nL ([\d.]+) ([\d.]+) \n" [^>]*style="fill: none', svg)
    (base, upright, slanted), (narrow, same, _) = np.array(sides, float).reshape(2, 3, 4)
    assert base[1] == base[3] and upright[0] == upright[2]
    assert [*base[:2], *upright[2:]] == slanted.tolist()
    assert base[2] - base[0] == pytest.approx(2 * (upright[1] - upright[3]), abs=0.01)
    assert narrow[2] - narrow[0] == pytest.approx(0.5 * (same[1] - same[3]), abs=0.01)


@pytest.mark.parametrize("batches, word", [(np.outer([1, 1], ROW), "straight"), (np.outer([1, 2], ROW), "bent")])
def test_lines_of_a_row_in_company_are_called_what_they_are(batches, word):
    assert f"norm, {word} lines" in figures.company([("norm", batches)], ["alone", "batch"]).alt


@pytest.mark.parametrize("scale", [0.03, 1.0, 400.0])
def test_a_whisker_is_as_many_times_as_wide_as_its_frame_says(scale):
    shorter, longer = scale, scale * (1 + 3e-6)
    drawing = figures.guard_widths(shorter, longer)
    times = float(re.search(r"ends ([\d,]+) times as wide", drawing.alt)[1].replace(",", ""))
    boxes = re.findall(r'<path d="M ([\d.]+) [\d.]+ \nL ([\d.]+) [^"]*"[^>]*fill: var\(--spread', drawing.svg)
    plain, _, magnified, magnified_longer = (float(b) - float(a) for a, b in boxes)
    assert magnified_longer - magnified == pytest.approx((longer / shorter - 1) * plain * times, rel=1e-3)


def luminance(color):
    channels = [int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("scheme", [0, 1])
@pytest.mark.parametrize("name", [n for n in figures.COLORS if n != "paper"])
def test_colors_keep_their_contrast_in_both_schemes(name, scheme):
    paper, color = luminance(figures.COLORS["paper"][scheme]), luminance(figures.COLORS[name][scheme])
    contrast = (max(paper, color) + 0.05) / (min(paper, color) + 0.05)
    assert contrast >= (3 if name == "faint" else 4.5)  # WCAG 2.2: graphics, text


@pytest.mark.parametrize("name", DRAWINGS)
def test_every_color_follows_the_scheme(name):
    svg = DRAWINGS[name].svg
    body = svg[svg.index("</style>") :]
    assert not re.search(r"(?<!, )#[0-9a-f]{6}", body), "a color outside the palette would vanish in dark mode"
    assert "prefers-color-scheme: dark" in svg
