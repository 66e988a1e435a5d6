//! Words that cannot be used as a name. ClickHouse reserves none, but some would be misread.

/// Words that never start an operand: they belong to the clause or operator that follows.
const NEVER_OPERAND: &[&str] = &[
    "AND", "AS", "BETWEEN", "ELSE", "FROM", "HAVING", "ILIKE", "IN", "INTO", "IS", "JOIN", "LIKE", "OR",
    "PREWHERE", "SELECT", "THEN", "UNION", "USING", "WHEN", "WHERE",
];

/// Words that are never an alias without AS.
const NEVER_ALIAS: &[&str] = &[
    "ALL",
    "AND",
    "ANTI",
    "ANY",
    "ARRAY",
    "AS",
    "ASC",
    "ASCENDING",
    "ASOF",
    "BETWEEN",
    "COLLATE",
    "CROSS",
    "DESC",
    "DESCENDING",
    "DIV",
    "ELSE",
    "END",
    "EXCEPT",
    "FETCH",
    "FILTER",
    "FINAL",
    "FORMAT",
    "FROM",
    "FULL",
    "GLOBAL",
    "GROUP",
    "HAVING",
    "IGNORE",
    "ILIKE",
    "IN",
    "INNER",
    "INTERPOLATE",
    "INTERSECT",
    "INTO",
    "IS",
    "JOIN",
    "LEFT",
    "LIKE",
    "LIMIT",
    "LOCAL",
    "MOD",
    "NOT",
    "NULLS",
    "OFFSET",
    "ON",
    "ONLY",
    "OR",
    "ORDER",
    "OVER",
    "PASTE",
    "PREWHERE",
    "QUALIFY",
    "REGEXP",
    "RESPECT",
    "RIGHT",
    "SAMPLE",
    "SELECT",
    "SEMI",
    "SETTINGS",
    "THEN",
    "UNION",
    "USING",
    "WHEN",
    "WHERE",
    "WINDOW",
    "WITH",
];

/// Words that start an operand, a column or a clause.
const SPECIAL: &[&str] = &[
    "BOTH",
    "LEADING",
    "TRAILING",
    "RECURSIVE",
    "FILL",
    "MIN",
    "MAX",
    "UPDATE",
    "AFTER",
    "ALIAS",
    "APPLY",
    "ASSUME",
    "BY",
    "CASE",
    "CAST",
    "CHECK",
    "CODEC",
    "COLUMN",
    "COLUMNS",
    "COMMENT",
    "CONSTRAINT",
    "CUBE",
    "CURRENT",
    "DATABASE",
    "DEFAULT",
    "DEFINER",
    "DICTIONARY",
    "DISTINCT",
    "EPHEMERAL",
    "EXISTS",
    "FALSE",
    "FIRST",
    "FOREIGN",
    "FUNCTION",
    "GROUPING",
    "GROUPS",
    "IF",
    "INDEX",
    "INF",
    "INFINITY",
    "INTERVAL",
    "MATERIALIZED",
    "NAN",
    "NULL",
    "PARTITION",
    "PRIMARY",
    "PROJECTION",
    "RANGE",
    "REMOVE",
    "REPLACE",
    "ROLLUP",
    "ROWS",
    "SET",
    "STATISTICS",
    "SYNC",
    "TABLE",
    "TEMPORARY",
    "TOP",
    "TRUE",
    "TTL",
    "UNBOUNDED",
    "VALUES",
    "VIEW",
];

/// Function names that need quotes to be parsed as a plain call.
const SPECIAL_CALL: &[&str] = &[
    "ALL",
    "DISTINCT",
    "EPHEMERAL",
    "RECURSIVE",
    "CASE",
    "COLUMNS",
    "CUBE",
    "DATEADD",
    "DATESUB",
    "DATE_ADD",
    "DATE_SUB",
    "EXISTS",
    "FUNCTION",
    "GROUPING",
    "INTERVAL",
    "NOT",
    "ROLLUP",
    "TIMESTAMPADD",
    "TIMESTAMPSUB",
    "TIMESTAMP_ADD",
    "TIMESTAMP_SUB",
    "WITH",
];

pub(super) fn never_operand(word: &[u8]) -> bool {
    contains(NEVER_OPERAND, word)
}

pub(super) fn never_alias(word: &[u8]) -> bool {
    contains(NEVER_ALIAS, word)
}

/// Whether a name must be quoted in printed text so as not to be read as a keyword.
pub(crate) fn is_reserved(word: &str) -> bool {
    let word = word.as_bytes();
    contains(NEVER_OPERAND, word) || contains(NEVER_ALIAS, word) || contains(SPECIAL, word)
}

/// Whether the name of a function must be quoted in printed text, where `is_reserved` is too strict.
pub(crate) fn is_function_word(word: &str) -> bool {
    contains(NEVER_OPERAND, word.as_bytes()) || contains(SPECIAL_CALL, word.as_bytes())
}

fn contains(words: &[&str], word: &[u8]) -> bool {
    words.iter().any(|candidate| candidate.as_bytes().eq_ignore_ascii_case(word))
}
