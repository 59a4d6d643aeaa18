"""The kernel in which a notebook runs: what it knows of the machine, where it listens, how long it may take."""

import os
from pathlib import Path
import sys
import tempfile

CELL_TIMEOUT = 60  # seconds; a kernel that died is noticed no sooner


def clean_environment(root, folder):
    """Return the environment in which notebooks run: nothing of a reader's own settings, empty folder.

    The book's own lnlib comes first, also in a copy of a book that is installed elsewhere. Text is
    UTF-8, as it is not everywhere.
    """
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("PYTEST_", "MPL", "PYTHONWARN"))}
    paths = [str(root), str(Path(__file__).parent.parent)]
    return environment | {"IPYTHONDIR": str(folder), "PYTHONPATH": os.pathsep.join(paths), "PYTHONUTF8": "1"}


def kernel_address(folder):
    """Return the arguments that give a kernel manager an address of its own below folder.

    A free TCP port may go to another program before the kernel takes it; the kernel then never answers.
    """
    if sys.platform == "win32":
        return {}  # pyzmq's sockets in files are not for Windows
    return {"transport": "ipc", "ip": str(Path(tempfile.mkdtemp(dir=folder), "kernel"))}
