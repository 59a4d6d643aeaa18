"""Break lnlib in many small ways and demand that the tests notice: `make mutants`.

Cosmic Ray makes one change at a time, in copies of the project, and the tests that need no more
than NumPy run on each. A change that they let pass has to stand in `mutants.toml`, with the reason
why nothing that matters has changed; one that stands there and is noticed has to be struck off.

`python -m tests.mutants 2/5` tries every fifth change only, from the second on.
"""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
import difflib
import json
import os
from pathlib import Path
import queue
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib

from cosmic_ray.mutating import mutate_code
from cosmic_ray.plugins import get_operator, operator_names

ROOT = Path(__file__).resolve().parent.parent
LIST = ROOT / "tests" / "mutants.toml"
MODULES = ["lnlib/checks.py", "lnlib/layer_norm.py", "lnlib/neighbors.py", "lnlib/rows.py"]
PYTEST = [sys.executable, "-m", "pytest", "-x", "-q", "--assert=plain", "--noconftest", "-m", "not slow"]
PYTEST += ["-p", "no:cacheprovider", "-p", "no:hypothesispytest"]  # all this to start quickly
# The quick tests notice most, so the others run only if these pass. What is marked slow stays out.
STAGES = [("layer_norm", "neighbors", "backward"), ("accuracy", "rows")]
# Seconds, far more than the tests take; a change that keeps them running for ever counts as noticed.
TIMEOUT = 150
# In the place of arithmetic Cosmic Ray also puts shifts, bitwise operators and powers, and it compares
# by identity. On floats the first fail at once, and powers of sizes only run out of time.
POINTLESS = ("_RShift", "_LShift", "_BitOr", "_BitAnd", "_BitXor", "_Invert", "_UAdd", "_Pow", "q_Is", "q_IsNot")
POINTLESS += ("t_Is", "t_IsNot", "tE_Is", "tE_IsNot")


@dataclass(frozen=True)
class Change:
    """One change of one module; `was` and `becomes` are the lines that differ."""

    module: str
    code: str
    was: str
    becomes: str


def all_changes():
    """Return every change that Cosmic Ray can make, in the order of modules and operators."""
    changes = []
    for module in MODULES:
        code = (ROOT / module).read_text("utf-8")
        for name in sorted(operator_names()):
            if name.endswith(POINTLESS) or get_operator(name).arguments():
                continue
            occurrence = 0
            while (changed := mutate_code(code, get_operator(name)(), occurrence)) is not None:
                occurrence += 1
                lines = list(difflib.ndiff(code.splitlines(), changed.splitlines()))
                was, becomes = ("\n".join(_bare(l[2:]) for l in lines if l[0] == sign) for sign in "-+")
                changes.append(Change(module, changed, was, becomes))
    return changes


def _bare(line):
    """Return a line without indentation and comment; Cosmic Ray adds spaces, so runs of them become one."""
    return " ".join(line.split("  #")[0].split())


def known_equivalents():
    """Return the list's changes, each with its reason."""
    entries = tomllib.loads(LIST.read_text("utf-8"))["equivalent"]
    return {(e["module"], e["was"], becomes): e["reason"] for e in entries for becomes in e["becomes"]}


def noticed(change, copy):
    """Run the tests on a copy of the project with the change; return how it was noticed, or ''."""
    environment = os.environ | {"PYTHONDONTWRITEBYTECODE": "1"}
    unchanged = (ROOT / change.module).read_bytes()
    (copy / change.module).write_text(change.code, "utf-8")
    try:
        for stage in STAGES:
            command = PYTEST + [f"tests/test_{name}.py" for name in stage]
            if subprocess.run(command, cwd=copy, env=environment, capture_output=True, timeout=TIMEOUT).returncode:
                return "a test failed"
        return ""
    except subprocess.TimeoutExpired:
        return "out of time"
    finally:
        (copy / change.module).write_bytes(unchanged)


def main(part="1/1"):
    first, step = map(int, part.split("/"))
    changes = all_changes()[first - 1 :: step]
    listed = known_equivalents()
    start, workers = time.monotonic(), os.cpu_count()
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(workers) as pool:
        copies = queue.SimpleQueue()
        for number in range(workers):
            copy = Path(folder, str(number))
            for name in ("lnlib", "tests"):
                shutil.copytree(ROOT / name, copy / name, ignore=shutil.ignore_patterns("__pycache__"))
            shutil.copy(ROOT / "pyproject.toml", copy)
            copies.put(copy)

        def attempt(change):
            copy = copies.get()
            try:
                return noticed(change, copy)
            finally:
                copies.put(copy)

        if noticed(Change(MODULES[0], (ROOT / MODULES[0]).read_text("utf-8"), "", ""), Path(folder, "0")):
            sys.exit("The tests fail without any change, so they say nothing about one: make test")
        results = list(pool.map(attempt, changes))

    survivors = {(c.module, c.was, c.becomes) for c, was_noticed in zip(changes, results) if not was_noticed}
    tried = {(c.module, c.was, c.becomes) for c in changes}
    everything = tried if step > 1 else tried | set(listed)
    problems = [("nothing notices", s) for s in sorted(survivors - set(listed))]
    problems += [("listed as equivalent, but noticed or gone", s) for s in sorted((set(listed) & everything) - survivors)]
    for problem, (module, was, becomes) in problems:
        print(f"{problem}: {module}\n  was = {json.dumps(was)}\n  becomes = {json.dumps(becomes)}")
    minutes = (time.monotonic() - start) / 60
    print(
        f"{len(changes)} changes in {minutes:.1f} minutes: {len(changes) - results.count('')} noticed"
        f" ({results.count('out of time')} of them as they ran out of time), {results.count('')} let pass,"
        f" {len(survivors & set(listed))} of these known to change nothing"
    )
    sys.exit(bool(problems))


if __name__ == "__main__":
    main(*sys.argv[1:])
