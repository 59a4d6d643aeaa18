"""When the book was verified and with which versions, as every page says it."""

from datetime import datetime, timezone
from importlib.metadata import version
import platform

PACKAGES = {"NumPy": "numpy", "Matplotlib": "matplotlib", "nbval": "nbval", "Jupyter Book": "jupyter-book"}


def words():
    """Return a sentence for a build that passes the gate now."""
    *first, last = [f"{name} {version(package)}" for name, package in PACKAGES.items()]
    today = datetime.now(timezone.utc).date().isoformat()
    return f"Verified on {today} with Python {platform.python_version()}, {', '.join(first)} and {last}."
