"""The row explorer: a row to drag, and what each of the four moves makes of it.

    :::{row-explorer}
    | example | row | output |
    |---|---|---|
    | flat row | {explore}`(5, 5, 5, 5)` | (0, 0, 0, 0) |
    :::

The table has the examples that a reader can take; it is what paper has, and readers without a script. Its home is
one page. On others the directive has no content, and borrows that page's table.

    {explore}`(60, 70, 80, 90), ε = 0.001`

is a row in a sentence, and a link to the explorer with this row. γ and β can be named like ε.
"""

import re

from docutils import nodes
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util.docutils import SphinxDirective, SphinxRole

from play.pages import provide

HOME = "chapters/row-explorer"
ANCHOR = "explorer"  # of the explorer, on each page that has it
NUMBER = r"[-−]?\d+(?:\.\d+)?(?:e-?\d+)?"
ROW = re.compile(rf"\(({NUMBER}(?:, {NUMBER}){{0,7}})\)((?:, [εγβ] = {NUMBER})*)")
SETTING = re.compile(rf"([εγβ]) = ({NUMBER})")
NAMES = {"ε": "eps", "γ": "gamma", "β": "beta"}


class row_explorer(nodes.General, nodes.Element):
    """The place of the explorer, with the table of examples."""


class explore(nodes.Inline, nodes.TextElement):
    """A row as a link to the explorer; `query` is the row in its address."""


class RowExplorer(SphinxDirective):
    has_content = True

    def run(self):
        place = row_explorer("", *self.parse_content_to_nodes())
        if not self.content:
            self.env.note_dependency(self.env.doc2path(HOME))  # a changed example changes this page
        return [place]


class Explore(SphinxRole):
    def run(self):
        match = ROW.fullmatch(self.text)
        if not match:
            message = f"{self.text}: expected a row of one to eight numbers, as in (1, 2, 3, 4) or (1, 2), ε = 0.1"
            return [], [self.inliner.reporter.error(message, line=self.lineno)]
        settings = [f"{NAMES[letter]}={value}" for letter, value in SETTING.findall(match[2])]
        query = "&".join([f"row={match[1].replace(' ', '')}", *settings]).replace("−", "-")
        return [explore("", self.text, query=query)], []


class BorrowExamples(SphinxPostTransform):
    """Give an explorer without a table that of the explorer's home."""

    default_priority = 5  # before references in it are resolved
    formats = ("html",)

    def run(self):
        for place in self.document.findall(row_explorer):
            if not place.children:
                [home] = self.env.get_doctree(HOME).findall(row_explorer)
                place += [child.deepcopy() for child in home.children]


def setup(app):
    app.add_node(row_explorer, html=(open_explorer, close_explorer))
    app.add_node(explore, html=(open_link, close_link))
    app.add_directive("row-explorer", RowExplorer)
    app.add_role("explore", Explore())
    app.add_post_transform(BorrowExamples)
    provide(app, row_explorer, "row_explorer", ["elements.js", "numbers.js", "norms.js", "row_explorer.js"])
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def open_explorer(translator, node):
    translator.body.append(f'<div class="row-explorer" id="{ANCHOR}">\n<div class="examples">\n')


def close_explorer(translator, node):
    translator.body.append("</div>\n</div>\n")


def open_link(translator, node):
    if translator.builder.format == "html" and translator.builder.name != "epub":
        page = translator.builder.get_relative_uri(translator.builder.current_docname, HOME)
        address = f"{page}?{node['query']}#{ANCHOR}".replace("&", "&amp;")
        translator.body.append(f'<a class="explore reference internal" href="{address}">')
        translator.context.append("</a>")
    else:
        translator.context.append("")


def close_link(translator, node):
    translator.body.append(translator.context.pop())
