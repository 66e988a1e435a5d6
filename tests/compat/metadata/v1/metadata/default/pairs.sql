-- basalt metadata 1
-- uuid 44dc1ac7-d46b-469d-a9f7-346063baa8b6
-- crc32c ff23fd3a
CREATE TABLE default.pairs (k String, v Nullable(Decimal(9, 2))) ENGINE = EmbeddedRocksDB PRIMARY KEY k
