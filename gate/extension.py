"""The Sphinx extension that makes every build pass through the gate, whatever started it."""

import hashlib
from pathlib import Path
import re
import sys

from docutils import nodes
from sphinx_external_toc.events import remove_suffix

from gate import notebooks, verified
from gate.prose import is_instruction
from gate.run import verify, worded


def setup(app):
    app.add_config_value("gate_plain_numbers", [], "env", [list])
    # Or an edit of an extension or of the styles would reach only those pages that changed as well.
    app.add_config_value("gate_code", code_digest(Path(app.confdir)), "env", [str])
    # Every warning fails the build, whatever the command line says; all are shown, then it fails.
    app.keep_going, app.warningiserror = True, False
    app.connect("config-inited", say_when_verified)
    app.connect("env-before-read-docs", verify_before_reading)
    app.connect("doctree-read", finish_page)
    app.connect("build-finished", require_pages)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def code_digest(root):
    """Return what tells one state of the book's own extensions and styles from another."""
    files = (path for folder in ("gate", "web", "play", "press", "_static") for path in (root / folder).rglob("*"))
    return digest(root, (path for path in files if path.suffix in (".py", ".js", ".css")))


def digest(root, files):
    """Return what tells one state of some files in a folder from another."""
    whole = hashlib.sha256()
    for name, path in sorted((path.relative_to(root).as_posix(), path) for path in files):
        content = path.read_bytes()
        whole.update(f"{name} {len(content)} ".encode() + content)
    return whole.hexdigest()


def say_when_verified(app, config):
    """Let each page end with the date and the versions; without the gate, none says so."""
    config.html_theme_options["extra_footer"] = f"<p>{verified.words()}</p>"


def verify_before_reading(app, env, docnames):
    """Stop the build here, with nothing rendered, unless all pages that it would render hold."""
    if app.config.nb_execution_mode != "off":
        stop("gate: set execute_notebooks to 'off': pages are rendered from verified outputs")
    for pattern in app.config.gate_plain_numbers:
        try:
            re.compile(pattern)
        except (re.error, TypeError) as error:
            stop(f"gate: gate_plain_numbers holds {pattern!r}, which is no regular expression: {error}")
    stop(verify(page_paths(app), Path(app.srcdir), app.config.gate_plain_numbers))


def stop(message):
    """End the build with a message, if there is one."""
    if message:
        # Jupyter Book buries a raised error in a traceback, and a logged one does not stop it.
        print(message, file=sys.stderr)
        sys.exit(1)


def page_names(app):
    """Return the names of all pages: those found, and those that the table of contents promises."""
    site_map = getattr(app.config, "external_site_map", None) or {}  # a single-page build has none
    return sorted(app.env.found_docs | {remove_suffix(name, app.config.source_suffix) for name in site_map})


def page_paths(app):
    """Return the source file of each page; one that is missing counts as a notebook."""
    found = [(name, Path(app.env.doc2path(name))) for name in page_names(app)]
    return [path if path.is_file() else Path(app.srcdir, f"{name}.ipynb") for name, path in found]


def finish_page(app, doctree):
    """Give each computed figure its computed alternative text; drop the instructions to the gate.

    Stop at a picture that no cell draws: nothing has recomputed it.
    """
    computed = set()
    for bundle in doctree.findall(lambda n: isinstance(n, nodes.Element) and n.get("nb_element") == "mime_bundle"):
        by_type = {child["mime_type"]: child for child in bundle.children}
        for image in by_type["image/svg+xml"].findall(nodes.image) if "image/svg+xml" in by_type else ():
            image["alt"] = by_type["text/plain"].astext()
            computed.add(image)
    others = set(doctree.findall(nodes.image)) - computed
    sources = [path for path in page_paths(app) if path.suffix == ".ipynb"] if others else []
    drawn = notebooks.drawn_figures({path: notebooks.read(path) for path in sources})
    for image in others:
        # Sphinx has already made the address relative to the book's folder.
        if Path(app.srcdir, image["uri"]).resolve() not in drawn:
            stop(worded([(app.env.docname, "the page", [f"no cell draws the picture {image['uri']}"])]))
    for raw in list(doctree.findall(nodes.raw)):
        if is_instruction(raw.astext()):
            raw.parent.remove(raw)


def require_pages(app, exception):
    """Fail a build that says it succeeded but left out a page or wrote an empty one."""
    if exception or app.builder.name not in ("html", "dirhtml"):
        return
    from bs4 import BeautifulSoup

    for name in page_names(app):
        path = Path(app.builder.get_outfilename(name))
        article = path.is_file() and BeautifulSoup(path.read_text("utf-8"), "html.parser").article
        for heading in article.find_all("h1") if article else ():
            heading.decompose()
        if not article or not article.get_text(strip=True):
            stop(f"gate: {name} is in the table of contents, but its page is missing or empty: {path}")
