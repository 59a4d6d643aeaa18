"""The built book in a browser, as a reader with a phone or a laptop meets it."""

import io
import os
from pathlib import Path
import re
from urllib.parse import unquote, urlsplit

import pytest

from conftest import PAGES, ROOT, SOURCES, open_boxes, until
from gate import notebooks, prose
from lnlib.figures import COLORS
import measures
from measures import LAPTOP, PHONE

INDEX, CHAPTER = "chapters/index.html", "chapters/four-numbers.html"
GLOSSARY, REFERENCES = "chapters/glossary.html", "chapters/references.html"
NOTEBOOKS = [path for path, source in SOURCES.items() if source.suffix == ".ipynb"]
MOST_REQUESTS, MOST_BYTES = 15, 250_000  # of a page's first visit, figures in sight included, gzipped
LEAST = {"performance": 95, "accessibility": 100, "best-practices": 100, "seo": 100}  # Lighthouse's scores
TRIES = 3  # a busy machine can only lower a score, so one good try counts
THUMB = 44  # pixels: what a thumb hits
CODE_COLUMNS = 48  # characters for which a box of code has room on a phone
HOSTS = {"arxiv.org", "docs.pytorch.org"}  # where links out of the course may lead


def written(path):
    """Return the Markdown that a page is made of, without snippets and checks."""
    source = SOURCES[path]
    if source.suffix == ".ipynb":
        texts = [cell.source for cell in notebooks.read(source).cells if cell.cell_type == "markdown"]
    else:
        texts = [source.read_text("utf-8")]
    return "\n\n".join(prose.COMMENT.sub("", prose.SNIPPET.sub("", text)) for text in texts)


def stored_pictures(path):
    """Count the pictures that a page's source holds: drawings in outputs, and those in the text."""
    cells = notebooks.read(SOURCES[path]).cells if path in NOTEBOOKS else ()
    outputs = [output for cell in cells for output in cell.get("outputs", ())]
    return sum("image/svg+xml" in output.get("data", {}) for output in outputs) + written(path).count("![")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [PHONE, LAPTOP])
@pytest.mark.parametrize("path", PAGES)
def test_a_page_is_whole(visit, path, width, scheme):
    page = visit(path, width, scheme)
    open_boxes(page)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    # The trainer of flashcards shows a copy of one.
    images = page.eval_on_selector_all("article img:not(.trainer *)", "all => all.map(i => [i.alt, i.complete && i.naturalWidth])")
    assert len(images) == stored_pictures(path)
    for alt, loaded_width in images:
        assert loaded_width > 0
        assert len(alt.split()) > 10
    text = page.locator("article").evaluate("""article => {
        const copy = article.cloneNode(true)
        copy.querySelectorAll('pre, code, annotation').forEach(e => e.remove())
        return copy.textContent
    }""")
    assert not re.search(r"\\[a-zA-Z(\[]|\$|check:|values:|\[\^|\]\[|\]\(", text)
    assert page.locator("article math:not(.trainer *)").count() == len([*prose.MATH.finditer(written(path))])


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("path", [CHAPTER, GLOSSARY])
def test_code_stands_out_from_its_background(visit, path, scheme):
    page = visit(path, LAPTOP, scheme)
    open_boxes(page)
    colors = page.eval_on_selector_all(
        "article .highlight pre span:not(.linenos)",
        """all => all.filter(e => e.textContent.trim()).map(e => {
            const box = e.closest('pre')
            return [getComputedStyle(e).color, getComputedStyle(box).backgroundColor].map(c => c.match(/[\\d.]+/g))
        })""",
    )
    pairs = {tuple(tuple(float(n) for n in color[:3]) for color in pair) for pair in colors}
    assert len(pairs) > 3
    assert {pair for pair in pairs if contrast(*pair) < 4.5} == set()


def contrast(one, other):
    """Return the contrast ratio of two colors as WCAG 2.2 defines it."""
    lights = []
    for color in (one, other):
        parts = [c / 255 / 12.92 if c / 255 <= 0.04045 else ((c / 255 + 0.055) / 1.055) ** 2.4 for c in color]
        lights.append(sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), parts)))
    return (max(lights) + 0.05) / (min(lights) + 0.05)


@pytest.mark.parametrize("scheme, background", [("light", (255, 255, 255)), ("dark", (18, 18, 18))])
@pytest.mark.parametrize("path", NOTEBOOKS)
def test_figures_have_the_background_of_their_page(visit, path, scheme, background):
    from PIL import Image

    page = visit(path, LAPTOP, scheme)
    open_boxes(page)
    for figure in page.locator("article .cell_output img").all():
        picture = Image.open(io.BytesIO(figure.screenshot())).convert("RGB")
        assert picture.getpixel((2, 2)) == background
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == f"rgb{background}"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_letters_in_formulas_have_the_colors_of_the_figures(visit, scheme):
    letters = {
        "raw": "semantics > msub:not(:has(mover)) > mi:text('x')",
        "mean": "mi:text('μ')",
        "spread": "msup > mi:text('σ')",
        "normalized": "msub > mover > mi:text('x')",
        "output": "mi:text('y')",
    }
    page = visit(GLOSSARY, LAPTOP, scheme)
    for name, letter in letters.items():
        color = COLORS[name][scheme == "dark"]
        rgb = ", ".join(str(int(color[i : i + 2], 16)) for i in (1, 3, 5))
        shown = page.locator(f"article math {letter}").first.evaluate("e => getComputedStyle(e).color")
        assert shown == f"rgb({rgb})"


@pytest.mark.parametrize("path", PAGES)
def test_a_page_is_easy_to_use_on_a_phone(visit, path):
    page = visit(path, PHONE)
    open_boxes(page)
    # The triangle belongs to the line itself, or to those words in it that are shown.
    lids = page.eval_on_selector_all(
        "article details > summary",
        """all => all.map(s => [s.innerText, s.offsetHeight, [s, ...s.children].some(e => {
            const style = getComputedStyle(e)
            return style.display === 'list-item' && style.listStyleType !== 'none' && e.offsetHeight
        })])""",
    )
    assert [text for text, height, marked in lids if height < THUMB or not marked] == []
    too_wide = """all => all.filter(e => {
        let scroller = e
        while (scroller && getComputedStyle(scroller).overflowX !== 'auto') scroller = scroller.parentElement
        const box = (scroller || e).getBoundingClientRect()
        return box.left < 0 || box.right > innerWidth
    }).map(e => e.textContent)"""
    assert page.eval_on_selector_all("article :is(pre, table, div.math, math)", too_wide) == []
    # A formula can scroll in its box, but a reader should not have to: break it by hand.
    wide = "all => all.filter(e => e.scrollWidth > e.clientWidth + 1).map(e => e.textContent)"
    assert page.eval_on_selector_all("article div.math", wide) == []
    cramped = """(all, columns) => all.map(e => {
        const text = e.textContent
        e.textContent = 'x'.repeat(columns)
        return e.scrollWidth > e.clientWidth ? text : ''
    }).filter(Boolean)"""
    assert page.eval_on_selector_all("article pre", cramped, CODE_COLUMNS) == []


@pytest.mark.parametrize("width", [PHONE, LAPTOP])
@pytest.mark.parametrize("path", PAGES)
def test_a_formula_in_a_sentence_stands_in_its_own_place(visit, path, width):
    page = visit(path, width)
    open_boxes(page)
    moved = page.eval_on_selector_all(
        "article span.math",
        """all => all.filter(formula => {
            const place = formula.getBoundingClientRect()
            const letters = formula.querySelector('semantics > *').getBoundingClientRect()
            return !place.width || letters.left < place.left - 1 || letters.right > place.right + 1
        }).map(formula => formula.parentElement.parentElement.textContent)""",
    )
    assert moved == []


@pytest.mark.parametrize("path", PAGES)
def test_no_line_begins_with_the_comma_after_a_formula(visit, path):
    page = visit(path, PHONE)
    open_boxes(page)
    parted = page.eval_on_selector_all(
        "article span.math",
        """all => all.map(formula => {
            const texts = document.createTreeWalker(formula.closest('article'), NodeFilter.SHOW_TEXT)
            texts.currentNode = formula
            let next = texts.nextNode()
            while (next && formula.contains(next)) next = texts.nextNode()
            if (!next || !/^[,.;:!?)]/.test(next.data)) return ''
            const range = document.createRange()
            range.setStart(next, 0)
            range.setEnd(next, 1)
            const parted = range.getBoundingClientRect().left < formula.getBoundingClientRect().right - 1
            return parted ? formula.parentElement.parentElement.textContent : ''
        }).filter(Boolean)""",
    )
    assert parted == []


def addresses(soup):
    """Return everything a page points to: its links, pictures, scripts and styles."""
    return [tag[name] for name in ("href", "src") for tag in soup.find_all(**{name: True})]


def test_links_lead_somewhere(soups, site):
    assert set(PAGES) < set(soups)
    ids = {site / path: {tag["id"] for tag in soup.find_all(id=True)} for path, soup in soups.items()}
    lost = []
    for path, soup in soups.items():
        for link in addresses(soup):
            url = urlsplit(link)
            if url.scheme or url.netloc:
                continue
            # The page for lost readers is shown anywhere, so its addresses start at the site's root.
            root = soup.html.get("data-content_root", "") if path == "404.html" else ""
            place = site / unquote(url.path).removeprefix(root) if root else unquote(url.path)
            target = Path(os.path.normpath((site / path).parent / place)) if url.path else site / path
            anchor = unquote(url.fragment)
            if not target.is_file() or site not in target.parents or anchor and anchor not in ids.get(target, ()):
                lost.append((path, link))
    assert lost == []


def test_links_lead_out_to_known_places_only(soups):
    links = {(path, link) for path, soup in soups.items() for link in addresses(soup)}
    outward = [(path, link) for path, link in links if urlsplit(link).scheme or urlsplit(link).netloc]
    assert outward
    assert [o for o in outward if not o[1].startswith(tuple(f"https://{host}/" for host in HOSTS))] == []


def test_every_term_of_the_glossary_has_an_anchor(soups):
    listing = re.search(r"^```\{glossary\}\n(.*?)^```", SOURCES[GLOSSARY].read_text("utf-8"), re.S | re.M)[1]
    terms = [line for line in listing.splitlines() if line and line[0] not in " :"]
    anchors = [dt.get_text().removesuffix("#") for dt in soups[GLOSSARY].select("dl.glossary dt[id^=term-]")]
    assert len(terms) > 10
    assert sorted(anchors) == sorted(terms)


def links_to_anchors(soups):
    """Return the anchors to which the text of some page leads."""
    links = (link["href"] for path in PAGES for link in soups[path].article.select("a[href*='#']:not(.headerlink)"))
    return {urlsplit(link).fragment for link in links}


def test_every_term_is_used(soups):
    entries, terms = [], []
    for tag in soups[GLOSSARY].select("dl.glossary > *"):
        if tag.name == "dt":
            terms.append(tag["id"])
        else:
            entries.append(set(terms))
            terms.clear()
    assert len(entries) > 10
    used = links_to_anchors(soups)
    assert [terms for terms in entries if not terms & used] == []


def test_every_label_is_used(soups):
    # The name of a flashcard is no label: it tells readers' cards apart.
    labels = {label for path in PAGES for label in re.findall(r"^\((.+)\)=$", written(path), re.M)}
    assert len(labels) > 10
    assert labels - links_to_anchors(soups) == set()


def test_every_reference_is_cited(soups):
    keys = re.findall(r"^@\w+\{(.+),$", (ROOT / "chapters" / "references.bib").read_text("utf-8"), re.M)
    entries = {f"#{e['id']}": e.get_text(" ", strip=True) for e in soups[REFERENCES].select("div.citation[id]")}
    assert len(entries) == len(keys) > 0
    cited = {
        link["href"].removeprefix(Path(REFERENCES).name)
        for path in PAGES if path != REFERENCES
        for link in soups[path].select(".bibtex-citation a[href]")
    }  # fmt: skip
    assert [text for anchor, text in entries.items() if anchor not in cited] == []


def test_pages_are_rid_of_what_they_do_not_need(soups):
    for path, soup in soups.items():
        if path == "index.html":  # the front door only redirects
            continue
        scripts = " ".join(tag["src"] for tag in soup.find_all("script", src=True))
        assert "fontawesome" not in str(soup.head) and not soup.select("i.fa-solid, i.fas, span.fa-solid")
        assert ("searchindex.js" in scripts) == (path == "search.html")
        styles = [tag["href"] for tag in soup.find_all("link", rel="stylesheet")]
        assert len([address for address in styles if "_static/play/" not in address]) == 1
        figures = soup.select("article img")
        assert all(int(figure["width"]) > 100 and int(figure["height"]) > 50 for figure in figures)
        assert [figure.get("loading") for figure in figures[1:]] == ["lazy"] * (len(figures) - 1 if figures else 0)


@pytest.mark.parametrize("path", PAGES)
def test_a_page_is_light(browser, address, path):
    asked, size = measures.weight(browser, f"{address}/{path}")
    assert len(asked) <= MOST_REQUESTS, asked
    assert size <= MOST_BYTES


@pytest.mark.alone
@pytest.mark.parametrize("path", PAGES)
def test_lighthouse_is_content(browser, address, path):
    if not measures.SCRIPT.is_file() and not os.environ.get("CI"):
        pytest.skip("needs Lighthouse: make lighthouse")
    for _ in range(TRIES):
        scores, report = measures.lighthouse(f"{address}/{path}")
        if all(scores[name] >= least for name, least in LEAST.items()):
            return
    low = {name: audit["displayValue"] for name, audit in report["audits"].items() if audit.get("displayValue")}
    pytest.fail(f"{scores}: {low}")


@pytest.mark.parametrize("width", [PHONE, LAPTOP])
@pytest.mark.parametrize("path", PAGES)
def test_nothing_moves_while_a_page_loads(visit, path, width):
    page = visit(path, width)
    moved = page.evaluate("""() => new Promise(done => {
        const moves = []
        const add = entry => moves.push([entry.value, entry.sources.map(s => s.node && s.node.textContent)])
        new PerformanceObserver(l => l.getEntries().forEach(add)).observe({type: 'layout-shift', buffered: true})
        setTimeout(() => done(moves), 300)
    })""")
    assert sum(value for value, _ in moved) < 0.02, moved


def test_no_page_may_run_what_did_not_come_with_it(browser, address, soups):
    assert all(soup.select("meta[http-equiv=Content-Security-Policy]") for soup in soups.values())
    page = browser.new_page()
    page.goto(f"{address}/{CHAPTER}")
    page.evaluate("""() => {
        window.refused = []
        document.addEventListener('securitypolicyviolation', e => refused.push(e.violatedDirective))
        const script = document.createElement('script')
        script.textContent = 'window.ran = true'
        document.head.append(script)
    }""")
    until(page, "refused.length")
    assert page.evaluate("[window.ran, ...refused]") == [None, "script-src-elem"]
    page.close()


def test_icons_are_drawn(visit):
    page = visit(INDEX)
    visible = "all => all.filter(e => e.checkVisibility()).map(e => e.getBBox().width)"
    sizes = page.eval_on_selector_all("svg.drawn-icon", visible)
    assert len(sizes) >= 4 and min(sizes) > 100


def test_figures_wait_until_a_reader_comes_near(visit):
    page = visit(CHAPTER, PHONE)
    loaded = "[...document.querySelectorAll('article img')].filter(i => i.complete && i.naturalWidth).length"
    total = page.locator("article img").count()
    assert page.evaluate(loaded) < total
    page.evaluate("document.querySelectorAll('article details').forEach(box => { box.open = true })")
    for figure in page.locator("article img").all():
        figure.scroll_into_view_if_needed()
    until(page, f"{loaded} === {total}")


def test_the_menu_of_a_phone_leads_to_the_chapter(visit):
    page = visit(INDEX, PHONE)
    link = page.locator(".bd-sidebar-primary, #pst-primary-sidebar-modal").get_by_role("link", name="four numbers")
    assert not link.first.is_visible()
    page.locator("button.primary-toggle:visible").first.click()
    page.wait_for_timeout(500)
    link.locator("visible=true").first.click()
    page.wait_for_url("**/four-numbers.html")
    assert page.locator("article h1").inner_text().startswith("Layer norm from four numbers")


def test_the_sidebar_of_a_laptop_leads_to_the_chapter(visit):
    page = visit(INDEX, LAPTOP)
    page.locator(".bd-sidebar-primary").get_by_role("link", name="four numbers").click()
    page.wait_for_url("**/four-numbers.html")


def test_the_front_door_opens(visit):
    page = visit("index.html")
    page.wait_for_url("**/chapters/index.html")
    page.get_by_role("link", name="Layer norm from four numbers").first.click()
    page.wait_for_url("**/four-numbers.html")


def test_search_finds_a_word_of_the_chapter(visit):
    page = visit("search.html?q=broadcasting")
    page.locator("#search-results a", has_text="Layer norm from four numbers").first.wait_for()


def test_search_quotes_what_pages_say(visit):
    page = visit("search.html?q=epsilon")
    quotes = page.locator("#search-results p.context")
    quotes.first.wait_for()
    page.wait_for_timeout(1000)  # results come one by one
    texts = quotes.all_inner_texts()
    assert len(texts) > 3
    assert [text for text in texts if re.search(r"\\|\.ipynb|\.pdf", text)] == []


def test_a_solution_opens_with_the_keyboard(visit):
    page = visit(CHAPTER, PHONE)
    solution = page.locator("details", has_text="Solution to exercise 1").first
    assert not solution.get_by_text("The mean is 10").is_visible()
    solution.locator("summary").focus()
    page.keyboard.press("Enter")
    assert solution.get_by_text("The mean is 10").is_visible()


def test_a_notebook_is_saved_and_not_shown(visit):
    page = visit(NOTEBOOKS[0])
    page.locator(".dropdown-download-buttons > button").click()
    with page.expect_download() as download:
        page.locator("a.btn-download-source-button").click()
    assert download.value.suggested_filename == SOURCES[NOTEBOOKS[0]].name


def test_an_address_that_leads_nowhere_helps(browser, site, soups):
    with measures.served(site, folder := soups["404.html"].html["data-content_root"]) as root:
        page = browser.new_page()
        answer = page.goto(f"{root}/chapters/no/such/page.html", wait_until="networkidle")
        assert answer.status == 404
        assert page.evaluate("[...document.styleSheets].some(sheet => sheet.cssRules.length > 1000)")
        links = page.locator("article li a")
        leads = links.evaluate_all("all => all.map(e => new URL(e.href).pathname)")
        assert leads == [f"{folder}{path}" for path in PAGES[1:]]
        assert measures.axe(page) == []
        links.first.click()
        page.wait_for_url(f"{root}/{PAGES[1]}")
        page.close()


@pytest.fixture
def on_paper(visit):
    """Return a function that opens a page of the site as it goes to paper."""

    def on_paper(path, scheme="light"):
        page = visit(path, LAPTOP, scheme)
        page.evaluate("dispatchEvent(new Event('beforeprint'))")
        page.emulate_media(media="print", color_scheme=scheme)
        until(page, "[...document.querySelectorAll('article img')].every(image => image.complete)")
        return page

    return on_paper


SHOWN = "all => all.filter(e => e.checkVisibility() && e.getClientRects().length).map(e => e.outerHTML.slice(0, 80))"


@pytest.mark.parametrize("path", PAGES)
def test_a_printed_page_has_the_text_and_nothing_to_press(on_paper, path):
    page = on_paper(path)
    assert page.eval_on_selector_all("button, input, header, footer, nav, dialog, .headerlink, svg", SHOWN) == []
    beside = "all => all.filter(e => e.checkVisibility() && e.innerText?.trim()).map(e => e.outerHTML.slice(0, 80))"
    assert page.eval_on_selector_all("body *:not(article, article *, script, style):not(:has(article))", beside) == []
    assert page.locator("article h1").is_visible()
    assert page.eval_on_selector_all("article details > :not(summary)", "all => all.every(e => e.checkVisibility())")
    assert page.eval_on_selector_all("article img", "all => all.every(i => i.naturalWidth && i.loading !== 'lazy')")


@pytest.mark.parametrize("path", [INDEX, CHAPTER])
def test_a_dark_page_is_printed_dark_on_white(on_paper, path):
    page = on_paper(path, "dark")
    colors = page.eval_on_selector_all(
        "article :is(p, h1, h2, li, pre, code, a)",
        "all => all.filter(e => e.checkVisibility()).map(e => getComputedStyle(e).color.match(/[\\d.]+/g))",
    )
    shades = {tuple(float(n) for n in color[:3]) for color in colors}
    assert {shade for shade in shades if contrast(shade, (255, 255, 255)) < 4.5} == set()
    assert page.evaluate("getComputedStyle(document.documentElement).colorScheme") == "light"
    page.emulate_media(media="screen", color_scheme="dark")
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"
    assert page.eval_on_selector_all("article details", "all => all.every(box => !box.open)")


def test_boxes_and_figures_out_of_sight_reach_the_paper(visit):
    """What the browser prints by itself, with no script of ours: the events are its own."""
    from pypdf import PdfReader

    page = visit(CHAPTER, LAPTOP, "dark")
    pages = PdfReader(io.BytesIO(page.pdf(prefer_css_page_size=True))).pages
    text = "".join("".join(page.extract_text() for page in pages).split())
    assert "Themeanis10.Thedeviationsare" in text  # the solution to exercise 1
    assert "Showthecheck" not in text
    width, height = pages[0].mediabox.width, pages[0].mediabox.height
    assert (round(width / 72 * 25.4), round(height / 72 * 25.4)) == (210, 297)
