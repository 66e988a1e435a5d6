"""Reviews of products, of about 1,000 bytes, a stated share of which appears under a second product."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tables.text_table import repeats, write_tsv
from tables.word_chain import WordChain, scrambled

NAME = "reviews"
COLUMNS = (
    "product_id String, user_id String, name String, helpfulness String, score Float32, time DateTime, "
    "summary String, text String"
)
KEY = "product_id, user_id, time"
# The file has the columns of the key first.
FILE_COLUMNS = (
    "product_id String, user_id String, time DateTime, name String, helpfulness String, score Float32, "
    "summary String, text String"
)
TEXT = "text"

REPEATED = 0.2
ROW_BYTES = 1000
ROWS_PER_PRODUCT = 15
ROWS_PER_USER = 3
# Some products have most reviews, and some users write most of them: the higher, the more.
SKEW = 1.5
SUMMARY_WORDS = (2, 8)
TEXT_WORDS_MEDIAN, TEXT_WORDS_MIN, TEXT_WORDS_MAX = 105, 15, 900
FIRST_DAY, DAYS, DAY_SECONDS = 10_000, 5_500, 86_400
LETTERS = np.frombuffer(b"0123456789ABCDEFGHIJKLMNOPQRSTUV", np.uint8)


def write(directory, size, sources):
    """The file; `sources` makes the lines and the package records of `text_sources`."""
    return write_tsv(directory, NAME, size, lambda: _Batches(size, *sources()).columns)


class _Batches:
    def __init__(self, size, lines, packages):
        self.products = size // ROW_BYTES // ROWS_PER_PRODUCT + 2
        self.users = size // ROW_BYTES // ROWS_PER_USER + 2
        described = [f"{package['Description']}." for package in packages if "Description" in package]
        self.chain = WordChain(lines["wikipedia"] + lines["l_comment"] + described)
        self.titles = WordChain(lines["movies"])
        self.names = pa.array([address.partition("@")[0] for address in lines["email"]])

    def columns(self, rng, _, rows):
        products, users = _skewed(rng, self.products, rows), _skewed(rng, self.users, rows)
        columns = [
            _codes("A", users, 13),
            _times(rng, rows),
            self.names.take(pa.array(users % len(self.names))),
            _helpfulness(rng, rows),
            _scores(rng, rows),
            self.titles.texts(rng, rng.integers(*SUMMARY_WORDS, rows), self.titles.topics(products)),
            self.chain.texts(rng, _lengths(rng, rows), self.chain.topics(products)),
        ]
        source = repeats(rng, rows, REPEATED)
        others = (products[source] + rng.integers(1, self.products, rows)) % self.products
        products = np.where(source == np.arange(rows), products, others)
        return [_codes("B00", products, 7), *(column.take(pa.array(source)) for column in columns)]


def _skewed(rng, count, rows):
    """Numbers below `count`, the first ones far more often than the last."""
    return (count * rng.random(rows) ** SKEW).astype(np.int64)


def _codes(prefix, numbers, digits):
    """`prefix` and `digits` to the base of 32."""
    places = np.arange(digits, dtype=np.uint64) * np.uint64(5)
    text = LETTERS[(scrambled(numbers)[:, None] >> places) & np.uint64(31)]
    return pc.binary_join_element_wise(prefix, pa.array(text.view(f"S{digits}").ravel()).cast(pa.string()), "")


def _times(rng, rows):
    seconds = (FIRST_DAY + rng.integers(0, DAYS, rows)) * DAY_SECONDS + rng.integers(0, DAY_SECONDS, rows)
    return pc.strftime(pa.array(seconds).cast(pa.timestamp("s")), "%Y-%m-%d %H:%M:%S")


def _helpfulness(rng, rows):
    """How many of those who voted found the review helpful: such as 7/9."""
    votes = rng.integers(0, 12, rows)
    helpful = (votes * rng.random(rows)).round().astype(np.int64)
    return pc.binary_join_element_wise(*(pa.array(count).cast(pa.string()) for count in (helpful, votes)), "/")


def _scores(rng, rows):
    """1 to 5; good ones are the most."""
    return pa.array(5 - (rng.random(rows) ** 2 * 5).astype(np.int64)).cast(pa.string())


def _lengths(rng, rows):
    """Words of texts: a few are long."""
    lengths = np.exp(rng.normal(np.log(TEXT_WORDS_MEDIAN), 0.8, rows))
    return np.clip(lengths, TEXT_WORDS_MIN, TEXT_WORDS_MAX).astype(np.int64)
