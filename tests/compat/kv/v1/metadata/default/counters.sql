-- basalt metadata 1
-- uuid 9c475659-92f8-4c41-884e-c1e71a1bc1c1
-- crc32c 502098f2
CREATE TABLE default.counters (day Date, name FixedString(4), count UInt64, note String DEFAULT concat('of ', toString(day))) ENGINE = EmbeddedRocksDB PRIMARY KEY (day, name)
