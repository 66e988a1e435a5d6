-- basalt metadata 1
-- uuid 2601d056-3591-4e4c-8a5c-04577feefd34
-- crc32c 949271f1
CREATE DICTIONARY default.flat (`id` UInt64, `name` String, `price` Nullable(Float64)) PRIMARY KEY id SOURCE(CLICKHOUSE(TABLE 'goods')) LIFETIME(MIN 0 MAX 0) LAYOUT(FLAT()) SETTINGS(persist = 1)
