"""The gate on a throw-away book: whatever is altered, the build stops, says where, writes no page."""

import base64
import os
from pathlib import Path
import re
import subprocess
import sys
import time

import nbformat
import pytest

from conftest import ACCEPT, BUILD
from gate import speed
from gate.accept import store
from gate.prose import COMMENT
from gate.run import verify


def assert_stopped(book, result, *said):
    """The build failed in words a person can use, and left no page."""
    assert result.returncode != 0
    assert book.pages() == []
    for text in said:
        assert text in result.stderr
    assert "make accept" in result.stderr
    assert "Traceback" not in result.stdout + result.stderr
    assert "\x1b" not in result.stderr


def findings(book, *names):
    """Return the gate's message on these pages, or on all, without building."""
    pages = [book.path(name) for name in names or ("index.md", "alpha.ipynb", "beta.ipynb")]
    return verify(pages, book.folder, [])


def test_a_book_that_holds_is_built(book):
    result = book.build()
    assert result.returncode == 0, result.stderr
    assert {"index.html", "alpha.html", "beta.html"} <= set(book.pages())
    page = (book.folder / "_build/html/chapters/alpha.html").read_text("utf-8")
    assert "mean [4.]" in page
    assert 'alt="The same row on 2 number lines' in page
    assert not COMMENT.search(page), "readers must not be sent the gate's instructions"


# One alteration each, and what the message must say of it.
def altered_number(book):
    book.replace("mean [4.]", "mean [5.]", "chapters/alpha.ipynb")
    return ["cell 3 (In [2]): steps =", "stored:\n        mean [5.]", "came out:\n        mean [4.]"]


def altered_coordinate(book):
    def edit(cells):
        svg = cells[4].outputs[0].data["image/svg+xml"]
        cells[4].outputs[0].data["image/svg+xml"] = re.sub(r"L (\d+)\.", lambda m: f"L {int(m[1]) + 1}.", svg, count=1)

    book.change(edit)
    return ["cell 5 (In [3]): figures.number_lines", "the figure is drawn differently in 1 of"]


def altered_data(book):
    def edit(cells):
        cells[4].source = cells[4].source.replace("('raw', x,", "('raw', x * [1, 1, 1, 1.01],")

    book.change(edit)
    return ["cell 5 (In [3])", "the figure has other parts", "raw: (2, 2, 6, 6.06)"]


def altered_library(book):
    book.replace("rows -= rest", "rows += rest", "lnlib/layer_norm.py")
    return ["cell 3 (In [2])", "stored:\n        variance [4.]", "came out:\n        variance [20.]"]


def stripped_notebook(book):
    def edit(cells):
        for cell in cells:
            if cell.cell_type == "code":
                cell.outputs, cell.execution_count = [], None

    book.change(edit)
    return ["cell 2 (In [ ]): import numpy", "never run"]


def unexecuted_cell(book):
    book.change(lambda cells: cells[1].update(execution_count=None), "beta.ipynb")
    return ["chapters/beta.ipynb, cell 2", "never run"]


def missing_output(book):
    book.change(lambda cells: cells[1].update(outputs=[]), "beta.ipynb")
    return ["chapters/beta.ipynb, cell 2 (In [1])", "nothing", "came out:\n        4"]


def raising_cell(book):
    book.change(lambda cells: cells[1].update(source="1 / 0"), "beta.ipynb")
    return ["chapters/beta.ipynb, cell 2 (In [1]): 1 / 0", "the cell raised ZeroDivisionError: division by zero"]


def warning_cell(book):
    source = "import warnings\n\nwarnings.warn('look out')\nprint(2 + 2)"
    book.change(lambda cells: cells[1].update(source=source), "beta.ipynb")
    return ["chapters/beta.ipynb, cell 2 (In [1])", "(stderr)", "look out"]


def missing_notebook(book):
    book.path("beta.ipynb").unlink()
    return ["chapters/beta.ipynb", "no such file"]


def altered_sentence(book):
    book.replace("its std 2.", "its std 3.", "chapters/alpha.ipynb")
    return ["cell 4", "the text says 3, but steps.std is 2"]


def altered_formula(book):
    book.replace(r"\\frac{16}{4}", r"\\frac{12}{4}", "chapters/alpha.ipynb")
    return ["cell 4", "the text says 12, but x.sum() is 16", "in: Its mean is"]


def altered_markdown_page(book):
    book.replace("has 4 numbers", "has 5 numbers", "chapters/index.md")
    return ["chapters/index.md, line 7", "the text says 5, but len(x) is 4"]


def altered_snippet(book):
    book.replace("\n16\n", "\n17\n", "chapters/index.md")
    return ["chapters/index.md, line 11", "Expected:\n        17", "Got:\n        16"]


ALTERATIONS = [
    altered_number, altered_coordinate, altered_data, altered_library, stripped_notebook, unexecuted_cell,
    missing_output, raising_cell, warning_cell, missing_notebook, altered_sentence, altered_formula,
    altered_markdown_page, altered_snippet,
]  # fmt: skip


@pytest.mark.parametrize("alter", ALTERATIONS, ids=lambda f: f.__name__)
def test_an_alteration_stops_the_build(book, alter):
    said = alter(book)
    result = book.build()
    assert_stopped(book, result, "chapters/", *said)
    assert "one thing does not hold" in result.stderr or alter in (stripped_notebook, altered_library)


def test_names_of_a_snippet_stay_on_a_page_and_go_in_a_notebook(book):
    snippet = "```python\n>>> total = 4 * 4\n```\n\nTogether 16.\n\n<!-- check: total -->\n"
    page = book.path("index.md")
    page.write_text(page.read_text("utf-8") + snippet, "utf-8")
    assert findings(book, "index.md") == ""
    book.change(lambda cells: cells[0].update(source="# Beta\n\n" + snippet), "beta.ipynb")
    message = findings(book, "beta.ipynb")
    assert "chapters/beta.ipynb, cell 1" in message and "name 'total' is not defined" in message


def test_a_single_page_is_not_built_past_the_gate(book):
    altered_number(book)
    result = book.build("chapters/alpha.ipynb")
    assert result.returncode != 0
    assert "came out:\n        mean [4.]" in result.stderr
    assert book.pages() == []


def test_a_projects_own_pytest_settings_do_not_soften_the_gate(book):
    (book.folder / "pytest.ini").write_text("[pytest]\naddopts = --nbval-lax -k nothing\n")
    (book.folder / "conftest.py").write_text("def pytest_collection_modifyitems(items):\n    items.clear()\n")
    (book.path("") / "conftest.py").write_text("collect_ignore_glob = ['*']\n")
    assert findings(book) == ""
    said = altered_number(book)
    assert_stopped(book, book.build(), *said)


def test_a_failed_build_leaves_the_last_verified_site(book):
    assert book.build().returncode == 0
    before = {p: p.read_bytes() for p in book.folder.glob("_build/html/**/*.html")}
    altered_number(book)
    assert book.build().returncode != 0
    assert before == {p: p.read_bytes() for p in book.folder.glob("_build/html/**/*.html")}


def test_a_link_or_a_reference_that_leads_nowhere_fails_the_build(book):
    broken = {
        "[a page](no-page.md)": "no-page.md",
        "[a place](alpha.ipynb#no-place)": "no-place",
        "[a label](#no-label)": "no-label",
        "{ref}`a section <no-section>`": "no-section",
        "{term}`no-term`": "no-term",
        "{cite:t}`no-paper`": "no-paper",
    }
    book.replace("Nothing to state.", "\\n\\n".join(broken), "chapters/beta.ipynb")
    result = book.build()
    assert result.returncode != 0
    assert [name for name in broken.values() if name not in result.stderr] == []


def test_an_empty_page_fails_the_build(book):
    book.path("index.md").write_text("# Only a title\n")
    result = book.build()
    assert result.returncode != 0
    assert "missing or empty" in result.stderr and "chapters/index" in result.stderr


def test_what_the_gate_costs_is_timed_beside_a_stock_build(book, capsys):
    speed.main(book.folder, rounds=1)
    assert re.search(r"the verified build takes \d+\.\d\d times the stock one", capsys.readouterr().out)


def test_execution_by_sphinx_is_refused(book):
    book.replace('execute_notebooks: "off"', "execute_notebooks: force", "_config.yml")
    result = book.build()
    assert result.returncode != 0 and "execute_notebooks" in result.stderr and book.pages() == []


def output(kind, data):
    return nbformat.v4.new_output("display_data", data={kind: data, "text/plain": "x"})


PNG = base64.b64encode(b"not a picture").decode()
REFUSED = {
    "png": (lambda c: c[1].outputs.append(output("image/png", PNG)), "image/png is not compared"),
    "jpeg": (lambda c: c[1].outputs.append(output("image/jpeg", PNG)), "image/jpeg is not compared"),
    "script": (lambda c: c[1].outputs.append(output("application/javascript", "1")), "javascript is not compared"),
    "stderr": (
        lambda c: c[1].outputs.append(nbformat.v4.new_output("stream", name="stderr", text="UserWarning: old\n")),
        "UserWarning: old",
    ),
    "error": (lambda c: c[1].outputs.append(nbformat.v4.new_output("error", ename="E", evalue="", traceback=[])),
              "the stored output is an error (E)"),
    "carriage return": (lambda c: c[1].outputs[0].update(text="mean 5\r4\n"), "carriage returns"),
    "odd stream": (lambda c: c[1].outputs[0].update(name="metadata"), "other than stdout"),
    "comment marker": (lambda c: c[1].update(source="# NBVAL_IGNORE_OUTPUT\nprint(2 + 2)"), "a marker for nbval"),
    "hidden marker": (lambda c: c[1].update(source="# NBVAL_SKIP\x0c#\nprint(2 + 2)"), "a marker for nbval"),
    "tag": (lambda c: c[1].metadata.update(tags=["nbval-skip"]), "a marker for nbval"),
    "raises tag": (lambda c: c[1].metadata.update(tags=["raises-exception"]), "a marker for nbval"),
    "included file": (lambda c: c[0].update(source="# Beta\n\n```{include} part.txt\n```"), "no check reads"),
    "picture in html": (lambda c: c[0].update(source='# Beta\n\n<img src="x.png">'), "no check reads"),
    "no file name": (lambda c: c[1].metadata.update(figure_file=5), "no file name"),
    "raw cell": (lambda c: c.append(nbformat.v4.new_raw_cell("5")), "raw cell"),
    "caption": (lambda c: c[1].metadata.update(mystnb={"figure": {"caption": "5"}}), "not checked"),
    "pasted picture": (lambda c: c[0].update(attachments={"a.png": {"image/png": PNG}}), "pasted picture"),
    "number in a comment": (lambda c: c[1].update(source="print(2 + 2)  # 5"), "comment states a number"),
    "number in a string": (
        lambda c: c[1].update(source="print('the sum is 4')"),
        "a string states a number that nothing checks: the sum is 4",
    ),
    "number in a docstring": (
        lambda c: c[1].update(source='def four():\n    """Return 4."""\n    return 2 + 2\n\nprint(four())'),
        "a string states a number that nothing checks: Return 4.",
    ),
    "number in an f-string": (
        lambda c: c[1].update(source="print(f'{1 + 1:.1f} and 2')"),
        "a string states a number that nothing checks: and 2",
    ),
    "empty cell": (lambda c: c.append(nbformat.v4.new_code_cell("", execution_count=2)), "empty"),
    "figure without text": (
        lambda c: c[1].outputs.append(nbformat.v4.new_output("display_data", data={"image/svg+xml": "<svg/>"})),
        "no alternative text",
    ),
    "no code": (lambda c: c.pop(1), "no code cell"),
}  # fmt: skip


@pytest.mark.parametrize("edit, reason", REFUSED.values(), ids=REFUSED)
def test_what_nbval_would_not_compare_is_refused(book, edit, reason):
    book.change(edit, "beta.ipynb")
    message = findings(book, "beta.ipynb")
    assert "chapters/beta.ipynb" in message and reason in message


def test_metadata_that_myst_would_read_is_refused(book):
    notebook = book.notebook("beta.ipynb")
    notebook.metadata.myst = {"substitutions": {"mean": "5"}}
    nbformat.write(notebook, book.path("beta.ipynb"))
    assert "its metadata holds 'myst'" in findings(book, "beta.ipynb")


def test_a_broken_pattern_in_the_short_list_is_named(book):
    book.replace("gate_plain_numbers:", "gate_plain_numbers:\n      - '(GPT'", "_config.yml")
    result = book.build()
    assert result.returncode != 0
    assert "'(GPT', which is no regular expression" in result.stderr and "Traceback" not in result.stderr


def test_a_file_that_is_no_notebook_is_named(book):
    book.path("beta.ipynb").write_text("{")
    assert "chapters/beta.ipynb, the page\n    this is not a notebook" in findings(book, "beta.ipynb")


def test_a_notebook_written_as_markdown_is_refused(book):
    book.path("index.md").write_text("---\nfile_format: mystnb\n---\n# Title\n\n```{code-cell}\n1\n```\n")
    assert "nothing verifies a notebook written as Markdown" in findings(book, "index.md")


def test_a_book_without_a_notebook_is_refused(book):
    pages = [book.path("index.md"), book.path("more.md")]
    pages[1].write_text("# More\n\nNothing.\n")
    assert "it has no notebook" in verify(pages, book.folder, [])


def test_a_run_that_checks_nothing_is_a_finding(book, monkeypatch):
    def collects_nothing(command, env, **_):
        Path(env["GATE_REPORT"]).write_text("[{}, []]")
        return subprocess.CompletedProcess(command, returncode=5, stdout="no tests ran", stderr="")

    monkeypatch.setattr("gate.run.subprocess.run", collects_nothing)
    assert "chapters/beta.ipynb, the page\n    0 of its 2 cells were checked" in findings(book, "beta.ipynb")


def test_a_kernel_that_dies_is_a_finding(book, monkeypatch):
    monkeypatch.setattr("gate.run.CELL_TIMEOUT", 3)
    book.change(lambda cells: cells[1].update(source="import os\nos._exit(1)"), "beta.ipynb")
    message = findings(book, "beta.ipynb")
    assert "chapters/beta.ipynb, cell 2" in message and "\x1b" not in message
    accepted = book.accept()
    assert accepted.returncode != 0
    assert "Nothing was stored. beta.ipynb: Kernel died" in accepted.stderr and "Traceback" not in accepted.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has kernels on TCP ports only")
def test_a_kernel_listens_at_files_of_its_own(book):
    # Of two programs that were offered the same free port, one waits forever.
    transport = "import json\nfrom ipykernel import get_connection_file\n"
    transport += "print(json.load(open(get_connection_file()))['transport'])"
    book.change(lambda cells: cells[1].update(source=transport), "beta.ipynb")
    assert book.accept().returncode == 0
    assert book.notebook("beta.ipynb").cells[1].outputs[0].text == "ipc\n"
    assert findings(book) == ""


def test_a_picture_that_no_cell_draws_is_refused(book):
    book.path("figures").mkdir()
    book.path("figures/by-hand.svg").write_text("<svg/>")
    assert "chapters/figures/by-hand.svg, the picture\n    no cell draws it" in findings(book, "beta.ipynb")


@pytest.mark.parametrize("picture", ["![a row of dots](by-hand.svg)", '<img src="by-hand.svg" alt="a row of dots">'])
def test_a_page_may_not_show_a_picture_that_no_cell_draws(book, picture):
    book.path("by-hand.svg").write_text('<svg xmlns="http://www.w3.org/2000/svg"/>')
    book.replace("# A small book", f"# A small book\n\n{picture}", "chapters/index.md")
    result = book.build()
    assert result.returncode != 0
    assert "chapters/index" in result.stderr and "the page" in result.stderr
    assert book.pages() == []


def test_accept_keeps_a_copy_of_a_figure_and_the_gate_compares_it(book):
    book.change(lambda cells: cells[4].metadata.update(figure_file="figures/lines.svg"))
    assert "lines.svg is not the figure that this cell draws" in findings(book, "alpha.ipynb")
    accepted = book.accept()
    assert accepted.returncode == 0, accepted.stderr
    svg = book.path("figures/lines.svg").read_text("utf-8")
    book.replace("# A small book", "# A small book\n\n![three dots](figures/lines.svg)", "chapters/index.md")
    assert book.build().returncode == 0
    assert svg.startswith("<svg") and svg == book.notebook().cells[4].outputs[0].data["image/svg+xml"]
    assert findings(book) == ""
    book.path("figures/lines.svg").write_text(svg.replace("L ", "L 1", 1))
    assert "lines.svg is not the figure that this cell draws" in findings(book, "alpha.ipynb")


def test_accept_stores_an_intended_change_and_says_what_changed(book):
    book.change(lambda cells: cells[1].update(source="print(2 + 3)"), "beta.ipynb")
    book.replace("[2.0, 2.0, 6.0, 6.0]", "[2.0, 2.0, 6.0, 8.0]", "chapters/alpha.ipynb")
    before = book.notebook().cells[4].outputs[0].data["image/svg+xml"]
    result = book.accept()
    assert result.returncode == 0
    assert "chapters/beta.ipynb, cell 2" in result.stdout
    assert "numbers: 4 -> 5" in result.stdout
    assert "stored:\n        4" in result.stdout and "came out:\n        5" in result.stdout
    assert "numbers: 4. -> 4.5, 4. -> 6.75" in result.stdout
    pictures = {when: Path(re.search(f"figure {when}: (.*)", result.stdout)[1]) for when in ("before", "after")}
    assert pictures["before"].read_text("utf-8") == before
    assert pictures["after"].read_text("utf-8") == book.notebook().cells[4].outputs[0].data["image/svg+xml"] != before
    page = Path(re.search("open (.*)", result.stdout)[1]).read_text("utf-8")
    assert "numbers: 4 -&gt; 5" in page and all(f"src='{picture.name}'" in page for picture in pictures.values())
    assert findings(book, "beta.ipynb") == ""
    assert "as it was stored" in book.accept().stdout


def test_accept_stores_nothing_when_a_cell_fails(book):
    book.change(lambda cells: cells[1].update(source="print(2 + 2)\n1 / 0"), "beta.ipynb")
    book.replace("print('mean', steps.mean)", "print('new')", "chapters/alpha.ipynb")
    before = book.sources()
    result = book.accept()
    assert result.returncode != 0
    assert "Nothing was stored" in result.stderr and "ZeroDivisionError" in result.stderr
    assert "Traceback" not in result.stderr
    assert book.sources() == before


@pytest.mark.parametrize("command", [ACCEPT, BUILD], ids=["accept", "build"])
def test_what_is_killed_leaves_the_notebooks_as_they_were(book, command):
    book.replace("print('mean', steps.mean)", "print('new')", "chapters/alpha.ipynb")
    waits = "import pathlib, time\npathlib.Path('../reached').touch()\ntime.sleep(30)"
    book.change(lambda cells: cells[1].update(source=waits), "beta.ipynb")
    before = book.sources()
    process = book.start(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 60
    while not (book.folder / "reached").exists():
        assert process.poll() is None and time.monotonic() < deadline
        time.sleep(0.1)
    process.kill()
    process.wait()
    assert book.sources() == before


def test_accept_moves_no_file_before_all_are_written(book):
    texts = {path: "new" for path in book.path("").glob("*.ipynb")}
    before = book.sources()
    folder = book.folder / "_build"
    texts[folder / "fails.svg"] = None  # cannot be written
    with pytest.raises(TypeError):
        store(texts, folder)
    assert book.sources() == before


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no pseudo-terminals")
@pytest.mark.parametrize("answer", ["n", "y"])
def test_accept_asks_whoever_sits_at_a_terminal(book, answer):
    book.change(lambda cells: cells[1].update(source="print(2 + 3)"), "beta.ipynb")
    before, (keyboard, terminal) = book.sources(), os.openpty()
    os.write(keyboard, f"{answer}\n".encode())
    process = book.start(ACCEPT, stdin=terminal, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    said, _ = process.communicate(timeout=120)
    assert said.index("numbers: 4 -> 5") < said.index("Store 1 changed outputs? [y/N]")
    assert (book.sources() == before) == ("Nothing was stored" in said) == (answer == "n")


def test_accept_makes_the_same_file_twice(book):
    before = book.sources()
    assert book.accept().returncode == 0
    assert book.sources() == before
