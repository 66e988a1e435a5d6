//! The SELECTs over system tables that answer some SHOW statements.

use basalt_base::types::quote_string;
use basalt_sql::ast::{Expr, ShowFilter};

use crate::names::ObjectKey;

pub(super) fn columns_text(key: &ObjectKey, full: bool, like: &Option<ShowFilter>) -> String {
    let more = if full { ", NULL::Nullable(String) AS collation, comment, '' AS privileges" } else { "" };
    let like = filter_text(like, " WHERE ", "field");
    format!(
        "SELECT * FROM (SELECT name AS field, type, if(type LIKE '%Nullable(%' AND type NOT LIKE 'Array(%' \
         AND type NOT LIKE 'Tuple(%' AND type NOT LIKE 'Map(%', 'YES', 'NO') AS `null`, \
         multiIf(is_in_primary_key, 'PRI SOR', is_in_sorting_key, 'SOR', '') AS key, \
         if(default_kind IN ('DEFAULT', 'MATERIALIZED', 'ALIAS'), default_expression, NULL) AS default, \
         '' AS extra{more} FROM system.columns WHERE database = {} AND table = {}){like} ORDER BY field",
        quote_string(&key.database),
        quote_string(&key.name)
    )
}

pub(super) fn indexes_text(key: &ObjectKey, filter: Option<Expr>) -> String {
    let (database, name) = (quote_string(&key.database), quote_string(&key.name));
    let filter = filter.map(|filter| format!(" WHERE {filter}")).unwrap_or_default();
    let nulls = "0 AS cardinality, NULL AS sub_part, NULL AS packed, NULL AS `null`";
    format!(
        "SELECT * FROM (SELECT table, 1 AS non_unique, name AS key_name, toUInt64(1) AS seq_in_index, \
         '' AS pk_col, NULL::Nullable(String) AS collation, {nulls}, upper(type) AS index_type, '' AS comment, \
         '' AS index_comment, 'YES' AS visible, expr AS expression \
         FROM system.data_skipping_indices WHERE database = {database} AND table = {name} \
         UNION ALL SELECT name AS table, 1 AS non_unique, 'PRIMARY' AS key_name, \
         toUInt64(position) AS seq_in_index, keys[position] AS pk_col, 'A'::Nullable(String) AS collation, \
         {nulls}, 'PRIMARY' AS index_type, '' AS comment, '' AS index_comment, 'YES' AS visible, \
         '' AS expression \
         FROM (SELECT name, splitByString(', ', primary_key) AS keys, arrayEnumerate(keys) AS positions \
         FROM system.tables WHERE database = {database} AND name = {name} AND primary_key != '') \
         ARRAY JOIN positions AS position){filter} \
         ORDER BY index_type, expression, seq_in_index"
    )
}

pub(super) fn filter_text(filter: &Option<ShowFilter>, lead: &str, column: &str) -> String {
    match filter {
        None => String::new(),
        Some(ShowFilter::Where(expr)) => format!("{lead}({expr})"),
        Some(ShowFilter::Like { pattern, case_insensitive, negated }) => {
            let not = if *negated { "NOT " } else { "" };
            let like = if *case_insensitive { "ILIKE" } else { "LIKE" };
            format!("{lead}{column} {not}{like} {}", quote_string(pattern))
        }
    }
}
