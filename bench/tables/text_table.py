"""A file of tab-separated values of a given size, made batch by batch from a seed, which stays for the next run."""

import os

import numpy as np
import pyarrow.compute as pc

from report import progress

BATCH_ROWS = 1 << 14
SEED = 1


def write_tsv(directory, name, size, batches):
    """The file of about `size` bytes, made unless an earlier run made it.

    `batches` makes a function of a random generator, the number of the batch's first row and its number of rows,
    that returns the columns.
    """
    os.makedirs(directory, exist_ok=True)
    path = os.path.abspath(os.path.join(directory, f"{name}-{size}-{SEED}.tsv"))
    if not os.path.exists(path):
        progress(f"making {path}")
        with open(f"{path}.unfinished", "wb") as file:
            _write(file, size, batches())
        os.rename(f"{path}.unfinished", path)
    return path


def _write(file, size, columns):
    written, first = 0, 0
    while written < size:
        rng = np.random.default_rng([SEED, first])
        batch = memoryview(_lines(columns(rng, first, BATCH_ROWS)))
        if written + len(batch) > size:
            # The last line of the file begins within its size.
            batch = batch[: bytes(batch).find(b"\n", size - written) + 1]
        file.write(batch)
        written += len(batch)
        first += BATCH_ROWS


def _lines(columns):
    """The bytes of the rows: a column of complete lines has them one after the other."""
    lines = pc.binary_join_element_wise(*columns, "\t")
    lines = pc.binary_join_element_wise(lines, "", "\n")
    return lines.buffers()[2][: pc.sum(pc.binary_length(lines)).as_py()]


def repeats(rng, rows, share):
    """For each row the one that it repeats: itself, but for a `share` of the rows, which repeat one of the others.

    Keys are by chance, so that both rows are as far from each other in the order of the key as any two.
    """
    order = rng.permutation(rows)
    repeated = order[: int(rows * share)]
    source = np.arange(rows)
    source[repeated] = rng.choice(order[len(repeated) :], len(repeated), replace=False)
    return source
