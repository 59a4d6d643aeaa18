"""What makes a page light and safe: when all are written, each is rid of what it does not need.

The theme sends every page a script of 1.5 MB for its dozen icons, the search index, nine style sheets
and ten small scripts. Here icons become drawings in the page, only the search page loads the index, the
style sheets become one, and scripts that follow each other become one. The text is painted before
scripts come. Figures that are not in sight load when they
come near, in a space of their size. And each page says that it runs and loads nothing but what came
with the course.
"""

from base64 import b64encode
import hashlib
import os
from pathlib import Path
import re

from bs4 import BeautifulSoup
from fontTools.pens.svgPathPen import SVGPathPen
from fontTools.ttLib import TTFont
from sphinx.errors import ExtensionError

from web import access

STATIC = "_static/"
OWN = "_static/play/"  # what one page has and others have not stays by itself, so that they share the rest
ICON_FONT = "_static/vendor/fontawesome/webfonts/fa-solid-900.ttf"
ICON_STYLES = "_static/styles/pydata-sphinx-theme.css"
ICON_RULES = re.compile(r'((?:\.fa-[\w-]+:{1,2}before,?)+)\{content:"\\([0-9a-f]+)"\}')
ICON_CLASSES = {"fa-solid", "fas"}
POLICY = "Content-Security-Policy"
UNUSED = ("fontawesome.js",)
UNQUOTED = '[".headerlink", "script", "style"]'  # what the search drops from a page before it quotes it
UNQUOTED_TOO = '"annotation", ".bd-header-article", ".onlyprint"'
FOR_SEARCH = ("searchtools.js", "language_data.js", "searchindex.js")
FRONT_DOOR = """\
<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<meta http-equiv="refresh" content="0; url={target}"><title>{title}</title></head>
<body><a href="{target}">{title}</a></body></html>
"""


def setup(app):
    app.connect("build-finished", lighten_pages, priority=900)  # when the theme has mended its own styles
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def lighten_pages(app, exception):
    if exception or app.builder.name not in ("html", "dirhtml"):
        return
    site = Path(app.outdir)
    quote_text_only(site / STATIC / "searchtools.js")
    icons, pages = Icons(site), {}
    for path in sorted(p for p in site.rglob("*.html") if "_static" not in p.relative_to(site).parts):
        page = pages[path] = BeautifulSoup(path.read_text("utf-8"), "html.parser")
        if not page.head:  # Jupyter Book's front door is a bare redirect
            target = page.meta["content"].partition("url=")[2]
            pages[path] = BeautifulSoup(FRONT_DOOR.format(target=target, title=app.config.html_title), "html.parser")
    handlers = {code for page in pages.values() for code in event_handlers(page)}
    for path, page in pages.items():
        changed = [
            drop_scripts(page, UNUSED if page.find(id="search-results") else UNUSED + FOR_SEARCH),
            access.mend(page),
            icons.draw(page),
            paint_first(page),
            join_styles(page, site),
            join_scripts(page, site),
            wait_for_figures(page, path),
            protect(page, handlers),
        ]
        if any(changed):
            path.write_text(str(page), "utf-8")


def quote_text_only(path):
    """Let search results quote what a page says: no TeX beside a formula, no buttons, no contents."""
    code = path.read_text("utf-8")
    if UNQUOTED_TOO in code:  # left by an earlier build
        return
    if UNQUOTED not in code:
        raise ExtensionError(f"{path.name} no longer says {UNQUOTED}")
    path.write_text(code.replace(UNQUOTED, f"{UNQUOTED[:-1]}, {UNQUOTED_TOO}]"), "utf-8")


def event_handlers(page):
    """Return the code that stands in a page's tags, as onclick does."""
    return [value for tag in page.find_all(True) for name, value in tag.attrs.items() if name.startswith("on")]


def file_name(tag, attribute):
    """Return the name of the file that a tag asks for, without its folder and version."""
    return tag.get(attribute, "").partition("?")[0].rpartition("/")[2]


def drop_scripts(page, names):
    """Remove the scripts of these names, and hints to load them; tell whether there were any."""
    found = [tag for tag in page.find_all("script") if file_name(tag, "src") in names]
    found += [tag for tag in page.find_all("link", rel="preload") if file_name(tag, "href") in names]
    for tag in found:
        tag.decompose()
    return bool(found)


def paint_first(page):
    """Let a page be seen before its scripts are there; tell whether any stood in the way.

    In the head stays the one that chooses the color scheme. The others keep their order.
    """
    scripts = [tag for tag in page.head.find_all("script") if "localStorage" not in (tag.string or "")]
    before = page.body and page.body.find_all("script", recursive=False)
    for tag in scripts if before else ():
        before[0].insert_before(tag.extract())
    return bool(scripts)


class Icons:
    """The theme's icons as drawings, made of the font that it brings."""

    def __init__(self, site):
        self.font = TTFont(site / ICON_FONT)
        self.glyphs, self.characters = self.font.getGlyphSet(), self.font.getBestCmap()
        styles = (site / ICON_STYLES).read_text("utf-8")
        rules = ICON_RULES.findall(styles)
        self.codes = {name: int(code, 16) for names, code in rules for name in re.findall(r"\.(fa-[\w-]+?):", names)}

    def draw(self, page):
        """Put a drawing in the place of each icon; tell whether there were any."""
        found = [tag for tag in page.find_all(["i", "span"]) if ICON_CLASSES & set(tag.get("class", ()))]
        for tag in found:
            [name] = [name for name in tag["class"] if name in self.codes]
            glyph, pen = self.glyphs[self.characters[self.codes[name]]], SVGPathPen(self.glyphs)
            glyph.draw(pen)
            top = self.font["hhea"].ascent
            height = top - self.font["hhea"].descent
            kept = [c for c in tag["class"] if c not in ICON_CLASSES | {name}]
            drawing = page.new_tag("svg", attrs=tag.attrs | {"class": ["drawn-icon", *kept], "aria-hidden": "true"})
            drawing["viewBox"] = f"0 {-top} {glyph.width} {height}"
            drawing.append(page.new_tag("path", attrs={"d": pen.getCommands(), "transform": "scale(1 -1)"}))
            tag.replace_with(drawing)
        return bool(found)


def join_styles(page, site):
    """Put one style sheet, without icons, in the place of all; tell whether there was more than one."""
    links = [link for link in page.find_all("link", rel="stylesheet") if OWN not in link["href"]]
    if len(links) < 2:
        return False
    sheets = [style_sheet(local(link["href"], site), site / STATIC) for link in links]
    links[0]["href"] = joined(links[0]["href"], site, "styles", ICON_RULES.sub("", "\n".join(sheets)), "css")
    for link in links[1:]:
        link.decompose()
    return True


def join_scripts(page, site):
    """Put one script in the place of those that follow each other; tell whether there were any."""
    runs = [[]]
    for tag in page.body.find_all("script", recursive=False) if page.body else ():
        if tag.attrs.keys() == {"src"} and STATIC in tag["src"] and OWN not in tag["src"]:
            runs[-1].append(tag)
        else:
            runs.append([])
    runs = [run for run in runs if len(run) > 1]
    for first, *others in runs:
        # Not two spells of "use strict" that were meant for one script each, and no line left open.
        codes = [local(tag["src"], site).read_text("utf-8") for tag in (first, *others)]
        first["src"] = joined(first["src"], site, "scripts", "\n;\n".join(["", *codes]), "js")
        for tag in others:
            tag.decompose()
    return bool(runs)


def local(address, site):
    """Return the file of the site's static folder that a page asks for."""
    return site / STATIC / address.partition("?")[0].partition(STATIC)[2]


def joined(address, site, name, content, kind):
    """Keep what was joined in a file that its content names; return its address, beside that of a part."""
    name = f"{name}-{hashlib.sha256(content.encode()).hexdigest()[:16]}.{kind}"
    (site / STATIC / name).write_text(content, "utf-8")
    return address.partition(STATIC)[0] + STATIC + name


def style_sheet(file, folder):
    """Return a style sheet and those that it imports, with addresses as seen from a folder."""

    def moved(match):
        target = os.path.normpath(file.parent / match[2])
        return f"{match[1]}{Path(os.path.relpath(target, folder)).as_posix()}{match[3]}"

    text = re.sub(r'@charset "[^"]*";', "", file.read_text("utf-8"))
    text = re.sub(r"(url\(['\"]?)(?!data:|#|/|\w+:)([^'\")]+)(['\"]?\))", moved, text)
    return re.sub(r'@import "([^"]+)";', lambda match: style_sheet(file.parent / match[1], folder), text)


def wait_for_figures(page, path):
    """Reserve each figure's place, and let all but the first wait; tell whether there were any."""
    images = [image for image in page.select("article img[src]") if not image.get("height")]
    for place, image in enumerate(images):
        start = (path.parent / image["src"]).read_text("utf-8")[:1000]
        width, height = (float(n) for n in re.search(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', start).groups())
        image["width"], image["height"] = round(width * 4 / 3), round(height * 4 / 3)  # points to pixels
        if place:
            image["loading"] = "lazy"
    return bool(images)


def protect(page, handlers):
    """Let a page run and load nothing but what came with the course; tell whether it was not so before.

    handlers: the event handlers of all pages, as the search page takes words out of the others.
    """
    code = handlers | {tag.string or "" for tag in page.find_all("script", src=False)}
    hashes = sorted(b64encode(hashlib.sha256(c.encode()).digest()).decode() for c in code)
    scripts = " ".join(["'self'", "'unsafe-hashes'", *(f"'sha256-{value}'" for value in hashes)])
    # Formulas and the theme have styles in their tags, and the theme's styles have pictures in them.
    policy = f"default-src 'self'; script-src {scripts}; style-src 'self' 'unsafe-inline'; img-src 'self' data:"
    policy += "; object-src 'none'; base-uri 'none'; form-action 'self'"
    tag = page.find("meta", attrs={"http-equiv": POLICY})
    if not tag:  # after the character set, which stands in the first bytes, and before all that it governs
        tag = page.new_tag("meta", attrs={"http-equiv": POLICY})
        page.head.meta.insert_after(tag)
    changed = tag.get("content") != policy
    tag["content"] = policy
    return changed
