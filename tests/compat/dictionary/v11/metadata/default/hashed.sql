-- basalt metadata 1
-- uuid bf398ccb-2f99-4d53-86af-f9af380a995d
-- crc32c e68c1ff6
CREATE DICTIONARY default.hashed (`id` UInt64, `name` String, `price` Nullable(Float64)) PRIMARY KEY id SOURCE(CLICKHOUSE(TABLE 'goods')) LIFETIME(MIN 0 MAX 0) LAYOUT(HASHED()) SETTINGS(persist = 1)
