"""What a notebook must be before it is run, and how two outputs differ in words."""

import ast
from difflib import SequenceMatcher
import io
import re
import tokenize

import nbformat
from nbval.plugin import find_comment_markers, find_metadata_tags

from gate import prose

# nbval compares all of these. It skips PNG, JPEG and widgets, and we want no script in a page.
COMPARED_TYPES = ("text/plain", "text/html", "image/svg+xml")
NUMBER = re.compile(r"[-\N{MINUS SIGN}]?\d+(?:\.\d*)?(?:e[-+]?\d+)?|\bnan\b|\binf\b")
FIGURE_FILE = "figure_file"  # cell metadata: a copy of the cell's figure is kept in this file


def read(path):
    """Return the notebook, or raise ValueError that says in one line why it cannot be read."""
    try:
        notebook = nbformat.read(path, as_version=4)
        nbformat.validate(notebook)
    except Exception as error:
        raise ValueError(f"this is not a notebook: {str(error).splitlines()[0]}") from None
    return notebook


def cell_name(notebook, cell):
    """Name a cell as a person finds it: its place, its In [n], its first line."""
    place = next(i for i, c in enumerate(notebook.cells, 1) if c is cell)
    lines = cell.source.strip().splitlines() or ["(empty)"]
    count = f" (In [{cell.get('execution_count') or ' '}])" if cell.cell_type == "code" else ""
    return f"cell {place}{count}: {lines[0][:70]}"


def refusals(path, notebook, plain_numbers):
    """Yield (cell or None, reason) for all that nbval would let pass without comparing it."""
    code_cells = [c for c in notebook.cells if c.cell_type == "code"]
    if not code_cells:
        yield None, "it has no code cell, so nothing in it can be verified: make it a Markdown page"
    for key in sorted(set(notebook.metadata) - {"kernelspec", "language_info"}):
        yield None, f"its metadata holds {key!r}, which may change how it is rendered: run `make accept`"
    for cell in notebook.cells:
        if cell.cell_type == "raw":
            yield cell, "a raw cell is rendered and checked by nothing: make it Markdown or code"
        if cell.get("attachments"):
            yield cell, "a pasted picture cannot be recomputed: draw it in a code cell"
        if cell.cell_type == "markdown" and (reason := prose.refusal(cell.source)):
            yield cell, reason
        if {"mystnb", "render"} & set(cell.metadata):
            yield cell, "text in the cell's metadata is not checked: write captions in Markdown"
    for cell in code_cells:
        yield from ((cell, reason) for reason in _cell_refusals(path, cell, plain_numbers))


def _cell_refusals(path, cell, plain_numbers):
    if not cell.source.strip():
        yield "the cell is empty: remove it"
    elif cell.execution_count is None:
        yield "the cell was never run, so it has no outputs to compare: run `make accept`"
    for name, _ in [*find_comment_markers(cell.source), *find_metadata_tags(cell.metadata)]:
        yield f"a marker for nbval changes its {name!r}, so that the cell is not compared in full: remove it"
    for output in cell.outputs:
        if output.output_type == "error":
            yield f"the stored output is an error ({output.ename}): fix the cell, or catch the error and print it"
        elif output.output_type == "stream" and output.name == "stderr":
            yield f"the stored output holds a warning: fix what warns ({output.text.strip().splitlines()[0][:90]})"
        elif output.output_type == "stream":
            if output.name != "stdout" or "\r" in output.text:
                yield "a stream with carriage returns, or one other than stdout, is not compared in full"
        else:
            data = output.get("data", {})
            for kind in sorted(set(data) - set(COMPARED_TYPES)):
                yield f"an output of type {kind} is not compared: show a Drawing of lnlib.figures, or text"
            if "image/svg+xml" in data and not "".join(data.get("text/plain", "")).strip():
                yield "the figure has no alternative text"
    if FIGURE_FILE in cell.metadata:
        if not isinstance(cell.metadata[FIGURE_FILE], str):
            yield f"its {FIGURE_FILE!r} is no file name: {cell.metadata[FIGURE_FILE]!r}"
            return
        file = path.parent / cell.metadata[FIGURE_FILE]
        if not file.is_file() or file.read_text("utf-8") != figure_source(cell):
            yield f"{file.name} is not the figure that this cell draws: run `make accept`"
    if cell.source.strip():
        yield from _numbers_in_words(cell.source, plain_numbers)


def _numbers_in_words(source, plain_numbers):
    """Yield a reason for each number in a comment or a string, where it stays when the code changes."""
    try:
        tokens = list(tokenize.generate_tokens(io.StringIO(source).readline))
        nodes = list(ast.walk(ast.parse(source)))
    except (tokenize.TokenError, SyntaxError):
        return  # a magic, or an error that running the cell will show
    # How a value is printed, as in f"{x:.3f}", is no text.
    formats = [n.format_spec for n in nodes if isinstance(n, ast.FormattedValue) and n.format_spec]
    no_text = {part for spec in formats for part in ast.walk(spec)}
    strings = [n.value for n in nodes if isinstance(n, ast.Constant) and isinstance(n.value, str) and n not in no_text]
    comments = [token.string for token in tokens if token.type == tokenize.COMMENT]
    for kind, words in [*(("comment", c) for c in comments), *(("string", s) for s in strings)]:
        text = words
        for pattern in plain_numbers:
            text = re.sub(pattern, "", text)
        if re.search(r"(?<!\w)\d", text):
            yield f"a {kind} states a number that nothing checks: {words.strip().splitlines()[0][:90]}"


def figure_files(path, notebook):
    """Return {picture file: the cell that draws it} for a notebook at path."""
    names = [(cell, cell.metadata.get(FIGURE_FILE)) for cell in notebook.cells]
    return {path.parent / name: cell for cell, name in names if isinstance(name, str)}


def drawn_figures(notebooks):
    """Return the picture files that cells draw, for {path: notebook}."""
    return {file.resolve() for path, notebook in notebooks.items() for file in figure_files(path, notebook)}


def figure_source(cell):
    """Return the SVG that a cell shows, or '' when it shows none."""
    return "".join("".join(o.get("data", {}).get("image/svg+xml", "")) for o in cell.outputs)


def differences(stored, computed):
    """Say in a few lines what two lists of outputs have that the other has not."""
    old, new = _by_type(stored), _by_type(computed)
    lines = []
    for kind in dict.fromkeys([*old, *new]):
        before, after = old.get(kind, ""), new.get(kind, "")
        if before == after:
            continue
        if kind == "image/svg+xml" and before and after:
            lines += _figure_differences(before, after)
        else:
            lines += _changed_numbers(before, after)
            before, after = _changed_lines(before, after)
            label = "" if kind in ("text/plain", "stdout") else f" ({kind})"
            lines += [f"stored{label}:", *(f"    {line}" for line in before or ["nothing"])]
            lines += [f"came out{label}:", *(f"    {line}" for line in after or ["nothing"])]
    return lines


def _by_type(outputs):
    texts = {}
    for output in outputs:
        if output.output_type == "stream":
            items = {output.name: output.text}
        elif output.output_type == "error":
            items = {"error": f"{output.ename}: {output.evalue}"}
        else:
            items = {k: "".join(v) if isinstance(v, list) else str(v) for k, v in output.data.items()}
        for kind, text in items.items():
            texts[kind] = texts.get(kind, "") + text
    return texts


def _changed_numbers(before, after, most=8):
    """Return the numbers that changed, as one line, if the words around them are the same."""
    old, new = (NUMBER.findall(text) for text in (before, after))
    if not old or NUMBER.sub("0", before).split() != NUMBER.sub("0", after).split():
        return []
    changed = [f"{a} -> {b}" for a, b in zip(old, new) if a != b]
    more = [f"and {len(changed) - most} more"] if len(changed) > most else []
    return [f"numbers: {', '.join([*changed[:most], *more])}"] if changed else []


def _changed_lines(before, after, most=8):
    old, new = before.splitlines(), after.splitlines()
    kept = [], []
    for tag, a, b, c, d in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if tag != "equal":
            kept[0].extend(old[a:b])
            kept[1].extend(new[c:d])
    return tuple(k[:most] + ([f"... and {len(k) - most} lines more"] if len(k) > most else []) for k in kept)


def _figure_differences(before, after):
    old, new = before.splitlines(), after.splitlines()
    changed = [(a, b) for a, b in zip(old, new) if a != b]
    if len(old) != len(new):
        return [f"the figure has other parts: {len(old)} lines of SVG are stored, {len(new)} came out"]
    a, b = changed[0]
    return [
        f"the figure is drawn differently in {len(changed)} of {len(old)} lines of SVG, first:",
        f"    stored:   {a.strip()[:100]}",
        f"    came out: {b.strip()[:100]}",
    ]
