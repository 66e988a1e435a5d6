-- basalt metadata 1
-- uuid 86ac5d1d-4f50-4839-b1ae-87608373fb95
-- crc32c 949271f1
CREATE DICTIONARY default.flat (`id` UInt64, `name` String, `price` Nullable(Float64)) PRIMARY KEY id SOURCE(CLICKHOUSE(TABLE 'goods')) LIFETIME(MIN 0 MAX 0) LAYOUT(FLAT()) SETTINGS(persist = 1)
