"""A grid of examples × features to change, to see which outputs a norm lets move.

    :::{batch-or-layer}
    The arrow marks the edit.

    | input     | feature 1 | feature 2 |
    |-----------|-----------|-----------|
    | example 1 | 2         | 6         |
    | example 2 | 3 → 7     | 5         |
    :::

The table holds the starting grid, and an arrow says which edit to suggest. All this stands on the page
as it is. Where scripts run, batch_or_layer.js reads it and puts the grid to play with in its place.
"""

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

from play import pages

ARROW = "→"
PARTS = ["elements.js", "numbers.js", "norms.js", "batch_or_layer.js"]


class batch_or_layer(nodes.General, nodes.Element):
    """The table of a starting grid with one edit, and words for readers who cannot play with it."""


class BatchOrLayer(SphinxDirective):
    has_content = True

    def run(self):
        self.assert_has_content()
        content = self.parse_content_to_nodes()
        grid = batch_or_layer("", *content)
        if [table.astext().count(ARROW) for table in grid.findall(nodes.table)] != [1]:
            raise self.error(f"expected a table in which one cell says what it becomes, as in 3 {ARROW} 7")
        return [grid]


def setup(app):
    app.add_node(batch_or_layer, html=(open_grid, close_grid))
    app.add_directive("batch-or-layer", BatchOrLayer)
    pages.provide(app, batch_or_layer, "batch_or_layer", PARTS)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def open_grid(translator, node):
    translator.body.append(translator.starttag(node, "div", CLASS="batch-or-layer"))


def close_grid(translator, node):
    translator.body.append("</div>\n")
