-- basalt metadata 1
-- uuid f381015f-4854-4189-9871-8352d76b0cfe
-- crc32c 4c00b724
CREATE TABLE default.orders (shop String, id Int32, price Nullable(Decimal(9, 2)), tags Array(String), at DateTime64(3, 'UTC'), place Tuple(Float64, Float64), kind Enum8('a' = 1, 'b' = 2), user UUID) ENGINE = EmbeddedRocksDB PRIMARY KEY (shop, id)
