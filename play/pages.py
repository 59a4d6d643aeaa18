"""Which pages get which script and styles: those a plaything stands on, and no others.

A plaything's script is made of the files it names, in their order, in one function of its own. So it
needs one request, leaves no names behind, and works in a page that is opened from a disk, where
browsers load no modules.
"""

from pathlib import Path

FOLDER = Path(__file__).parent
FUNCTION = '(() => {{\n"use strict";\n{}\n}})();\n'


def provide(app, plaything, name, parts):
    """Bring a plaything's script, made of parts, and its styles, NAME.css, to pages that have such a node."""

    def write(app):
        if app.builder.name in ("html", "dirhtml"):
            target = Path(app.outdir, "_static", "play")
            target.mkdir(parents=True, exist_ok=True)
            code = "\n".join((FOLDER / part).read_text("utf-8") for part in parts)
            (target / f"{name}.js").write_text(FUNCTION.format(code), "utf-8")
            (target / f"{name}.css").write_text((FOLDER / f"{name}.css").read_text("utf-8"), "utf-8")

    def add(app, page, template, context, doctree):
        if doctree and any(doctree.findall(plaything)):
            app.add_js_file(f"play/{name}.js", loading_method="defer")
            app.add_css_file(f"play/{name}.css")

    app.connect("builder-inited", write)
    app.connect("html-page-context", add)
