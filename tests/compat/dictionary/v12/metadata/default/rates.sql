-- basalt metadata 1
-- uuid 8ab3854a-8bed-424f-a78e-c780dd595b05
-- crc32c d3c5099e
CREATE TABLE default.rates (id UInt64, start Date, `end` Date, rate UInt16) ENGINE = MergeTree ORDER BY id
