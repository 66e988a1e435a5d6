-- A file for each of the layouts whose files differ.
CREATE TABLE goods (id UInt64, name String, price Nullable(Float64)) ENGINE = MergeTree ORDER BY id;
INSERT INTO goods SELECT number * number, concat('thing ', toString(number)), if(number % 7 = 0, NULL, number / 4)
FROM numbers(1, 40);
CREATE TABLE rates (id UInt64, start Date, end Date, rate UInt16) ENGINE = MergeTree ORDER BY id;
INSERT INTO rates SELECT number % 5, toDate('2024-01-01') + number, toDate('2024-01-03') + number, number FROM numbers(40);
CREATE TABLE networks (prefix String, name String) ENGINE = MergeTree ORDER BY prefix;
INSERT INTO networks VALUES ('10.0.0.0/8', 'ten'), ('10.1.0.0/16', 'ten one'), ('2001:db8::/32', 'documents');

CREATE DICTIONARY hashed (id UInt64, name String, price Nullable(Float64)) PRIMARY KEY id
SOURCE(CLICKHOUSE(TABLE 'goods')) LAYOUT(HASHED()) LIFETIME(0) SETTINGS(persist = 1);
CREATE DICTIONARY sparse (id UInt64, name String, price Nullable(Float64)) PRIMARY KEY id
SOURCE(CLICKHOUSE(TABLE 'goods')) LAYOUT(SPARSE_HASHED()) LIFETIME(0) SETTINGS(persist = 1);
CREATE DICTIONARY compact (id UInt64, name String, price Nullable(Float64)) PRIMARY KEY id
SOURCE(CLICKHOUSE(TABLE 'goods')) LAYOUT(COMPACT_HASHED()) LIFETIME(0) SETTINGS(persist = 1);
CREATE DICTIONARY flat (id UInt64, name String, price Nullable(Float64)) PRIMARY KEY id
SOURCE(CLICKHOUSE(TABLE 'goods')) LAYOUT(FLAT()) LIFETIME(0) SETTINGS(persist = 1);
CREATE DICTIONARY composite (name String, id UInt64, price Nullable(Float64)) PRIMARY KEY name, id
SOURCE(CLICKHOUSE(TABLE 'goods')) LAYOUT(COMPLEX_KEY_HASHED()) LIFETIME(0) SETTINGS(persist = 1);
CREATE DICTIONARY ranged (id UInt64, start Date, end Date, rate UInt16) PRIMARY KEY id
SOURCE(CLICKHOUSE(TABLE 'rates')) LAYOUT(RANGE_HASHED()) RANGE(MIN start MAX end) LIFETIME(0) SETTINGS(persist = 1);
CREATE DICTIONARY trie (prefix String, name String) PRIMARY KEY prefix
SOURCE(CLICKHOUSE(TABLE 'networks')) LAYOUT(IP_TRIE()) LIFETIME(0) SETTINGS(persist = 1);
SYSTEM RELOAD DICTIONARY hashed;
SYSTEM RELOAD DICTIONARY sparse;
SYSTEM RELOAD DICTIONARY compact;
SYSTEM RELOAD DICTIONARY flat;
SYSTEM RELOAD DICTIONARY composite;
SYSTEM RELOAD DICTIONARY ranged;
SYSTEM RELOAD DICTIONARY trie;
