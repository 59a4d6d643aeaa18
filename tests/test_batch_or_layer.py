"""The batch to play with: its arithmetic beside lnlib's, and what readers with a mouse, keys or a thumb get to see."""

import gzip
import re

import numpy as np
import pytest

from conftest import PAGES, open_boxes
from lnlib import LayerNorm, batch_norm, layer_norm, rms_norm
from lnlib.figures import COLORS
import measures
from measures import LAPTOP, PHONE

PAGE = "chapters/batch-or-layer.html"
START = np.array([[2.0, 2.0, 6.0, 6.0], [1.0, 3.0, 5.0, 7.0], [9.0, 7.0, 4.0, 8.0]])
NORMS = {"Layer norm": layer_norm, "Batch norm, in training": batch_norm, "RMSNorm": rms_norm}
EDIT = ("example 2, feature 3", "17")
SUGGEST = "Start again with 17 in example 2, feature 3"
MOST_BYTES = 15_000  # of the script and the styles, compressed
TOLERANCE = 1e-12  # of the largest output that is normalized together with an output
SUBNORMAL = 1e-307  # below it numbers have fewer digits
ZOOMED = {"device_scale_factor": 4}  # a window of 1280 pixels at 400 %
INPUTS, OUTPUTS = ".play table:first-of-type", ".play table:last-of-type"


def edited(start=START, example=2, feature=3, value=17):
    grid = start.copy()
    grid[example - 1, feature - 1] = value
    return grid


def cell(page, name):
    return page.get_by_label(name, exact=True)


def status(page):
    return page.get_by_role("status").inner_text()


def inputs(page):
    return np.array([float(box.input_value().replace("−", "-")) for box in page.locator(f"{INPUTS} input").all()])


def outputs(page):
    """Return the outputs as shown, and how far each is said to have moved, as arrays; NaN where nothing is said."""
    texts = page.locator(f"{OUTPUTS} td:not(thead *)").all_text_contents()
    found = [re.fullmatch(r"(−?[\d.]+)(, did not move|([▲▼]), moved (up|down) by  ([\d.]+))?", text) for text in texts]
    assert all(found), texts
    for match in found:
        assert (match[3], match[4]) in ((None, None), ("▲", "up"), ("▼", "down"))
    values = [float(match[1].replace("−", "-")) for match in found]
    moves = [
        float(match[5]) * (1 if match[4] == "up" else -1) if match[5] else 0 if match[2] else np.nan for match in found
    ]
    return np.reshape(values, START.shape), np.reshape(moves, START.shape)


def frames(page, board):
    """Return which cells of a board are framed."""
    cells = page.locator(f"{board} tr:not(.complaints) td:not(thead *)")
    framed = cells.evaluate_all("all => all.map(e => parseFloat(getComputedStyle(e).borderTopWidth) > 1)")
    return np.reshape(framed, START.shape)


def assert_shows(page, norm, before, after):
    """The page shows a norm's outputs, and what moved between two grids."""
    values, moves = outputs(page)
    expected = NORMS[norm](after)
    np.testing.assert_allclose(values, expected, rtol=6e-4, atol=1e-9)
    np.testing.assert_allclose(moves, expected - NORMS[norm](before), rtol=6e-4, atol=1e-9)
    np.testing.assert_array_equal(frames(page, OUTPUTS), moves != 0)


def random_grids():
    random = np.random.default_rng(7)
    for _ in range(60):
        shape = random.integers(1, 7, 2)
        grid = random.normal(size=shape) * 10.0 ** random.integers(-4, 4)
        yield grid
        yield grid * 10.0 ** random.uniform(-320, 300, (shape[0], 1))
        yield grid + 10.0 ** random.integers(0, 17)
        row, column = grid.copy(), grid.copy()
        row[0], column[:, 0] = 0.1, 0.1
        yield row
        yield column
    yield np.zeros((3, 4))
    yield np.array([[1.7e308, -1.7e308, 1.0], [-1.7e308, 5e-324, 1.7e308]])
    yield np.full((2, 3), 5e-324)


def test_norms_are_those_of_lnlib(calculate):
    grids = list(random_grids())
    norms = "given.map(g => [g.map(row => layerNorm(row)), batchNorm(g), g.map(row => rmsNorm(row))])"
    computed = calculate(norms, [grid.tolist() for grid in grids])
    assert len(computed) > 300
    for grid, answers in zip(grids, computed):
        for name, answer in zip(NORMS, answers):
            expected = NORMS[name](grid)
            largest = np.abs(expected).max(axis=0 if name.startswith("Batch") else 1, keepdims=True)
            assert np.all(np.abs(np.array(answer) - expected) <= TOLERANCE * largest + SUBNORMAL), (name, grid)


def test_batch_norm_of_one_example_is_zeros(calculate):
    assert calculate("batchNorm([[60, -7, 1e300, 1e-300]])") == [[0, 0, 0, 0]]


@pytest.mark.parametrize(
    "norm, news, shared",
    [
        ("Layer norm", "Layer norm: 4 of 12 outputs moved, all in example 2.", "example 2 share a mean of 7 "),
        (
            "Batch norm, in training",
            "Batch norm: 3 of 12 outputs moved, all in feature 3; 2 of them in examples that you did not change.",
            "feature 3 share a mean of 9 ",
        ),
        ("RMSNorm", "RMSNorm: 4 of 12 outputs moved, all in example 2.", "example 2 share a root mean square of 9.327"),
    ],
)
def test_a_typed_number_moves_those_that_share_its_statistics(visit, norm, news, shared):
    page = visit(PAGE)
    page.get_by_label(norm).check()
    values, moves = outputs(page)
    np.testing.assert_allclose(values, NORMS[norm](START), rtol=6e-4, atol=1e-9)
    assert np.isnan(moves).all()  # before any edit nothing is said
    cell(page, EDIT[0]).fill(EDIT[1])
    assert_shows(page, norm, START, edited())
    assert status(page) == news
    line = np.zeros(START.shape, bool)
    line[(slice(None), 2) if norm.startswith("Batch") else 1] = True
    np.testing.assert_array_equal(frames(page, INPUTS), line)
    assert shared in page.locator(".play").inner_text()
    assert page.get_by_text("was 5").is_visible()


def test_an_edit_stays_when_the_norm_changes(visit):
    page = visit(PAGE)
    page.get_by_role("button", name=SUGGEST).click()
    for norm in NORMS:
        page.get_by_label(norm).check()
        assert_shows(page, norm, START, edited())


def test_moves_are_measured_from_the_grid_before_the_last_edit(visit):
    page = visit(PAGE)
    cell(page, "example 2, feature 3").press_sequentially("0")  # behind the 5 or before it
    cell(page, "example 2, feature 3").fill("17")
    assert_shows(page, "Layer norm", START, edited())  # all that was done to one number is one edit
    cell(page, "example 3, feature 1").fill("-1.5")
    assert_shows(page, "Layer norm", edited(), edited(edited(), 3, 1, -1.5))
    assert status(page) == "Layer norm: 4 of 12 outputs moved, all in example 3."
    assert page.locator(".play").get_by_text("was ").all_inner_texts() == ["was 9"]
    cell(page, "example 2, feature 3").fill("17")
    assert status(page) == "Layer norm: none of 12 outputs moved."


def test_the_keyboard_alone_does_everything(visit):
    page = visit(PAGE)
    page.get_by_label("Layer norm").focus()
    page.keyboard.press("ArrowDown")
    assert page.get_by_label("Batch norm").is_checked()
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.getAttribute('aria-label')") == "example 1, feature 1"
    page.keyboard.press("ArrowUp")
    page.keyboard.press("ArrowUp")
    page.keyboard.press("ArrowDown")
    assert_shows(page, "Batch norm, in training", START, edited(START, 1, 1, 3))
    page.keyboard.press("Tab")
    page.keyboard.press("End")
    page.keyboard.press("ArrowLeft")
    page.keyboard.type("1")  # before the 2: the caret has moved
    page.keyboard.press("ArrowRight")
    page.keyboard.type("/")  # a single key that opens the search elsewhere
    page.keyboard.press("Backspace")
    assert cell(page, "example 1, feature 2").input_value() == "12"
    assert_shows(page, "Batch norm, in training", edited(START, 1, 1, 3), edited(edited(START, 1, 1, 3), 1, 2, 12))
    for _ in range(11):
        page.keyboard.press("Tab")
    page.keyboard.press("Enter")  # the edit that the page suggests
    assert_shows(page, "Batch norm, in training", START, edited())
    page.keyboard.press("Tab")
    page.keyboard.press("Space")
    np.testing.assert_array_equal(inputs(page), START.ravel())
    assert status(page) == "Batch norm: you have not changed a number yet."
    assert np.isnan(outputs(page)[1]).all()


def test_arrow_keys_step_by_one(visit):
    page = visit(PAGE)
    for typed, key, result in [
        ("0.1", "ArrowUp", "1.1"),
        ("4.1", "ArrowDown", "3.1"),  # 4.1 - 1 is 3.0999999999999996 in binary
        ("0", "ArrowDown", "−1"),
        ("1e20", "ArrowUp", "100000000000000000000"),
        ("1.7976931348623157e308", "ArrowUp", "1.7976931348623157e+308"),
    ]:
        cell(page, EDIT[0]).fill(typed)
        page.keyboard.press(key)
        assert cell(page, EDIT[0]).input_value() == result


def test_a_thumb_does_everything(visit):
    page = visit(PAGE, PHONE, has_touch=True, is_mobile=True)
    page.get_by_label("RMSNorm").tap()
    page.get_by_role("button", name=SUGGEST).tap()
    assert_shows(page, "RMSNorm", START, edited())
    cell(page, "example 1, feature 4").tap()
    page.keyboard.press("ControlOrMeta+a")
    page.keyboard.type("−2.5")
    assert_shows(page, "RMSNorm", edited(), edited(edited(), 1, 4, -2.5))
    np.testing.assert_array_equal(frames(page, INPUTS)[0], [True] * 4)
    sizes = page.eval_on_selector_all(
        ".play :is(label, [type=text], button)", "all => all.map(e => e.getBoundingClientRect().height)"
    )
    assert len(sizes) == 17
    assert min(sizes) >= 44


NONSENSE = [
    ("abc", "“abc” is not a number. Write one like 2.5, −3 or 1e-5."),
    ("1,5", "“1,5” is not a number."),
    ("", "There is no number here."),
    ("1e999", "1e999 is too large"),
    ("<b>1</b>", "“<b>1</b>” is not a number."),
]


def test_nonsense_is_named_and_kept_and_changes_nothing(visit):
    page = visit(PAGE)
    cell(page, EDIT[0]).fill(EDIT[1])
    box, after = cell(page, "example 1, feature 2"), edited(edited(), 1, 2, 7)
    for typed, complaint in NONSENSE:
        box.fill("7")
        box.fill(typed)
        page.keyboard.press("Tab")
        message = page.get_by_role("alert").filter(has_text=re.compile("."))
        assert message.inner_text().startswith(f"Example 1, feature 2: {complaint}")
        assert message.inner_text().endswith(" Until then 7 stays.")
        below = message.bounding_box()["y"] - box.bounding_box()["y"] - box.bounding_box()["height"]
        assert 0 <= below < 30
        assert box.input_value() == typed
        assert box.get_attribute("aria-invalid") == "true"
        assert_shows(page, "Layer norm", edited(), after)
    cell(page, "example 3, feature 4").fill("0")  # others can still be changed
    assert_shows(page, "Layer norm", after, edited(after, 3, 4, 0))
    assert box.input_value() == typed
    box.fill("7.5")
    assert page.get_by_role("alert").filter(has_text=re.compile(".")).count() == 0
    assert box.get_attribute("aria-invalid") is None


def test_a_number_half_typed_is_not_complained_about(visit):
    page = visit(PAGE)
    box = cell(page, "example 1, feature 2")
    box.fill("-")
    assert page.get_by_role("alert").filter(has_text=re.compile(".")).count() == 0
    box.press_sequentially("3")
    assert_shows(page, "Layer norm", START, edited(START, 1, 2, -3))


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [PHONE, LAPTOP])
def test_axe_finds_no_fault_after_an_edit(visit, width, scheme):
    page = visit(PAGE, width, scheme, reduced_motion="reduce")
    open_boxes(page)
    page.get_by_label("Batch norm").check()
    page.get_by_role("button", name=SUGGEST).click()
    cell(page, "example 1, feature 2").fill("abc")
    page.keyboard.press("Tab")
    assert measures.axe(page) == []
    for kind, sample in (("raw", cell(page, EDIT[0])), ("output", page.locator(f"{OUTPUTS} .moved > span").first)):
        color = COLORS[kind][scheme == "dark"]
        rgb = ", ".join(str(int(color[i : i + 2], 16)) for i in (1, 3, 5))
        assert sample.evaluate("e => getComputedStyle(e).color") == f"rgb({rgb})"


@pytest.mark.parametrize("width, options", [(360, {}), (320, ZOOMED), (LAPTOP, {})])
def test_everything_fits(visit, width, options):
    page = visit(PAGE, width, **options)
    open_boxes(page)
    scrollers = page.locator("details div:has(> table)")
    assert scrollers.evaluate_all("all => all.map(e => e.scrollWidth - e.clientWidth)") == [0, 0, 0]
    page.get_by_role("button", name=SUGGEST).click()
    cell(page, "example 1, feature 1").fill("1.2345678e-12")
    cell(page, "example 1, feature 2").fill("nonsense-without-a-space-that-goes-on-and-on")
    cell(page, "example 1, feature 1").fill("-1.2345678e-12")
    for norm in NORMS:
        page.get_by_label(norm).check()
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        outside = page.eval_on_selector_all(
            ".play :is(td, th, label, button, p)",
            """all => all.filter(e => {
                const range = document.createRange()
                range.selectNodeContents(e)
                const text = range.getBoundingClientRect(), box = e.getBoundingClientRect()
                return text.width && !e.querySelector('.visually-hidden, input') &&
                    (text.left < box.left - 1 || text.right > box.right + 1)
            }).map(e => e.textContent)""",
        )
        assert outside == []
        shown = page.eval_on_selector_all(
            f"{OUTPUTS} td > span:not(.visually-hidden)",
            "all => all.map(e => [e.textContent, e.scrollWidth - e.parentElement.clientWidth])",
        )
        assert [text for text, beyond in shown if beyond > 0] == []


def test_without_a_script_the_grid_and_its_edit_can_be_read(visit):
    page = visit(PAGE, java_script_enabled=False)
    assert page.locator(".batch-or-layer table").is_visible()
    assert page.locator(".batch-or-layer td").filter(has_text="→").inner_text() == "5 → 17"
    assert page.get_by_text("The arrow marks the edit.").is_visible()
    assert page.locator("article :is(input, button)").locator("visible=true").count() == 0
    page.locator("article summary").click()
    for name in ("Layer norm.", "Batch norm, in training.", "RMSNorm."):
        assert page.locator("details strong", has_text=name).is_visible()
    arrows = [table.inner_text().count("→") for table in page.locator("details table").all()]
    assert arrows == [int(np.sum(norm(START) != norm(edited()))) for norm in NORMS.values()] == [4, 3, 4]


def test_paper_shows_the_grid_and_its_edit(visit):
    page = visit(PAGE)
    page.get_by_role("button", name=SUGGEST).click()
    assert not page.get_by_text("The arrow marks the edit.").is_visible()  # here it can be tried out
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    page.emulate_media(media="print")
    assert page.locator("article :is(input, button), .play").locator("visible=true").count() == 0
    assert page.locator(".batch-or-layer > :not(.play) table").is_visible()
    assert page.get_by_text("The arrow marks the edit.").is_visible()
    assert page.locator("details table").last.is_visible()


def test_a_screen_reader_hears_what_is_where_and_what_moved(visit):
    page = visit(PAGE)
    cell(page, EDIT[0]).fill(EDIT[1])
    cell(page, "example 1, feature 2").fill("abc")
    page.keyboard.press("Tab")
    page.get_by_label("Batch norm").check()
    nodes = page.context.new_cdp_session(page).send("Accessibility.getFullAXTree")["nodes"]
    heard = [
        [node.get(part, {}).get("value", "") for part in ("role", "name", "value", "description")]
        for node in nodes if not node["ignored"]
    ]  # fmt: skip
    said = {(role, name) for role, name, _, _ in heard}
    roles = {role: [name for r, name in said if r == role] for role, _ in said}
    assert sorted(roles["radio"]) == sorted(NORMS)
    assert "Norm" in roles["group"]
    assert {"Inputs", "Outputs of batch norm"} <= set(roles["table"])
    names = {f"example {example}, feature {feature}" for example in (1, 2, 3) for feature in (1, 2, 3, 4)}
    assert set(roles["textbox"]) == names
    assert ["textbox", *EDIT, "was 5"] in [[role, *rest] for role, *rest in heard]
    [complaint] = [rest for _, name, *rest in heard if name == "example 1, feature 2"]
    assert complaint[0] == "abc" and complaint[1].startswith("Example 1, feature 2: “abc” is not a number.")
    assert "status" in roles and page.get_by_role("status").get_attribute("aria-live") in (None, "polite")
    cells = page.locator(OUTPUTS).aria_snapshot()
    assert "moved down by" in cells and "did not move" in cells and "▲" not in cells


def test_the_usual_eps_is_at_work(visit):
    page = visit(PAGE)
    for feature, value in enumerate(("0", "0", "0", "0.01"), start=1):
        cell(page, f"example 1, feature {feature}").fill(value)
    row = np.array([0, 0, 0, 0.01])
    values, _ = outputs(page)
    expected = (row - row.mean()) / np.sqrt(row.var() + LayerNorm(4).eps)
    np.testing.assert_allclose(values[0], expected, rtol=6e-4)


def test_a_grid_without_an_edit_to_suggest_fails_the_build(book):
    index = book.path("index.md")
    grid = ":::{batch-or-layer}\n| input | feature |\n|---|---|\n| first | none |\n| second | none |\n:::\n"
    index.write_text(f"{index.read_text('utf-8')}\n{grid}", "utf-8")
    result = book.build()
    assert result.returncode != 0
    assert "one cell says what it becomes" in result.stderr + result.stdout


def test_script_and_styles_are_light_and_only_here(soups, site):
    files = [site / "_static" / "play" / f"batch_or_layer.{kind}" for kind in ("js", "css")]
    assert sum(len(gzip.compress(file.read_bytes())) for file in files) <= MOST_BYTES
    assert [path for path in PAGES if "play/batch_or_layer" in str(soups[path])] == [PAGE]
