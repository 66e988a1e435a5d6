SELECT database, name, engine, sorting_key, partition_key, comment FROM system.tables
WHERE database NOT IN ('system', 'information_schema', 'INFORMATION_SCHEMA') ORDER BY database, name;
SELECT table, name, type, default_kind, default_expression, comment, compression_codec FROM system.columns
WHERE database IN ('a shop', 'default') ORDER BY database, table, position;
SELECT *, upper, other FROM `a shop`.`größe.sql` ORDER BY id;
SELECT * FROM `a shop`.seen;
SELECT dictGet('names', 'v', tuple('a'));
SELECT name, collection['host'] FROM system.named_collections;
ATTACH TABLE gone;
SELECT * FROM gone;
