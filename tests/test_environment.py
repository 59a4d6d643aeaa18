"""What is installed is what the lock says, and what runs elsewhere is what runs here."""

from importlib.metadata import PackageNotFoundError, requires, version
import json
import re
import subprocess
import sys

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
import pytest
import yaml

from conftest import ROOT
from gate import newest
from gate.newest import OWN, differences, installed, locked

LOCKS = sorted((ROOT / "requirements").glob("*.txt"))
WORKFLOW = ROOT / ".github" / "workflows" / "book.yml"


def needed(name, extras=("",)):
    """Return a package that is installed and all that it needs here."""
    found, todo = set(), [(name, extras)]
    while todo:
        name, extras = todo.pop()
        found.add(canonicalize_name(name))
        for requirement in map(Requirement, requires(name) or ()):
            asked = requirement.marker is None or any(requirement.marker.evaluate({"extra": e}) for e in extras)
            if asked and canonicalize_name(requirement.name) not in found:
                todo.append((requirement.name, ("", *requirement.extras)))
    return found


def test_every_installed_version_is_the_locked_one():
    lock, here = locked(ROOT / "requirements" / "test.txt"), installed()
    assert len(lock) > 50
    try:
        oracle = needed("torch")
    except PackageNotFoundError:
        oracle = set()
    beside = {name: here[name] for name in oracle - lock.keys()}  # make oracles: not among the hashed
    assert differences(lock | beside, here) == []


def test_another_version_is_named():
    here = {"numpy": "2.4", "matplotlib": "3.11", "pip": "25"}
    there = {"numpy": "2.5", "seaborn": "1.0"}
    said = ["matplotlib 3.11 -> (none)", "numpy 2.4 -> 2.5", "seaborn (none) -> 1.0"]
    assert differences(here, there) == said


def test_newest_versions_are_tried_on_a_copy(book, capsys):
    newest.main(book.folder)
    assert "the book holds as it is" in capsys.readouterr().out
    book.replace("mean [4.]", "mean [5.]", "chapters/alpha.ipynb")
    with pytest.raises(SystemExit, match=r"the book would change:[\s\S]*numbers: 5\. -> 4\."):
        newest.main(book.folder)
    assert book.pages() == []


@pytest.mark.parametrize("lock", LOCKS, ids=lambda path: path.name)
def test_a_lock_says_one_version_and_hashes_for_everything(lock):
    entries = re.split(r"^(?=\S)", re.sub(r"^#.*\n", "", lock.read_text("utf-8"), flags=re.M), flags=re.M)[1:]
    assert entries
    whole = re.compile(r"[\w.-]+==[\w.+!]+(?: ; [^\\]+)?(?: \\\n    --hash=sha256:[0-9a-f]{64})+\n")
    assert [entry.splitlines()[0] for entry in entries if not whole.fullmatch(entry)] == []


def test_the_lock_of_lighthouse_has_a_checksum_for_everything_and_names_no_host():
    lock = json.loads((ROOT / "requirements" / "package-lock.json").read_text("utf-8"))
    wanted = json.loads((ROOT / "requirements" / "package.json").read_text("utf-8"))["dependencies"]
    packages = {name: about for name, about in lock["packages"].items() if name}
    assert packages["node_modules/lighthouse"]["version"] == wanted["lighthouse"]
    assert [name for name, about in packages.items() if not about["integrity"].startswith("sha512-")] == []
    assert [name for name, about in packages.items() if "resolved" in about] == []


def test_the_locks_agree_with_each_other():
    everywhere = [locked(lock) for lock in LOCKS]
    versions = {name: {lock[name] for lock in everywhere if name in lock} for lock in everywhere for name in lock}
    assert {name: found for name, found in versions.items() if len(found) > 1} == {}


def test_the_lock_is_complete():
    lock = locked(ROOT / "requirements" / "test.txt")
    missing = {(name, need) for name in lock for need in needed(name) if need not in lock.keys() | OWN}
    assert missing == set()
    assert version("lnlib")


def test_the_workflow_follows_its_schema():
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", "vendor.github-workflows", WORKFLOW]
    result = subprocess.run(command, capture_output=True, text=True)
    assert result.returncode == 0, result.stdout + result.stderr


def test_the_workflow_runs_what_is_run_here():
    jobs = yaml.safe_load(WORKFLOW.read_text("utf-8"))["jobs"]
    commands = {step["run"] for job in jobs.values() for step in job["steps"] if "run" in step}
    assert {c for c in commands if not c.startswith("choco ")} == {".ci/run", "make portable", "make newest"}
    assert jobs["linux"]["strategy"]["matrix"]["python"] == ["3.11", "3.14"]
    systems = jobs["elsewhere"]["strategy"]["matrix"]["system"]
    assert {name.partition("-")[0] for name in systems} == {"macos", "windows"}
    assert set(jobs["publish"]["needs"]) == {"linux", "elsewhere"}


def test_every_action_is_pinned_by_its_commit():
    used = re.findall(r"uses: (.*)", WORKFLOW.read_text("utf-8"))
    assert len(used) > 5
    pinned = re.compile(r"actions/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+")
    assert [action for action in used if not pinned.fullmatch(action)] == []
