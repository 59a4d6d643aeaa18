"""The pages for every reader: axe-core's rules, the keyboard, small phones, and what symbols mean."""

import re

import pytest

from conftest import PAGES, open_boxes, until
import measures
from measures import LAPTOP, PHONE

CHAPTER, GLOSSARY = "chapters/four-numbers.html", "chapters/glossary.html"
BESIDE = ["search.html?q=mean", "genindex.html"]  # pages that no chapter is made of
SMALL_PHONE = 360  # pixels
STILL = {"reduced_motion": "reduce"}
# What the keyboard has to reach: all that can be seen and does something. Of a group of choices that is the
# chosen one, or the first.
STOPS = """() => [...document.querySelectorAll('a[href], button, summary, input, select, [tabindex="0"]')]
    .filter(e => e.checkVisibility({visibilityProperty: true}) && !e.disabled && e.tabIndex >= 0)
    .filter(e => {
        const group = e.type === 'radio' ? [...document.getElementsByName(e.name)] : [e]
        return e === (group.find(choice => choice.checked) ?? group[0])
    })"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [PHONE, LAPTOP])
@pytest.mark.parametrize("path", PAGES + BESIDE)
def test_axe_finds_no_fault(visit, path, width, scheme):
    page = visit(path, width, scheme, **STILL)
    open_boxes(page)
    assert measures.axe(page) == []


def test_axe_finds_faults(visit):
    page = visit(CHAPTER)
    page.evaluate("document.querySelector('article img').removeAttribute('alt')")
    page.evaluate("document.querySelector('article p').style.color = '#cccccc'")
    faults = measures.axe(page)
    assert {fault.partition(":")[0] for fault in faults} == {"image-alt", "color-contrast"}


@pytest.mark.parametrize("path", PAGES)
def test_a_small_phone_shows_a_page_in_its_width(visit, path):
    page = visit(path, SMALL_PHONE)
    open_boxes(page)
    assert page.evaluate("document.documentElement.scrollWidth") <= SMALL_PHONE
    page.locator("button.primary-toggle:visible").first.click()
    menu = page.locator("#pst-primary-sidebar-modal")
    menu.get_by_role("link", name="Symbol glossary").wait_for()
    box = menu.bounding_box()
    assert 0 <= box["x"] and box["x"] + box["width"] <= SMALL_PHONE
    page.keyboard.press("Escape")
    menu.wait_for(state="hidden")


@pytest.mark.parametrize("width", [PHONE, LAPTOP])
@pytest.mark.parametrize("path", PAGES)
def test_the_keyboard_reaches_everything_and_shows_where_it_is(visit, path, width):
    page = visit(path, width, **STILL)
    open_boxes(page)
    page.evaluate(f"window.stops = ({STOPS})(); window.shadows = stops.map(e => getComputedStyle(e).boxShadow)")
    count = page.evaluate("stops.length")
    assert count > 10
    look = """() => {
        const e = document.activeElement, at = e.getClientRects()[0]
        // Chromium computes an outline for <math>, but paints none.
        const style = getComputedStyle(e.matches('math') ? e.closest('.explained') : e)
        const outlined = style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) >= 2
        const framed = outlined || style.boxShadow !== shadows[stops.indexOf(e)]
        const seen = at && at.width > 0 && at.bottom > 0 && at.top < innerHeight
        return [stops.indexOf(e), framed && seen ? '' : e.outerHTML.slice(0, 160)]
    }"""
    reached, unseen = set(), []
    for _ in range(count + 20):  # more than enough to come round
        page.keyboard.press("Tab")
        place, fault = page.evaluate(look)
        reached.add(place)
        if place >= 0 and fault:
            unseen.append(fault)
        if len(reached - {-1}) == count:
            break
    missed = "reached => stops.filter((e, i) => !reached.includes(i)).map(e => e.outerHTML)"
    assert page.evaluate(missed, list(reached)) == []
    assert unseen == []


def test_the_keyboard_can_skip_to_the_text(visit):
    page = visit(CHAPTER)
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    assert page.evaluate("document.querySelector('main').contains(document.activeElement)")


def test_the_keyboard_searches(visit):
    page = visit(CHAPTER)
    page.keyboard.press("Control+k")
    page.keyboard.press("Escape")
    page.locator("#pst-search-dialog").wait_for(state="hidden")
    page.keyboard.press("Control+k")
    page.keyboard.type("broadcasting")
    page.keyboard.press("Enter")
    page.wait_for_url("**/search.html?q=broadcasting")
    page.locator("#search-results a", has_text="Layer norm from four numbers").first.wait_for()


def test_the_keyboard_changes_the_color_scheme(visit):
    page = visit(CHAPTER, LAPTOP, "light")
    background = "getComputedStyle(document.body).backgroundColor"
    assert page.evaluate(background) == "rgb(255, 255, 255)"
    page.locator(".theme-switch-button:visible").first.focus()
    for _ in range(3):  # light, dark, as the system
        page.keyboard.press("Enter")
        if page.evaluate("document.documentElement.dataset.theme") == "dark":
            break
    until(page, f"{background} === 'rgb(18, 18, 18)'")


@pytest.mark.parametrize("path", [CHAPTER, GLOSSARY])
def test_nothing_moves_for_readers_who_want_it_so(visit, path):
    moving = """() => [...document.querySelectorAll('*')].filter(e => {
        const style = getComputedStyle(e)
        const lasts = list => list.split(', ').some(time => parseFloat(time) > 0)
        const changes = style.transitionProperty !== 'none' && lasts(style.transitionDuration)
        const runs = style.animationName !== 'none' && lasts(style.animationDuration)
        return changes || runs || style.scrollBehavior === 'smooth'
    }).length"""
    assert visit(path).evaluate(moving) > 0  # or there would be nothing to see here
    assert visit(path, **STILL).evaluate(moving) == 0


MU = "article div.math:has(mi:text('μ'))"  # the first formula on its own line that has a mean in it


def meaning(page):
    """Return what the box says, and '' when there is none to see."""
    box = page.locator("#meaning")
    return box.inner_text() if box.is_visible() else ""


def test_a_pointer_on_a_formula_shows_what_its_symbols_mean(visit):
    page = visit(CHAPTER)
    page.locator(MU).first.hover()
    until(page, "!document.getElementById('meaning').hidden")
    assert "μ, mean: The sum of the row, divided by how many features it has" in meaning(page)
    page.locator("#meaning").hover()
    page.wait_for_timeout(500)
    assert meaning(page)  # a reader can go there, to enlarge or to copy it
    page.mouse.move(2, 2)
    until(page, "document.getElementById('meaning').hidden")


@pytest.mark.parametrize("width", [SMALL_PHONE, LAPTOP])
@pytest.mark.parametrize("path", PAGES)
def test_what_symbols_mean_covers_neither_them_nor_lies_outside(visit, path, width):
    page = visit(path, width)
    open_boxes(page)
    outside = page.evaluate("""async () => {
        const found = [], box = document.getElementById('meaning')
        for (const element of document.querySelectorAll('article .explained')) {
            element.scrollIntoView({block: 'center', behavior: 'instant'})
            element.dispatchEvent(new PointerEvent('pointerover', {bubbles: true, pointerType: 'mouse'}))
            const at = box.getBoundingClientRect()
            const its = (element.querySelector('math mrow, math mi') ?? element).getClientRects()[0]
            const roof = document.querySelector('.bd-header-article').getBoundingClientRect().bottom
            const beside = at.top >= its.bottom || at.bottom <= its.top
            // A long one may go on below the window: the page scrolls.
            const inside = at.left >= 0 && at.right <= innerWidth && at.top >= roof && at.top < innerHeight && beside
            if (box.hidden || !inside || !box.textContent) found.push(element.outerHTML.slice(0, 200))
        }
        return found
    }""")
    assert outside == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_the_keyboard_shows_what_symbols_mean(visit):
    page = visit(CHAPTER)
    formula = page.locator(f"{MU} math[tabindex='0']").first
    formula.focus()
    assert "μ, mean: The sum of the row" in meaning(page)
    page.keyboard.press("Escape")
    assert meaning(page) == ""
    page.locator("article a.explained", has_text="layer").first.focus()
    assert "One step of a network." in meaning(page)
    page.keyboard.press("Tab")
    assert "One step of a network." not in meaning(page)


@pytest.mark.parametrize("path", [CHAPTER, GLOSSARY])
def test_each_symbol_of_a_section_has_a_stop_of_the_keyboard(visit, path):
    titles = {}
    context = visit(path, java_script_enabled=False)
    for section, title in context.locator("article .explained[title]:has(math):not(summary *)").evaluate_all(
        "all => all.map(e => [e.closest('section').id, e.title])"
    ):
        written = title.replace("_i", "ᵢ").replace(" - ", " − ")  # a title can have no formulas
        titles.setdefault(section, set()).update(written.split("\n"))
    page = visit(path)
    open_boxes(page)
    shown = {}
    for stop in page.locator("article math[tabindex='0']").all():
        stop.focus()
        section = stop.evaluate("e => e.closest('section').id")
        shown.setdefault(section, set()).update(re.split(r"\n+", meaning(page)))
    assert len(shown) > 3
    assert shown == titles


def test_a_tap_shows_what_symbols_mean(visit):
    page = visit(CHAPTER, PHONE, has_touch=True, is_mobile=True)
    page.locator(MU).first.tap()
    assert "μ, mean: The sum of the row" in meaning(page)
    page.locator("article h1").tap()
    assert meaning(page) == ""


def test_a_screen_reader_hears_what_symbols_mean(visit):
    page = visit(CHAPTER)
    page.locator(f"{MU} math[tabindex='0']").first.focus()
    session = page.context.new_cdp_session(page)
    nodes = session.send("Accessibility.getFullAXTree")["nodes"]
    described = [node for node in nodes if node.get("description", {}).get("value")]
    [formula] = [node for node in described if "μ, mean: The sum of the row" in node["description"]["value"]]
    assert formula["role"]["value"] == "MathMLMath"


def test_without_a_script_titles_say_what_symbols_mean(visit):
    page = visit(CHAPTER, java_script_enabled=False)
    title = page.locator("article .explained:has(div.math)").first.get_attribute("title")
    assert "μ, mean: The sum of the row" in title
