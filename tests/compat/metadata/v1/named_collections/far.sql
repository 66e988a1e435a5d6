-- basalt named collection 1
-- crc32c 98820443
CREATE NAMED COLLECTION far AS host = 'db.example', port = 5432
