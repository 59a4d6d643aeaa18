"""The built book, in a browser too, and a small one to break: two notebooks and a page, copied for each test."""

import os
from pathlib import Path
import shutil
import subprocess
import sys
import time

from bs4 import BeautifulSoup
import nbformat
import pytest
from sphinx_external_toc.parsing import parse_toc_yaml

import measures
from measures import LAPTOP, ROOT

SITE = ROOT / "_build" / "html"
ACCEPT = [sys.executable, "-m", "gate.accept", "."]
SOURCES = {
    f"{name}.html": next(p for p in ROOT.glob(f"{name}.*") if p.suffix in (".md", ".ipynb"))
    for name in parse_toc_yaml(ROOT / "_toc.yml")
}
PAGES = list(SOURCES)
BUILD = [Path(sys.executable).with_name("jupyter-book"), "build", "."]

INDEX = """\
<!-- values:
x = [2, 2, 6, 6]
-->

# A small book

The row (2, 2, 6, 6) has 4 numbers.

<!-- check: x; len(x) -->

```python
>>> sum(x)
16
```
"""

ALPHA = [
    ("markdown", "# Alpha\n\nThe row is (2, 2, 6, 6).\n\n<!-- check: x -->"),
    ("code", "import numpy as np\n\nfrom lnlib import figures, layer_norm_steps\n\nx = np.array([2.0, 2.0, 6.0, 6.0])"),
    ("code", "steps = layer_norm_steps(x)\nprint('mean', steps.mean)\nprint('variance', steps.variance)"),
    ("markdown", "Its mean is $\\mu = \\frac{16}{4} = 4$ and its std 2.\n\n<!-- check: x.sum(); x.size; steps.mean; steps.std -->"),
    ("code", "figures.number_lines([('raw', x, figures.RAW), ('centered', steps.deviations, figures.RAW)])"),
]
BETA = [
    ("markdown", "# Beta\n\nNothing to state."),
    ("code", "print(2 + 2)"),
]


def write_notebook(path, cells):
    """Write (kind, source) pairs as a notebook that was never run."""
    make = {"markdown": nbformat.v4.new_markdown_cell, "code": nbformat.v4.new_code_cell}
    notebook = nbformat.v4.new_notebook(cells=[make[kind](source) for kind, source in cells])
    for number, cell in enumerate(notebook.cells):
        cell.id = f"cell-{number}"
    nbformat.write(notebook, path)


class Book:
    """A book in a folder of its own, with the project's settings, gate and library."""

    def __init__(self, folder):
        self.folder = folder

    def path(self, name):
        return self.folder / "chapters" / name

    def notebook(self, name="alpha.ipynb"):
        return nbformat.read(self.path(name), as_version=4)

    def change(self, edit, name="alpha.ipynb"):
        """Apply edit(cells) to a notebook's cells and write it back."""
        notebook = self.notebook(name)
        edit(notebook.cells)
        nbformat.write(notebook, self.path(name))

    def replace(self, old, new, name):
        """Replace a text that stands exactly once in a file."""
        path = self.folder / name
        text = path.read_text("utf-8")
        assert text.count(old) == 1, f"{old!r} stands {text.count(old)} times in {name}"
        path.write_text(text.replace(old, new), "utf-8")

    def build(self, *what):
        """Run `jupyter-book build` as a reader would; return the finished process."""
        return self.run([*BUILD[:2], *(what or BUILD[2:])])

    def accept(self):
        return self.run(ACCEPT)

    def run(self, command):
        return subprocess.run(command, **self.surroundings(), capture_output=True, encoding="utf-8", timeout=300)

    def start(self, command, **streams):
        """Start a command and do not wait for it."""
        return subprocess.Popen(command, **self.surroundings(), **streams)

    def surroundings(self):
        environment = {k: v for k, v in os.environ.items() if not k.startswith("PYTEST_")}
        return {"cwd": self.folder, "env": environment | {"PYTHONPATH": str(self.folder)}}  # its own gate and web

    def sources(self):
        """Return {path: content} for all that stands in the chapters' folder."""
        return {p: p.read_bytes() for p in self.path("").rglob("*") if p.is_file()}

    def pages(self):
        """Return the pages of the built site."""
        return sorted(p.name for p in self.folder.glob("_build/html/**/*.html"))


@pytest.fixture(scope="session")
def verified_book(tmp_path_factory):
    """A small book whose outputs are stored. Copy it, do not change it."""
    book = Book(tmp_path_factory.mktemp("book"))
    for package in ("gate", "lnlib", "play", "press", "web", "_static"):
        shutil.copytree(ROOT / package, book.folder / package, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(ROOT / "requirements", book.folder / "requirements")
    for name in ("_config.yml", "pyproject.toml", "README.md", "LICENSE", "LICENSE-CC-BY-4.0"):
        shutil.copy(ROOT / name, book.folder)
    book.path("").mkdir()
    shutil.copy(ROOT / "chapters" / "references.bib", book.path(""))  # the settings name it
    book.path("index.md").write_text(INDEX, "utf-8")
    write_notebook(book.path("alpha.ipynb"), ALPHA)
    write_notebook(book.path("beta.ipynb"), BETA)
    toc = "format: jb-book\nroot: chapters/index\nchapters:\n  - file: chapters/alpha\n  - file: chapters/beta\n"
    (book.folder / "_toc.yml").write_text(toc, "utf-8")
    accepted = book.accept()
    assert accepted.returncode == 0, accepted.stderr
    return book


@pytest.fixture
def book(verified_book, tmp_path):
    """A copy of the small book, to be broken."""
    shutil.copytree(verified_book.folder, tmp_path / "book")
    return Book(tmp_path / "book")


@pytest.fixture(scope="module")
def site():
    if not SITE.is_dir():
        pytest.fail("there is no built book: run `make book` first (`make test` does)")
    return SITE


@pytest.fixture(scope="module")
def soups(site):
    """Every built page, parsed. What stands in _static are the theme's templates."""
    found = sorted(p for p in site.rglob("*.html") if "_static" not in p.parts)
    return {p.relative_to(site).as_posix(): BeautifulSoup(p.read_text("utf-8"), "html.parser") for p in found}


@pytest.fixture(scope="module")
def address(site):
    """The site below a folder, as many hosts have it."""
    with measures.served(site, "/course/") as address:
        yield address


@pytest.fixture(scope="module")
def browser():
    if measures.CHROMIUM is None and not os.environ.get("CI"):
        pytest.skip("needs a browser: install Chromium (on Debian and Ubuntu: apt-get install chromium)")
    assert measures.CHROMIUM, "CI must have Chromium: these tests may not be skipped there"
    with measures.chromium() as browser:
        yield browser


@pytest.fixture(scope="module")
def calculate(browser):
    """Return a function that has the page's arithmetic done by the browser."""
    page = browser.new_page()
    source = (ROOT / "play" / "norms.js").read_text("utf-8")
    yield lambda expression, given=None: page.evaluate(f"(given) => {{ {source}; return {expression} }}", given)
    page.close()


@pytest.fixture
def visit(browser, address):
    """Return a function that opens a page of the site; fail if anything it asked for went wrong."""
    contexts, complaints = [], []

    def visit(path, width=LAPTOP, scheme="light", **options):
        size = {"width": width, "height": measures.HEIGHT}
        context = browser.new_context(viewport=size, color_scheme=scheme, **options)
        contexts.append(context)
        page = context.new_page()
        # The front door only redirects, so it names no icon, and a browser may ask for the usual one.
        context.route("**/favicon.ico", lambda route: route.fulfill(status=204))
        page.on("console", lambda m: complaints.append(m.text) if m.type == "error" else None)
        page.on("pageerror", lambda e: complaints.append(str(e)))
        page.on("response", lambda r: complaints.append(f"{r.status} {r.url}") if r.status >= 400 else None)
        page.on("request", lambda r: None if r.url.startswith((address, "data:")) else complaints.append(r.url))
        page.goto(f"{address}/{path}", wait_until="networkidle")
        page.wait_for_load_state("load")  # on a busy machine the network may rest before the scripts have run
        return page

    yield visit
    for context in contexts:
        context.close()
    assert complaints == []


def open_boxes(page):
    """Open every box of a page, and load the figures that wait for a reader to come near."""
    page.evaluate("""() => {
        document.querySelectorAll('article details').forEach(box => { box.open = true })
        document.querySelectorAll('article img').forEach(image => { image.loading = 'eager' })
    }""")
    until(page, "[...document.querySelectorAll('article img')].every(image => image.complete)")


def until(page, expression, seconds=10):
    """Wait until an expression is true. Playwright's own way evaluates text in the page, which the page forbids."""
    deadline = time.monotonic() + seconds
    while not page.evaluate(expression):
        assert time.monotonic() < deadline, f"still not true: {expression}"
        page.wait_for_timeout(50)
