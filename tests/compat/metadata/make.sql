-- One object of each kind, with names that are no file names.
CREATE DATABASE `a shop`;
CREATE TABLE `a shop`.`größe.sql`
(
    id UInt64 COMMENT 'the key', at DateTime('Europe/Berlin') CODEC(DoubleDelta, LZ4), name LowCardinality(Nullable(String)),
    more String DEFAULT concat(toString(id), '!'), upper String MATERIALIZED upper(more), other String ALIAS lower(upper),
    INDEX by_more more TYPE bloom_filter(0.01) GRANULARITY 2
)
ENGINE = ReplacingMergeTree(id) PARTITION BY toYYYYMM(at) ORDER BY (id, at) TTL at + INTERVAL 50 YEAR
SETTINGS index_granularity = 128 COMMENT 'sizes';
INSERT INTO `a shop`.`größe.sql` (id, at, name) VALUES (1, '2024-01-01 00:00:00', 'one'), (2, '2024-02-02 00:00:00', NULL);
CREATE VIEW `a shop`.seen AS SELECT id, other FROM `a shop`.`größe.sql` WHERE id > 1;
CREATE TABLE pairs (k String, v Nullable(Decimal(9, 2)), PRIMARY KEY k) ENGINE = EmbeddedRocksDB;
INSERT INTO pairs VALUES ('a', 1.5);
CREATE TABLE kept (x UInt8) ENGINE = Memory;
CREATE DICTIONARY names (k String, v Nullable(Decimal(9, 2))) PRIMARY KEY k
SOURCE(CLICKHOUSE(TABLE 'pairs')) LAYOUT(COMPLEX_KEY_HASHED()) LIFETIME(MIN 1 MAX 2) COMMENT 'by k';
CREATE TABLE gone (x UInt8) ENGINE = MergeTree ORDER BY x;
INSERT INTO gone VALUES (7);
DETACH TABLE gone PERMANENTLY;
CREATE NAMED COLLECTION far AS host = 'db.example', port = 5432;
