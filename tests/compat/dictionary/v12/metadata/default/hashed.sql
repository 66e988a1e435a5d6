-- basalt metadata 1
-- uuid 35d3fb8d-c46e-45cc-9679-c7bef6a45a05
-- crc32c e68c1ff6
CREATE DICTIONARY default.hashed (`id` UInt64, `name` String, `price` Nullable(Float64)) PRIMARY KEY id SOURCE(CLICKHOUSE(TABLE 'goods')) LIFETIME(MIN 0 MAX 0) LAYOUT(HASHED()) SETTINGS(persist = 1)
