#!/usr/bin/env python3
"""Asks ClickHouse (package chdb) for the files of this folder, by the queries in README.md.

Without arguments all files are recorded again; with a name of a query and formats, these files are added."""

import pathlib
import re
import sys

import chdb

FOLDER = pathlib.Path(__file__).parent


def queries():
    found = {}
    for line in (FOLDER / "README.md").read_text().splitlines():
        plain = re.fullmatch(r"- `(\w+)`: `(.*)`", line)
        based = re.fullmatch(r"- `(\w+)`: the query `(\w+)` with `(.*)`", line)
        if based:
            found[based[1]] = found[based[2]] + " " + based[3]
        elif plain:
            found[plain[1]] = plain[2]
    return found


def record(query, format_name):
    answer = chdb.query(query, format_name).bytes()
    answer = re.sub(rb'("elapsed": |"rows_read": |"bytes_read": )[0-9.e-]+', rb"\g<1>0", answer)
    answer = re.sub(rb"<(elapsed|rows_read|bytes_read)>[0-9.e-]+<", rb"<\g<1>>0<", answer)
    return re.sub(rb'\{"progress":.*\n', b"", answer)


def main(arguments):
    asked = queries()
    if arguments:
        files = [(arguments[0], name) for name in arguments[1:]]
    else:
        names = [path.name.split(".") for path in sorted(FOLDER.iterdir())]
        files = [(name[0], name[1]) for name in names if name[0] in asked]
    for name, format_name in files:
        (FOLDER / f"{name}.{format_name}").write_bytes(record(asked[name], format_name))


main(sys.argv[1:])
