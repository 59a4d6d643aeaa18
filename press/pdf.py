"""The whole course as a PDF: the pages of the verified site, joined into one page that Chromium prints.

It is printed at least twice: the contents name pages, and where a chapter begins is known when it has
been printed.
"""

from html import escape
import io
import os
from pathlib import Path, PurePosixPath
import posixpath
import shutil
import sys
from urllib.parse import urlsplit

from bs4 import BeautifulSoup

from gate import verified

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
FLAGS = [
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--no-first-run",
]  # fmt: skip
SCALE = 0.75  # of the letters on a screen
COVER = {"width": 600, "height": 800}
TITLE_PAGE = """\
<section class="title-page">
<p class="title">{title}</p>
<p>By {author}</p>
<p><img src="{picture}" alt=""/></p>
<p>{verified}</p>
<p>Text and figures are under CC BY 4.0, the code is under the MIT license.</p>
</section>
"""
WHOLE = """\
<!doctype html>
<html lang="en" data-theme="light"><head><meta charset="utf-8"><title>{title}</title>
{styles}</head>
<body><main class="bd-main"><div class="bd-content"><div class="bd-article-container">
<article class="bd-article">{front}
<nav class="course-contents"><h1>Contents</h1>
<ol>{contents}</ol></nav>
{chapters}</article></div></div></main></body></html>
"""


def title_page(config, picture):
    """Return the first page of the course, as HTML that is XHTML as well."""
    fields = {"title": config["title"], "author": config["author"], "verified": verified.words()}
    return TITLE_PAGE.format(picture=picture, **{name: escape(text) for name, text in fields.items()})


def whole_course(config, site, folder, names):
    """Return the pages of a site as one page that is to stand in a folder beside it."""
    there = Path(os.path.relpath(site, folder)).as_posix()
    pages = {name: BeautifulSoup((site / f"{name}.html").read_text("utf-8"), "html.parser") for name in names}
    styles = pages[names[0]].find("link", rel="stylesheet")
    styles["href"] = f"{there}/_static/{PurePosixPath(styles['href']).name}"
    own = f'<style>{Path(__file__).with_name("pdf.css").read_text("utf-8")}</style>'
    chapters = {name: chapter(page.article, name, there) for name, page in pages.items()}
    return WHOLE.format(
        title=escape(config["title"]),
        styles=f"{styles}\n{own}",
        front=title_page(config, f"{there}/_images/four-numbers.svg"),
        contents="".join(entry(article, name) for name, article in chapters.items()),
        chapters="".join(map(str, chapters.values())),
    )


def chapter(article, name, site):
    """Return what a page says, with anchors that no other page has, and links that lead to them."""
    for listing in article.select(".downloads"):
        listing.find_parent("section").decompose()
    for tag in article.find_all(id=True):
        tag["id"] = f"{name}:{tag['id']}"
    for section in article.select("section[id]"):
        section.find(["h1", "h2", "h3"])["id"] = section.attrs.pop("id")  # a heading may be a page after its section
    for link in article.select("a[href]"):
        url = urlsplit(link["href"])
        if not url.scheme:
            page = beside(name, url.path).removesuffix(".html") if url.path else name
            link["href"] = f"#{page}:{url.fragment}" if url.fragment else f"#{page}"
    for image in article.select("img"):
        image["src"] = f"{site}/{beside(name, image['src'])}"
        del image["loading"]
    for box in article.select("details"):
        box["open"] = ""
    article.name, article["class"], article["id"] = "div", "chapter", name
    return article


def beside(page, address):
    """Return where an address on a page leads to, as seen from the site's folder."""
    return posixpath.normpath(posixpath.join(posixpath.dirname(page), address))


def entry(article, name):
    """Return the line of a chapter in the contents, with the lines of its sections."""
    sections = "".join(f"<li>{line(heading['id'], heading)}</li>" for heading in article.select("h2"))
    return f"<li>{line(name, article.h1)}<ol>{sections}</ol></li>\n"


def line(anchor, heading):
    text = heading.get_text().removesuffix("#")
    return f'<a href="#{anchor}"><span>{escape(text)}</span> <span class="page"></span></a>'


def printed(path):
    """Return a page as a PDF, its contents with page numbers, and its title page as a picture."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        page = browser.new_page(viewport=COVER, device_scale_factor=2)
        page.goto(path.as_uri())
        page.evaluate("document.fonts.ready")
        cover = page.locator(".title-page").screenshot()
        pdf = settled(page)
        browser.close()
    return pdf, cover


def settled(page, most=4):
    """Print a page until its contents name the pages on which things are in this very print."""
    numbers = {}
    for _ in range(most):
        page.reload()  # Chromium may break the pages of a second print elsewhere than those of the first
        page.eval_on_selector_all(
            ".course-contents a",
            "(links, pages) => links.forEach(a => { a.lastChild.textContent = pages[a.hash.slice(1)] })",
            numbers,
        )
        pdf = print_page(page)
        before, numbers = numbers, first_pages(pdf)
        if numbers == before:
            return pdf
    sys.exit("The page numbers in the contents do not settle: each print of the PDF puts things elsewhere.")


def print_page(page):
    return page.pdf(outline=True, tagged=True, prefer_css_page_size=True, print_background=True, scale=SCALE)


def first_pages(pdf):
    """Return {anchor: the number of the page where it is} for all anchors to which links lead."""
    from pypdf import PdfReader

    reader = PdfReader(io.BytesIO(pdf))
    places = reader.named_destinations
    return {name.lstrip("/"): reader.get_destination_page_number(place) + 1 for name, place in places.items()}
