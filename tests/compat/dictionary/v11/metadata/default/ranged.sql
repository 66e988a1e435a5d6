-- basalt metadata 1
-- uuid a67097e7-6a10-4e65-af3b-95f3c26ed569
-- crc32c 2a802054
CREATE DICTIONARY default.ranged (`id` UInt64, `start` Date, `end` Date, `rate` UInt16) PRIMARY KEY id SOURCE(CLICKHOUSE(TABLE 'rates')) LIFETIME(MIN 0 MAX 0) LAYOUT(RANGE_HASHED()) RANGE(MIN start MAX `end`) SETTINGS(persist = 1)
