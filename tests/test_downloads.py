"""The zip that every build makes, and when a site offers the PDF and the EPUB."""

import hashlib
import os
from pathlib import Path
import re
import subprocess
import sys
from zipfile import ZipFile

from bs4 import BeautifulSoup
import nbformat
from nbclient import NotebookClient
from packaging.requirements import Requirement
import pytest

from conftest import ROOT
from press.downloads import DIGEST, course_zip, sources_digest

NOTEBOOKS = sorted(path.name for path in (ROOT / "chapters").glob("*.ipynb"))
LISTED = "\n## Take it with you\n\nOne file.\n\n:::{downloads}\n:::\n"


@pytest.fixture(scope="module")
def unzipped(site, tmp_path_factory):
    """The site's zip, unzipped: a folder `course`."""
    folder = tmp_path_factory.mktemp("unzipped")
    ZipFile(site / "downloads" / "course.zip").extractall(folder)
    assert [path.name for path in folder.iterdir()] == ["course"]
    return folder / "course"


@pytest.fixture(scope="module")
def requirements(unzipped):
    """The entries of the zip's requirements, as text."""
    text = re.sub(r"^#.*\n", "", (unzipped / "requirements.txt").read_text("utf-8"), flags=re.M)
    return re.split(r"^(?=\S)", text, flags=re.M)[1:]


@pytest.fixture(scope="module")
def installed(unzipped, requirements, tmp_path_factory):
    """A folder with nothing but the zip's lnlib, put there by pip, which has compared its hash."""
    [entry] = [entry for entry in requirements if entry.startswith("./lnlib")]
    only, target = tmp_path_factory.mktemp("only") / "wheel.txt", tmp_path_factory.mktemp("installed")
    only.write_text(entry, "utf-8")
    command = [sys.executable, "-m", "pip", "install", "--no-index", "--no-deps", "--require-hashes"]
    command += ["--quiet", "--disable-pip-version-check", "--target", target, "--requirement", only]
    subprocess.run(command, cwd=unzipped, check=True)
    return target


def test_the_zip_asks_for_every_package_with_its_hash(unzipped, requirements):
    hashes = re.compile(r"--hash=sha256:([0-9a-f]{64})")
    entries = {re.split(r" \\\n| ;", entry)[0]: hashes.findall(entry) for entry in requirements}
    assert all(entries.values())
    [wheel] = unzipped.glob("*.whl")
    assert entries.pop(f"./{wheel.name}") == [hashlib.sha256(wheel.read_bytes()).hexdigest()]
    assert {"numpy", "matplotlib", "ipykernel", "jupyterlab"} <= {Requirement(entry).name for entry in entries}


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_a_notebook_of_the_zip_runs_with_the_lnlib_of_the_zip(unzipped, installed, monkeypatch, name):
    monkeypatch.setenv("PYTHONPATH", str(installed))
    folder = unzipped / "chapters"
    notebook = nbformat.read(folder / name, as_version=4)
    notebook.cells.append(nbformat.v4.new_code_cell("import lnlib; print(lnlib.__file__)"))
    NotebookClient(notebook, resources={"metadata": {"path": folder}}).execute()
    assert Path(notebook.cells[-1].outputs[0].text.strip()).resolve().parent == (installed / "lnlib").resolve()


def test_the_zip_has_every_chapter_and_figure(unzipped):
    there = {path.relative_to(unzipped).as_posix() for path in unzipped.rglob("*") if path.is_file()}
    chapters = {path.relative_to(ROOT).as_posix() for path in (ROOT / "chapters").rglob("*") if path.suffix != ".pyc"}
    assert there >= {path for path in chapters if Path(path).suffix and ".ipynb_checkpoints" not in path}
    assert {"LICENSE", "LICENSE-CC-BY-4.0", "README.txt", "requirements.txt"} <= there
    texts = [path.read_text("utf-8") for path in unzipped.glob("chapters/*.md")]
    figures = {f"chapters/{name}" for text in texts for name in re.findall(r"\]\((.*?svg)\)", text)}
    assert figures and figures <= there
    assert "pip install -r requirements.txt" in (unzipped / "README.txt").read_text("utf-8")


def test_the_same_sources_make_the_same_zip(site, book):
    made = (site / "downloads" / "course.zip").read_bytes()
    assert course_zip(ROOT, "Layer normalization, verified") == made
    first = course_zip(book.folder, "A book")
    for path in book.folder.rglob("*"):
        os.utime(path, (1_000_000_000, 1_000_000_000))
    assert course_zip(book.folder, "A book") == first
    book.replace("# A small book", "# A changed book", "chapters/index.md")
    assert course_zip(book.folder, "A book") != first


@pytest.fixture
def offering(book):
    """The small book with a list of downloads, and stand-ins for a PDF and an EPUB of it."""
    index, made = book.path("index.md"), book.folder / "_build" / "downloads"
    index.write_text(index.read_text("utf-8") + LISTED, "utf-8")
    made.mkdir(parents=True)
    (made / "course.pdf").write_bytes(b"pdf" * 700_000)
    (made / "course.epub").write_bytes(b"epub" * 1000)
    (made / DIGEST).write_text(sources_digest(book.folder), "utf-8")
    return book


def offered(book):
    """Build a book; return {address: line} of what its front page offers, each a file in the site."""
    result = book.build()
    assert result.returncode == 0, result.stderr
    page = book.folder / "_build/html/chapters/index.html"
    links = BeautifulSoup(page.read_text("utf-8"), "html.parser").select(".downloads a")
    assert all(link.has_attr("download") for link in links)
    there = {path.name for path in (book.folder / "_build/html/downloads").iterdir()}
    assert {(page.parent / link["href"]).resolve().name for link in links} == there
    return {link["href"]: link.parent.get_text() for link in links}


def test_a_site_offers_what_was_made_from_its_sources_only(offering):
    lines = offered(offering)
    assert list(lines) == ["../downloads/course.pdf", "../downloads/course.epub", "../downloads/course.zip"]
    assert lines["../downloads/course.pdf"].startswith("PDF, 2.1 MB")
    assert lines["../downloads/course.epub"].startswith("EPUB, 4 kB")
    offering.change(lambda cells: cells[0].update(source=cells[0].source.replace("The row is", "Our row is")))
    assert list(offered(offering)) == ["../downloads/course.zip"]
    offering.change(lambda cells: cells[0].update(source=cells[0].source.replace("Our row is", "The row is")))
    assert len(offered(offering)) == 3
    (offering.folder / "_build" / "downloads" / DIGEST).unlink()  # as when they were being made anew
    assert list(offered(offering)) == ["../downloads/course.zip"]


@pytest.mark.parametrize(
    "name", ["chapters/references.bib", "lnlib/layer_norm.py", "gate/prose.py", "press/epub.css", "_static/favicon.svg",
             "_config.yml", "_toc.yml", "requirements/book.txt"]
)  # fmt: skip
def test_everything_that_a_page_is_made_of_counts(book, name):
    before = sources_digest(book.folder)
    assert sources_digest(book.folder) == before
    with open(book.folder / name, "a", encoding="utf-8") as file:
        file.write("\n")
    assert sources_digest(book.folder) != before


def test_without_a_browser_the_press_says_what_to_install(book, monkeypatch):
    monkeypatch.setenv("PATH", "")
    result = book.run([sys.executable, "-m", "press", "."])
    assert result.returncode != 0
    assert re.fullmatch(r"[^\n]*install it \(on Debian and Ubuntu: apt-get install chromium\)\.\n", result.stderr)
