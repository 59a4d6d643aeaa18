"""Build a copy of the book with the versions of this environment, and say what would change: `make newest`.

The environment holds the newest versions that pyproject.toml allows, instead of the locked ones.
"""

from importlib.metadata import distributions
from pathlib import Path
import sys
import tempfile

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from gate.speed import build, copy_sources

OWN = {"lnlib", "pip", "setuptools"}  # what an environment has besides


def locked(lock):
    """Return {package: version} for what a lock file installs on this machine."""
    lines = [line.rstrip(" \\") for line in lock.read_text("utf-8").splitlines() if line[:1] not in ("", " ", "#")]
    requirements = [r for r in map(Requirement, lines) if r.marker is None or r.marker.evaluate()]
    return {canonicalize_name(r.name): str(r.specifier).removeprefix("==") for r in requirements}


def installed():
    """Return {package: version} for what this environment holds."""
    return {canonicalize_name(d.name): d.version for d in distributions()}


def differences(old, new):
    """Say in lines how two {package: version} differ."""
    names = sorted((old.keys() | new.keys()) - OWN)
    return [f"{n} {old.get(n, '(none)')} -> {new.get(n, '(none)')}" for n in names if old.get(n) != new.get(n)]


def main(book):
    changed = differences(locked(book / "requirements" / "book.txt"), installed())
    print("\n  ".join(["Other versions than the locked ones:", *changed] if changed else ["The locked versions."]))
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder, "book")
        copy_sources(book, copy)
        result = build(copy)
    if result.returncode:
        sys.exit(f"With them the book would change:\n{result.stderr.strip()}")
    print("With them the book holds as it is.")


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve())
