"""Make of what Sphinx's EPUB builder wrote a book that every reader can show.

Sphinx knows nothing of formulas in a page, of fonts in WOFF2, of a cover without a theme's page, and
of what HTML may leave out but XHTML may not. Here its pages are mended, and its list of files says
all of them.
"""

from pathlib import Path
import posixpath
import re
from xml.etree import ElementTree

from bs4 import BeautifulSoup

from press.downloads import archive

OPF = "http://www.idpf.org/2007/opf"
MATHML = "http://www.w3.org/1998/Math/MathML"
STYLES = ("pygments.css", "formulas.css")  # of Sphinx's; its theme for EPUBs names fonts that only one reader had
ADDED = {
    "_static/math.woff2": "font/woff2",
    "_static/math-font-LICENSE.txt": "text/plain",
    "_static/epub.css": "text/css",
    "title.xhtml": "application/xhtml+xml",
    "cover.png": "image/png",
}
TITLE = """\
<!DOCTYPE html>
<html xmlns="http://www.w3.org/1999/xhtml" xmlns:epub="http://www.idpf.org/2007/ops"><head><meta charset="utf-8"/>
<title>Title page</title></head><body>{page}</body></html>
"""


def ebook(folder, title_page, cover):
    """Return the EPUB made of the folder in which Sphinx left its parts."""
    ElementTree.register_namespace("", OPF)
    package = ElementTree.parse(folder / "content.opf").getroot()
    manifest, spine = package.find(f"{{{OPF}}}manifest"), package.find(f"{{{OPF}}}spine")
    for item in list(manifest):
        if item.get("href").startswith("_static/") and Path(item.get("href")).name not in STYLES:
            manifest.remove(item)
    for place, (href, kind) in enumerate(ADDED.items()):
        ElementTree.SubElement(manifest, "item", {"id": f"added-{place}", "href": href, "media-type": kind})
    items = {item.get("href"): item for item in manifest}
    items["cover.png"].set("properties", "cover-image")
    spine.insert(0, ElementTree.Element("itemref", idref=items["title.xhtml"].get("id")))
    made = {
        "_static/epub.css": Path(__file__).with_name("epub.css").read_bytes(),
        "title.xhtml": TITLE.format(page=title_page).encode(),
        "cover.png": cover,
    }
    files = {name: made[name] if name in made else (folder / name).read_bytes() for name in sorted(items)}
    for name in files:
        if name.endswith(".svg"):  # Matplotlib draws a space as a path without points
            files[name] = re.sub(rb"<path (?![^>]*\bd=)", b'<path d="M 0 0" ', files[name])
        if name.endswith(".xhtml"):
            page = mended(files[name].decode(), name)
            files[name] = str(page).encode()
            if page.math:
                items[name].set("properties", "mathml")
    fixed = {name: (folder / name).read_bytes() for name in ("mimetype", "META-INF/container.xml")}
    opf = ElementTree.tostring(package, encoding="utf-8", xml_declaration=True)
    return archive(fixed | {"content.opf": opf} | files, stored=("mimetype",))


def mended(text, name):
    """Return a page as XHTML that needs nothing from outside, with its boxes open."""
    page = BeautifulSoup(text, "html.parser")
    page.html["lang"] = page.html["xml:lang"] = "en"
    for tag in page.head.select("script, meta[name=viewport], link"):
        tag.decompose()
    for style in (*STYLES, "epub.css"):
        address = posixpath.relpath(f"_static/{style}", posixpath.dirname(name))
        page.head.append(page.new_tag("link", rel="stylesheet", type="text/css", href=address))
    for formula in page.select("math"):
        formula["xmlns"] = MATHML
    for box in page.select("details"):
        box["open"] = "open"
    for button in page.select("details.hide > summary"):  # "Show the check" and "Hide the check" in one
        button.string = "Check"
    return page
