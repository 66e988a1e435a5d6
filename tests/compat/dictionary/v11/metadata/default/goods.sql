-- basalt metadata 1
-- uuid a278995e-00d2-4999-a6c3-fd723c0e79f1
-- crc32c 4563c9f5
CREATE TABLE default.goods (id UInt64, name String, price Nullable(Float64)) ENGINE = MergeTree ORDER BY id
