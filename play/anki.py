"""The flashcards as a deck for Anki, made of the very cards of the pages, whenever the site is built.

A note's guid comes from its card's name alone. So whoever imports a later deck keeps what Anki knows of
them, and gets the cards' new words. Anki takes those only from a note that is younger than its own, so a
deck says when it was built, or SOURCE_DATE_EPOCH. Nothing else tells two decks of the same cards apart,
but for the number of the SQLite that wrote them.
"""

from html import escape
from itertools import count
import json
import os
from pathlib import Path
import sqlite3
import time

from docutils import nodes
import genanki
from sphinx import addnodes
from sphinx.util import logging

from play.flashcards import flashcard
from press.downloads import DECK, archive, replace_file

# Made up once. Another number would be another deck, and another kind of note, in readers' collections.
DECK_ID, MODEL_ID = 1_786_204_519, 1_468_093_277
COURSE = "layer-normalization"
STYLES = """\
.card { font-family: sans-serif; font-size: 20px; line-height: 1.5; margin: 1em auto; max-width: 34em; padding: 0 1em }
img { max-width: 100% }
"""
TAGS = {
    nodes.paragraph: "p",
    nodes.emphasis: "em",
    nodes.strong: "strong",
    nodes.literal: "code",
    nodes.bullet_list: "ul",
    nodes.enumerated_list: "ol",
    nodes.list_item: "li",
}
PLAIN = (addnodes.pending_xref, nodes.reference, nodes.inline)  # links lead nowhere from Anki: their words stay

logger = logging.getLogger(__name__)


def setup(app):
    app.connect("env-updated", provide, priority=400)  # before press.downloads, whose lists say what there is
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def provide(app, env):
    """Put the deck of all cards into the site, or none where there are no cards."""
    if app.builder.name not in ("html", "dirhtml"):
        return
    path = Path(app.outdir, "downloads", DECK)
    pages = [env.get_doctree(page) for page, about in sorted(env.metadata.items()) if "flashcards" in about]
    if pages:
        replace_file(path, package(app.config.html_title, pages, Path(app.srcdir)))
    else:
        path.unlink(missing_ok=True)


def package(title, pages, sources):
    """Return the deck of the cards of some pages, as a file for Anki."""
    model = genanki.Model(
        MODEL_ID,
        title,
        fields=[{"name": "Question"}, {"name": "Answer"}, {"name": "Name"}],
        templates=[{"name": "Card", "qfmt": "{{Question}}", "afmt": "{{FrontSide}}<hr id=answer>{{Answer}}"}],
        css=STYLES,
    )
    deck = genanki.Deck(DECK_ID, title)
    for place, card in enumerate(card for page in pages for card in page.findall(flashcard)):
        deck.add_note(note(model, card, place))
    pictures = {path.name: path for page in pages for path in map(sources.joinpath, pictures_of(page))}
    built = int(os.environ.get("SOURCE_DATE_EPOCH", time.time()))
    with sqlite3.connect(":memory:") as collection:
        genanki.Package(deck).write_to_db(collection.cursor(), built, count(built * 1000))
    names = json.dumps(dict(enumerate(pictures)))
    media = {str(number): path.read_bytes() for number, path in enumerate(pictures.values())}
    return archive({"collection.anki2": collection.serialize(), "media": names.encode(), **media})


def note(model, card, place):
    """Return a card as Anki's note, to be learned in its place among the others."""
    [name], (question, *answer) = card["ids"], card
    fields = ["".join(map(html, question)), "".join(map(html, answer)), name]
    section = nodes.make_id(card.parent.next_node(nodes.title).astext())
    return genanki.Note(model, fields, tags=[section], guid=genanki.guid_for(COURSE, name), due=place)


def pictures_of(page):
    """Return where the pictures on a page's cards are, as seen from the sources."""
    return dict.fromkeys(picture["uri"] for card in page.findall(flashcard) for picture in card.findall(nodes.image))


def html(node):
    """Return a part of a card as Anki shows it: formulas as TeX for its MathJax, pictures by their names.

    Warn, and so fail the build, where this does not know how.
    """
    if isinstance(node, nodes.Text):
        return escape(node.astext(), quote=False)
    if isinstance(node, nodes.math):
        return rf"\({escape(node.astext().strip(), quote=False)}\)"
    if isinstance(node, nodes.math_block):
        return rf"\[{escape(node.astext().strip(), quote=False)}\]"
    if isinstance(node, nodes.image):
        return f'<img src="{escape(Path(node["uri"]).name)}" alt="{escape(node["alt"])}">'
    inside = "".join(map(html, node.children))
    if type(node) in TAGS:
        return f"<{TAGS[type(node)]}>{inside}</{TAGS[type(node)]}>"
    if isinstance(node, PLAIN):
        return inside
    logger.warning("play/anki.py does not know how Anki is to show a %s on a flashcard", node.tagname, location=node)
    return ""
