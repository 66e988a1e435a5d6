"""Page views in nine columns, with skewed users and addresses, made from a seed."""

import numpy as np
import pyarrow as pa
import pyarrow.csv as csv

WORDS = "ka ri to men sa lo vi ner do ma ti ra shi no ven ko la pe ru mi ga ste bo li na".split()

COLUMNS = """
    WatchID UInt64, EventTime DateTime, CounterID UInt32, UserID UInt64, URL String,
    SearchPhrase String, AdvEngineID UInt8, ResolutionWidth UInt16, Price Float64
"""


def write_tsv(path, rows, seed=1):
    """Writes the table as TSV; the same rows and seed give the same bytes."""
    rng = np.random.default_rng(seed)
    names = _words(rng, 5000)
    urls = [f"http://{a}.com/{b}/{n}.html" for n, (a, b) in enumerate(zip(names, _words(rng, 5000)))]
    urls += [f"http://google.com/search?q={name}" for name in names[:200]]
    rng.shuffle(urls)
    phrases = [""] * 4000 + [f"{a} {b}" for a, b in zip(names, _words(rng, 1000))]
    users = rng.integers(10**15, 2**62, max(1000, rows // 6))
    start = 1_372_636_800
    time = np.sort(start + rng.integers(0, 31 * 86400, rows))
    table = pa.table(
        {
            "WatchID": rng.integers(4 * 10**18, 9 * 10**18, rows),
            "EventTime": pa.array(time.astype("datetime64[s]")),
            "CounterID": rng.integers(1, 10_000, rows).astype(np.uint32),
            "UserID": _skewed(rng, users, rows),
            "URL": _skewed(rng, urls, rows),
            "SearchPhrase": pa.array(phrases).take(pa.array(rng.integers(0, len(phrases), rows))),
            "AdvEngineID": np.where(rng.random(rows) < 0.02, rng.integers(1, 60, rows), 0).astype(np.uint8),
            "ResolutionWidth": _skewed(rng, [1366, 1920, 1280, 1024, 1440, 320, 768, 0], rows),
            "Price": np.round(rng.random(rows) * 1000, 2),
        }
    )
    options = csv.WriteOptions(include_header=False, delimiter="\t", quoting_style="none")
    csv.write_csv(table, path, options)


def _skewed(rng, values, size, power=1.1):
    """`size` picks from `values`, the first ones far more often than the last."""
    ranks = (len(values) ** rng.random(size) ** power).astype(np.int64) - 1
    return pa.array(values).take(pa.array(np.clip(ranks, 0, len(values) - 1)))


def _words(rng, count):
    picks = rng.integers(0, len(WORDS), (count, 4))
    return ["".join(WORDS[at] for at in row) for row in picks]
