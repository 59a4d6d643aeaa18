"""The flashcards: on the page, in its trainer as readers use it, and in the deck for Anki."""

from copy import copy
import gzip
import json
import pickle
import re
import sqlite3
from zipfile import ZipFile

from bs4 import BeautifulSoup
import pytest

from conftest import PAGES, ROOT, until
import measures
from measures import LAPTOP, PHONE
from play import anki
from play.flashcards import flashcard, question

PAGE = "chapters/flashcards.html"
KEY = "layer-normalization-flashcards-1"
SMALL_PHONE, ZOOMED = 360, 320  # pixels; a laptop's 1280 at 400 % are 320
THUMB = 44  # pixels
MOST = 15_000  # bytes of the script and its styles, gzipped
CASES = ["card-scaled-and-shifted", "card-lopsided", "card-two-features", "card-one-feature",
         "card-same-gamma-and-beta", "card-backwards"]  # fmt: skip
FORBIDDEN = """Object.defineProperty(window, "localStorage", {
    get() { throw new DOMException("Access is denied", "SecurityError"); }
})"""
FULL = """Storage.prototype.setItem = () => { throw new DOMException("no room", "QuotaExceededError"); }, 0"""


def test_flashcards_are_over_all_chapters(soups):
    article = soups[PAGE].article
    cards = article.select("details[id^=card-]")
    assert len(cards) >= 30
    for card in map(copy, cards):
        question = card.summary.extract().get_text(strip=True)
        assert question.endswith(("?", "."))
        assert card.get_text(strip=True)
    chapters = {link["href"] for link in article.select("section > p a.reference")}
    notebooks = {f"{path.stem}.html" for path in (ROOT / "chapters").glob("*.ipynb")}
    assert notebooks | {"glossary.html"} <= chapters


CARD = ":::{flashcard} What is the mean?\n:name: card-mean\n\nWhere the row sits.\n:::\n"


@pytest.mark.parametrize(
    "cards, complaint",
    [
        (CARD.replace(":name: card-mean\n", ""), "needs a name"),
        (CARD.replace("card-mean", "mean"), "needs a name"),
        (CARD.replace("Where the row sits.\n", ""), "Content block expected"),
        (CARD + "\n" + CARD, "card-mean"),
    ],
)
def test_a_card_without_its_own_name_or_answer_fails_the_build(book, cards, complaint):
    index = book.path("index.md")
    index.write_text(index.read_text("utf-8") + "\n" + cards, "utf-8")
    result = book.build()
    assert result.returncode != 0
    assert complaint in result.stderr + result.stdout

class Trainer:
    """The trainer of an opened page, used as a reader would."""

    def __init__(self, page):
        self.page, self.desk = page, page.locator(".desk")
        self.flip, self.again, self.knew, self.save, self.load, self.reset = (
            self.desk.get_by_role("button", name=name)
            for name in ("Show the answer", "Again", "I knew it", "Save to a file", "Load a file", "Reset")
        )
        self.chapters, self.answer = self.desk.get_by_label("Cards of"), self.desk.locator(".answer")

    def asked(self):
        """Return the name of the card that is shown, '' if there is none."""
        return self.page.evaluate("""() => {
            const words = document.querySelector("#trainer-question").textContent
            const cards = [...document.querySelectorAll("details[id^='card-']")]
            return cards.find(card => card.querySelector("summary").textContent === words)?.id ?? ""
        }""")

    def rate(self, known):
        """Show the answer and say whether the card was known; return the card's name."""
        name = self.asked()
        self.flip.click()
        (self.knew if known else self.again).click()
        return name

    def counts(self):
        """Return how many cards are due, new and learned."""
        return tuple(map(int, re.match(r"(\d+) due, (\d+) new, (\d+) learned\.", self.said()).groups()))

    def said(self):
        return self.desk.get_by_role("status").inner_text()

    def trouble(self):
        return self.desk.locator("[role=alert]").text_content()

    def stored(self):
        return self.page.evaluate(f"localStorage.getItem('{KEY}')")

    def choose(self, name):
        """Press a button of the dialog and wait until it is done."""
        self.page.get_by_role("dialog").get_by_role("button", name=name).click()
        self.closed()

    def closed(self):
        """Wait until the dialog has left the page: when it is no longer seen, its answer may be on its way."""
        self.page.locator(".trainer-dialog").wait_for(state="detached")

    def upload(self, path):
        with self.page.expect_file_chooser() as chooser:
            self.load.click()
        chooser.value.set_files(path)


@pytest.fixture
def train(visit):
    """Return a function that opens the page and returns its trainer."""

    def train(width=LAPTOP, scheme="light", **options):
        return Trainer(visit(PAGE, width, scheme, **options))

    return train


def test_every_card_is_asked_with_its_own_words_formulas_and_pictures(train, soups):
    trainer = train()
    names = [card["id"] for card in soups[PAGE].select("details[id^=card-]")]
    seen = trainer.page.evaluate("""async () => {
        const [flip, again, knew] = document.querySelectorAll(".desk .choices button")
        const text = nodes => [...nodes].map(node => node.textContent).join("").replace(/\\s+/g, "")
        const seen = []
        while (!flip.hidden && seen.length < 100) {
            flip.click()
            const question = document.querySelector("#trainer-question"), answer = document.querySelector(".answer")
            const card = [...document.querySelectorAll("details[id^='card-']")].find(card =>
                card.querySelector("summary").textContent === question.textContent)
            const pictures = [...answer.querySelectorAll("img")]
            await Promise.all(pictures.map(picture => picture.decode()))
            const ids = [...document.querySelectorAll("[id]")].map(element => element.id)
            seen.push([card.id,
                text([question, answer]) === text([card]),
                answer.querySelectorAll("math").length === card.querySelectorAll(":scope > :not(summary) math").length,
                pictures.length === card.querySelectorAll("img").length,
                new Set(ids).size === ids.length])
            knew.click()
        }
        return seen
    }""")
    assert seen == [[name, True, True, True, True] for name in names]
    assert trainer.counts() == (0, 0, len(names))
    assert "Nothing is due here. The next card is due tomorrow." in trainer.desk.inner_text()


def test_it_works_by_keyboard_alone(train):
    trainer = train()
    keyboard, focused = trainer.page.keyboard, "e => e === document.activeElement"
    trainer.chapters.focus()
    keyboard.press("f")  # in a list, a letter looks for an entry
    assert trainer.answer.is_hidden()
    assert trainer.chapters.evaluate("e => e.value") == "four-numbers"
    trainer.chapters.select_option("all chapters")
    keyboard.press("Tab")
    assert trainer.flip.evaluate(focused)
    keyboard.press("Enter")
    assert trainer.answer.evaluate(focused)  # which a screen reader reads
    assert trainer.answer.inner_text().startswith("Center, squeeze, guard, restyle.")
    keyboard.press("k")
    assert trainer.flip.evaluate(focused)
    assert trainer.said() == "0 due, 40 new, 1 learned. The last card comes back tomorrow."
    keyboard.press("k")  # says nothing of a card that is not open
    keyboard.press("Space")
    keyboard.press("Control+a")
    assert trainer.again.is_visible()
    while not trainer.again.evaluate(focused):
        keyboard.press("Tab")
    keyboard.press("Enter")
    assert trainer.said() == "1 due, 39 new, 1 learned. The last card comes back soon."
    assert trainer.asked() == "card-deviations"
    trainer.page.locator("article h1").click()
    keyboard.press("f")
    assert trainer.answer.is_hidden()


def test_a_screen_reader_hears_the_question_with_the_button(train):
    trainer = train()
    trainer.rate(known=True)
    session = trainer.page.context.new_cdp_session(trainer.page)
    nodes = session.send("Accessibility.getFullAXTree")["nodes"]
    heard = [(node["role"]["value"], node.get("name", {}).get("value")) for node in nodes]
    [button] = [node for node, said in zip(nodes, heard) if said == ("button", "Show the answer")]
    assert button["description"]["value"] == "What is the mean of (1, 2, 3, 4), and what does the mean say?"


def test_a_tap_turns_a_card_and_explains_a_term(train):
    trainer = train(PHONE, has_touch=True, is_mobile=True)
    heights = "all => all.filter(e => e.checkVisibility()).map(e => e.offsetHeight)"
    assert min(trainer.desk.locator("button, select").evaluate_all(heights)) >= THUMB
    trainer.desk.locator(".question").tap()
    assert trainer.answer.is_visible()
    assert min(trainer.desk.locator("button, select").evaluate_all(heights)) >= THUMB
    trainer.answer.locator("math").first.tap()
    assert "ε, eps: A small number" in trainer.page.locator("#meaning").inner_text()
    trainer.again.tap()
    assert trainer.counts() == (1, 40, 0)


def test_cards_come_when_they_are_due_the_oldest_first(train):
    trainer = train(timezone_id="America/New_York")
    clock = trainer.page.clock

    def day(time):
        clock.set_fixed_time(time)
        trainer.page.reload(wait_until="networkidle")
        trainer.chapters.select_option("Cases")

    first, second, third, fourth, *others = CASES
    day("2026-03-06T23:30:00-05:00")
    asked = [trainer.rate(known) for known in (True, False, True, True, True)]
    assert asked == [first, second, third, fourth, others[0]]
    assert trainer.rate(known=True) == second  # after three others
    assert trainer.rate(known=True) == others[1]
    assert "The next card is due tomorrow." in trainer.desk.inner_text()
    day("2026-03-07T00:10:00-05:00")  # the next day by the calendar, and the days before clocks change
    assert trainer.counts() == (len(CASES), 0, 0)
    assert [trainer.rate(known) for known in (False, True)] == [first, second]
    day("2026-03-08T12:00:00-04:00")
    assert [trainer.rate(known=True) for _ in range(4)] == [first, third, fourth, others[0]]
    day("2026-03-09T12:00:00-04:00")
    assert [trainer.rate(known=True) for _ in range(3)] == [others[1], first, second]
    assert "Nothing is due here." in trainer.desk.inner_text()


def test_a_card_that_is_known_waits_twice_as_long_each_time(train):
    trainer = train()
    cards = {name: {"box": box, "due": "2026-12-01"} for box, name in enumerate(CASES, 3)}
    trainer.page.evaluate(f"text => localStorage.setItem('{KEY}', text)", json.dumps({"flashcards": 1, "cards": cards}))
    trainer.page.clock.set_fixed_time("2026-12-01T12:00:00Z")
    trainer.page.reload(wait_until="networkidle")
    said = []
    for name in CASES:
        assert trainer.rate(known=True) == name
        said.append(trainer.said().partition("learned. ")[2])
    assert said == [f"The last card comes back in {days} days." for days in (4, 8, 16, 32, 64, 64)]
    trainer.chapters.select_option("Cases")
    assert "The next card is due in 4 days." in trainer.desk.inner_text()


def test_a_night_with_the_page_open_brings_what_is_due(train):
    trainer = train()
    trainer.page.clock.set_fixed_time("2026-12-01T12:00:00")
    trainer.chapters.select_option("Cases")
    for _ in CASES:
        trainer.rate(known=True)
    trainer.page.clock.set_fixed_time("2026-12-02T08:00:00")
    trainer.page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
    assert (trainer.asked(), trainer.counts()) == (CASES[0], (len(CASES), 0, 0))


def test_answers_are_there_when_the_page_is_opened_again(train):
    trainer = train()
    for known in (True, False, True):
        trainer.rate(known)
    trainer.page.reload(wait_until="networkidle")
    assert trainer.counts() == (1, 38, 2)
    assert trainer.asked() == "card-mean"  # what is due comes first


def test_a_file_brings_back_what_was_reset(train, tmp_path):
    trainer = train()
    future = {"box": 2, "due": "2030-01-01"}
    (tmp_path / "later.json").write_text(json.dumps({"flashcards": 1, "cards": {"card-of-a-later-course": future}}))
    trainer.upload(tmp_path / "later.json")
    until(trainer.page, "document.querySelector('.desk').innerText.includes('The file is loaded.')")
    for known in (True, False):
        trainer.rate(known)
    with trainer.page.expect_download() as download:
        trainer.save.click()
    assert re.fullmatch(r"flashcards-\d{4}-\d\d-\d\d\.json", download.value.suggested_filename)
    saved = tmp_path / "saved.json"
    download.value.save_as(saved)
    cards = json.loads(saved.read_text("utf-8"))["cards"]
    assert {name: card["box"] for name, card in cards.items()} == {
        "card-of-a-later-course": 2, "card-four-moves": 2, "card-mean": 1,
    }  # fmt: skip
    assert cards["card-of-a-later-course"] == future
    trainer.reset.click()
    trainer.page.keyboard.press("Escape")
    trainer.closed()
    assert trainer.reset.evaluate("e => e === document.activeElement")
    assert trainer.counts() == (1, 39, 1)
    trainer.reset.click()
    assert trainer.page.get_by_role("button", name="Cancel").evaluate("e => e === document.activeElement")
    trainer.page.keyboard.press("k")
    trainer.page.keyboard.press("Enter")
    trainer.closed()
    assert trainer.counts() == (1, 39, 1)
    trainer.reset.click()
    trainer.choose("Forget all")
    assert trainer.counts() == (0, 41, 0)
    trainer.page.reload(wait_until="networkidle")
    assert trainer.counts() == (0, 41, 0)
    trainer.upload(saved)
    until(trainer.page, "document.querySelector('.desk').innerText.includes('1 due, 39 new, 1 learned. The file')")
    assert json.loads(trainer.stored())["cards"] == cards
    # A file in the place of answers: not unasked.
    trainer.upload(tmp_path / "later.json")
    trainer.choose("Cancel")
    assert json.loads(trainer.stored())["cards"] == cards
    trainer.upload(tmp_path / "later.json")
    trainer.choose("Replace")
    assert trainer.counts() == (0, 41, 0)


NO_ANSWERS = [
    "", "{", "null", "[]", '{"cards": {}}', '{"flashcards": 2, "cards": {}}', '{"flashcards": 1}',
    '{"flashcards": 1, "cards": {"card-mean": 3}}',
    '{"flashcards": 1, "cards": {"card-mean": {"box": 9, "due": "2026-12-01"}}}',
    '{"flashcards": 1, "cards": {"card-mean": {"box": 1, "due": "tomorrow"}}}',
    '{"flashcards": 1, "cards": {"card-mean": {"box": 1, "due": "2026-13-01"}}}',
]  # fmt: skip


def test_a_file_of_something_else_changes_nothing(train, tmp_path):
    trainer = train()
    trainer.rate(known=True)
    stored = trainer.stored()
    for text in NO_ANSWERS:
        (tmp_path / "other.json").write_text(text, "utf-8")
        trainer.upload(tmp_path / "other.json")
        said = "document.querySelector('.desk [role=alert]').innerText"
        until(trainer.page, f"{said}.includes('not a file that was saved')")
        assert trainer.stored() == stored
        trainer.flip.click()
        trainer.again.click()
        assert trainer.trouble() == ""
        stored = trainer.stored()


@pytest.mark.parametrize("text", [NO_ANSWERS[1], NO_ANSWERS[-1]], ids=["no JSON", "no date"])
def test_what_cannot_be_read_is_left_and_said(train, text):
    trainer = train()
    trainer.page.evaluate(f"text => localStorage.setItem('{KEY}', text)", text)
    trainer.page.reload(wait_until="networkidle")
    assert "cannot be read, and is left as it is." in trainer.trouble()
    trainer.rate(known=True)
    assert trainer.counts() == (0, 40, 1)
    assert trainer.stored() == text
    trainer.reset.click()
    trainer.choose("Forget all")
    trainer.rate(known=True)
    assert trainer.trouble() == ""
    assert list(json.loads(trainer.stored())["cards"]) == ["card-four-moves"]


@pytest.mark.parametrize("script", [FORBIDDEN, FULL], ids=["forbidden", "full"])
def test_without_storage_it_goes_on_and_says_so(browser, address, tmp_path, script):
    page = browser.new_context().new_page()  # the theme complains of forbidden storage, which `visit` would notice
    page.add_init_script(script)
    page.goto(f"{address}/{PAGE}", wait_until="networkidle")
    trainer = Trainer(page)
    assert [trainer.rate(known) for known in (True, False)] == ["card-four-moves", "card-mean"]
    assert "keeps nothing for this page, or has no room left." in trainer.trouble()
    assert trainer.counts() == (1, 39, 1)
    with page.expect_download() as download:
        trainer.save.click()
    assert len(json.loads(download.value.path().read_text("utf-8"))["cards"]) == 2
    trainer.reset.click()
    trainer.choose("Forget all")
    assert trainer.counts() == (0, 41, 0)
    page.context.close()


def test_room_that_is_found_again_is_used(train):
    trainer = train()
    trainer.page.evaluate(f"(window.room = Storage.prototype.setItem, {FULL})")
    trainer.rate(known=True)
    assert trainer.trouble()
    trainer.page.evaluate("(Storage.prototype.setItem = room, 0)")
    trainer.rate(known=True)
    assert trainer.trouble() == ""
    assert len(json.loads(trainer.stored())["cards"]) == 2


def test_two_tabs_know_of_each_other(train):
    one = train()
    other = Trainer(one.page.context.new_page())
    other.page.goto(one.page.url, wait_until="networkidle")
    one.flip.click()
    assert other.rate(known=True) == "card-four-moves"
    until(one.page, "document.querySelector('.desk [role=status]').innerText.startsWith('0 due, 40 new, 1 learned.')")
    assert one.asked() == "card-mean"
    one.flip.click()
    for name in ("card-mean", "card-deviations"):
        if name == "card-deviations":
            one.flip.click()  # what the other tab does not ask stays open
        assert other.rate(known=True) == name
        until(other.page, f"localStorage.getItem('{KEY}').includes('{name}')")
    until(one.page, "document.querySelector('.desk [role=status]').innerText.startsWith('0 due, 38 new, 3 learned.')")
    assert len(json.loads(one.stored())["cards"]) == 3


def test_what_another_tab_has_just_written_is_not_lost(train):
    """As when the browser has not told this tab yet: nobody is told of what a page writes itself."""
    trainer = train()
    trainer.rate(known=True)
    cards = json.loads(trainer.stored())["cards"] | {"card-units": {"box": 5, "due": "2030-01-01"}}
    trainer.page.evaluate(f"text => localStorage.setItem('{KEY}', text)", json.dumps({"flashcards": 1, "cards": cards}))
    trainer.rate(known=True)
    assert set(json.loads(trainer.stored())["cards"]) == {"card-four-moves", "card-mean", "card-units"}


@pytest.mark.parametrize("width, scheme", [(ZOOMED, "light"), (SMALL_PHONE, "dark"), (LAPTOP, "light")])
def test_axe_finds_no_fault_and_nothing_is_cut_off_in_any_state(train, width, scheme):
    trainer = train(width, scheme, reduced_motion="reduce")
    page = trainer.page

    def look():
        assert measures.axe(page) == []
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        outside = "all => all.filter(e => e.getBoundingClientRect().right > innerWidth).map(e => e.outerHTML)"
        assert page.locator(".desk *, dialog[open] *").evaluate_all(outside) == []

    look()
    trainer.flip.click()
    look()
    trainer.reset.click()
    look()
    page.keyboard.press("Escape")
    trainer.closed()
    page.evaluate(f"({FULL})")
    trainer.knew.click()
    assert trainer.trouble()
    look()
    trainer.chapters.select_option("Cases")
    for _ in CASES:
        trainer.rate(known=True)
    look()


def test_the_place_of_the_trainer_is_kept_until_its_script_is_there(browser, address):
    """What stands below the trainer does not move when it comes, whatever the width."""
    for width in (ZOOMED, SMALL_PHONE, LAPTOP):
        page = browser.new_page(viewport={"width": width, "height": 900})
        page.route("**/play/flashcards.js*", lambda route: route.abort())
        page.goto(f"{address}/{PAGE}")
        place = "document.querySelector('#one-row-four-moves').getBoundingClientRect().top"
        empty = page.evaluate(place)
        page.unroute_all()
        page.reload(wait_until="networkidle")
        assert page.locator(".desk button").count() > 3
        assert page.evaluate(place) == empty
        page.close()


def test_without_a_script_the_cards_are_there_and_nothing_of_the_trainer(visit):
    page = visit(PAGE, java_script_enabled=False)
    assert page.locator(".trainer").is_hidden()
    card = page.locator("#card-mean")
    assert not card.get_by_text("The sum is 10").is_visible()
    card.locator("summary").click()
    assert card.get_by_text("The sum is 10").is_visible()


def test_on_paper_are_the_cards_and_nothing_of_the_trainer(train):
    trainer = train()
    trainer.flip.click()
    trainer.page.emulate_media(media="print")
    assert trainer.page.locator(".trainer").is_hidden()
    assert trainer.page.locator("#card-mean > p").is_visible()
    assert trainer.page.locator(".downloads").is_hidden()


def test_the_trainer_is_light_and_only_where_it_is_used(site, soups):
    files = [site / "_static" / "play" / f"flashcards.{kind}" for kind in ("js", "css")]
    assert sum(len(gzip.compress(path.read_bytes())) for path in files) <= MOST
    assert [path for path in PAGES if "play/flashcards" in str(soups[path])] == [PAGE]


# The deck for Anki.


def opened(path):
    """Return a deck's collection and its media, {name: content}."""
    archive = ZipFile(path)
    collection = sqlite3.connect(":memory:")
    collection.deserialize(archive.read("collection.anki2"))
    media = json.loads(archive.read("media"))
    assert set(archive.namelist()) == {"collection.anki2", "media", *media}
    return collection, {name: archive.read(number) for number, name in media.items()}


def notes(collection):
    """Return {name: (guid, question, answer)} in the order in which Anki asks."""
    rows = collection.execute("select n.guid, n.flds from notes n join cards c on c.nid = n.id order by c.due")
    return {name: (guid, *fields) for guid, (*fields, name) in ((guid, text.split("\x1f")) for guid, text in rows)}


def words(html):
    """Return what stands in a piece of a page or of a note: text, formulas as TeX, pictures."""
    soup = BeautifulSoup(html, "html.parser")
    for formula in soup.select(".math"):
        brackets = "()" if formula.name == "span" else "[]"
        formula.replace_with(f"\\{brackets[0]}{formula.annotation.get_text().strip()}\\{brackets[1]}")
    for image in soup.select("img"):
        image.replace_with(f"<{image['src'].rpartition('/')[2]}: {image['alt']}>")
    return "".join(soup.get_text().split())


@pytest.fixture(scope="module")
def deck(site):
    return opened(site / "downloads" / "flashcards.apkg")


def test_the_deck_has_the_very_cards_of_the_page(deck, soups):
    collection, _ = deck
    there = notes(collection)
    cards = [copy(card) for card in soups[PAGE].select("details[id^=card-]")]
    assert list(there) == [card["id"] for card in cards]
    for card in cards:
        _, question, answer = there[card["id"]]
        assert words(question) == words(card.summary.extract().decode_contents())
        assert words(answer) == words(card.decode_contents())
        assert "<a" not in answer
    assert sum(text.count(r"\(") for _, *texts in there.values() for text in texts) > 30
    formula = r"\[y_i = \gamma_i \, \frac{x_i - \mu}{\sqrt{\sigma^2 + \epsilon}} + \beta_i\]"
    assert formula in there["card-formula-aloud"][2]
    assert r"<p>The sum is 10 and there are 4 features, so \(\mu = 2.5\)." in there["card-mean"][2]


def test_the_deck_has_the_picture_which_suits_a_light_and_a_dark_card(deck):
    collection, media = deck
    assert media == {"four-numbers.svg": (ROOT / "chapters" / "figures" / "four-numbers.svg").read_bytes()}
    assert 'src="four-numbers.svg"' in notes(collection)["card-bar-of-the-std"][2]
    svg = media["four-numbers.svg"].decode()
    assert re.search(r"svg\{--paper:#ffffff.*prefers-color-scheme: dark\) \{svg\{--paper:#121212", svg)
    # It brings its own background, for as large as it is.
    width, height = re.search(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', svg).groups()
    background = re.search(r'<path d="([^"]*)" style="fill: var\(--paper, #ffffff\)"/>', svg)[1]
    assert background.split() == f"M 0 {height} L {width} {height} L {width} 0 L 0 0 z".split()


def test_what_tells_decks_and_notes_apart_never_changes(deck):
    collection, _ = deck
    [[decks, models]] = collection.execute("select decks, models from col")
    assert set(json.loads(decks)) == {"1", "1786204519"}  # 1 is Anki's own
    assert set(json.loads(models)) == {"1468093277"}
    assert notes(collection)["card-mean"][0] == "N27n9VbKmW"
    guids = [guid for guid, *_ in notes(collection).values()]
    assert len(set(guids)) == len(guids)


def test_other_words_are_the_same_note_and_a_later_one(monkeypatch, site, tmp_path):
    page = pickle.loads((site.parent / ".doctrees" / "chapters" / "flashcards.doctree").read_bytes())

    def made(built):
        monkeypatch.setenv("SOURCE_DATE_EPOCH", str(built))
        (tmp_path / "deck.apkg").write_bytes(anki.package("A course", [page], ROOT))
        return (tmp_path / "deck.apkg").read_bytes(), opened(tmp_path / "deck.apkg")[0]

    content, before = made(1_800_000_000)
    assert made(1_800_000_000)[0] == content
    card = next(page.findall(flashcard))
    [old] = next(card.findall(question)).children
    old.parent.replace(old, type(old)("Which four moves?"))
    _, after = made(1_800_000_060)
    name = card["ids"][0]
    assert notes(after)[name][1] == "Which four moves?" != notes(before)[name][1]
    assert {name: guid for name, (guid, *_) in notes(after).items()} == {
        name: guid for name, (guid, *_) in notes(before).items()
    }
    assert set(after.execute("select mod from notes")) == {(1_800_000_060,)}  # or Anki would keep the old words


def test_a_book_without_cards_has_no_deck_and_one_with_a_strange_card_is_not_built(book):
    left = book.folder / "_build" / "html" / "downloads" / "flashcards.apkg"
    left.parent.mkdir(parents=True)
    left.write_bytes(b"of an earlier build")
    assert book.build().returncode == 0
    assert not left.exists()
    index = book.path("index.md")
    table = "| what | where |\n|---|---|\n| mean | middle |\n"
    index.write_text(index.read_text("utf-8") + "\n" + CARD.replace("Where the row sits.\n", table), "utf-8")
    result = book.build()
    assert result.returncode != 0
    assert "does not know how Anki is to show a table on a flashcard" in result.stderr
