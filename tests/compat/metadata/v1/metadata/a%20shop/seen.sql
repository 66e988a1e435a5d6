-- basalt metadata 1
-- uuid abff6b45-6741-414d-8a79-fd109d7a553a
-- crc32c 3a9372ee
CREATE VIEW `a shop`.seen (id UInt64, other String) AS SELECT id, other FROM `a shop`.`größe.sql` WHERE id > 1
