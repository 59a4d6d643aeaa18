"""Time the verified build of a book against what stock Jupyter Book takes to run and build the same.

Both start from the same sources and an empty build folder. Stock means `execute_notebooks: force`
without the gate. The runs alternate, so that a busy machine slows both.
"""

from pathlib import Path
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

import yaml

ROUNDS = 3


def without_gate(folder):
    """Let stock Jupyter Book run the notebooks of the book in folder."""
    path = folder / "_config.yml"
    config = yaml.safe_load(path.read_text("utf-8"))
    config["execute"]["execute_notebooks"] = "force"
    config["sphinx"]["config"]["extensions"].remove("gate.extension")
    del config["sphinx"]["local_extensions"]["gate.extension"], config["sphinx"]["config"]["gate_plain_numbers"]
    path.write_text(yaml.safe_dump(config), "utf-8")


def copy_sources(book, folder):
    """Copy a book without what was built or installed beside it."""
    shutil.copytree(book, folder, ignore=shutil.ignore_patterns(".*", "_build", "__pycache__"))


def build(folder, *options):
    """Build the book in folder with this environment; return the finished process."""
    command = [Path(sys.executable).with_name("jupyter-book"), "build", folder, "--quiet", *options]
    return subprocess.run(command, capture_output=True, text=True, encoding="utf-8")


def seconds(folder):
    """Build the book in folder from nothing and return how long it took."""
    shutil.rmtree(folder / "_build", ignore_errors=True)
    start = time.perf_counter()
    result = build(folder)
    if result.returncode:
        sys.exit(f"The {folder.name} build failed:\n{result.stderr}")
    return time.perf_counter() - start


def main(book, rounds=ROUNDS):
    with tempfile.TemporaryDirectory() as folder:
        books = {name: Path(folder, name) for name in ("stock", "verified")}
        for copy in books.values():
            copy_sources(book, copy)
        without_gate(books["stock"])
        times = {name: [] for name in books}
        for round_number in range(1, rounds + 1):
            for name, copy in books.items():
                times[name].append(seconds(copy))
            print(f"round {round_number}: " + ", ".join(f"{n} {t[-1]:.1f} s" for n, t in times.items()), flush=True)
    ratio = statistics.median(times["verified"]) / statistics.median(times["stock"])
    print(f"medians of {rounds}: the verified build takes {ratio:.2f} times the stock one")


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve())
