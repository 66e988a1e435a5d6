-- basalt metadata 1
-- uuid 6f2b6008-9190-486a-9494-284bbbf64162
-- crc32c 093e4f9b
CREATE DICTIONARY default.compact (`id` UInt64, `name` String, `price` Nullable(Float64)) PRIMARY KEY id SOURCE(CLICKHOUSE(TABLE 'goods')) LIFETIME(MIN 0 MAX 0) LAYOUT(COMPACT_HASHED()) SETTINGS(persist = 1)
