-- basalt metadata 1
-- uuid 997cf68e-a85b-45e0-b33a-abc4a1d3fbf3
-- crc32c 1ba2cc25
-- detached
CREATE TABLE default.gone (x UInt8) ENGINE = MergeTree ORDER BY x
