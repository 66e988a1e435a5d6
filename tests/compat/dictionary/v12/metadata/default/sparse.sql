-- basalt metadata 1
-- uuid eb3a728a-c71c-4bd8-8404-0d67f81f6394
-- crc32c f1b03bfe
CREATE DICTIONARY default.sparse (`id` UInt64, `name` String, `price` Nullable(Float64)) PRIMARY KEY id SOURCE(CLICKHOUSE(TABLE 'goods')) LIFETIME(MIN 0 MAX 0) LAYOUT(SPARSE_HASHED()) SETTINGS(persist = 1)
