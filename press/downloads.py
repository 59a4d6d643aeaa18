"""The course as files to take along: what the front page offers, and the zip.

    :::{downloads}
    :::

is a list of what there is, each with its size; `{downloads} course.zip` would list that file only. The
zip has the notebooks and all they need; every build of the site makes it, and the deck of flashcards, see
`play/anki.py`. The PDF and the EPUB take a browser and `make downloads`, see `__main__`. A site has them
when they were made from the sources it is built from, and no others.
"""

import hashlib
import io
import os
from pathlib import Path
import subprocess
import sys
import tempfile
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipFile, ZipInfo

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

from gate.extension import digest

ZIP = "course.zip"
DECK = "flashcards.apkg"
PRESSED = ("course.pdf", "course.epub")
DIGEST = "sources.sha256"  # beside the pressed files: what they were made from
USES = {
    "course.pdf": ("PDF", "to read and to print"),
    "course.epub": ("EPUB", "for e-readers"),
    ZIP: ("Zip", "the notebooks, to run on your own machine"),
    DECK: ("Anki deck", "the flashcards, for Anki"),
}
SOURCES = (
    *("chapters", "lnlib", "gate", "web", "play", "press", "_static"),
    *("_config.yml", "_toc.yml", "requirements/book.txt"),
)
TAKEN = ("LICENSE*", "chapters/*.ipynb", "chapters/*.md", "chapters/*.bib", "chapters/figures/*.svg")
LEFTOVERS = {"__pycache__", ".ipynb_checkpoints"}
EPOCH = 315_532_800  # the beginning of 1980, where the time of zip files begins
README = """\
{title}

The notebooks of the course, to run on your own machine. You need Python 3.11, 3.12, 3.13 or 3.14.
In this folder, in a terminal:

    python3 -m venv .venv
    .venv/bin/pip install -r requirements.txt
    .venv/bin/jupyter lab chapters

On Windows, write .venv\\Scripts\\ instead of .venv/bin/. Only the second command needs the internet.
It installs the versions with which the course was verified, each checked by its hash.

Begin with chapters/walkthrough.ipynb. The code behind the notebooks is the wheel in this folder. It
is under the MIT license (LICENSE), text and figures are under CC BY 4.0 (LICENSE-CC-BY-4.0).
"""


class downloads(nodes.General, nodes.Element):
    """The place of the list."""


class Downloads(SphinxDirective):
    optional_arguments = 1

    def run(self):
        self.env.metadata[self.env.docname]["downloads"] = "yes"
        return [downloads(files=self.arguments or list(USES))]


def setup(app):
    app.add_node(downloads, html=(write_list, None))
    app.add_directive("downloads", Downloads)
    app.connect("env-updated", provide)
    app.connect("doctree-resolved", leave_out)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def provide(app, env):
    """Put into the site what can be downloaded; have the pages that list it written again."""
    if app.builder.name not in ("html", "dirhtml"):
        return []
    root, folder = Path(app.confdir), Path(app.outdir, "downloads")
    replace_file(folder / ZIP, course_zip(root, app.config.html_title))
    made = Path(app.outdir).parent / "downloads"
    fresh = is_fresh(made, root)
    for name in PRESSED:
        if fresh:
            replace_file(folder / name, (made / name).read_bytes())
        else:
            (folder / name).unlink(missing_ok=True)
    return [page for page, about in env.metadata.items() if "downloads" in about]


def leave_out(app, doctree, docname):
    """Let a book that is itself a download offer none: the section with the list goes."""
    if app.builder.name == "epub":
        for place in list(doctree.findall(downloads)):
            place.parent.parent.remove(place.parent)


def write_list(translator, node):
    builder = translator.builder
    page = Path(builder.get_outfilename(builder.current_docname)).parent
    items = []
    for name in node["files"]:
        kind, use = USES[name]
        path = Path(builder.outdir, "downloads", name)
        if path.is_file():
            address = Path(os.path.relpath(path, page)).as_posix()
            items.append(f'<li><p><a href="{address}" download>{kind}</a>, {size(path)}: {use}</p></li>')
    translator.body.append('<ul class="simple downloads">\n' + "\n".join(items) + "\n</ul>\n")
    raise nodes.SkipNode


def size(path):
    """Return the size of a file in words, as "2.1 MB"."""
    count = path.stat().st_size
    return f"{count / 1e6:.1f} MB" if count >= 1e6 else f"{count / 1e3:.0f} kB"


def sources_digest(root):
    """Return what tells one state of all that the course is made from, from another."""
    found = [path for name in SOURCES for path in (root / name, *(root / name).rglob("*"))]
    return digest(root, [p for p in found if p.is_file() and not LEFTOVERS & set(p.relative_to(root).parts)])


def is_fresh(made, root):
    """Tell whether the PDF and the EPUB in a folder were made from these sources."""
    path = made / DIGEST
    return path.is_file() and path.read_text("utf-8") == sources_digest(root)


def replace_file(path, content):
    """Write a file so that there is the old one or the new one, whatever happens."""
    path.parent.mkdir(exist_ok=True)
    part = path.with_name(path.name + ".part")
    part.write_bytes(content)
    os.replace(part, path)


def course_zip(root, title):
    """Return the zip: the chapters, lnlib as a wheel, and what pip needs to install both."""
    wheel, content = lnlib_wheel(root)
    lock = (root / "requirements" / "lab.txt").read_text("utf-8")
    files = {
        wheel: content,
        "requirements.txt": f"{lock}./{wheel} \\\n    --hash=sha256:{hashlib.sha256(content).hexdigest()}\n".encode(),
        "README.txt": README.format(title=title).encode(),
    }
    for pattern in TAKEN:
        files |= {path.relative_to(root).as_posix(): path.read_bytes() for path in root.glob(pattern)}
    return archive({f"course/{name}": files[name] for name in sorted(files)})


def lnlib_wheel(root):
    """Return the name and the content of lnlib's wheel, the same for the same sources."""
    code = "import sys; from flit_core.buildapi import build_wheel; print(build_wheel(sys.argv[1]))"
    with tempfile.TemporaryDirectory() as folder:
        environment = os.environ | {"SOURCE_DATE_EPOCH": str(EPOCH)}
        command = [sys.executable, "-c", code, folder]
        result = subprocess.run(command, cwd=root, env=environment, check=True, stdout=subprocess.PIPE, text=True)
        name = result.stdout.strip()
        return name, Path(folder, name).read_bytes()


def archive(files, stored=()):
    """Return a zip of {name: content} that says nothing of when and where it was made."""
    whole = io.BytesIO()
    with ZipFile(whole, "w") as target:
        for name, content in files.items():
            entry = ZipInfo(name)  # its time is the beginning of 1980
            entry.create_system, entry.external_attr = 3, 0o644 << 16
            target.writestr(entry, content, ZIP_STORED if name in stored else ZIP_DEFLATED)
    return whole.getvalue()
