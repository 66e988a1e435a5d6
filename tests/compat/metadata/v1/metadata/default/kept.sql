-- basalt metadata 1
-- uuid b66998e9-0835-485e-b8a4-52769c4004b0
-- crc32c ba449db2
CREATE TABLE default.kept (x UInt8) ENGINE = Memory
