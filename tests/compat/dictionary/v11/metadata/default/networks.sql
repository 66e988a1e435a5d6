-- basalt metadata 1
-- uuid 1c01bad6-193f-47ab-b36f-4573276c787b
-- crc32c 4dcbc65f
CREATE TABLE default.networks (prefix String, name String) ENGINE = MergeTree ORDER BY prefix
