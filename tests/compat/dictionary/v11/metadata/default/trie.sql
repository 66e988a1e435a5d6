-- basalt metadata 1
-- uuid 6e477526-4e5d-4ab8-933c-468bc4850a66
-- crc32c eb478124
CREATE DICTIONARY default.trie (`prefix` String, `name` String) PRIMARY KEY prefix SOURCE(CLICKHOUSE(TABLE 'networks')) LIFETIME(MIN 0 MAX 0) LAYOUT(IP_TRIE()) SETTINGS(persist = 1)
