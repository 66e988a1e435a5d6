"""Compares what two engines answer to one question."""

import re
from collections import Counter

INTEGER = re.compile(r"-?\d+")
FLOAT = re.compile(r"-?\d+(\.\d+)?([eE][-+]?\d+)?")
LIMIT = re.compile(r"\s+LIMIT\s+\d+(\s+OFFSET\s+\d+)?\s*$", re.IGNORECASE)

SAME = "same"
TIES = "same but for ties"


def compare(found, expected, order, whole, approximate=False):
    """`SAME`, `TIES`, or how `found` differs from `expected`.

    `order` are the numbers, from 1, of the columns that the question sorts by: they must agree row by
    row. Other rows than the expected ones are right if they are equal in the order and are among
    `whole()`, the answer without LIMIT: the question leaves open which of them it means.
    """
    found = [_canonical(row, approximate) for row in found]
    expected = [_canonical(row, approximate) for row in expected]
    if len(found) != len(expected):
        return f"{len(found)} rows, not {len(expected)}"
    for at, (mine, other) in enumerate(zip(found, expected), 1):
        if [mine[column - 1] for column in order] != [other[column - 1] for column in order]:
            return f"row {at} is {_short(mine)}, not {_short(other)}"
    wanted = Counter(found)
    if wanted == Counter(expected):
        return SAME
    possible = Counter(row for row in (_canonical(row, approximate) for row in whole()) if row in wanted)
    wrong = wanted - possible
    if not wrong:
        return TIES
    return f"row {_short(next(iter(wrong)))} does not belong there; expected e.g. {_short(expected[0])}"


def without_limit(statement):
    return LIMIT.sub("", statement)


def _canonical(row, approximate):
    return tuple(_cell(text, approximate) for text in row)


def _cell(text, approximate):
    """Integers and texts as they are; other numbers to nine digits, for sums depend on their order."""
    if INTEGER.fullmatch(text) and not approximate:
        return text
    if not FLOAT.fullmatch(text):
        return text
    number = float(text)
    if number.is_integer() and abs(number) < 2**53 and not approximate:
        return str(int(number))
    return f"{number:.9g}"


def _short(row):
    text = " | ".join(row)
    return text if len(text) <= 120 else text[:117] + "..."
