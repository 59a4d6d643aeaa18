"""The questions and their answer boxes: used as a person would, on every page that has some."""

from fractions import Fraction
import gzip
import math
import re

import pytest
from sphinx.application import Sphinx
from sphinx.errors import SphinxWarning
from sphinx.util.docutils import docutils_namespace, patch_docutils

from conftest import PAGES
from lnlib import layer_norm, rms_norm
import measures
from measures import LAPTOP, PHONE, ROOT

CHAPTER = "chapters/four-numbers.html"
NAMES = ("four-numbers", "worked-examples", "walkthrough", "claims", "glossary")
CHAPTERS = [f"chapters/{name}.html" for name in NAMES]
ROW, NUMBER, CHOICE = "ask-four-row", "ask-four-eps", "ask-four-apart"
MOST = 15_000  # bytes, compressed


def entries(question):
    """Return (answer, explanation, whether it is right) for each answer of a question in a parsed page."""
    for item in question.select(".answers > li"):
        first, *rest = item.find_all(recursive=False)
        text = re.sub(r"^(Right|Not right): ", "", first.get_text())
        yield text, " ".join(part.get_text() for part in rest), "data-right" in item.attrs


def stated(soups, name):
    """Return the right answer of a question, as its page states it."""
    [question] = [found for soup in soups.values() for found in soup.select(f"#{name}")]
    [text] = [text for text, _, right in entries(question) if right]
    return text


def numbers(text):
    words = re.findall(r"[-−]?[\d.]+", re.sub(r"(?<=\d),(?=\d)", "", text))
    return [float(word.replace("−", "-")) for word in words]


def give(page, name, answer):
    """Give an answer, as a text or as the place of a choice; return what the page says to it."""
    said = """([name, answer]) => {
        const box = document.getElementById(name)
        if (typeof answer === 'string') box.querySelector('input').value = answer
        else box.querySelectorAll('input')[answer].checked = true
        box.querySelector('form').requestSubmit()
        return box.querySelector('[role=status]').textContent
    }"""
    return plain(page.evaluate(said, [name, answer]))


def plain(text):
    return re.sub(r"\s+", " ", text).strip()


@pytest.mark.parametrize("path", CHAPTERS)
def test_each_answer_gets_its_own_explanation(visit, soups, path):
    page, questions = visit(path), soups[path].select(".question")
    assert len(questions) >= 3
    assert {bool(question.select(".choices")) for question in questions} == {True, False}
    for question in questions:
        name, found = question["id"], list(entries(question))
        assert len({plain(explanation) for _, explanation, _ in found}) == len(found), name
        far = ", ".join(["1e300"] * len(numbers(found[0][0])))
        for place, (text, explanation, right) in enumerate(found):
            choice = bool(question.select(".choices"))
            typed = far if text == "Something else" else text.removeprefix("about ")
            verdict = "Right." if right else "Not this one." if choice else "Not yet."
            said = give(page, name, place if choice else typed)
            assert said == plain(f"{verdict} {explanation}"), (name, text)


def test_only_chapters_have_questions(soups):
    assert {path for path, soup in soups.items() if soup.select(".question")} == set(CHAPTERS)


def test_names_are_unique_in_the_course(soups):
    names = [question["id"] for soup in soups.values() for question in soup.select(".question")]
    assert len(names) == len(set(names)) >= 25


def normalized(*row):
    """Return what layer norm without eps makes of a row, from exact fractions but for the root."""
    mean = Fraction(sum(row), len(row))
    std = math.sqrt(sum((x - mean) ** 2 for x in row) / len(row))
    return [float(x - mean) / std for x in row]


@pytest.mark.parametrize(
    "name, value",
    [
        (ROW, normalized(3, 9, 11, 17)),
        ("ask-four-scaled", normalized(2, 2, 6, 6)),
        (NUMBER, [4**2 - 4]),
        ("ask-four-restyle", [2, 3]),
        ("ask-four-means", [2 * 4]),
        ("ask-four-parameters", [2 * 768]),
        ("ask-examples-scaled", normalized(2, 4, 4, 6)),
        ("ask-examples-flipped", normalized(6, 4, 4, 2)),
        ("ask-examples-far", [math.sqrt(3)]),
        ("ask-examples-gap", [2 * math.sqrt(1e-5 / 3)]),
        ("ask-examples-undo", [-1, -1, 1, 1]),
        ("ask-walk-variance", [9]),
        ("ask-walk-row", [-1, -1 / 3, -1 / 3, 5 / 3]),
        ("ask-walk-guarded-variance", [1 / 9]),
        ("ask-walk-guarded-std", [1 / 3]),
        ("ask-walk-restyle", [3, 10]),
        ("ask-claims-rounding", [20 * (0.45 - 1 / math.sqrt(5))]),
        ("ask-claims-undo", [math.sqrt(5), 9]),
        ("ask-claims-factor", [math.sqrt(1e-5 / 3.75)]),
        ("ask-claims-unit", [0.1]),
        ("ask-glossary-eps", [0.1]),
        ("ask-glossary-variance", [0.001 / 3]),
        ("ask-glossary-counts", [2 * 3, 4, 4 + 4]),
    ],
)
def test_right_answers_are_right(soups, name, value):
    text = stated(soups, name)
    decimals = max(len(digits) for digits in re.findall(r"\.(\d+)", text)) if "about" in text else 12
    assert numbers(text) == pytest.approx(value, rel=0, abs=0.51 * 10**-decimals)


def test_right_choices_are_right(soups):
    """Where a choice says what the library can be asked."""
    row, lost, restored = [1.0, 2.0, 3.0, 4.0], [2.0, 3.0, 4.0, 5.0], [4.0, 3.0, 2.0, 1.0]

    def back(other):
        return layer_norm(other, eps=0) * math.sqrt(1.25) + 2.5

    assert back(restored) == pytest.approx(restored) and back(lost) == pytest.approx(row)
    assert numbers(stated(soups, "ask-walk-restored")) == restored
    assert rms_norm([65.0, 75.0]) != pytest.approx(rms_norm([60.0, 70.0]))
    assert stated(soups, "ask-glossary-shift") == "RMSNorm"


# A question, what somebody types, the verdict, and words of the explanation.
WRITTEN = [
    # Right, however it is written.
    (ROW, "-1.4 -0.2 0.2 1.4", "Right.", "the std, which is 5"),
    (ROW, "[−1.4; −.2; 0.20; 1.4e0]", "Right.", ""),
    (ROW, "−7/5, −1/5, 1 / 5, 7/5", "Right.", ""),
    (NUMBER, " 12.0 ", "Right.", ""),
    (NUMBER, "24/2", "Right.", ""),
    ("ask-four-parameters", "1,536", "Right.", ""),
    ("ask-four-parameters", "1536", "Right.", ""),
    # The root of three, to as many digits as one likes, but three.
    ("ask-examples-far", "1.73", "Right.", ""),
    ("ask-examples-far", "1.732", "Right.", ""),
    ("ask-examples-far", "1.7320508", "Right.", ""),
    ("ask-examples-far", "1.7", "Right as far as it goes.", "three digits"),
    ("ask-examples-far", "2", "Not yet.", "mean is a quarter"),
    ("ask-examples-far", "1.73218", "Not yet.", ""),
    ("ask-examples-far", "1.74", "Close.", "round once"),
    ("ask-examples-far", "1.75", "Not yet.", "mean is a quarter"),
    ("ask-examples-gap", "3.65e-3", "Right.", ""),
    ("ask-examples-gap", "0", "Not yet.", "Call half the gap"),
    ("ask-walk-row", "−1, −0.33, −0.33, 1.67", "Right.", ""),
    ("ask-walk-row", "−1, −1/3, −1/3, 5/3", "Right.", ""),
    ("ask-walk-row", "−1.3, −0.33, −0.33, 1.67", "Not yet.", ""),
    ("ask-walk-guarded-variance", "1/9", "Right.", ""),
    # Not right, with what it comes from, also when it is rounded.
    (ROW, "−7, −1, 1, 7", "Not yet.", "These are the deviations"),
    (ROW, "-1.21, -0.17, 0.17, 1.21", "Not yet.", "one less than the count"),
    (ROW, "1.4, 0.2, −0.2, −1.4", "Not yet.", "Go step by step"),
    (NUMBER, "11", "Not yet.", "By what must the deviations"),
    ("ask-claims-factor", "0.0000027", "Not yet.", "Take its root"),
]
NONSENSE = [
    (NUMBER, "", "There is no number here."),
    (NUMBER, "twelve", "“twelve” is not a number."),
    (NUMBER, "<b>12</b>", "is not a number."),
    (NUMBER, "1/0", "Nothing can be divided by 0."),
    (NUMBER, "1/2/3", "more than one fraction line"),
    (NUMBER, "1e999", "too large"),
    (NUMBER, "12 13", "The answer has 1 number, and this has 2 numbers."),
    (NUMBER, "12,5", "Write decimals after a point"),
    (NUMBER, "1,414", "Write decimals after a point"),
    (ROW, "−1.4, −0.2, 0.2", "The answer has 4 numbers, and this has 3 numbers."),
    (ROW, "-1,4, -0,2, 0,2, 1,4", "Write decimals after a point"),
    (ROW, "−1.4, −0.2, 0.2, √2", "“√2” is not a number."),
]


def test_answers_may_be_written_as_people_write(visit, soups):
    pages = {}
    for name, typed, verdict, words in WRITTEN:
        [path] = [path for path, soup in soups.items() if soup.select(f"#{name}")]
        page = pages[path] = pages.get(path) or visit(path)
        text = give(page, name, typed)
        assert text.startswith(verdict) and words in text, (name, typed)


def test_nonsense_is_explained_and_nothing_lost(visit):
    page = visit(CHAPTER)
    for name, typed, words in NONSENSE:
        box = page.locator(f"#{name}")
        assert words in give(page, name, typed), typed
        assert box.locator("input").input_value() == typed
        assert box.locator("input").get_attribute("aria-invalid") == "true"
        assert page.evaluate("document.activeElement.id") == f"{name}-input"
        assert give(page, name, "16" if name == NUMBER else "1 2 3 4").startswith("Not yet.")
        assert box.locator("input").get_attribute("aria-invalid") is None


def test_the_keyboard_alone_answers(visit):
    page = visit(CHAPTER)
    page.locator(f"#{NUMBER} input").focus()
    page.keyboard.type("24/2")  # the theme has a use for the slash elsewhere
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Check"
    page.keyboard.press("Space")
    assert page.locator(f"#{NUMBER}").get_by_role("status").inner_text().startswith("Right.")
    page.keyboard.press("Tab")  # to the way out
    page.keyboard.press("Enter")
    assert page.locator(f"#{NUMBER} .answers").is_visible()


def test_the_keyboard_alone_chooses(visit):
    page = visit(CHAPTER)
    feedback = page.locator(f"#{CHOICE}").get_by_role("status")
    page.locator(f"#{CHOICE} button").focus()
    page.keyboard.press("Enter")
    assert feedback.inner_text() == "Choose one of the answers first."
    page.keyboard.press("ArrowDown")  # the first choice has the focus now
    assert feedback.inner_text() == "Choose one of the answers first."
    page.keyboard.press("Enter")
    assert feedback.inner_text().startswith("Not this one. Tokens of a sentence")
    page.keyboard.press("ArrowUp")
    page.keyboard.press("Enter")
    assert feedback.inner_text().startswith("Right.")


def test_a_finger_answers(visit):
    page = visit(CHAPTER, PHONE, has_touch=True, is_mobile=True)
    box = page.locator(f"#{CHOICE}")
    box.get_by_text("all of them").first.tap()
    box.get_by_role("button").tap()
    assert box.get_by_role("status").inner_text().startswith("Not this one. Only a mean over the whole block")
    page.locator(f"#{ROW} label").tap()
    page.keyboard.type("-7 -1 1 7")
    page.locator(f"#{ROW} button").tap()
    assert "deviations" in page.locator(f"#{ROW}").get_by_role("status").inner_text()
    targets = page.locator(".question :is(button, input[type=text], .choices label, summary)")
    assert targets.count() > 10
    assert targets.evaluate_all("all => Math.min(...all.map(e => e.getBoundingClientRect().height))") >= 44


def test_a_screen_reader_hears_what_is_asked_and_said(visit):
    page = visit(CHAPTER)
    assert page.get_by_role("textbox", name="How many means are computed?").count() == 1
    group = page.get_by_role("group", name="One number of one token changes. Which means change?")
    assert group.get_by_role("radio", name="that of its own row only").count() == 1
    for element in (group, page.locator(f"#{ROW} input")):
        feedback = page.locator("#" + element.get_attribute("aria-describedby"))
        assert feedback.get_attribute("role") == "status"


@pytest.mark.parametrize(
    "path, width, scheme",
    [(CHAPTER, 320, "light"), (CHAPTER, 1280, "dark"), ("chapters/walkthrough.html", 360, "dark")],
)
def test_feedback_can_be_read_by_everyone(visit, path, width, scheme):
    """320 pixels are a laptop's 1280 at 400 %."""
    page = visit(path, width, scheme, reduced_motion="reduce")
    page.locator(".question summary").evaluate_all("all => all.forEach(e => { e.parentElement.open = true })")
    for place, name in enumerate(page.locator(".question").evaluate_all("all => all.map(box => box.id)")):
        last = page.locator(f"#{name} [type=radio]").count() - 1
        assert give(page, name, last if last > 0 else "1e300" if place % 2 else "nonsense")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    beyond = f"all => all.filter(e => e.getBoundingClientRect().right > {width}).length"
    assert page.locator(".question :is(input, button, p, label)").evaluate_all(beyond) == 0
    assert measures.axe(page) == []


def test_a_formula_in_feedback_harms_nothing(visit):
    page = visit(CHAPTER)
    give(page, NUMBER, "99")
    assert "By what must the deviations" in page.locator(f"#{NUMBER} .answers").text_content()
    page.locator(f"#{NUMBER} .feedback math").first.hover()
    page.wait_for_timeout(300)  # a meaning would be shown by now; an error would fail the test
    assert page.locator("#meaning").is_hidden()


@pytest.mark.parametrize("path, width", [(CHAPTER, PHONE), ("chapters/claims.html", LAPTOP)])
def test_nothing_moves_when_the_script_comes(visit, browser, address, path, width):
    height = "() => document.querySelector('article').getBoundingClientRect().height"
    with_script = visit(path, width).evaluate(height)
    context = browser.new_context(viewport={"width": width, "height": measures.HEIGHT}, color_scheme="light")
    context.route("**/play/questions.js*", lambda route: route.fulfill(body="", content_type="text/javascript"))
    page = context.new_page()
    page.goto(f"{address}/{path}", wait_until="networkidle")
    assert page.locator(".question form").count() == 0
    without = page.evaluate(height)
    context.close()
    assert with_script == pytest.approx(without, abs=4)


def test_without_scripts_there_are_questions_and_answers(visit):
    page = visit(CHAPTER, java_script_enabled=False)
    box = page.locator(f"#{CHOICE}")
    assert page.locator(".question :is(form, input, button)").count() == 0
    assert "Which means change?" in box.inner_text() and "all of them" in box.inner_text()
    box.locator("summary").click()
    assert "Right: that of its own row only" in box.inner_text()


def test_on_paper_there_are_questions_and_answers(visit):
    page = visit(CHAPTER)
    give(page, ROW, "1 2 3 4")
    page.emulate_media(media="print")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert page.locator(".question :is(input, button, .feedback):visible").count() == 0
    for name, words in ((ROW, "Right: (−1.4, −0.2, 0.2, 1.4)"), (CHOICE, "those of all tokens of its sentence")):
        text = page.locator(f"#{name}").inner_text()
        assert words in text and "Answers" in text


def test_the_script_is_light_and_only_where_there_are_questions(site, soups):
    files = [site / "_static" / "play" / f"questions.{kind}" for kind in ("js", "css")]
    assert sum(len(gzip.compress(file.read_bytes())) for file in files) <= MOST
    for path in PAGES:
        assert bool(soups[path].select("script[src*='play/questions.js']")) == (path in CHAPTERS)
        assert bool(soups[path].select("link[href*='play/questions.css']")) == (path in CHAPTERS)


QUESTION = """\
:::{dropdown} Which mean does (1, 3) have?
:name: ask-mean

- [x] 2

  Half of the sum.

- [ ] about −4.5

  That is something.

- [ ] something else

  Add up and divide.
:::
"""
FIRST, *_ = QUESTION.split("- [ ]")


def built(folder, text, builder="html"):
    """Build a book of one page, where a warning is an error; return the folder with what was built."""
    (folder / "conf.py").write_text(
        "import sys\n"
        f"sys.path.insert(0, {str(ROOT)!r})\n"
        "extensions = ['myst_parser', 'play.questions']\n"
        "myst_enable_extensions = ['colon_fence', 'dollarmath']\n"
        "copyright = version = '1'\nsuppress_warnings = ['epub']\n"
    )
    (folder / "index.md").write_text(f"# Page\n\n{text}", "utf-8")
    out = folder / "out"
    with patch_docutils(), docutils_namespace():
        Sphinx(folder, folder, out, folder / "trees", builder, status=None, warningiserror=True).build()
    return out


@pytest.mark.parametrize(
    "text, complaint",
    [
        (QUESTION.replace(":name: ask-mean\n", ""), "needs a name that begins with ask-"),
        (QUESTION.replace("ask-mean", "mean"), "needs a name that begins with ask-"),
        (QUESTION + "\n" + QUESTION, "two questions of this page have the name ask-mean"),
        (QUESTION.replace("[x]", "[ ]"), "one answer of a question is right"),
        (QUESTION.replace("[ ] about", "[x] about"), "one answer of a question is right"),
        (QUESTION.replace("[x] 2", "2"), "an answer begins with"),
        (QUESTION.replace("  Half of the sum.\n", ""), "is explained below it"),
        (QUESTION.replace("[x] 2", "[x] two"), "a number or a row of them"),
        (QUESTION.replace("about −4.5", "(1, 2)"), "as many numbers as the right one"),
        (QUESTION.replace("something else", "5"), "the last of the answers to be typed"),
        (QUESTION.replace(":name:", ":class: choices\n:name:"), "choices"),
        (QUESTION.replace("- [x]", "Words.\n\n- [x]"), "one list of answers, and nothing beside it"),
    ],
)
def test_a_question_that_cannot_be_asked_fails_the_build(tmp_path, text, complaint):
    with pytest.raises(SphinxWarning, match=re.escape(complaint)):
        built(tmp_path, text)


def test_a_question_is_plain_in_an_ebook(tmp_path):
    page = (built(tmp_path, QUESTION, "epub") / "index.xhtml").read_text("utf-8")
    assert "Which mean does (1, 3) have?" in page
    assert re.search(r"<details>\s*<summary>Answers</summary>", page)
    assert "Right: </strong>2</p>" in page and "Something else" in page
    assert not re.search(r"<(form|input|button|script[^>]*questions)", page)
