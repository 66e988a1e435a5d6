-- basalt metadata 1
-- uuid d5ee83ed-93a8-4eb5-a7c8-b5cf2bf9880a
-- crc32c 093e4f9b
CREATE DICTIONARY default.compact (`id` UInt64, `name` String, `price` Nullable(Float64)) PRIMARY KEY id SOURCE(CLICKHOUSE(TABLE 'goods')) LIFETIME(MIN 0 MAX 0) LAYOUT(COMPACT_HASHED()) SETTINGS(persist = 1)
