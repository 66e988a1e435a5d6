"""Sizes of series of numbers, chain by chain: ours and ClickHouse's, as a table in Markdown."""

import pathlib
import sys
import tempfile

from chdb.session import Session

TYPES = {
    "u8": "UInt8",
    "u16": "UInt16",
    "u32": "UInt32",
    "u64": "UInt64",
    "i64": "Int64",
    "f32": "Float32",
    "f64": "Float64",
}
# Wide parts, so that a column has a file, all rows in one part, and no value left out for being 0.
SETTINGS = "min_bytes_for_wide_part = 0, ratio_of_defaults_for_sparse_serialization = 1.0"
INSERT = "max_insert_block_size = 10000000, min_insert_block_size_rows = 10000000, max_threads = 1"


def clickhouse_sizes(session, path, chains):
    """Bytes of the series in the file under each chain."""
    ty = TYPES[path.name.rsplit("_", 1)[1]]
    session.query("DROP TABLE IF EXISTS sizes")
    columns = ", ".join(f"c{at} {ty} CODEC({chain})" for at, chain in enumerate(chains))
    session.query(f"CREATE TABLE sizes ({columns}) ENGINE = MergeTree ORDER BY tuple() SETTINGS {SETTINGS}")
    values = ", ".join(["v"] * len(chains))
    source = f"file('{path}', RowBinary, 'v {ty}')"
    session.query(f"INSERT INTO sizes SELECT {values} FROM {source} SETTINGS {INSERT}")
    text = str(
        session.query(
            "SELECT column, sum(column_data_compressed_bytes) FROM system.parts_columns"
            " WHERE table = 'sizes' AND active GROUP BY column FORMAT TSV"
        )
    )
    sizes = dict(line.split("\t") for line in text.splitlines())
    return [int(sizes[f"c{at}"]) for at in range(len(chains))]


def main(directory):
    ours = {}
    for line in (directory / "ours.tsv").read_text().splitlines():
        series, chain, size, encode, decode = line.split("\t")
        ours.setdefault(series, []).append((chain, int(size), encode, decode))
    print("| series | codec | ours, bytes | ClickHouse, bytes | ours / ClickHouse | encode GB/s | decode GB/s |")
    print("|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as data:
        session = Session(data)
        session.query("SET enable_alp_codec = 1")
        for series, lines in ours.items():
            theirs = clickhouse_sizes(session, directory / series, [chain for chain, *_ in lines])
            for (chain, size, encode, decode), other in zip(lines, theirs):
                ratio = size / other
                print(f"| {series} | {chain} | {size} | {other} | {ratio:.3f} | {encode} | {decode} |")


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]))
