"""A pytest plugin beside nbval: it checks the prose in the notebook's own kernel, in reading order.

nbval runs and compares the code cells. This plugin puts an item for each Markdown cell between
them, collects Markdown pages, and writes all that was found to the file named by GATE_REPORT.
"""

import ast
from itertools import groupby
import json
import os
from pathlib import Path

from jupyter_client.manager import KernelManager
import nbval.kernel
from nbval.plugin import IPyNbCell, IPyNbFile
import pytest

from gate import notebooks, prose
from gate.kernel import kernel_address

REPORT, PLAIN_NUMBERS = "GATE_REPORT", "GATE_PLAIN_NUMBERS"  # environment variables
CALL = "__import__('gate.prose', fromlist=['prose'])"


def pytest_collect_file(file_path, parent):
    if file_path.suffix == ".md":
        return MarkdownPage.from_parent(parent, path=file_path)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items):
    """Put each Markdown cell where it stands among the code cells."""
    plain_numbers = json.loads(os.environ[PLAIN_NUMBERS])
    ordered = []
    for parent, group in groupby(items, key=lambda item: item.parent):
        if not isinstance(parent, IPyNbFile):
            ordered += group
            continue
        parent.ahead = []  # (cell, passage) for what can be checked only when all cells have run
        for cell in parent.nb.cells:
            if cell.cell_type == "code":
                ordered.append(next(group))
            elif passages := prose.passages(cell.source, plain_numbers):
                name = f"Text {len(ordered)}"
                ordered.append(MarkdownCell.from_parent(parent, name=name, cell=cell, passages=passages))
        ordered.append(TextAhead.from_parent(parent, name="Text ahead"))
    items[:] = ordered


class ProseError(Exception):
    """Carries (place, message) pairs to the report."""


class KernelItem(pytest.Item):
    """An item that evaluates expressions with the variables of its notebook's kernel."""

    def setup(self):
        if self.parent.timed_out or not self.parent.kernel.is_alive():
            pytest.skip("the kernel is gone, and the cell that ended it is reported")

    def call(self, expression):
        """Return the value of an expression, leaving no trace in the notebook's history."""
        reply = self.parent.kernel.kc.execute(
            "",
            silent=True,
            user_expressions={"x": f"__import__('json').dumps({expression})"},
            reply=True,
            timeout=self.config.option.nbval_cell_timeout,
        )
        # What is not read piles up, and a kernel drops what it prints when nobody takes it.
        self.parent.kernel.await_idle(reply["parent_header"]["msg_id"], self.config.option.nbval_cell_timeout)
        answer = reply["content"]["user_expressions"]["x"]
        if answer["status"] != "ok":
            raise ValueError(answer["evalue"])
        return json.loads(ast.literal_eval(answer["data"]["text/plain"]))

    def find(self, cell, passage):
        """Return what is wrong with a passage; raise NameError when it names a later result."""

        def run_code(code):
            raise ValueError("a notebook computes its values in code cells")

        found = _check(
            passage,
            evaluate=lambda expressions: self.call(f"{CALL}.evaluate({expressions!r}, globals())"),
            known=lambda: self.call(f"{CALL}.known_values(globals())"),
            run_code=run_code,
            run_snippet=lambda code: self.call(f"{CALL}.run_snippet({code!r}, dict(globals()))"),
        )
        name = notebooks.cell_name(self.parent.nb, cell)
        return [(f"{name}, line {line}", message) for line, message in found]

    def reportinfo(self):
        return self.path, 0, self.name


class MarkdownCell(KernelItem):
    """The text of one Markdown cell, checked against the kernel's state at this point."""

    def __init__(self, cell, passages, **kwargs):
        super().__init__(**kwargs)
        self.cell, self.passages = cell, passages

    def runtest(self):
        found = []
        for passage in self.passages:
            try:
                found += self.find(self.cell, passage)
            except NameError:
                self.parent.ahead.append((self.cell, passage))
        if found:
            raise ProseError(found)


class TextAhead(KernelItem):
    """All passages that name what a later cell computes, checked at the notebook's end."""

    def runtest(self):
        found = []
        for cell, passage in self.parent.ahead:
            try:
                found += self.find(cell, passage)
            except NameError as error:
                place = f"{notebooks.cell_name(self.parent.nb, cell)}, line {passage.line}"
                found.append((place, f"a check cannot be used: {error}"))
        if found:
            raise ProseError(found)


class MarkdownPage(pytest.File):
    def collect(self):
        yield MarkdownText.from_parent(self, name="Text")


class MarkdownText(pytest.Item):
    """The text of a Markdown page, which computes its variables itself."""

    def runtest(self):
        found = check_markdown(self.path.read_text("utf-8"), json.loads(os.environ[PLAIN_NUMBERS]))
        if found:
            raise ProseError([(f"line {line}", message) for line, message in found])

    def reportinfo(self):
        return self.path, 0, self.name


def check_markdown(text, plain_numbers):
    """Return (line, message) for all that is wrong with the text of a Markdown page."""
    namespace, found = {}, []
    for passage in prose.passages(text, plain_numbers):
        try:
            found += _check(
                passage,
                evaluate=lambda expressions: prose.evaluate(expressions, namespace),
                known=lambda: prose.known_values(namespace),
                run_code=lambda code: exec(code, namespace),
                run_snippet=lambda code: prose.run_snippet(code, namespace),
            )
        except NameError as error:
            found.append((passage.line, f"a check cannot be used: {error}"))
    return found


def _check(passage, evaluate, known, run_code, run_snippet):
    """Return (line, message) for all that is wrong with a passage."""
    try:
        if passage.code:
            run_code(passage.code)
        elif passage.snippet and (difference := run_snippet(passage.snippet)):
            return [(passage.line, difference)]
    except Exception as error:
        return [(passage.line, f"this code does not run: {type(error).__name__}: {error}")]
    return list(prose.problems(passage, evaluate, known))


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    report = (yield).get_result()
    if report.failed:
        report.user_properties.append(("gate", findings(item, call.excinfo.value)))


def findings(item, error):
    """Return what went wrong as a list of (place, [lines])."""
    if isinstance(error, ProseError):
        return [(place, message.splitlines()) for place, message in error.args[0]]
    if not isinstance(item, IPyNbCell):
        return [(item.name, [f"{type(error).__name__}: {error}"])]
    place = notebooks.cell_name(item.parent.nb, item.cell)
    outputs = item.test_outputs or []
    raised = [o for o in outputs if o.output_type == "error"]
    if raised:
        return [(place, [f"the cell raised {raised[0].ename}: {raised[0].evalue}"])]
    lines = notebooks.differences(item.cell.outputs, outputs) if str(error) == "Cell outputs differ" else []
    return [(place, lines or [f"the cell could not be run: {str(error).splitlines()[0]}"])]


def pytest_configure(config):
    nbval.kernel.KernelManager = own_kernel_manager  # nbval has no option for it
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(Report(), "gate-report")


def own_kernel_manager(**options):
    return KernelManager(**options, **kernel_address(Path(os.environ[REPORT]).parent))


class Report:
    """Gathers, in the process that started the workers, what passed and what did not."""

    def __init__(self):
        self.passed, self.findings = {}, []

    def pytest_runtest_logreport(self, report):
        path = Path(report.location[0]).as_posix()
        if report.when == "call" and report.passed:
            self.passed[path] = self.passed.get(path, 0) + 1
        for name, found in report.user_properties if report.failed else ():
            if name == "gate":
                self.findings += [(path, place, lines) for place, lines in found]

    def pytest_collectreport(self, report):
        if report.failed:
            self.findings.append((report.nodeid, "the page", ["it could not be read"]))

    def pytest_sessionfinish(self):
        Path(os.environ[REPORT]).write_text(json.dumps([self.passed, self.findings]), "utf-8")
