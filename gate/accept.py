"""Run the notebooks of a book and store their new outputs, all of them or none."""

from pathlib import Path
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


def accept(root):
    """Execute every notebook of the book's table of contents and store what came out.

    Returns what changed, in words. Raises ValueError, with nothing stored, when a cell fails.
    """
    changes, results, figures = [], {}, {}
    for path in notebook_paths(root):
        name = path.relative_to(root).as_posix()
        try:
            notebook = notebooks.read(path)
        except ValueError as error:
            raise ValueError(f"{name}: {error}") from None
        before = {id(c): c.outputs for c in notebook.cells if c.cell_type == "code"}
        execute(notebook, path, root)
        for cell in notebook.cells:
            if cell.cell_type != "code":
                continue
            lines = notebooks.differences(before[id(cell)], cell.outputs)
            if lines:
                changes.append("\n    ".join([f"{name}, {notebooks.cell_name(notebook, cell)}", *lines]))
        for file, cell in notebooks.figure_files(path, notebook).items():
            figures[file] = notebooks.figure_source(cell)
        results[path] = nbformat.writes(notebook) + "\n"
    drafts = {}
    for path, text in {**figures, **results}.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        drafts[path] = path.with_name(path.name + ".new")
        drafts[path].write_text(text, "utf-8")
    for path, draft in drafts.items():  # only now, when nothing can fail any more
        draft.replace(path)
    return changes


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


if __name__ == "__main__":
    try:
        changed = accept(Path(sys.argv[1]).resolve())
    except ValueError as error:
        sys.exit(f"Nothing was stored. {error}")
    print("\n\n".join(changed) if changed else "Every output is as it was stored.")
    if changed:
        print(f"\nStored {len(changed)} changed outputs. Build the book to see which sentences no longer hold.")
