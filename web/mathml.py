"""Formulas as MathML, made when the book is built: pages run no script for them, and nothing moves.

Temml, a library in JavaScript, turns TeX into MathML in V8. What it does not know fails the build.
Letters get the colors of the figures: x is raw, μ the mean, σ the spread, x with a hat normalized,
y the output.
"""

from functools import cache
import json
from pathlib import Path
from xml.etree import ElementTree

from docutils import nodes
from py_mini_racer import JSEvalException, MiniRacer
from sphinx.util import logging

TEMML = Path(__file__).parent / "temml" / "temml.min.js"
FONT = "_static/math.woff2"
COLORS = {"x": "raw", "𝐱": "raw", "d": "raw", "μ": "mean", "σ": "spread", "y": "output"}
SCRIPTED = {"msub", "msup", "msubsup"}

logger = logging.getLogger(__name__)


def setup(app):
    app.add_html_math_renderer("mathml", (visit_inline, None), (visit_block, None))
    app.connect("html-page-context", ask_early_for_font)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def ask_early_for_font(app, page, template, context, doctree):
    """Load the font beside the styles that name it, or the formulas would move when it comes."""
    if doctree and next(doctree.findall(lambda node: isinstance(node, (nodes.math, nodes.math_block))), None):
        address = context["pathto"](FONT, True)
        context["metatags"] += f'<link rel="preload" as="font" type="font/woff2" href="{address}" crossorigin>'


def visit_inline(translator, node):
    translator.body.append(translator.starttag(node, "span", "", CLASS="math") + mathml(node, False) + "</span>")
    raise nodes.SkipNode


def visit_block(translator, node):
    translator.body.append(translator.starttag(node, "div", "", CLASS="math") + mathml(node, True) + "</div>\n")
    raise nodes.SkipNode


def mathml(node, block):
    """Return a formula as MathML; warn, and so fail the build, when it cannot be read."""
    try:
        return rendered(node.astext().strip(), block)
    except ValueError as error:
        logger.warning("the formula %r cannot be read: %s", node.astext(), error, location=node)
        return ""


@cache
def engine():
    context = MiniRacer()
    context.eval(TEMML.read_text("utf-8"))
    return context


@cache
def rendered(tex, block):
    """Return TeX as MathML. Raises ValueError when Temml cannot read it."""
    options = {"displayMode": block, "throwOnError": True, "annotate": True}
    try:
        text = engine().eval(f"temml.renderToString({json.dumps(tex)}, {json.dumps(options)})")
    except JSEvalException as error:
        raise ValueError(str(error).partition("ParseError: ")[2].partition("\n")[0]) from None
    formula = ElementTree.fromstring(text)
    color_letters(formula)
    return ElementTree.tostring(formula, encoding="unicode")


def color_letters(formula):
    """Give each letter with a meaning the class of its color, together with its hat and its index."""
    parents = {child: parent for parent in formula.iter() for child in parent}
    for letter in formula.iter("mi"):
        color, whole = COLORS.get(letter.text), letter
        while parents[whole].tag in SCRIPTED | {"mover"} and parents[whole][0] is whole:
            whole = parents[whole]
            if whole.tag == "mover" and letter.text == "x":
                color = "normalized"
        if color and (letter.text != "d" or whole.tag == "msub"):  # d_i is a deviation, d alone is not
            whole.set("class", f"color-{color}")
