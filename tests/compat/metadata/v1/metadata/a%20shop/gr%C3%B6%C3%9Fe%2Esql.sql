-- basalt metadata 1
-- uuid 8a5e80aa-0edf-4521-b390-9bf60f61c76a
-- crc32c c735b147
CREATE TABLE `a shop`.`größe.sql` (id UInt64 COMMENT 'the key', at DateTime('Europe/Berlin') CODEC(DoubleDelta, LZ4), name LowCardinality(Nullable(String)), more String DEFAULT concat(toString(id), '!'), upper String MATERIALIZED upper(more), other String ALIAS lower(upper), INDEX by_more more TYPE bloom_filter(0.01) GRANULARITY 2) ENGINE = ReplacingMergeTree(id) PARTITION BY toYYYYMM(at) ORDER BY (id, at) TTL at + toIntervalYear(50) SETTINGS index_granularity = 128 COMMENT 'sizes'
