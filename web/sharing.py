"""What others see of the site: its address, the map for search engines, and the card that a link unfolds into.

The variable SITE_ADDRESS says where the site is published, as in

    SITE_ADDRESS=https://example.org/course make book

Without it the site works all the same, but it has no sitemap, and its pages do not say under which
address they want to be known.
"""

from html import escape
import os
from pathlib import Path
import re
from urllib.parse import urljoin, urlsplit
from xml.etree import ElementTree

from docutils import nodes
import matplotlib
from sphinx.errors import ConfigError

from lnlib import figures, layer_norm_steps
from lnlib.figures.style import STYLE
from web.meanings import plain

VARIABLE = "SITE_ADDRESS"
NAMESPACE = "http://www.sitemaps.org/schemas/sitemap/0.9"
CARD = "_static/card.png"
CARD_SIZE, CARD_DPI = (6.0, 3.15), 200  # inches, and dots on each: 1200 by 630
LONGEST_DESCRIPTION = 200  # characters; search engines show about as many


def setup(app):
    app.connect("config-inited", take_address, priority=100)  # before extensions look at what it sets
    app.connect("html-page-context", root_lost_page)
    app.connect("html-page-context", describe, priority=400)  # before sphinxext-opengraph makes tags of it
    app.connect("build-finished", write_sitemap)
    app.connect("build-finished", draw_card)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def take_address(app, config):
    """Tell Sphinx and its extensions the address. Raises ConfigError when it is none."""
    address = os.environ.get(VARIABLE, "")
    parts = urlsplit(address)
    if address and not (parts.scheme in ("http", "https") and parts.netloc and not parts.query and not parts.fragment):
        raise ConfigError(f"{VARIABLE} is {address!r}; expected something like https://example.org/course")
    if address:
        config.html_baseurl = config.ogp_site_url = f"{address.rstrip('/')}/"
    config.notfound_urls_prefix = f"{parts.path.rstrip('/')}/"
    config.ogp_image, config.ogp_image_alt = CARD, card()[1]


def root_lost_page(app, page, template, context, doctree):
    """Finish what sphinx-notfound-page does: scripts look for the site's root as well."""
    if page == app.config.notfound_pagename:
        context["content_root"] = app.config.notfound_urls_prefix


def describe(app, page, template, context, doctree):
    """Let a page's description be its first sentences, as many as search engines show."""
    paragraph = doctree and next(doctree.findall(nodes.paragraph), None)
    if paragraph:
        letters = paragraph.findall(nodes.Text)
        words = "".join(plain(t.parent) if isinstance(t.parent, nodes.math) else t.astext() for t in letters)
        sentences = re.split(r"(?<=[.!?])\s+", words)
        texts = [" ".join(sentences[:count]) for count in range(1, len(sentences) + 1)]
        text = escape(max((t for t in texts if len(t) <= LONGEST_DESCRIPTION), key=len, default=texts[0]))
        context["meta"] = {**(context["meta"] or {}), "og:description": text}
        context["metatags"] += f'<meta name="description" content="{text}">'


def html_only(app, exception):
    return not exception and app.builder.name in ("html", "dirhtml")


def write_sitemap(app, exception):
    """Write the sitemap, and the robots.txt that names it, or remove what an earlier build wrote."""
    if not html_only(app, exception):
        return
    sitemap, robots = Path(app.outdir, "sitemap.xml"), Path(app.outdir, "robots.txt")
    if not app.config.html_baseurl:
        for path in (sitemap, robots):
            path.unlink(missing_ok=True)
        return
    root = ElementTree.Element("urlset", xmlns=NAMESPACE)
    for name in sorted(app.env.found_docs):
        page = ElementTree.SubElement(root, "url")
        ElementTree.SubElement(page, "loc").text = urljoin(app.config.html_baseurl, app.builder.get_target_uri(name))
    ElementTree.ElementTree(root).write(sitemap, xml_declaration=True, encoding="utf-8")
    robots.write_text(f"User-agent: *\nAllow: /\nSitemap: {app.config.html_baseurl}sitemap.xml\n", "utf-8")


def card():
    """Return the figure of the course's first page, wide enough for a card, and its alternative text."""
    x = [2, 2, 6, 6]
    steps = layer_norm_steps(x, eps=0)
    stages = [("the row", x, figures.RAW), ("normalized", steps.normalized, figures.NORMALIZED)]
    return figures.number_lines.__wrapped__(stages)


def draw_card(app, exception):
    """Draw the picture that a link to the site unfolds into elsewhere."""
    if not html_only(app, exception):
        return
    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(STYLE)
        figure, _ = card()
        figure.set_size_inches(*CARD_SIZE)
        figure.get_layout_engine().set(w_pad=0.2, h_pad=0.12)  # inches
        figure.suptitle(app.config.html_title, fontsize=15, fontweight="bold")
        figure.savefig(Path(app.outdir, CARD), dpi=CARD_DPI)
