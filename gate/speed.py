"""Time the verified build of eight notebooks against what stock Jupyter Book takes to run and build them.

Both start from the same copies of the first chapter and an empty build folder. Stock means
`execute_notebooks: force` without the gate. The runs alternate, so that a busy machine slows both.
"""

from pathlib import Path
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

import yaml

NOTEBOOKS, ROUNDS = 8, 3
BOOK = Path(__file__).resolve().parent.parent


def write_book(folder, verified):
    """Write a book of NOTEBOOKS copies of the first chapter."""
    shutil.copytree(BOOK / "chapters", folder / "chapters")
    for package in ("gate", "lnlib", "web", "_static"):
        shutil.copytree(BOOK / package, folder / package)
    source = folder / "chapters" / "four-numbers.ipynb"
    names = [f"copy-{i}" for i in range(NOTEBOOKS - 1)]
    for name in names:
        shutil.copy(source, source.with_name(f"{name}.ipynb"))
    pages = [{"file": f"chapters/{name}"} for name in ("four-numbers", *names)]
    toc = {"format": "jb-book", "root": "chapters/index", "chapters": pages}
    (folder / "_toc.yml").write_text(yaml.safe_dump(toc), "utf-8")
    config = yaml.safe_load((BOOK / "_config.yml").read_text("utf-8"))
    if not verified:
        config["execute"]["execute_notebooks"] = "force"
        config["sphinx"]["config"]["extensions"].remove("gate.extension")
        del config["sphinx"]["local_extensions"], config["sphinx"]["config"]["gate_plain_numbers"]
    (folder / "_config.yml").write_text(yaml.safe_dump(config), "utf-8")


def seconds(folder):
    """Build the book in folder from nothing and return how long it took."""
    shutil.rmtree(folder / "_build", ignore_errors=True)
    command = [str(Path(sys.executable).with_name("jupyter-book")), "build", str(folder), "--quiet"]
    start = time.perf_counter()
    subprocess.run(command, check=True, capture_output=True)
    return time.perf_counter() - start


def main():
    with tempfile.TemporaryDirectory() as folder:
        books = {name: Path(folder, name) for name in ("stock", "verified")}
        times = {name: [] for name in books}
        for name, book in books.items():
            book.mkdir()
            write_book(book, verified=name == "verified")
        for round_number in range(1, ROUNDS + 1):
            for name, book in books.items():
                times[name].append(seconds(book))
            print(f"round {round_number}: " + ", ".join(f"{n} {t[-1]:.1f} s" for n, t in times.items()), flush=True)
    ratio = statistics.median(times["verified"]) / statistics.median(times["stock"])
    print(f"{NOTEBOOKS} notebooks, medians of {ROUNDS}: the verified build takes {ratio:.2f} times the stock one")


if __name__ == "__main__":
    main()
