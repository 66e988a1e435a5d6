"""A table of 105 columns shaped like ClickBench's `hits`, made by the generator next to the checkout."""

import os
import re
import subprocess
import sys

KEY = "CounterID, EventDate, UserID, EventTime, WatchID"
SEED = 1


def generator(root):
    """The generator's path (`BASALT_SHARED` names its folder), or None if it is not there."""
    shared = os.environ.get("BASALT_SHARED") or os.path.join(root, "..", "shared")
    path = os.path.join(shared, "tools", "gen_hits.py")
    return os.path.normpath(path) if os.path.isfile(path) else None


def write_tsv(script, directory, rows):
    """The file of `rows` rows in `directory`, made unless an earlier run made it."""
    os.makedirs(directory, exist_ok=True)
    path = os.path.join(directory, f"hits-{rows}-{SEED}.tsv")
    if not os.path.exists(path):
        unfinished = path.replace(".tsv", ".unfinished.tsv")
        command = [sys.executable, script, "--rows", str(rows), "--seed", str(SEED), "--out", unfinished]
        subprocess.run(command, check=True, stderr=subprocess.DEVNULL)
        os.rename(unfinished, path)
    return path


def columns(script):
    """The columns as ClickHouse declares them: `name type, ...`."""
    made = subprocess.run([sys.executable, script, "--ddl"], check=True, capture_output=True, text=True)
    inside = re.search(r"CREATE TABLE \w+\s*\((.*?)\)\s*ENGINE", made.stdout, re.DOTALL)[1]
    return " ".join(inside.split())
