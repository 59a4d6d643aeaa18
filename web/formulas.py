"""A formula in a sentence keeps its punctuation: no line begins with the comma that follows it."""

import re

from docutils import nodes
from sphinx.transforms.post_transforms import SphinxPostTransform

KEPT = "kept"  # the class of a formula with its punctuation, which course.css keeps on one line


def setup(app):
    app.add_post_transform(KeepPunctuation)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


class KeepPunctuation(SphinxPostTransform):
    """Join each formula in a sentence with the brackets and marks that touch it.

    A browser may break a line on either side of a formula, as on either side of a picture.
    """

    default_priority = 15
    formats = ("html",)

    def run(self):
        for formula in list(self.document.findall(nodes.math)):
            parent, place = formula.parent, formula.parent.index(formula)
            before, after = (str(n) if isinstance(n, nodes.Text) else "" for n in neighbors(parent, place))
            opening, closing = re.search(r"[(\[“‘±−]*$", before)[0], re.match(r"[)\],.;:!?”’]*", after)[0]
            if opening or closing:
                kept = nodes.inline("", opening, formula.deepcopy(), nodes.Text(closing), classes=[KEPT])
                start, end = place - bool(before), place + 1 + bool(after)
                parent[start:end] = [nodes.Text(before.removesuffix(opening)), kept, nodes.Text(after[len(closing) :])]


def neighbors(parent, place):
    """Return what stands before a child and what stands after it, None where nothing does."""
    return (parent[place - 1] if place else None), (parent[place + 1] if place + 1 < len(parent) else None)
