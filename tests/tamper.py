"""Alter the course in one place at a time and demand that the gate stops: `make tamper`.

What is altered: every number, `nan` and truth value in a stored output; coordinates and letters of
every figure, and the numbers of its alternative text; every number in the text of every page; the
results that snippets show; the inputs, in code cells and on Markdown pages; and each constant and
operator of lnlib's formulas (where no page depends on one, lnlib's own tests have to notice). A
number gets another last digit, so that it is wrong by as little as it can be.

All this happens inside runs of the gate. When a cell or a paragraph has passed, its outputs or its
numbers are altered, put to the same comparison in the same kernel, and taken back; the gate has to
name the place too. When a notebook has passed, it runs again in its emptied kernel, with one input or
formula altered, and it is enough that the gate stops: what these change shows in other places.

`python -m tests.tamper 2/5` tries every fifth alteration only, from the second on.
"""

import ast
from collections import Counter
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from copy import deepcopy
from itertools import count
import json
import os
from pathlib import Path
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time

from nbval.plugin import IPyNbCell, NbCellError, coalesce_streams
import pytest
from sphinx_external_toc.parsing import parse_toc_yaml
import yaml

from gate import notebooks, prose
from gate.plugin import PLAIN_NUMBERS, MarkdownCell, ProseError, TextAhead, check_markdown, findings
from gate.run import item_count, run_pytest

ROOT = Path(__file__).resolve().parent.parent
FOLDER, PART = "TAMPER_FOLDER", "TAMPER_PART"  # environment variables for the plugins below
CHANGES = "changes.json"
FORMULAS = ["lnlib/layer_norm.py", "lnlib/neighbors.py"]
TESTS = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "--noconftest", "-m", "not slow"]
TESTS += [f"tests/test_{name}.py" for name in ("layer_norm", "neighbors", "backward", "accuracy", "rows")]
COORDINATES, LETTERS = 20, 5  # altered in each figure
NUMBER = re.compile(r"(?<![\w.])\d+(?:\.\d*)?(?:e[-+]?\d+)?|\bnan\b|\bTrue\b|\bFalse\b")
SUPERSCRIPTS = "⁰¹²³⁴⁵⁶⁷⁸⁹"
OTHER = {"nan": "0", "True": "False", "False": "True", "½": "¼", "¼": "½", "¾": "½"}
SWAPPED = {ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.Pow: ast.Mult}
STEPS = {ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Add}  # for `rows *= gamma`; rows know no division


def other(value):
    """Return a number as text with another last digit; nan and truth values become others as well."""
    if value in OTHER:
        return OTHER[value]
    at = max(i for i, letter in enumerate(value.partition("e")[0] or value) if letter.isdigit())
    digits = "0123456789" if value[at] in "0123456789" else SUPERSCRIPTS
    return value[:at] + digits[(digits.index(value[at]) + 1) % 10] + value[at + 1 :]


def replaced(text, start, old, new):
    assert text[start : start + len(old)] == old
    return text[:start] + new + text[start + len(old) :]


def altered_texts(text):
    """Yield (what was, what becomes, the text with this one change) for each number."""
    for match in NUMBER.finditer(text):
        yield match[0], other(match[0]), replaced(text, match.start(), match[0], other(match[0]))


def altered_figures(svg, seed):
    """Yield the same for a sample of a figure's coordinates and letters."""
    chance, body = random.Random(seed), svg.index("</style>")
    coordinates = [
        (attribute.start(1) + number.start(), number[0])
        for attribute in re.finditer(r' (?:d|x|y|x1|x2|y1|y2|cx|cy|points)="([^"]*)"', svg)
        for number in re.finditer(r"\d+(?:\.\d+)?", attribute[1])
    ]
    for start, old in chance.sample(coordinates, min(COORDINATES, len(coordinates))):
        yield old, other(old), replaced(svg, start, old, other(old))
    letters = [(m.start(1), m[1]) for m in re.finditer(r'<use xlink:href="(#i\d+)"', svg[body:])]
    for start, old in chance.sample(letters, min(LETTERS, len(letters))):
        new = next((name for _, name in letters if name != old), "#i0")
        yield f"letter {old}", f"letter {new}", replaced(svg, body + start, old, new)


def altered_outputs(cell):
    """Yield (kind, was, becomes, outputs) for each alteration of a cell's stored outputs."""
    for place, output in enumerate(cell.outputs):
        data = output.get("data", {"stream": output.get("text")})
        for mime, text in data.items():
            if mime == "image/svg+xml":
                kind, changes = "coordinates and letters of figures", altered_figures(text, cell.id)
            else:
                kind = "alternative texts" if "image/svg+xml" in data else "outputs"
                changes = altered_texts(text)
            for was, becomes, changed in changes:
                outputs = deepcopy(cell.outputs)
                if mime == "stream":
                    outputs[place]["text"] = changed
                else:
                    outputs[place]["data"][mime] = changed
                yield kind, was, becomes, outputs


def outcome(caught, named):
    """Say in words what got through, or '' when nothing did."""
    return "" if named else "not named" if caught else "not noticed"


class Slice:
    """Takes every n-th of what it is asked about."""

    def __init__(self, part):
        self.first, self.step = map(int, part.split("/"))
        self.number = count(1)

    def takes_next(self):
        return next(self.number) % self.step == self.first % self.step


class Tamperer:
    """The plugin: alters what has just passed, notes what the gate says, and restores it."""

    def __init__(self):
        self.results, self.slice = [], Slice(os.environ[PART])
        self.plain_numbers = json.loads(os.environ[PLAIN_NUMBERS])

    def note(self, kind, item, place, was, becomes, caught, named):
        page = item.path.relative_to(ROOT).as_posix()
        self.results.append([kind, page, place, was, becomes, outcome(caught, named)])

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_call(self, item):
        result = yield
        if result.excinfo:
            return
        if isinstance(item, IPyNbCell):
            self.alter_outputs(item)
        elif isinstance(item, MarkdownCell):
            put_off = [passage for _, passage in item.parent.ahead]
            for passage in item.passages:
                if passage not in put_off:
                    self.alter_text(item, item.cell, passage)
        elif isinstance(item, TextAhead):
            for cell, passage in item.parent.ahead:
                self.alter_text(item, cell, passage)
            self.alter_inputs(Rerun(item))

    def alter_inputs(self, rerun):
        for cell in rerun.notebook.cells:
            source, name = cell.source, notebooks.cell_name(rerun.notebook, cell)
            for start, was in assigned(source) if cell.cell_type == "code" else ():
                if self.slice.takes_next():
                    cell.source = replaced(source, start, was, other(was))
                    stops = rerun.stops()
                    self.note("inputs", rerun.last, name, was, other(was), stops, stops)
            cell.source = source

    def alter_outputs(self, item):
        stored = item.cell.outputs
        for kind, was, becomes, outputs in altered_outputs(item.cell):
            if not self.slice.takes_next():
                continue
            item.cell.outputs = outputs
            caught = not item.compare_outputs(deepcopy(item.test_outputs), coalesce_streams(deepcopy(outputs)))
            place, lines = notebooks.cell_name(item.parent.nb, item.cell), []
            if caught:
                [(place, lines)] = findings(item, NbCellError(item.cell_num, "Cell outputs differ", item.cell.source))
            named = len(lines) > 1 if "figures" in kind else any(becomes in line for line in lines)
            self.note(kind, item, place, was, becomes, caught, named)
        item.cell.outputs = stored

    def alter_text(self, item, cell, passage):
        source, place = cell.source, prose.passages(cell.source, self.plain_numbers).index(passage)
        for number, changed in altered_passage(source, passage):
            if not self.slice.takes_next():
                continue
            cell.source = changed
            report = item.find(cell, prose.passages(changed, self.plain_numbers)[place])
            says = f"the text says {other(number.text)},"
            named = any(says in message and where.endswith(f"line {number.line}") for where, message in report)
            name = f"{notebooks.cell_name(item.parent.nb, cell)}, line {number.line}"
            self.note("numbers in text", item, name, number.text, other(number.text), report, named)
        cell.source = source

    def pytest_sessionfinish(self):
        Path(os.environ[FOLDER], f"{os.getpid()}.json").write_text(json.dumps(self.results), "utf-8")


class Rerun:
    """Runs a notebook that has passed again, in its own kernel, which it empties first.

    load: code that the kernel runs before each of these runs, also the first, of the unaltered notebook.
    """

    def __init__(self, last, load=""):
        self.last, self.notebook, self.load = last, last.parent.nb, load
        self.items = [item for item in last.session.items if item.parent is last.parent]
        assert not (found := self.stops()), f"unaltered, in an emptied kernel, this does not hold: {found}"

    def stops(self):
        """Return what stops the gate, or nothing."""
        kernel = self.last.parent.kernel
        assert kernel.is_alive()
        reply = kernel.kc.execute(f"{self.load}\n%reset -f", silent=True, reply=True)
        assert reply["content"]["status"] == "ok", reply["content"]
        self.last.parent.ahead.clear()
        try:
            for item in self.items:
                item.runtest()
        except (NbCellError, ProseError) as error:
            found = findings(item, error)
            assert "could not be run" not in str(found), f"the machine is too slow, or a cell is: {found}"
            return found
        return []


LOAD_FROM = """
import importlib.util, sys
sys.path.insert(0, {folder!r})
for name in [name for name in sys.modules if name.partition(".")[0] == "lnlib"]:
    del sys.modules[name]
assert importlib.util.find_spec("lnlib").origin.startswith({folder!r})"""


class Formulas:
    """The plugin for lnlib: of the changes in a folder, keeps those that a notebook does not notice."""

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_call(self, item):
        result = yield
        if not result.excinfo and isinstance(item, TextAhead):
            folder = Path(os.environ[FOLDER])
            rerun, changes = Rerun(item, LOAD_FROM.format(folder=str(folder))), Path(folder, CHANGES)
            missed = [c for c in json.loads(changes.read_text("utf-8")) if not noticed(c, folder, rerun.stops)]
            changes.write_text(json.dumps(missed), "utf-8")


def noticed(change, folder, stops):
    """Tell whether something stops while a file of a copy is changed."""
    file, *_, code = change
    Path(folder, file).write_text(code, "utf-8")
    try:
        return stops()
    finally:
        shutil.copy(ROOT / file, Path(folder, file))


def altered_passage(text, passage):
    """Yield (number, text with that number altered) for the numbers of one passage."""
    for number in passage.numbers:
        yield number, replaced(text, number.start, number.text, other(number.text))


def pytest_configure(config):
    if PART in os.environ:
        config.pluginmanager.register(Tamperer(), "tamperer")
    elif FOLDER in os.environ:
        config.pluginmanager.register(Formulas(), "formulas")


def run_gate(pages, plain_numbers, variables):
    """Run the gate on notebooks, with this file as a plugin."""
    items = {page: item_count(notebooks.read(ROOT / page), plain_numbers) for page in pages}
    wrong = run_pytest(items, ROOT, plain_numbers, ["-p", "tests.tamper"], variables)
    if wrong:
        sys.exit(f"The course does not hold as it is, so altering it says nothing: {wrong[0]}")


def notebook_pages(pages, plain_numbers, part):
    """Alter outputs, figures, texts and inputs of all notebooks; return the results."""
    with tempfile.TemporaryDirectory() as folder:
        run_gate(pages, plain_numbers, {FOLDER: folder, PART: part})
        return [result for file in Path(folder).glob("*.json") for result in json.loads(file.read_text("utf-8"))]


def figure_copies(pages, plain_numbers, part):
    """Alter the copies of figures that pages without cells show; return the results."""
    mine, results = Slice(part), []
    for page in pages:
        notebook = notebooks.read(ROOT / page)
        for file, cell in notebooks.figure_files(ROOT / page, notebook).items():
            with tempfile.TemporaryDirectory() as folder:
                copy = Path(folder, file.relative_to(ROOT))
                copy.parent.mkdir(parents=True)
                for was, becomes, svg in altered_figures(file.read_text("utf-8"), cell.id):
                    if mine.takes_next():
                        copy.write_text(svg, "utf-8")
                        said = [reason for _, reason in notebooks.refusals(Path(folder, page), notebook, plain_numbers)]
                        named = any(file.name in reason for reason in said)
                        results.append(["copies of figures", page, file.name, was, becomes, outcome(said, named)])
    return results


def altered_markdown(text, plain_numbers):
    """Yield (kind, was, becomes, what the gate has to say, line, text) for each alteration of a Markdown page."""
    for passage in prose.passages(text, plain_numbers):
        for number, changed in altered_passage(text, passage):
            becomes = other(number.text)
            yield "numbers in text", number.text, becomes, f"the text says {becomes},", number.line, changed
    for block in [*prose.SNIPPET.finditer(text), *prose.COMMENT.finditer(text)]:
        start, kinds = 0, []
        if block.re is prose.SNIPPET:
            code, start = block["code"], block.start("code")
            shown = [(m.start(), m[0]) for m in NUMBER.finditer(code) if not prompted(code, m.start())]
            # As Python, letter for letter: blanks for the prompts and for what is shown.
            lines = code.splitlines(True)
            python = "".join("    " + line[4:] if prompted(line, 0) else re.sub(".", " ", line) for line in lines)
            above = "if True:\n"
            stated = [(at - len(above), was) for at, was in assigned(above + python)]
            kinds = [("results that snippets show", shown), ("inputs", stated)]
        elif block[1] == "values":
            start, kinds = block.start(2), [("inputs", assigned(block[2]))]
        for kind, places in kinds:
            for place, was in places:
                line = text.count("\n", 0, start + place) + 1
                yield kind, was, other(was), "", line, replaced(text, start + place, was, other(was))


def prompted(code, at):
    """Tell whether the line of a snippet at this place is code, not what it shows."""
    return code.startswith((">>> ", "... "), code.rfind("\n", 0, at) + 1)


def markdown_pages(pages, plain_numbers, part):
    """Alter text, snippets and inputs of all Markdown pages; return the results."""
    changes, mine = [], Slice(part)
    for page in pages:
        text = (ROOT / page).read_text("utf-8")
        changes += [(page, plain_numbers, *c) for c in altered_markdown(text, plain_numbers) if mine.takes_next()]
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        return list(pool.map(markdown_result, changes, chunksize=8))


def markdown_result(change):
    page, plain_numbers, kind, was, becomes, says, line, text = change
    report = check_markdown(text, plain_numbers)
    named = any(says in message and (not says or line == at) for at, message in report)
    return [kind, page, f"line {line}", was, becomes, outcome(report, named)]


def assigned(code):
    """Yield (place, number) for the numbers in assignments of numbers alone."""
    starts = [0, *(m.end() for m in re.finditer("\n", code))]
    for statement in ast.walk(ast.parse(code)):
        if isinstance(statement, ast.Assign) and is_input(statement.value):
            for node in ast.walk(statement.value):
                if isinstance(node, ast.Constant) and not isinstance(node.value, (str, bool)):
                    yield starts[node.lineno - 1] + node.col_offset, ast.get_source_segment(code, node)


def is_input(value):
    """Tell whether an expression is made of numbers alone, as `np.array([1.0, 2.0])` is."""
    nodes = list(ast.walk(value))
    called = {ast.unparse(n.func) for n in nodes if isinstance(n, ast.Call)}
    names = {n.id for n in nodes if isinstance(n, ast.Name)}
    return called <= {"np.array"} and names <= {"np"} and any(isinstance(n, ast.Constant) for n in nodes)


def formulas():
    """Yield (file, place, was, becomes, code) for each constant and operator of lnlib's formulas."""
    for file in FORMULAS:
        code = (ROOT / file).read_text("utf-8")
        for number in count():
            tree = ast.parse(code)
            nodes = [n for n in ast.walk(tree) if alterable(n)]
            if number == len(nodes):
                break
            node, place = nodes[number], f"line {nodes[number].lineno}"
            was = ast.unparse(node)
            if isinstance(node, ast.BinOp):
                node.op = SWAPPED[type(node.op)]()
            elif isinstance(node, ast.AugAssign):
                node.op = STEPS[type(node.op)]()
            elif isinstance(node, ast.UnaryOp):
                node.op = ast.UAdd()
            else:
                node.value = type(node.value)(other(repr(node.value)))
            yield file, place, was, ast.unparse(node), ast.unparse(tree)


def alterable(node):
    if isinstance(node, ast.BinOp):
        return type(node.op) in SWAPPED
    if isinstance(node, ast.AugAssign):
        return type(node.op) in STEPS
    if isinstance(node, ast.UnaryOp):
        return isinstance(node.op, ast.USub)
    return isinstance(node, ast.Constant) and type(node.value) in (int, float)


def library(pages, plain_numbers, part):
    """Alter the formulas of copies of lnlib, and run all notebooks with them; return the results."""
    mine, parts = Slice(part), os.cpu_count()
    changes = [change for change in formulas() if mine.takes_next()]
    with ThreadPoolExecutor(parts) as pool:
        shares = pool.map(lambda i: unnoticed(changes[i::parts], pages, plain_numbers), range(parts))
        missed = [change for share in shares for change in share]
    return [["lnlib's formulas", *change[:-1], "not noticed" if change in missed else ""] for change in changes]


def unnoticed(changes, pages, plain_numbers):
    """Return, of these changes, those that neither a notebook nor a test of lnlib notices."""
    with tempfile.TemporaryDirectory() as folder:
        for name in ("lnlib", "tests"):
            shutil.copytree(ROOT / name, Path(folder, name), ignore=shutil.ignore_patterns("__pycache__"))
        shutil.copy(ROOT / "pyproject.toml", folder)
        left = Path(folder, CHANGES)
        left.write_text(json.dumps(changes), "utf-8")
        for page in pages:
            run_gate([page], plain_numbers, {FOLDER: folder, "PYTHONDONTWRITEBYTECODE": "1"})

        def tests_fail():
            return subprocess.run(TESTS, cwd=folder, capture_output=True).returncode != 0

        # No page shows what lnlib does with extreme rows, or every default: there its tests stand guard.
        missed = json.loads(left.read_text("utf-8"))
        if missed and tests_fail():
            sys.exit("lnlib's tests fail on a copy without any change: make test")
        return [change for change in missed if not noticed(change, folder, tests_fail)]


def main(part="1/1"):
    start = time.monotonic()
    plain_numbers = yaml.safe_load((ROOT / "_config.yml").read_text("utf-8"))["sphinx"]["config"]["gate_plain_numbers"]
    names = parse_toc_yaml(ROOT / "_toc.yml")
    cells, text = ([f"{n}{suffix}" for n in names if (ROOT / f"{n}{suffix}").is_file()] for suffix in (".ipynb", ".md"))
    results = [
        *notebook_pages(cells, plain_numbers, part),
        *figure_copies(cells, plain_numbers, part),
        *markdown_pages(text, plain_numbers, part),
        *library(cells, plain_numbers, part),
    ]
    kinds = Counter(kind for kind, *_ in results)
    missed = [result for result in results if result[-1]]
    for kind, page, place, was, becomes, what in missed:
        print(f"{what}: {kind}, {page}, {place}: {was} -> {becomes}")
    for kind, tried in kinds.items():
        print(f"{kind}: {tried} altered, {tried - sum(m[0] == kind for m in missed)} caught")
    minutes = (time.monotonic() - start) / 60
    caught = len(results) - len(missed)
    print(f"{len(results)} alterations in {minutes:.1f} minutes, {caught} caught, {len(missed)} got through")
    sys.exit(bool(missed))


if __name__ == "__main__":
    main(*sys.argv[1:])
