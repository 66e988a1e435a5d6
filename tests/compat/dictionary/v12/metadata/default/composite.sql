-- basalt metadata 1
-- uuid 6b8e139b-47f4-4b92-b712-f163d3e4613f
-- crc32c 5a75ae6f
CREATE DICTIONARY default.composite (`name` String, `id` UInt64, `price` Nullable(Float64)) PRIMARY KEY name, id SOURCE(CLICKHOUSE(TABLE 'goods')) LIFETIME(MIN 0 MAX 0) LAYOUT(COMPLEX_KEY_HASHED()) SETTINGS(persist = 1)
