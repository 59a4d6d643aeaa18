"""Make the PDF and the EPUB of the whole course, in `_build/downloads`: `make downloads`.

    python -m press .

It needs Chromium, and the packages of requirements/test.txt.
"""

from pathlib import Path
import sys

from sphinx_external_toc.parsing import parse_toc_yaml
import yaml

from gate.speed import build
from press.downloads import DIGEST, PRESSED, replace_file, sources_digest
from press.epub import ebook
from press.pdf import CHROMIUM, printed, title_page, whole_course

EPUB = ("--builder", "custom", "--custom-builder", "epub")


def main(book):
    if CHROMIUM is None:
        sys.exit("The PDF is printed by Chromium: install it (on Debian and Ubuntu: apt-get install chromium).")
    made_from, output = sources_digest(book), book / "_build"
    finish(build(book))
    page = output / "press" / "course.html"
    page.parent.mkdir(exist_ok=True)
    config = yaml.safe_load((book / "_config.yml").read_text("utf-8"))
    names = list(parse_toc_yaml(book / "_toc.yml"))
    page.write_text(whole_course(config, output / "html", page.parent, names), "utf-8")
    pdf, cover = printed(page)
    finish(build(book, *EPUB))
    epub = ebook(output / "epub", title_page(config, "_images/four-numbers.svg"), cover)
    # Whoever stops this in the middle has no digest, and so no link to what may not belong together.
    (output / "downloads" / DIGEST).unlink(missing_ok=True)
    for name, content in zip(PRESSED, (pdf, epub), strict=True):
        replace_file(output / "downloads" / name, content)
    replace_file(output / "downloads" / DIGEST, made_from.encode())


def finish(build):
    """Stop where a build has failed, with what it said."""
    if build.returncode:
        sys.exit(build.stderr.strip())


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve())
