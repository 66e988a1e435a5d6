-- basalt metadata 1
-- uuid d7eb900d-01fb-4d0d-94fc-17b84aaa4908
-- crc32c f1b03bfe
CREATE DICTIONARY default.sparse (`id` UInt64, `name` String, `price` Nullable(Float64)) PRIMARY KEY id SOURCE(CLICKHOUSE(TABLE 'goods')) LIFETIME(MIN 0 MAX 0) LAYOUT(SPARSE_HASHED()) SETTINGS(persist = 1)
