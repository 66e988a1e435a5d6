-- basalt metadata 1
-- uuid 2bca9950-5403-41a0-b802-525811c1de31
-- crc32c 7b07e1eb
CREATE DICTIONARY default.names (`k` String, `v` Nullable(Decimal(9, 2))) PRIMARY KEY k SOURCE(CLICKHOUSE(TABLE 'pairs')) LIFETIME(MIN 1 MAX 2) LAYOUT(COMPLEX_KEY_HASHED()) COMMENT 'by k'
