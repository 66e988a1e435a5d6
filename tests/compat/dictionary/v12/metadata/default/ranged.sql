-- basalt metadata 1
-- uuid 5afb74b6-3ed7-4e6d-965b-c8516754cbef
-- crc32c 2a802054
CREATE DICTIONARY default.ranged (`id` UInt64, `start` Date, `end` Date, `rate` UInt16) PRIMARY KEY id SOURCE(CLICKHOUSE(TABLE 'rates')) LIFETIME(MIN 0 MAX 0) LAYOUT(RANGE_HASHED()) RANGE(MIN start MAX `end`) SETTINGS(persist = 1)
