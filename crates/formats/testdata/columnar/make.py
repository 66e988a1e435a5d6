"""Writes the files of this directory: python3 make.py, with the packages chdb and pyarrow.

`types.*` are written by ClickHouse, `foreign.*` by pyarrow, with Arrow types that ClickHouse never writes. `*.tsv` is
what ClickHouse reads from the files, which our reader must read too.
"""

import datetime
import decimal
import pathlib

import chdb
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq

HERE = pathlib.Path(__file__).parent
QUERY = """
SELECT toUInt8(number) AS u8, toInt64(-number) AS i64, number / 4 AS f64, number % 2 = 1 AS b, toString(number) AS s,
       toFixedString(toString(number), 3) AS fs, toUUID('61f0c404-5cb3-11e7-907b-a6006ad3dba0') AS uuid,
       toDate('2020-01-02') + number AS d, toDate32('1950-01-02') + number AS d32,
       toDateTime('2020-01-02 03:04:05', 'UTC') + number AS dt,
       toDateTime64('2020-01-02 03:04:05.123', 3, 'UTC') + number AS dt3, toDecimal64(number, 4) / 3 AS dec,
       toDecimal256(number, 10) AS dec256, toIPv4('1.2.3.4') AS ip4, toIPv6('::1') AS ip6,
       CAST(['a', 'b'][number % 2 + 1], 'Enum8(\\'a\\' = 1, \\'b\\' = -2)') AS e,
       toLowCardinality(toString(number % 3)) AS lc, if(number = 1, NULL, toInt32(number)) AS n,
       range(number) AS arr, [[toNullable(number)], []] AS arr2, map('k', number) AS m,
       CAST((number, 'x'), 'Tuple(p UInt64, q String)') AS t
FROM numbers(5)
"""

WIDE = """
SELECT toInt128(number) * -7 AS i, toUInt128(number) AS u, toInt256(number) - 2 AS k, toUInt256(258) * number AS w,
       if(number = 1, NULL, toInt128(number)) AS n, [toUInt256(number), 1] AS a, map(toInt128(number), toInt256(-1)) AS m
FROM numbers(5)
"""


def foreign():
    moment = datetime.datetime(2020, 1, 2, 3, 4, 5, 123000)
    columns = {
        "large_text": pa.array(["a", None, "c"], pa.large_string()),
        "binary": pa.array([b"a", b"", None], pa.binary()),
        "date64": pa.array([moment, moment, None], pa.date64()),
        "seconds": pa.array([moment, None, moment], pa.timestamp("s")),
        "nanoseconds": pa.array([moment] * 3, pa.timestamp("ns", "Europe/Berlin")),
        "amount": pa.array([decimal.Decimal("1.50"), None, decimal.Decimal("-2.25")], pa.decimal128(9, 2)),
        "word": pa.array(["x", "y", None]).dictionary_encode(),
        "list": pa.array([[1, None], None, []], pa.large_list(pa.int16())),
        "pair": pa.array([{"a": 1, "b": "x"}, None, {"a": None, "b": None}]),
        "map": pa.array([[("k", 1)], None, []], pa.map_(pa.string(), pa.int32())),
        "flag": pa.array([True, None, False]),
    }
    return pa.table(columns)


def main():
    for form, ending in (("Parquet", "parquet"), ("Arrow", "arrow"), ("ArrowStream", "arrows")):
        (HERE / f"types.{ending}").write_bytes(chdb.query(QUERY, form).bytes())
        (HERE / f"wide.{ending}").write_bytes(chdb.query(WIDE, form).bytes())
    (HERE / "wide.tsv").write_bytes(chdb.query(WIDE, "TSV").bytes())
    (HERE / "types.tsv").write_bytes(chdb.query(QUERY, "TSV").bytes())
    table = foreign()
    pq.write_table(table, HERE / "foreign.parquet", compression="snappy")
    feather.write_feather(table, str(HERE / "foreign.arrow"), compression="zstd")
    with pa.ipc.new_stream(str(HERE / "foreign.arrows"), table.schema) as stream:
        stream.write_table(table)
    query = f"SELECT * FROM file('{HERE}/foreign.parquet')"
    (HERE / "foreign.tsv").write_bytes(chdb.query(query, "TSV").bytes())
    print(chdb.query(f"DESCRIBE file('{HERE}/foreign.parquet')", "TSV"))
    print(chdb.query(f"DESCRIBE file('{HERE}/foreign.arrow', Arrow)", "TSV"))
    print(chdb.query(f"SELECT * FROM file('{HERE}/foreign.arrow', Arrow)", "TSV"))


if __name__ == "__main__":
    main()
