-- basalt metadata 1
-- uuid b4b775cd-1fe2-4843-aa5d-8bad70d36c3f
-- crc32c 4dcbc65f
CREATE TABLE default.networks (prefix String, name String) ENGINE = MergeTree ORDER BY prefix
