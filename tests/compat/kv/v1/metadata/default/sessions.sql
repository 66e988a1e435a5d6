-- basalt metadata 1
-- uuid 1a24dab8-6a7a-4c36-a9cc-a692dd020f74
-- crc32c 6ef8e41c
CREATE TABLE default.sessions (id UInt64, name LowCardinality(String)) ENGINE = EmbeddedRocksDB(2000000000) PRIMARY KEY id
