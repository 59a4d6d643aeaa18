"""The form in which a flashcard is written, once, wherever it is to appear.

    :::{flashcard} What is the mean of (2, 2, 6, 6)?
    :name: card-mean

    The sum is 16, shared among 4, so 4.
    :::

On a page it is a question that opens to its answer, also without JavaScript. The name is the card's
for good: it is its anchor, and it tells one card from another when its words are mended.

    :::{trainer}
    A card you knew comes back tomorrow.
    :::

is the place of the trainer, see `flashcards.js`, and what is said below it. Both are only for pages
that run scripts.
"""

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.util.docutils import SphinxDirective

from play import pages


class flashcard(nodes.General, nodes.Element):
    """A question, as the first child, and its answer."""


class question(nodes.TextElement):
    """The question of a flashcard."""


class trainer(nodes.General, nodes.Element):
    """The place of the trainer, and what is said of it."""


class Flashcard(SphinxDirective):
    required_arguments = 1
    final_argument_whitespace = True
    option_spec = {"name": directives.unchanged_required}
    has_content = True

    def run(self):
        self.assert_has_content()
        if not self.options.get("name", "").startswith("card-"):
            raise self.error("a flashcard needs a name that begins with card-, as in :name: card-mean")
        self.env.metadata[self.env.docname]["flashcards"] = "yes"
        words, messages = self.parse_inline(self.arguments[0])
        card = flashcard("", question("", "", *words), *self.parse_content_to_nodes())
        self.add_name(card)
        return [card, *messages]


class Trainer(SphinxDirective):
    has_content = True

    def run(self):
        self.assert_has_content()
        return [trainer("", *self.parse_content_to_nodes())]


def setup(app):
    app.add_node(flashcard, html=(open_card, close_card))
    app.add_node(question, html=(open_question, close_question))
    app.add_node(trainer, html=(open_trainer, close_trainer))
    app.add_directive("flashcard", Flashcard)
    app.add_directive("trainer", Trainer)
    app.connect("doctree-resolved", leave_out)
    pages.provide(app, trainer, "flashcards", ["elements.js", "flashcards.js"])
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def leave_out(app, doctree, docname):
    """Let a book that runs no scripts say nothing of the trainer."""
    if app.builder.name == "epub":
        for place in list(doctree.findall(trainer)):
            place.parent.remove(place)


def open_card(translator, node):
    translator.body.append(translator.starttag(node, "details"))


def close_card(translator, node):
    translator.body.append("</details>\n")


def open_question(translator, node):
    translator.body.append(translator.starttag(node, "summary", ""))


def close_question(translator, node):
    translator.body.append("</summary>\n")


def open_trainer(translator, node):
    translator.body.append(translator.starttag(node, "div", CLASS="trainer") + '<div class="desk"></div>\n')


def close_trainer(translator, node):
    translator.body.append("</div>\n")
