-- basalt metadata 1
-- uuid 3f0857eb-ae5e-4814-9e90-ebc5d88600f6
-- crc32c 4563c9f5
CREATE TABLE default.goods (id UInt64, name String, price Nullable(Float64)) ENGINE = MergeTree ORDER BY id
