-- basalt metadata 1
-- uuid 9c4e59f2-4b02-4582-ab8d-092400454a99
-- crc32c eb478124
CREATE DICTIONARY default.trie (`prefix` String, `name` String) PRIMARY KEY prefix SOURCE(CLICKHOUSE(TABLE 'networks')) LIFETIME(MIN 0 MAX 0) LAYOUT(IP_TRIE()) SETTINGS(persist = 1)
