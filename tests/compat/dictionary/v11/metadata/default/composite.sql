-- basalt metadata 1
-- uuid 70557601-5a43-4200-9665-2b237f2e02ef
-- crc32c 5a75ae6f
CREATE DICTIONARY default.composite (`name` String, `id` UInt64, `price` Nullable(Float64)) PRIMARY KEY name, id SOURCE(CLICKHOUSE(TABLE 'goods')) LIFETIME(MIN 0 MAX 0) LAYOUT(COMPLEX_KEY_HASHED()) SETTINGS(persist = 1)
