"""The row explorer, used as a reader uses it, its numbers compared with lnlib's."""

import gzip
import re

import numpy as np
import pytest

from conftest import until
from lnlib import LayerNorm, layer_norm, layer_norm_steps
import measures
from measures import LAPTOP, PHONE

HOME, WALKTHROUGH = "chapters/row-explorer.html", "chapters/walkthrough.html"
SMALL_PHONE = 360  # pixels
ZOOMED = {"width": 320, "height": 256}  # pixels: a laptop's window at 400 %
MOST_BYTES = 15_000  # of script and styles, gzipped
FRAME = 16  # milliseconds
ROWS = 1000
CLOSE = 1e-12
SUPERSCRIPTS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻−", "0123456789--")


def read(text):
    """Return the numbers that the explorer wrote, in a bracket or alone."""
    text = re.sub(r" × 10([⁻⁰¹²³⁴-⁹]+)", lambda m: f"e{m[1]}", text).translate(SUPERSCRIPTS)
    return [float(part.replace("∞", "inf")) for part in re.findall(r"-?(?:\d+(?:\.\d+)?(?:e-?\d+)?|∞|nan)", text)]


class Explorer:
    """A page with the explorer, and what stands in it."""

    def __init__(self, page):
        self.page, self.field = page, page.locator("#explorer-row")
        self.dots = page.locator(".row-explorer [role=slider]")
        self.complaint, self.verdict = page.locator(".complaint"), page.locator(".row-explorer .verdict")

    @property
    def row(self):
        return read(self.field.input_value())

    def panel(self, move):
        return self.page.locator(".row-explorer").get_by_role("group", name=move, exact=True)

    def values(self, move):
        return read(self.panel(move).locator(".values").inner_text())

    def type(self, text):
        self.field.fill(text)
        self.field.press("Enter")

    def slide(self, name, key, times=1):
        for _ in range(times):
            self.page.locator(f"#explorer-{name}").press(key)

    def agrees(self, eps=LayerNorm(1).eps, gamma=1, beta=0):
        """Compare every number that is shown with lnlib's, to the four digits in which it is written."""
        row = np.array(self.row)
        steps = layer_norm_steps(row, np.full(row.size, gamma), np.full(row.size, beta), eps=eps)
        written = self.page.locator(".row-explorer .statistics").inner_text().replace("σ² = ", "σ = ")
        statistics = [read(part)[0] for part in written.split(" = ")[1:]]
        np.testing.assert_allclose(statistics, np.ravel([steps.mean, steps.variance, steps.std]), rtol=5e-4)
        moves = {
            "center": steps.deviations,
            "squeeze": layer_norm(row, eps=0),
            "guard": steps.normalized,
            "restyle": steps.output,
        }
        for move, values in moves.items():
            np.testing.assert_allclose(self.values(move), values, rtol=5e-4, atol=1e-12, err_msg=move)
        return True


@pytest.fixture
def explorer(visit):
    """Return a function that opens a page with the explorer."""
    return lambda query="", path=HOME, width=LAPTOP, **options: Explorer(visit(path + query, width, **options))


def hard_rows():
    """Rows of one to eight features: ordinary, far off, tiny, huge, flat, nearly flat, at the ends of float64."""
    rng = np.random.default_rng(7)
    rows = []
    for _ in range(ROWS):
        size = rng.integers(1, 9)
        row = rng.normal(size=size) * 10.0 ** rng.choice([-300, -150, -6, -3, 0, 0, 0, 3, 6, 150, 300])
        row += rng.choice([0, 0, 1, 100, 1e6, 1e12])
        rows.append(np.round(row) if rng.random() < 0.2 else row)
    largest, least = np.finfo(float).max, np.nextafter(0, 1)
    corners = [
        *([value] * size for value in (0, 5, -0.1, 1e-300, largest, least) for size in (1, 4, 8)),
        [largest, -largest], [largest, 0, -largest, 1], [least, 0], [least, 2 * least, 3 * least],
        [1, np.nextafter(1, 2)], [1e16, 1e16 + 2], [0, 0, 0, 1e300], [0, 0, 0, 0, 0, 0, 0, 1e-200],
        [3, 3.001], [1e8, 1e8 + 1e-3], [-4, -2, 0, 10], [7], [7, 3],
    ]  # fmt: skip
    return [*rows, *map(np.array, corners)]


@pytest.mark.parametrize("eps", [1e-5, 0, 1e-12, 12, 1e-300])
def test_its_arithmetic_is_lnlibs(calculate, eps):
    rows = [row.astype(float) for row in hard_rows()]
    given = {"rows": [row.tolist() for row in rows], "eps": eps}
    answers = calculate("given.rows.map((row) => layerNormSteps(row, {eps: given.eps, gamma: 2, beta: -3}))", given)
    assert len(answers) > ROWS
    for row, answer in zip(rows, answers, strict=True):
        steps = layer_norm_steps(row, np.full(row.size, 2.0), np.full(row.size, -3.0), eps=eps)
        bare = layer_norm_steps(row, eps=0)  # eps has no part in these
        expected = {name: getattr(bare, name) for name in ("mean", "deviations", "variance", "std")}
        expected |= {"squeezed": bare.normalized, "guardedStd": steps.guarded_std}
        expected |= {"normalized": steps.normalized, "output": steps.output}
        assert answer.keys() == expected.keys()
        # An output is as exact as its largest value; what has a unit is so in its own unit.
        unit = {name: 1.0 if name in ("normalized", "output", "squeezed") else 0.0 for name in expected}
        unit["mean"] = np.abs(row).max()
        for name, value in expected.items():
            with np.errstate(all="ignore"):
                size = max(unit[name], np.abs(value).max()) if np.isfinite(value).all() else 0
            least = np.finfo(float).smallest_subnormal
            np.testing.assert_allclose(
                np.ravel(answer[name]), np.ravel(value), rtol=0, atol=max(CLOSE * size, 2 * least),
                err_msg=f"{name} of {row.tolist()}",
            )


def test_its_eps_is_the_layers(calculate):
    assert calculate("DEFAULT_EPS") == LayerNorm(1).eps


@pytest.mark.parametrize("path", [HOME, WALKTHROUGH])
def test_every_example_of_the_course_can_be_taken(explorer, soups, path):
    examples = [[cell.get_text() for cell in line.select("td")] for line in soups[path].select(".examples tbody tr")]
    assert len(examples) > 12
    shown = explorer(path=path)
    choice = shown.page.locator("#explorer-example")
    for name, row, output in examples:
        choice.select_option(label=f"{name} {row}")
        bracket, _, settings = row.partition(")")
        assert shown.row == read(bracket)
        named = {{"ε": "eps", "γ": "gamma", "β": "beta"}[letter]: read(value)[0]
                 for letter, value in re.findall(r"([εγβ]) = ([\d.]+)", settings)}
        assert shown.agrees(**named)
        np.testing.assert_allclose(shown.values("restyle"), read(output), atol=5e-4)


SAVED = {
    "?row=1,2,3,4": [],
    "?row=7,3": [],
    "?row=5,5,5,5": ["center", "guard"],
    "?row=7": ["center", "guard"],
    "?row=102,104,104,106": ["center"],
    "?row=100,300,500,700": ["squeeze"],
    "?row=0,0,0,1000": ["squeeze"],
    "?row=5,5,5,5&eps=0": [],
    "?row=5,5,5,5&eps=0&gamma=3": [],
}


def test_it_says_which_move_saves_a_row(explorer, address):
    shown = explorer()
    for query, saved in SAVED.items():
        shown.page.goto(f"{address}/{HOME}{query}")
        moves = ["center", "squeeze", "guard", "restyle"]
        assert [move for move in moves if shown.panel(move).get_by_text("Saves this row").count()] == saved, query
        words = shown.verdict.inner_text()
        if saved:
            assert words.startswith(f"Saved by {' and '.join(saved)}:")
        else:
            assert words.startswith("Nothing saves this row" if "eps=0" in query else "This row needs no saving")


def test_it_says_what_would_come_out_without_a_move(explorer):
    shown = explorer("?row=102,104,104,106&gamma=2&beta=1")
    lost = {move: read(shown.panel(move).locator(".lost").inner_text()) for move in ("center", "squeeze", "restyle")}
    std = 2**0.5
    np.testing.assert_allclose(lost["center"], [2 * x / std + 1 for x in (102, 104, 104, 106)], rtol=5e-4)
    assert lost["squeeze"] == [-3, 1, 1, 5]
    np.testing.assert_allclose(lost["restyle"], [-std, 0, 0, std], rtol=5e-4)


def test_a_mouse_drags_a_dot(explorer):
    shown = explorer("?row=1,2,3,4")
    box = shown.dots.nth(3).bounding_box()
    shown.page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    shown.page.mouse.down()
    shown.page.mouse.move(box["x"] + 60, box["y"], steps=4)
    assert shown.row[3] > 4 and shown.agrees()  # while it is dragged
    shown.page.mouse.move(10, box["y"], steps=4)  # far beyond the end of the line
    shown.page.mouse.up()
    assert shown.row[:3] == [1, 2, 3]
    assert shown.row[3] < 0 and shown.agrees()
    at_rest = shown.row
    shown.page.mouse.move(400, box["y"])
    assert shown.row == at_rest


def test_a_finger_drags_a_dot_and_scrolls_the_page(explorer):
    shown = explorer("?row=1,2,3,4", width=PHONE, has_touch=True, is_mobile=True)
    shown.dots.first.scroll_into_view_if_needed()
    session = shown.page.context.new_cdp_session(shown.page)

    def touch(kind, *points):
        session.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": [{"x": x, "y": y} for x, y in points]})

    box = shown.dots.first.bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    touch("touchStart", (x + 12, y + 12))  # a finger beside the dot is near enough
    for step in range(1, 8):
        touch("touchMove", (x + 12 - 10 * step, y + 12))
    touch("touchEnd")
    assert shown.row[0] < 1 and shown.row[1:] == [2, 3, 4] and shown.agrees()
    row, before = shown.row, shown.page.evaluate("scrollY")
    box = shown.dots.nth(1).bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    touch("touchStart", (x, y))
    for step in range(1, 10):
        touch("touchMove", (x, y - 15 * step))
    touch("touchEnd")
    until(shown.page, f"scrollY > {before}")
    assert shown.row == row


def test_arrow_keys_move_a_dot(explorer):
    shown = explorer("?row=2,2,6,6")
    dot = shown.page.get_by_role("slider", name="feature 1", exact=True)
    dot.focus()
    row = shown.row
    for key, sign in [("ArrowRight", 1), ("ArrowLeft", -1), ("ArrowUp", 1), ("ArrowDown", -1)]:
        dot.press(key)
        assert np.sign(shown.row[0] - row[0]) == sign
        row = shown.row
        assert float(dot.get_attribute("aria-valuenow")) == row[0]
        assert read(dot.get_attribute("aria-valuetext")) == [row[0]]
    assert row == [2, 2, 6, 6]
    dot.press("ArrowRight")
    step = shown.row[0] - 2
    dot.press("Shift+ArrowRight")
    assert shown.row[0] == pytest.approx(2 + 1.1 * step)
    dot.press("PageDown")
    assert shown.row[0] == pytest.approx(2 + 1.1 * step - 10 * step, abs=step)
    for key, edge in [("End", "max"), ("Home", "min")]:
        end = float(dot.get_attribute(f"aria-value{edge}"))
        dot.press(key)
        assert shown.row == [pytest.approx(end, abs=step), 2, 6, 6] and shown.agrees()


def test_features_are_added_and_taken_away(explorer):
    shown = explorer("?row=1,2,3,4")
    more = shown.page.get_by_role("button", name="Add one feature")
    less = shown.page.get_by_role("button", name="Remove one feature")
    for count in range(5, 9):
        more.click()
        assert shown.dots.count() == len(shown.row) == count
    assert more.is_disabled() and shown.agrees()
    for count in range(7, 0, -1):
        less.click()
        assert shown.dots.count() == len(shown.row) == count
    assert less.is_disabled() and shown.row == [1] and shown.agrees()
    shown.page.get_by_role("button", name="Start again").click()
    assert shown.row == [1, 2, 3, 4]


def test_sliders_set_eps_gamma_and_beta(explorer):
    shown = explorer("?row=3,3.001")
    shown.slide("eps", "ArrowRight", 3)  # by 2, 5 and 10
    assert shown.agrees(eps=1e-4)
    shown.slide("eps", "Home")
    assert shown.values("guard") == [-1, 1]
    assert "no guard" in shown.page.locator("#explorer-eps").get_attribute("aria-valuetext")
    shown.slide("gamma", "ArrowLeft", 15)
    shown.slide("beta", "ArrowRight", 5)
    assert shown.values("restyle") == [1, 0]  # -0.5 times -1 and 1, plus 0.5
    assert shown.agrees(eps=0, gamma=-0.5, beta=0.5)


NONSENSE = {
    "1, two, 3": "“two” is not a number.",
    "1, 2, -": "“-” is not a number.",
    "": "There is no number here.",
    "1 2 3 4 5 6 7 8 9": "These are 9 numbers, and there is room for 8.",
    "1, 1e999": "1e999 is too large",
    "1, nan": "“nan” is not a number.",
    "<b>1</b>": "“<b>1</b>” is not a number.",
}


def test_nonsense_gets_a_clear_message_and_nothing_is_lost(explorer):
    shown = explorer("?row=2,4,4,6")
    for typed, complaint in NONSENSE.items():
        shown.type(typed)
        words = shown.complaint.inner_text()
        assert complaint in words and words.endswith("The row is still (2, 4, 4, 6).")
        assert shown.field.input_value() == typed
        assert shown.field.get_attribute("aria-invalid") == "true"
        assert shown.complaint.get_attribute("role") == "alert"
        assert shown.dots.count() == 4 and "μ = 4" in shown.page.locator(".statistics").inner_text()
    shown.type("(−1.5;\t2e0 +3)")
    assert shown.complaint.inner_text() == "" and shown.field.get_attribute("aria-invalid") is None
    assert shown.row == [-1.5, 2, 3] and shown.dots.count() == 3 and shown.agrees()


def test_half_a_number_is_no_mistake_while_it_is_typed(explorer):
    shown = explorer("?row=1,2")
    shown.field.press("End")
    for key in [",", " ", "-"]:
        shown.field.press(key)
        assert shown.complaint.inner_text() == ""
    shown.field.press("3")
    assert shown.field.input_value() == "1, 2, -3" and shown.dots.count() == 3
    shown.field.press("/")  # which the theme's search may not take
    until(shown.page, "document.querySelector('.complaint').textContent")
    assert shown.field.input_value() == "1, 2, -3/"


def test_its_state_is_in_the_address(explorer, visit):
    shown = explorer()
    assert "?" not in shown.page.url
    shown.type("102, 104, -3.25")
    shown.slide("gamma", "ArrowRight", 10)
    until(shown.page, "location.search === '?row=102,104,-3.25&gamma=2'")
    path = shown.page.url.partition("/course/")[2]
    opened = Explorer(visit(path))
    assert opened.row == [102, 104, -3.25] and opened.agrees(gamma=2)
    link = shown.page.get_by_role("link", name="Link to this row").get_attribute("href")
    assert link == "?row=102,104,-3.25&gamma=2#explorer"
    opened = Explorer(visit(HOME + link, PHONE))
    assert opened.row == [102, 104, -3.25]
    box = opened.page.locator(".stage").bounding_box()
    assert 0 <= box["y"] < 200  # the reader need not look for it


def test_an_address_that_names_no_row_is_said_so(explorer, address):
    shown = explorer()
    for query in ["?row=1,x", "?row=", "?row=1,2&eps=-1", "?row=1,2&gamma=much", "?row=1,2,3,4,5,6,7,8,9"]:
        shown.page.goto(f"{address}/{HOME}{query}")
        words = shown.complaint.inner_text()
        assert words.startswith("The address of this page names no row."), query
        assert words.endswith("Here is the first example.")
        assert shown.row == [1, 2, 3, 4] and shown.agrees()


def test_a_row_in_a_sentence_goes_to_the_explorer(explorer):
    shown = explorer(path=WALKTHROUGH)
    row = shown.page.get_by_role("link", name="(1001, 1002, 1003, 1004)")
    row.click()
    assert shown.row == [1001, 1002, 1003, 1004] and shown.agrees()
    until(shown.page, "Math.abs(document.querySelector('.stage').getBoundingClientRect().top) < 200")
    assert "walkthrough" in shown.page.url
    with shown.page.context.expect_page() as other:  # as a reader opens a link beside the page
        row.click(modifiers=["Control"])
    other.value.wait_for_url("**/row-explorer.html?row=1001,1002,1003,1004#explorer")


@pytest.mark.alone
def test_a_change_shows_within_a_frame(explorer):
    shown = explorer("?row=1,2,3,4,5,6,7,8", width=PHONE)
    times = shown.page.evaluate("""() => {
        const field = document.getElementById('explorer-row')
        return Array.from({length: 60}, (_, i) => {
            field.value = `${i}, 2, 3, 4, 5, 6, 7, 8`
            const start = performance.now()
            field.dispatchEvent(new Event('input'))
            document.querySelector('.stage').getBoundingClientRect()  // and the layout is done
            return performance.now() - start
        })
    }""")
    assert shown.row[0] == 59 and shown.agrees()
    assert np.median(times) < FRAME


def test_a_screen_reader_hears_what_came_of_a_change(explorer):
    shown = explorer()
    heard = shown.page.locator(".row-explorer [role=status]")
    assert heard.inner_text() == ""
    shown.type("5, 5")
    until(shown.page, "document.querySelector('.row-explorer [role=status]').textContent")
    assert heard.inner_text().startswith("Output (0, 0). Saved by center and guard:")
    assert shown.page.get_by_role("combobox", name="Take an example").count() == 1
    assert shown.page.get_by_role("textbox", name="or type one to eight numbers").count() == 1
    assert shown.page.get_by_role("slider", name=re.compile("ε|γ|β")).count() == 3


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("query", ["?row=1,2,3,4,5,6,7,-1000.125&eps=0&gamma=-2&beta=3", "?row=5,5,5,5&eps=0", "?row=x"])
def test_it_fits_a_small_phone_and_axe_finds_no_fault(explorer, query, scheme):
    shown = explorer(query, width=SMALL_PHONE, scheme=scheme, reduced_motion="reduce")
    assert shown.page.evaluate("document.documentElement.scrollWidth") <= SMALL_PHONE
    assert measures.axe(shown.page) == []


def test_it_can_be_used_at_four_times_the_size(explorer):
    shown = explorer("?row=1,2,3,4,5,6,7,-1000.125", device_scale_factor=4)
    shown.page.set_viewport_size(ZOOMED)
    until(shown.page, f"document.documentElement.scrollWidth <= {ZOOMED['width']}")
    assert shown.page.evaluate("getComputedStyle(document.querySelector('.panel.whole')).position") == "static"
    shown.dots.nth(2).press("ArrowRight")
    assert shown.row[2] > 3 and shown.agrees()


@pytest.mark.parametrize("path", [HOME, WALKTHROUGH])
def test_without_a_script_and_on_paper_its_examples_are_a_table(visit, path):
    page = visit(path, java_script_enabled=False)
    assert page.locator(".examples table").is_visible()
    assert page.locator(".stage").count() == 0
    page = visit(path)
    assert not page.locator(".examples table").is_visible()
    page.emulate_media(media="print")
    assert page.locator(".examples table").is_visible() and not page.locator(".stage").is_visible()


def test_it_works_in_a_page_opened_from_a_disk(browser, site):
    page = browser.new_page()
    page.goto(f"{(site / HOME).as_uri()}?row=5,5,5,5")
    shown = Explorer(page)
    shown.dots.first.press("ArrowRight")
    assert shown.row[0] > 5 and shown.agrees()
    page.close()


def test_it_is_light_and_only_where_it_is_used(site, soups):
    files = [site / "_static" / "play" / f"row_explorer.{kind}" for kind in ("js", "css")]
    assert sum(len(gzip.compress(file.read_bytes())) for file in files) < MOST_BYTES
    assert {path for path, soup in soups.items() if "row_explorer." in str(soup)} == {HOME, WALKTHROUGH}


@pytest.mark.parametrize("text", ["(1, two)", "1, 2", "(1, 2), δ = 3", "(1, 2, 3, 4, 5, 6, 7, 8, 9)"])
def test_a_row_in_a_sentence_that_is_none_fails_the_build(book, text):
    index = book.path("index.md")
    numbers = len(re.findall(r"\d", text))
    page = f"<!-- values:\nx = list(range(1, 10))\n-->\n\nTake {{explore}}`{text}`.\n\n<!-- check: x[:{numbers}] -->\n"
    index.write_text(f"{index.read_text('utf-8')}\n{page}", "utf-8")
    result = book.build()
    assert result.returncode != 0
    assert f"{text}: expected a row of one to eight numbers" in result.stderr + result.stdout
