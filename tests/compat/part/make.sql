-- One part of each form; the rows are those of crates/parts/src/table/tests/compat.rs.
CREATE TABLE t
(
    n UInt64 CODEC(Delta, ZSTD(1)),
    s Nullable(String),
    a Array(UInt16),
    d Decimal(9, 2),
    l LowCardinality(String)
)
ENGINE = MergeTree ORDER BY n SETTINGS index_granularity = 4;
SYSTEM STOP MERGES t;
INSERT INTO t SELECT number * number, if(number = 3, NULL, repeat('word ', number)), [2 * number, 2 * number + 1],
    (toInt64(number) - 5)::Decimal(9, 2) / 100, ['red', 'blue'][number % 2 + 1] FROM numbers(10);
ALTER TABLE t MODIFY SETTING min_bytes_for_wide_part = 0;
INSERT INTO t SELECT number * number, if(number = 3, NULL, repeat('word ', number)), [2 * number, 2 * number + 1],
    (toInt64(number) - 5)::Decimal(9, 2) / 100, ['red', 'blue'][number % 2 + 1] FROM numbers(10);
