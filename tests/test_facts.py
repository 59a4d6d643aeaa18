"""The course is held to known numbers: what its pages compute and print is what anyone gets with pencil and paper.

The gate compares a page with its own code, so it lets a row be changed together with the text. Here
the values stand apart from the book. Whoever changes an example on purpose changes them as well.
"""

from functools import cache
import re
from unittest import mock

import nbformat
import numpy as np
import pytest

from conftest import ROOT
from gate import prose
import lnlib

# For each page: what it is, its value as printed (≈ if rounded), and the page's own expression for it.
FACTS = {
    "walkthrough.ipynb": [
        ("the row", "(1, 2, 3, 4)", "x"),
        ("number of features", "4", "H"),
        ("sum of (1, 2, 3, 4)", "10", "x.sum()"),
        ("mean of (1, 2, 3, 4)", "2.5", "mean"),
        ("deviations of (1, 2, 3, 4)", "(-1.5, -0.5, 0.5, 1.5)", "deviations"),
        ("sum of the deviations", "0", "deviations.sum()"),
        ("gap between neighbors, after centering too", "1", "np.unique([np.diff(x), np.diff(deviations)])"),
        ("squared deviations of (1, 2, 3, 4)", "(2.25, 0.25, 0.25, 2.25)", "deviations**2"),
        ("variance of (1, 2, 3, 4)", "1.25", "variance"),
        ("std of (1, 2, 3, 4)", "≈ 1.118", "std"),
        ("(1, 2, 3, 4) normalized", "≈ (-1.342, -0.447, 0.447, 1.342)", "ideal"),
        ("usual eps", "0.00001", "eps"),
        ("guarded variance of (1, 2, 3, 4)", "1.25001", "variance + eps"),
        ("guarded std of (1, 2, 3, 4)", "≈ 1.1180385", "guarded_std"),
        ("squares of the normalized values", "(1.8, 0.2, 0.2, 1.8)", "ideal**2"),
        ("mean of the normalized values", "0", "ideal.mean()"),
        ("mean square of the normalized values", "1", "np.mean(ideal**2)"),
        ("variance with eps, 1.25 / 1.25001", "≈ 0.999992", "normalized.var()"),
        ("the flat row", "(5, 5, 5, 5)", "flat"),
        ("mean of the flat row", "5", "flat.mean()"),
        ("variance of the flat row", "0", "flat.var()"),
        ("the flat row without eps", "(nan, nan, nan, nan)", "layer_norm(flat, eps=0)"),
        ("guarded std of the flat row", "≈ 0.00316", "np.sqrt(flat.var() + eps)"),
        ("the flat row with eps", "(0, 0, 0, 0)", "layer_norm(flat)"),
        ("scale", "2", "gamma"),
        ("shift", "1", "beta"),
        ("times 2 plus 1", "≈ (-1.683, 0.106, 1.894, 3.683)", "y"),
        ("times 2 plus 1, rounded too early", "≈ (-1.684, 0.106, 1.894, 3.684)", "late"),
        ("the row brought back", "(1, 2, 3, 4)", "np.round(undo(x), 3)"),
        ("a second row", "(4, 6, 8, 10)", "second"),
        ("the second row, not brought back", "(1, 2, 3, 4)", "np.round(undo(second), 3)"),
        ("the row in a batch", "≈ (-1.342, -0.447, 0.447, 1.342)", "in_a_batch"),
    ],
    "four-numbers.ipynb": [
        ("the row", "(2, 2, 6, 6)", "x"),
        ("mean of (2, 2, 6, 6)", "4", "mean"),
        ("deviations of (2, 2, 6, 6)", "(-2, -2, 2, 2)", "deviations"),
        ("squared deviations of (2, 2, 6, 6)", "(4, 4, 4, 4)", "deviations**2"),
        ("population variance of (2, 2, 6, 6)", "4", "variance"),
        ("sample variance of (2, 2, 6, 6), 16 / 3", "≈ 5.3333", "sample_variance"),
        ("normalized with the sample variance", "≈ ±0.87", "(deviations / np.sqrt(sample_variance))[[0, 3]]"),
        ("std of (2, 2, 6, 6)", "2", "std"),
        ("(2, 2, 6, 6) normalized", "(-1, -1, 1, 1)", "normalized"),
        ("another row", "(10, 10, 14, 14)", "row"),
        ("mean of (10, 10, 14, 14)", "12", "mu"),
        ("variance of (10, 10, 14, 14)", "4", "sigma_squared"),
        ("10 and 14 normalized", "±1", "((row - mu) / np.sqrt(sigma_squared))[[0, 3]]"),
        ("usual eps", "1e-05", "eps"),
        ("(2, 2, 6, 6) with eps", "≈ ±0.99999875", "layer_norm(x)[[0, 3]]"),
        ("(2, 2, 6, 6) with eps to six decimals", "≈ ±0.999999", "layer_norm(x)[[0, 3]]"),
        ("scales of a new layer", "(1, 1, 1, 1)", "LayerNorm(H).gamma"),
        ("shifts of a new layer", "(0, 0, 0, 0)", "LayerNorm(H).beta"),
        ("shape of the block", "(2, 4, 768)", "block.shape"),
        ("shape of its means", "(2, 4, 1)", "gpt.mean.shape"),
        ("shape of its variances", "(2, 4, 1)", "gpt.variance.shape"),
        ("shape of its output", "(2, 4, 768)", "gpt.output.shape"),
        ("rows that do not notice another", "7", "np.sum(moves.max(axis=-1) == 0)"),
    ],
    "worked-examples.ipynb": [
        ("the ordinary row", "(2, 4, 4, 6)", "x1"),
        ("mean of (2, 4, 4, 6)", "4", "steps1.mean"),
        ("deviations of (2, 4, 4, 6)", "(-2, 0, 0, 2)", "steps1.deviations"),
        ("variance of (2, 4, 4, 6)", "2", "steps1.variance"),
        ("std of (2, 4, 4, 6)", "≈ 1.4142", "steps1.std"),
        ("(2, 4, 4, 6) normalized", "≈ (-1.4142, 0, 0, 1.4142)", "steps1.normalized"),
        ("ten times the row", "(20, 40, 40, 60)", "x2"),
        ("mean of (20, 40, 40, 60)", "40", "steps2.mean"),
        ("deviations of (20, 40, 40, 60)", "(-20, 0, 0, 20)", "steps2.deviations"),
        ("variance of (20, 40, 40, 60)", "200", "steps2.variance"),
        ("std of (20, 40, 40, 60), ten roots of 2", "≈ 14.142", "steps2.std"),
        ("(20, 40, 40, 60) normalized", "≈ (-1.4142, 0, 0, 1.4142)", "steps2.normalized"),
        ("the row plus 100", "(102, 104, 104, 106)", "x3"),
        ("mean of (102, 104, 104, 106)", "104", "steps3.mean"),
        ("deviations of (102, 104, 104, 106)", "(-2, 0, 0, 2)", "steps3.deviations"),
        ("variance of (102, 104, 104, 106)", "2", "steps3.variance"),
        ("(102, 104, 104, 106) normalized", "≈ (-1.4142, 0, 0, 1.4142)", "steps3.normalized"),
        ("(1, 2, 3, 4) times 3", "≈ (-1.342, -0.447, 0.447, 1.342)", "changed(3, ideal)"),
        ("(1, 2, 3, 4) times -3", "≈ (1.3416, 0.4472, -0.4472, -1.3416)", "changed(-3, ideal)"),
        ("(1, 2, 3, 4) times 0", "(nan, nan, nan, nan)", "changed(0, ideal)"),
        ("1 and 4 times 0.0001, with eps", "≈ ±0.047", "changed(1e-4, usual)[[0, 3]]"),
        ("2 and 3 times 0.0001, with eps", "≈ ±0.016", "changed(1e-4, usual)[[1, 2]]"),
        ("the lopsided row", "(-4, -2, 0, 10)", "x4"),
        ("mean of (-4, -2, 0, 10)", "1", "steps4.mean"),
        ("deviations of (-4, -2, 0, 10)", "(-5, -3, -1, 9)", "steps4.deviations"),
        ("squared deviations of (-4, -2, 0, 10)", "25, 9, 1, 81", "steps4.deviations**2"),
        ("their sum", "116", "np.sum(steps4.deviations**2)"),
        ("variance of (-4, -2, 0, 10)", "29", "steps4.variance"),
        ("std of (-4, -2, 0, 10)", "≈ 5.3852", "steps4.std"),
        ("(-4, -2, 0, 10) normalized", "≈ (-0.9285, -0.5571, -0.1857, 1.6713)", "steps4.normalized"),
        ("squares of these", "≈ 0.8621, 0.3103, 0.0345, 2.7931", "steps4.normalized**2"),
        ("two features", "(7, 3)", "pair_rows[0]"),
        ("(7, 3) normalized", "(1, -1)", "both[0]"),
        ("the two features swapped", "(3, 7)", "pair_rows[1]"),
        ("(3, 7) normalized", "(-1, 1)", "both[1]"),
        ("two close features", "(3, 3.001)", "pair_rows[2]"),
        ("(3, 3.001) with eps", "≈ ±0.156", "guarded_pair"),
        ("the flat row", "(5, 5, 5, 5)", "x6"),
        ("variance of the flat row", "0", "steps6.variance"),
        ("the flat row without eps", "(nan, nan, nan, nan)", "steps6.normalized"),
        ("usual eps", "1e-05", "usual"),
        ("guarded std of the flat row", "≈ 0.003162", "guarded6.guarded_std"),
        ("the flat row with eps", "(0, 0, 0, 0)", "guarded6.normalized"),
        ("a single feature", "7", "x6b[0]"),
        ("variance of a single feature", "0", "np.unique(steps6b.variance)"),
        ("a single feature with shift 2", "2", "np.unique(steps6b.output)"),
        ("scale", "3", "gamma"),
        ("shift", "2", "beta"),
        ("times 3 plus 2", "≈ (-2.2426, 2, 2, 6.2426)", "y7"),
        ("its mean", "2", "y7.mean()"),
        ("its std", "3", "y7.std()"),
        ("how far its ends lie from its mean", "≈ 4.2426", "y7[3] - y7.mean()"),
        ("scale that brings (2, 4, 4, 6) back", "≈ 1.4142", "gamma_undo"),
        ("shift that brings (2, 4, 4, 6) back", "4", "beta_undo"),
        ("(2, 4, 4, 6) brought back", "(2, 4, 4, 6)", "undone"),
        ("(1, 2, 3, 4), not brought back", "≈ (2.1026, 3.3675, 4.6325, 5.8974)", "next_row"),
        ("(20, 40, 40, 60), not brought back", "(2, 4, 4, 6)", "keep_and_apply(x2)"),
        ("the small row of the word problem", "(1, 3, 5, 7)", "meters"),
        ("mean of (1, 3, 5, 7)", "4", "steps8.mean"),
        ("variance of (1, 3, 5, 7)", "5", "steps8.variance"),
        ("std of (1, 3, 5, 7)", "≈ 2.2361", "steps8.std"),
        ("(1, 3, 5, 7) normalized", "≈ (-1.3416, -0.4472, 0.4472, 1.3416)", "steps8.normalized"),
        ("the large row of the word problem", "(100, 300, 500, 700)", "centimeters"),
        ("mean of (100, 300, 500, 700)", "400", "large8.mean"),
        ("std of (100, 300, 500, 700), a hundred roots of 5", "≈ 223.61", "large8.std"),
        ("(100, 300, 500, 700) normalized", "≈ (-1.3416, -0.4472, 0.4472, 1.3416)", "large8.normalized"),
        ("how much its gradient is smaller", "100", "np.mean(by_meters / by_centimeters)"),
        ("normalized row to solve for", "(-1, -1, 1, 1)", "x_hat9"),
        ("output to solve for", "(0, 0, 4, 4)", "y9"),
        ("scale solved for", "2", "g9"),
        ("shift solved for", "2", "b9"),
    ],
    "glossary.md": [
        ("the scores", "(60, 70, 80, 90)", "x"),
        ("eps", "0.001", "eps"),
        ("mean of the scores", "75", "steps.mean"),
        ("sum of the scores", "300", "x.sum()"),
        ("deviations of the scores", "(-15, -5, 5, 15)", "steps.deviations"),
        ("squared deviations of the scores", "225, 25, 25, 225", "steps.deviations**2"),
        ("sum of their squares", "500", "np.sum(steps.deviations**2)"),
        ("variance of the scores", "125", "steps.variance"),
        ("root of 125", "≈ 11.18", "steps.std"),
        ("guarded variance of the scores", "125.001", "steps.variance + eps"),
        ("guarded std of the scores", "≈ 11.1804", "steps.guarded_std"),
        ("the scores normalized", "≈ (-1.3416, -0.4472, 0.4472, 1.3416)", "steps.normalized"),
        ("output of a new layer", "≈ (-1.3416, -0.4472, 0.4472, 1.3416)", "layer(x)"),
        ("its mean", "0", "steps.output.mean()"),
        ("sum of its squares", "≈ 4.00", "np.sum(steps.output**2)"),
        ("its mean square, 125 / 125.001", "≈ 0.999992", "np.mean(steps.output**2)"),
        ("scale of a new layer", "1", "np.unique(layer.gamma)"),
        ("shift of a new layer", "0", "np.unique(layer.beta)"),
        ("the scores in hundreds", "≈ (-1.291, -0.4303, 0.4303, 1.291)", "layer_norm(small, eps=eps)"),
        ("std of ordinary, nearly flat and flat rows", "≈ (1, 0.3015, 0)", "out_std"),
        ("a flat row without eps", "(nan, nan, nan, nan)", "layer_norm(flat, eps=0)"),
    ],
    "claims.ipynb": [
        ("times 2 plus 1, rounded on the way", "≈ (-1.684, 0.106, 1.894, 3.684)", "carried"),
        ("times 2 plus 1, rounded at the end", "≈ (-1.683, 0.106, 1.894, 3.683)", "exact"),
        ("first of these to four decimals", "≈ -1.6833", "exact[0]"),
        ("last of these to four decimals", "≈ 3.6833", "exact[3]"),
        ("the row brought back", "(1, 2, 3, 4)", "np.round(layer(x), 4)"),
        ("(6, 8, 10, 12), not brought back", "(1, 2, 3, 4)", "np.round(layer(second), 4)"),
        ("(1, 2, 3, 4) times 10", "≈ (-1.342, -0.447, 0.447, 1.342)", "layer_norm(10 * x + c)"),
        ("(1, 2, 3, 4) times -1", "≈ (1.342, 0.447, -0.447, -1.342)", "layer_norm(-1 * x + c)"),
        ("(1, 2, 3, 4) times 0", "(0, 0, 0, 0)", "layer_norm(0 * x + c)"),
        ("(1, 2, 3, 4) times 0.0001", "≈ (-0.047, -0.016, 0.016, 0.047)", "layer_norm(tiny * x + c)"),
        ("how much the gradient is smaller", "≈ 100.000", "dx_calm[0] / dx_wild[0]"),
        ("a row in meters, eps unchanged", "≈ (-0.4472, -0.1491, 0.1491, 0.4472)", "layer_norm(meters)"),
        ("eps in square millimeters", "10", "converted"),
        ("std after, with variance eps before", "≈ 0.707", "afters[1]"),
        ("std after, for a flat row", "0", "afters[3]"),
        ("(3, 3.001) without eps", "(-1, 1)", "layer_norm(close, eps=no_eps)"),
        ("(3, 3.001) with eps", "≈ (-0.156, 0.156)", "layer_norm(close)"),
        ("(1, 2, 3, 4) in a batch", "≈ (-1.342, -0.447, 0.447, 1.342)", "layer_norm(batch_a)[0]"),
        ("RMSNorm of (1, 2, 3, 4) in a batch", "≈ (0.365, 0.73, 1.095, 1.461)", "rms_norm(batch_a)[0]"),
        ("batch norm of a single row", "(0, 0, 0, 0)", "batch_norm(alone)[0]"),
    ],
    "batch-or-layer.md": [
        ("mean of (1, 3, 5, 7)", "4", "grid[1].mean()"),
        ("mean of (1, 3, 17, 7)", "7", "edited[1].mean()"),
        ("mean of 6, 5 and 4", "5", "grid[:, 2].mean()"),
        ("mean of 6, 17 and 4", "9", "edited[:, 2].mean()"),
        ("10 over the root of 38", "≈ 1.62", "layer_norm(edited)[1, 2]"),
        ("8 over the root of 98 / 3", "≈ 1.40", "batch_norm(edited)[1, 2]"),
        ("-3 over the root of 98 / 3", "≈ -0.52", "batch_norm(edited)[0, 2]"),
        ("17 over the root of 87", "≈ 1.82", "rms_norm(edited)[1, 2]"),
        ("outputs that layer norm moves", "4", "moved(layer_norm)"),
        ("outputs that batch norm moves", "3", "moved(batch_norm)"),
    ],
    "flashcards.md": [
        ("(1, 2, 3, 4) normalized", "≈ (-1.342, -0.447, 0.447, 1.342)", "walk.normalized"),
        ("times 2 plus 1", "≈ (-1.683, 0.106, 1.894, 3.683)", "restyled"),
        ("(2, 2, 6, 6) normalized", "(-1, -1, 1, 1)", "by_hand.normalized"),
        ("sample variance of (2, 2, 6, 6)", "≈ 5.33", "sample_variance"),
        ("(2, 4, 4, 6) normalized", "≈ (-1.4142, 0, 0, 1.4142)", "ideal.normalized"),
        ("(-4, -2, 0, 10) normalized", "≈ (-0.928, -0.557, -0.186, 1.671)", "lopsided.normalized"),
        ("guarded std of the scores", "≈ 11.1804", "graded.guarded_std"),
        ("(3, 3.001) with eps", "≈ (-0.156, 0.156)", "layer_norm(close)"),
    ],
}  # fmt: skip
NUMBER = re.compile(r"[-±]?(?:\d+(?:\.\d+)?(?:e-\d+)?|nan)")


@cache
def page(name):
    """Run the code of a page, drawings left out; return what a reader reads and the names that the code leaves."""
    path, names = ROOT / "chapters" / name, {}
    text = path.read_text("utf-8")
    with mock.patch.object(lnlib, "figures", mock.MagicMock(), create=True):
        if path.suffix == ".ipynb":
            cells = nbformat.reads(text, as_version=4).cells
            code = [cell for cell in cells if cell.cell_type == "code"]
            for cell in code:
                exec(cell.source, names)
            shown = [o.get("text") or o.get("data", {}).get("text/plain", "") for cell in code for o in cell.outputs]
            text = "\n".join([cell.source for cell in cells if cell.cell_type == "markdown"] + shown)
        else:
            for passage in prose.passages(text):
                exec(passage.code, names)
                assert not passage.snippet or not prose.run_snippet(passage.snippet, names)
    return re.sub(r"<!--.*?-->|^(?:>>>|\.\.\.) .*?$", "", text, flags=re.S | re.M).replace("−", "-"), names


@pytest.mark.parametrize(
    "name, printed, expression",
    [pytest.param(name, *fact, id=f"{name}: {what}") for name, facts in FACTS.items() for what, *fact in facts],
)
def test_a_known_number_is_computed_and_printed(name, printed, expression):
    text, names = page(name)
    numbers = NUMBER.findall(printed)
    expected = [float(n.replace("±", sign)) for n in numbers for sign in ("-+" if "±" in n else "+")]
    [computed] = prose.evaluate([expression], names)
    places = max(len(n.partition(".")[2]) for n in numbers)
    assert len(computed) == len(expected)
    np.testing.assert_allclose(computed, expected, rtol=1e-9, atol=0.5 * 10.0**-places if "≈" in printed else 1e-12)
    as_text = r"\.?(?:[,+\s]|and)+".join(re.escape(n).replace("±", "±?") for n in numbers)
    is_printed = bool(re.search(rf"(?<![\w.-]){as_text}(?!\.?\d)", text))
    assert is_printed, f"{name} computes {printed}, but does not say so"
