"""Text to make tables of: columns of strings next to the checkout, and the package records of Debian."""

import os
import shutil
import subprocess

FILES = ("wikipedia", "l_comment", "movies", "email", "urls2")


class Missing(Exception):
    """The sentence that says which source is not there."""


def lines(root):
    """The lines of the files in shared/data/dbtext, a list by name (`BASALT_SHARED` names the folder `shared`)."""
    shared = os.environ.get("BASALT_SHARED") or os.path.join(root, "..", "shared")
    folder = os.path.normpath(os.path.join(shared, "data", "dbtext"))
    if not os.path.isdir(folder):
        raise Missing(f"there is no {folder} (BASALT_SHARED names the folder of data/dbtext)")
    found = {}
    for name in FILES:
        with open(os.path.join(folder, name), encoding="utf-8", errors="replace") as file:
            found[name] = [_plain(line) for line in file if line.strip()]
    return found


def packages():
    """Debian's package records, each a dictionary of its fields."""
    if shutil.which("apt-cache") is None:
        raise Missing("there is no apt-cache, which prints Debian's package records")
    text = subprocess.run(["apt-cache", "dumpavail"], capture_output=True, check=True).stdout
    records = text.decode(errors="replace").split("\n\n")
    found = [_fields(record) for record in records if record.strip()]
    if not found:
        raise Missing("apt-cache dumpavail prints no package records (apt-get update fetches them)")
    return found


def _fields(record):
    pairs = (line.partition(": ") for line in record.replace("\n ", " ").split("\n"))
    return {name: _plain(value) for name, _, value in pairs}


def _plain(text):
    """The text without what tab-separated values have to escape."""
    return " ".join(text.replace("\\", "/").replace("\0", "").split())
