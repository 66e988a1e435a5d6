-- Kinds of keys and columns, a column that was added, and rows that expire, in some decades.
CREATE TABLE orders
(
    shop String, id Int32, price Nullable(Decimal(9, 2)), tags Array(String), at DateTime64(3, 'UTC'),
    place Tuple(Float64, Float64), kind Enum8('a' = 1, 'b' = 2), user UUID,
    PRIMARY KEY (shop, id)
)
ENGINE = EmbeddedRocksDB;
INSERT INTO orders SELECT concat('shop\0', toString(number % 3)), toInt32(number) - 5, if(number = 3, NULL, number / 4),
    range(number % 4)::Array(String), toDateTime64(number * 1e6, 3, 'UTC'), (number, -number / 8), number % 2 + 1,
    toUUID(concat('61f0c404-5cb3-11e7-907b-a6006ad3dba', toString(number))) FROM numbers(10);
OPTIMIZE TABLE orders;
INSERT INTO orders SELECT 'log', number, NULL, [], '2024-02-29 01:02:03.004', (0, 0), 'b',
    '61f0c404-5cb3-11e7-907b-a6006ad3dba0' FROM numbers(3);
CREATE TABLE sessions (id UInt64, name LowCardinality(String), PRIMARY KEY id) ENGINE = EmbeddedRocksDB(2000000000);
INSERT INTO sessions VALUES (1, 'one'), (2, 'two');
CREATE TABLE counters (day Date, name FixedString(4), count UInt64, PRIMARY KEY (day, name)) ENGINE = EmbeddedRocksDB;
INSERT INTO counters VALUES ('2024-01-01', 'hits', 18446744073709551615), ('1970-01-01', 'miss', 0);
ALTER TABLE counters ADD COLUMN note String DEFAULT concat('of ', toString(day));
INSERT INTO counters VALUES ('2024-01-02', 'hits', 1, 'new');
