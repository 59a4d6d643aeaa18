"""Run the notebooks of a book and store their new outputs, all of them or none."""

from dataclasses import dataclass
from html import escape
from pathlib import Path
import shutil
import subprocess
import sys
import tempfile

from jupyter_client.manager import AsyncKernelManager
import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError
from nbval.kernel import CURRENT_ENV_KERNEL_NAME, NbvalKernelspecManager
from nbval.plugin import coalesce_streams
from sphinx_external_toc.parsing import parse_toc_yaml

from gate import notebooks
from gate.kernel import CELL_TIMEOUT, clean_environment, kernel_address


PAGE = """\
<!doctype html><html lang=en><meta charset=utf-8><meta name=color-scheme content="light dark">
<title>What changed</title><style>pre { white-space: pre-wrap }</style><h1>What changed</h1>"""


@dataclass(frozen=True)
class Change:
    """One cell whose outputs changed: the words for it, and its figure before and after, if it has one."""

    place: str
    lines: list
    before: str
    after: str


def rerun(root):
    """Execute every notebook of the book's table of contents.

    Returns the changes and {file: new text} for notebooks and the copies of their figures. Raises
    ValueError when a cell fails. Writes nothing.
    """
    changes, texts = [], {}
    for path in notebook_paths(root):
        name = path.relative_to(root).as_posix()
        try:
            notebook = notebooks.read(path)
        except ValueError as error:
            raise ValueError(f"{name}: {error}") from None
        cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
        before = [(cell.outputs, notebooks.figure_source(cell)) for cell in cells]
        execute(notebook, path, root)
        for cell, (outputs, figure) in zip(cells, before):
            if lines := notebooks.differences(outputs, cell.outputs):
                place = f"{name}, {notebooks.cell_name(notebook, cell)}"
                changes.append(Change(place, lines, figure, notebooks.figure_source(cell)))
        for file, cell in notebooks.figure_files(path, notebook).items():
            texts[file] = notebooks.figure_source(cell)
        texts[path] = nbformat.writes(notebook) + "\n"
    return changes, texts


def show(changes, folder):
    """Return the changes in words; lay figures before and after into the folder, on one page to look at."""
    said = []
    page = [PAGE]
    for number, change in enumerate(changes, 1):
        lines = list(change.lines)
        page.append(f"<h2>{escape(change.place)}</h2><pre>{escape(chr(10).join(lines))}</pre>")
        for when, figure in (("before", change.before), ("after", change.after)):
            if figure and change.before != change.after:
                file = folder / f"{number}-{when}.svg"
                file.write_text(figure, "utf-8")
                lines.append(f"figure {when}: {file}")
                page.append(f"<p>{when}</p><img src='{file.name}' alt='the figure {when}'>")
        said.append("\n    ".join([change.place, *lines]))
    (folder / "index.html").write_text("\n".join(page), "utf-8")
    return "\n\n".join(said)


def store(texts, folder):
    """Put the new texts into their places: all are written to the folder before the first is moved."""
    drafts = {path: folder / f"{number}.new" for number, path in enumerate(texts)}
    for path, draft in drafts.items():
        draft.write_text(texts[path], "utf-8")
    for path, draft in drafts.items():  # only now, when nothing can fail any more
        path.parent.mkdir(parents=True, exist_ok=True)
        draft.replace(path)


def notebook_paths(root):
    """Return the notebooks of the book's table of contents."""
    names = (name.removesuffix(".ipynb") for name in parse_toc_yaml(root / "_toc.yml"))
    return [path for name in names if (path := root / f"{name}.ipynb").is_file()]


def execute(notebook, path, root):
    """Run a notebook in this environment; leave in it nothing that tells one machine from another."""
    with tempfile.TemporaryDirectory() as folder:
        # The blocking manager would wait forever for a kernel that died.
        kernel = AsyncKernelManager(
            kernel_name=CURRENT_ENV_KERNEL_NAME,
            kernel_spec_manager=NbvalKernelspecManager(),
            **kernel_address(folder),
        )
        client = NotebookClient(
            notebook,
            km=kernel,
            timeout=CELL_TIMEOUT,
            record_timing=False,
            resources={"metadata": {"path": str(path.parent)}},
        )
        try:
            # The discarded stderr is the kernel's own log, not what the cells print.
            client.execute(env=clean_environment(root, folder), stderr=subprocess.DEVNULL)
        except CellExecutionError as error:
            raise ValueError(f"{path.name}: a cell raised {error.ename}: {error.evalue}") from None
        except (CellTimeoutError, DeadKernelError) as error:
            raise ValueError(f"{path.name}: {str(error).splitlines()[0]}") from None
    notebook.metadata = nbformat.from_dict(
        {
            "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
            "language_info": {"name": "python"},
        }
    )
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs = coalesce_streams(cell.outputs)


def main(root):
    try:
        changes, texts = rerun(root)
    except (ValueError, KeyboardInterrupt) as error:
        sys.exit(f"Nothing was stored. {error}")
    folder = root / "_build" / "accept"  # not in /tmp: from here a file moves to its place in one step
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    print(show(changes, folder) or "Every output is as it was stored.", flush=True)
    if changes:
        print(f"\nTo see all this on one page, open {folder / 'index.html'}", flush=True)
    if changes and sys.stdin.isatty() and input(f"Store {len(changes)} changed outputs? [y/N] ").lower() != "y":
        sys.exit("Nothing was stored.")
    store(texts, folder)
    if changes:
        print(f"Stored {len(changes)} changed outputs. Build the book to see which sentences no longer hold.")


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve())
