"""Run the checks over a book's pages and word what they found."""

import json
import os
from pathlib import Path
import re
import subprocess
import sys
import tempfile

from gate import notebooks, prose
from gate.kernel import CELL_TIMEOUT, clean_environment
from gate.plugin import PLAIN_NUMBERS, REPORT

MOST_SHOWN = 30  # findings; more than anyone reads at once

WHAT_TO_DO = """\
If the change is not intended, fix the code or the text.
If it is, run `make accept`, look at what it stored (git diff), and build again."""


def verify(pages, root, plain_numbers):
    """Check every page; return '' when all hold, else the message that says what does not.

    pages: paths of notebooks and Markdown pages; root: the book's folder, whose `lnlib` is used.
    """
    findings, readable, items = [], {}, {}
    for page in pages:
        name = page.relative_to(root).as_posix()
        if not page.is_file():
            findings.append((name, "the page", ["it is in the table of contents, but there is no such file"]))
        elif page.suffix == ".ipynb":
            try:
                notebook = readable[page] = notebooks.read(page)
            except ValueError as error:
                findings.append((name, "the page", [str(error)]))
                continue
            refused = list(notebooks.refusals(page, notebook, plain_numbers))
            for cell, reason in refused:
                place = notebooks.cell_name(notebook, cell) if cell else "the page"
                findings.append((name, place, [reason]))
            if not refused:
                items[name] = item_count(notebook, plain_numbers)
        elif page.suffix == ".md":
            if reason := prose.refusal(page.read_text("utf-8")):
                findings.append((name, "the page", [reason]))
            else:
                items[name] = 1
        else:
            findings.append((name, "the page", ["a page is a notebook (.ipynb) or Markdown (.md)"]))
    findings += stray_figures(pages, root, notebooks.drawn_figures(readable))
    if len(pages) > 1 and not any(page.suffix == ".ipynb" for page in pages):
        findings.append(("_toc.yml", "the book", ["it has no notebook, so there is nothing to verify"]))
    if items:
        findings += run_pytest(items, root, plain_numbers)
    return worded(findings)


def item_count(notebook, plain_numbers):
    """Return how many items a notebook has: one for each cell that says something, one for the text ahead."""
    return 1 + sum(c.cell_type == "code" or bool(prose.passages(c.source, plain_numbers)) for c in notebook.cells)


def stray_figures(pages, root, drawn):
    """Yield a finding for each picture file beside the chapters that is not among the drawn ones."""
    for folder in sorted({page.parent for page in pages}):
        for picture in sorted((folder / "figures").glob("*")):
            if picture.resolve() not in drawn and not picture.name.startswith("."):
                yield picture.relative_to(root).as_posix(), "the picture", ["no cell draws it: remove it"]


def run_pytest(items, root, plain_numbers, options=(), variables=()):
    """Run nbval and the prose checks, one page a worker; return the findings.

    items: {page: how many it must pass}. A page that passes fewer without a failure was
    not checked, and that is a finding too. options, variables: more for pytest and its environment.
    """
    with tempfile.TemporaryDirectory() as folder:
        # Nothing but this file configures pytest: no addopts, conftest.py or plugin of a project
        # or of a reader's machine may soften the checks.
        settings, report = Path(folder, "pytest.ini"), Path(folder, "report.json")
        settings.write_text("[pytest]\n", "utf-8")
        environment = clean_environment(root, folder) | {
            "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
            REPORT: str(report),
            PLAIN_NUMBERS: json.dumps(plain_numbers),
            **dict(variables),
        }
        notebook_count = sum(page.endswith(".ipynb") for page in items)
        workers = min(notebook_count, os.cpu_count() or 1) if notebook_count > 1 else 0
        command = [
            sys.executable, "-m", "pytest", "--nbval", "--nbval-current-env", f"--nbval-cell-timeout={CELL_TIMEOUT}",
            "-c", str(settings), f"--rootdir={root}", "--noconftest", "--color=no", "--quiet",
            "-p", "nbval.plugin", "-p", "xdist", "-p", "gate.plugin", "-p", "no:cacheprovider",
            f"--numprocesses={workers}", "--dist=loadfile", *options, *items,
        ]  # fmt: skip
        result = subprocess.run(command, cwd=root, env=environment, capture_output=True, text=True, encoding="utf-8")
        if not report.is_file():
            tail = (result.stdout + result.stderr).strip().splitlines()[-5:]
            return [("the book", "pytest", ["it could not run", *tail])]
        passed, findings = json.loads(report.read_text("utf-8"))
    failed_pages = {page for page, _, _ in findings}
    for page, expected in items.items():
        if page not in failed_pages and passed.get(page, 0) != expected:
            findings.append((page, "the page", [f"{passed.get(page, 0)} of its {expected} cells were checked"]))
    if result.returncode and not findings:
        findings.append(("the book", "pytest", [f"it ended with status {result.returncode}"]))
    return findings


def worded(findings):
    """Return the message for a list of (page, place, lines), or '' when there is nothing to say."""
    if not findings:
        return ""
    count = len(findings)
    what = "one thing does" if count == 1 else f"{count} things do"
    parts = [f"\nThe book was not built, because {what} not hold.\n"]
    for page, place, lines in sorted(findings, key=lambda f: f[0])[:MOST_SHOWN]:
        parts.append("\n    ".join([f"{page}, {place}", *lines]) + "\n")
    if count > MOST_SHOWN:
        parts.append(f"... and {count - MOST_SHOWN} more\n")
    return re.sub(r"\x1b\[[0-9;]*[a-zA-Z]", "", "\n".join([*parts, WHAT_TO_DO]))
