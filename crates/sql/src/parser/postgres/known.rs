//! Statements of clients that need what the dialect does not have, and statements with the same answer.

/// How asyncpg begins to look up types. The whole statement walks from a type to those of its parts by recursion. Only
/// arrays have parts here, and their elements have none.
const ASYNCPG_TYPES: &[u8] = b"WITH RECURSIVE typeinfo_tree(";

const ASYNCPG_TYPES_ANSWER: &[u8] = b"\
SELECT t.oid AS oid, ns.nspname AS ns, t.typname AS name, t.typtype AS kind, NULL::oid AS basetype,
    t.typelem AS elemtype, elem_t.typdelim AS elemdelim, NULL::oid AS range_subtype, NULL::text AS attrtypoids,
    NULL::text AS attrnames, if(has($1::oid[], t.oid), 0, 1)::int4 AS depth, NULL::text AS basetype_name,
    if(t.typelem = 0, NULL, t.typelem::regtype) AS elemtype_name, NULL::text AS range_subtype_name
FROM pg_catalog.pg_type AS t
INNER JOIN pg_catalog.pg_namespace AS ns ON ns.oid = t.typnamespace
LEFT JOIN pg_catalog.pg_type AS elem_t ON elem_t.oid = t.typelem
WHERE has($1::oid[], t.oid) OR t.oid IN (SELECT a.typelem FROM pg_catalog.pg_type AS a WHERE has($1::oid[], a.oid))
ORDER BY depth DESC";

/// The statement that is run for `text`.
pub(super) fn statement(text: &[u8]) -> &[u8] {
    if text.trim_ascii_start().starts_with(ASYNCPG_TYPES) { ASYNCPG_TYPES_ANSWER } else { text }
}
