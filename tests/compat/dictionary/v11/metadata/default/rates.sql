-- basalt metadata 1
-- uuid 55bab6c3-f7e6-47d5-aa13-362bdc1546bd
-- crc32c d3c5099e
CREATE TABLE default.rates (id UInt64, start Date, `end` Date, rate UInt16) ENGINE = MergeTree ORDER BY id
