"""Package records like Debian's, of about 900 bytes, by the name of the package; a stated share repeats others."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tables.text_table import repeats, write_tsv
from tables.word_chain import WordChain, scrambled

NAME = "packages"
COLUMNS = FILE_COLUMNS = "package String, record String"
KEY = "package"
TEXT = "record"

REPEATED = 0.1
DEPENDENCIES_MAX = 40
TAGS_MAX = 12
DESCRIPTION_WORDS = (10, 60)
# Packages of one name have these in common.
COMMON = ("Package", "Version", "Maintainer", "Architecture", "Section", "Priority")
DIGITS = np.frombuffer(b"0123456789abcdef", np.uint8)


def write(directory, size, sources):
    """The file; `sources` makes the lines and the package records of `text_sources`."""
    return write_tsv(directory, NAME, size, lambda: _Batches(*sources()).columns)


class _Batches:
    def __init__(self, lines, packages):
        def texts(field):
            return [package[field] for package in packages if field in package]

        self.packages = {field: pa.array([package.get(field, "") for package in packages]) for field in COMMON}
        self.depends = WordChain(texts("Depends"), ", ")
        self.tags = WordChain(texts("Tag"), ", ")
        self.pages = pa.array(texts("Homepage") + lines["urls2"])
        self.chain = WordChain(lines["wikipedia"] + lines["l_comment"] + [f"{text}." for text in texts("Description")])

    def columns(self, rng, first, rows):
        """Packages have the names of Debian's, and a number; those of one name have much in common."""
        base = rng.integers(0, len(self.packages["Package"]), rows)
        common = {field: values.take(pa.array(base)) for field, values in self.packages.items()}
        fields = {
            "Version": common["Version"],
            "Installed-Size": _number(rng, rows),
            "Maintainer": common["Maintainer"],
            "Architecture": common["Architecture"],
            "Depends": self.depends.lists(rng, rows, DEPENDENCIES_MAX),
            "Description": self.chain.texts(rng, rng.integers(*DESCRIPTION_WORDS, rows), self.chain.topics(base)),
            "Homepage": self.pages.take(pa.array(rng.integers(0, len(self.pages), rows))),
            "Tag": self.tags.lists(rng, rows, TAGS_MAX),
            "Section": common["Section"],
            "Priority": common["Priority"],
            "Size": _number(rng, rows),
        }
        record = _labelled(fields).take(pa.array(repeats(rng, rows, REPEATED)))
        number = _hexadecimal(np.arange(first, first + rows), 6)
        name = pc.binary_join_element_wise(common["Package"], number, "-")
        # The files of two packages differ even where the rest is the same.
        files = {
            "Filename": pc.binary_join_element_wise("pool/main/", name, ".deb", ""),
            "MD5sum": _hexadecimal(rng.integers(0, 2**63, (rows, 2)), 32),
            "SHA256": _hexadecimal(rng.integers(0, 2**63, (rows, 4)), 64),
        }
        return [name, pc.binary_join_element_wise(record, _labelled(files), "; ")]


def _labelled(fields):
    labelled = [pc.binary_join_element_wise(label, values, ": ") for label, values in fields.items()]
    return pc.binary_join_element_wise(*labelled, "; ")


def _number(rng, rows):
    """Sizes in bytes or kilobytes: most are small."""
    return pa.array(np.exp(rng.normal(9, 2, rows)).astype(np.int64)).cast(pa.string())


def _hexadecimal(numbers, digits):
    """`digits` hexadecimal digits of numbers, which may have several columns of 16 digits."""
    found = scrambled(numbers).reshape(len(numbers), -1).view(np.uint8)
    halves = np.stack([found >> 4, found & 15], axis=2).reshape(len(numbers), -1)[:, :digits]
    text = np.ascontiguousarray(DIGITS[halves])
    return pa.array(text.view(f"S{digits}").ravel()).cast(pa.string())
