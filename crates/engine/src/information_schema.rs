//! The databases `information_schema` and `INFORMATION_SCHEMA`: the views of standard SQL, over the tables of `system`.
//!
//! Each name of a table and of a column is there in lower and in upper case, as in ClickHouse.

use basalt_base::{Column, Error, ErrorCode, Result, SqlType};
use basalt_sql::ast::{Query, Statement};

use crate::names::INFORMATION_SCHEMA;

/// One view.
struct View {
    name: &'static str,
    /// A type, and the names of its columns in lower case; all others are strings.
    types: &'static [(&'static str, &'static str)],
    /// Items of the SELECT list; the names of a group follow it in upper case.
    groups: &'static [&'static [&'static str]],
    /// FROM and later clauses.
    rest: &'static str,
}

const NULLS_OF_TABLES: &[&str] = &[
    "if(table_type IN ('VIEW', 'SYSTEM VIEW'), NULL, t.engine) AS engine",
    "NULL AS version",
    "NULL AS row_format",
    "NULL AS avg_row_length",
    "NULL AS max_data_length",
    "NULL AS data_free",
    "NULL AS auto_increment",
    "NULL AS create_time",
    "NULL AS update_time",
    "NULL AS check_time",
    "NULL AS checksum",
    "NULL AS create_options",
];

const VIEWS: &[View] = &[
    View {
        name: "character_sets",
        types: &[],
        groups: &[&["arrayJoin(['utf8', 'utf8mb4', 'ascii', 'binary']) AS character_set_name"]],
        rest: "",
    },
    View {
        name: "collations",
        types: &[
            ("Nullable(String)", "character_set_name is_default is_compiled pad_attribute"),
            ("Nullable(UInt64)", "id sortlen"),
        ],
        groups: &[
            &["name AS collation_name"],
            &[
                "NULL AS character_set_name",
                "NULL AS id",
                "NULL AS is_default",
                "NULL AS is_compiled",
                "NULL AS sortlen",
                "NULL AS pad_attribute",
            ],
        ],
        rest: "FROM system.collations",
    },
    View {
        name: "columns",
        types: &[
            ("UInt64", "ordinal_position"),
            (
                "Nullable(UInt64)",
                "character_maximum_length character_octet_length numeric_precision numeric_precision_radix numeric_scale datetime_precision",
            ),
            (
                "Nullable(String)",
                "character_set_catalog character_set_schema character_set_name collation_catalog collation_schema collation_name domain_catalog domain_schema domain_name extra",
            ),
            ("Nullable(UInt32)", "srs_id"),
        ],
        groups: &[
            &[
                "database AS table_catalog",
                "database AS table_schema",
                "`table` AS table_name",
                "name AS column_name",
                "position AS ordinal_position",
                "default_expression AS column_default",
                "type LIKE 'Nullable(%)' AS is_nullable",
                "type AS data_type",
                "character_octet_length AS character_maximum_length",
                "character_octet_length",
                "numeric_precision",
                "numeric_precision_radix",
                "numeric_scale",
                "datetime_precision",
                "NULL AS character_set_catalog",
                "NULL AS character_set_schema",
                "NULL AS character_set_name",
                "NULL AS collation_catalog",
                "NULL AS collation_schema",
                "NULL AS collation_name",
                "NULL AS domain_catalog",
                "NULL AS domain_schema",
                "NULL AS domain_name",
                "multiIf(default_kind = 'DEFAULT', 'DEFAULT_GENERATED', default_kind = 'MATERIALIZED', \
                 'STORED GENERATED', default_kind = 'ALIAS', 'VIRTUAL GENERATED', '') AS extra",
                "comment AS column_comment",
                "type AS column_type",
            ],
            &[
                "if(is_in_primary_key, 'PRI', '') AS column_key",
                "'' AS privileges",
                "if(default_kind IN ('MATERIALIZED', 'ALIAS'), default_expression, '') AS generation_expression",
                "NULL AS srs_id",
            ],
        ],
        rest: "FROM system.columns",
    },
    View {
        name: "engines",
        types: &[],
        groups: &[&[
            "name AS engine",
            "if(engine = getSetting('default_table_engine'), 'DEFAULT', 'YES') AS support",
        ]],
        rest: "FROM system.table_engines",
    },
    View {
        name: "key_column_usage",
        types: &[
            (
                "Nullable(String)",
                "constraint_name column_name referenced_table_schema referenced_table_name referenced_column_name",
            ),
            ("UInt32", "ordinal_position"),
            ("Nullable(UInt32)", "position_in_unique_constraint"),
        ],
        groups: &[&[
            "'def' AS constraint_catalog",
            "database AS constraint_schema",
            "'PRIMARY' AS constraint_name",
            "'def' AS table_catalog",
            "database AS table_schema",
            "`table` AS table_name",
            "name AS column_name",
            "1 AS ordinal_position",
            "NULL AS position_in_unique_constraint",
            "NULL AS referenced_table_schema",
            "NULL AS referenced_table_name",
            "NULL AS referenced_column_name",
        ]],
        rest: "FROM system.columns WHERE is_in_primary_key",
    },
    View {
        name: "referential_constraints",
        types: &[("Nullable(String)", "constraint_name unique_constraint_name")],
        groups: &[&[
            "'' AS constraint_catalog",
            "NULL AS constraint_name",
            "'' AS constraint_schema",
            "'' AS unique_constraint_catalog",
            "NULL AS unique_constraint_name",
            "'' AS unique_constraint_schema",
            "'' AS match_option",
            "'' AS update_rule",
            "'' AS delete_rule",
            "'' AS table_name",
            "'' AS referenced_table_name",
        ]],
        rest: "WHERE false",
    },
    View {
        name: "schemata",
        types: &[(
            "Nullable(String)",
            "default_character_set_catalog default_character_set_schema default_character_set_name sql_path",
        )],
        groups: &[
            &[
                "name AS catalog_name",
                "name AS schema_name",
                "'default' AS schema_owner",
                "NULL AS default_character_set_catalog",
                "NULL AS default_character_set_schema",
                "NULL AS default_character_set_name",
                "NULL AS sql_path",
            ],
            &["'utf8mb4_0900_ai_ci' AS default_collation_name", "'NO' AS default_encryption"],
        ],
        rest: "FROM system.databases",
    },
    View {
        name: "statistics",
        types: &[
            ("Int32", "non_unique"),
            ("Nullable(String)", "index_name column_name collation packed expression"),
            ("UInt32", "seq_in_index"),
            ("Nullable(Int64)", "cardinality sub_part"),
        ],
        groups: &[&[
            "'' AS table_catalog",
            "'' AS table_schema",
            "'' AS table_name",
            "0 AS non_unique",
            "'' AS index_schema",
            "NULL AS index_name",
            "0 AS seq_in_index",
            "NULL AS column_name",
            "NULL AS collation",
            "NULL AS cardinality",
            "NULL AS sub_part",
            "NULL AS packed",
            "'' AS nullable",
            "'' AS index_type",
            "'' AS comment",
            "'' AS index_comment",
            "'' AS is_visible",
            "NULL AS expression",
        ]],
        rest: "WHERE false",
    },
    View {
        name: "tables",
        types: &[
            (
                "Nullable(UInt64)",
                "table_rows data_length index_length version avg_row_length max_data_length data_free auto_increment",
            ),
            ("Nullable(String)", "table_collation table_comment engine row_format create_options"),
            ("Nullable(DateTime)", "create_time update_time check_time"),
            ("Nullable(Int64)", "checksum"),
        ],
        groups: &[
            &[
                "t.database AS table_catalog",
                "t.database AS table_schema",
                "t.name AS table_name",
                "multiIf(t.is_temporary, 'LOCAL TEMPORARY', t.engine LIKE '%View', 'VIEW', \
                 t.engine LIKE 'System%', 'SYSTEM VIEW', t.has_own_data = 0, 'FOREIGN TABLE', 'BASE TABLE') \
                 AS table_type",
                "t.total_rows AS table_rows",
                "t.total_bytes AS data_length",
                "p.marks AS index_length",
                "'utf8mb4_0900_ai_ci' AS table_collation",
                "t.comment AS table_comment",
            ],
            NULLS_OF_TABLES,
        ],
        rest: "FROM system.tables AS t LEFT JOIN (SELECT database, `table`, sum(marks_bytes) AS marks \
               FROM system.parts WHERE active GROUP BY database, `table`) AS p \
               ON t.database = p.database AND t.name = p.`table`",
    },
    View {
        name: "views",
        types: &[(
            "Enum8('NO' = 0, 'YES' = 1)",
            "is_updatable is_insertable_into is_trigger_updatable is_trigger_deletable is_trigger_insertable_into",
        )],
        groups: &[&[
            "database AS table_catalog",
            "database AS table_schema",
            "name AS table_name",
            "as_select AS view_definition",
            "'NONE' AS check_option",
            "0 AS is_updatable",
            "engine = 'MaterializedView' AS is_insertable_into",
            "0 AS is_trigger_updatable",
            "0 AS is_trigger_deletable",
            "0 AS is_trigger_insertable_into",
        ]],
        rest: "FROM system.tables WHERE engine LIKE '%View'",
    },
];

/// The query of the view called `name`, which is in lower or in upper case, and its columns.
pub(crate) fn view(name: &str) -> Result<(Box<Query>, Vec<Column>)> {
    let is_name = |view: &&View| view.name == name || view.name.to_ascii_uppercase() == name;
    let Some(view) = VIEWS.iter().find(is_name) else {
        let text = format!("table `information_schema.{name}` does not exist");
        return Err(Error::new(ErrorCode::UnknownTable, text));
    };
    match basalt_sql::parse_statement(view.select().as_bytes())? {
        Statement::Query(query) => Ok((query, view.columns()?)),
        _ => Err(Error::logical(format!("view `{name}` of the information schema is no query"))),
    }
}

/// Database, name and query of every view, under all names.
pub(crate) fn views() -> impl Iterator<Item = (&'static str, String, String)> {
    INFORMATION_SCHEMA.iter().flat_map(|&database| {
        VIEWS.iter().flat_map(move |view| {
            [view.name.to_owned(), view.name.to_ascii_uppercase()].map(|name| (database, name, view.select()))
        })
    })
}

impl View {
    fn select(&self) -> String {
        let items: Vec<String> = self.items().map(|(item, _)| item).collect();
        format!("SELECT {} {}", items.join(", "), self.rest)
    }

    /// The items of the SELECT list, and their names.
    fn items(&self) -> impl Iterator<Item = (String, String)> {
        let name = |item: &str| item.rsplit(' ').next().unwrap_or(item).to_owned();
        self.groups.iter().flat_map(move |group| {
            let lower = group.iter().map(move |item| ((*item).to_owned(), name(item)));
            lower.chain(group.iter().map(move |item| {
                let (name, upper) = (name(item), name(item).to_ascii_uppercase());
                (format!("{name} AS {upper}"), upper)
            }))
        })
    }

    fn columns(&self) -> Result<Vec<Column>> {
        let columns = self.items().map(|(_, name)| {
            let lower = name.to_ascii_lowercase();
            let own = self.types.iter().find(|(_, names)| names.split(' ').any(|known| known == lower));
            let ty = match own {
                Some((ty, _)) => basalt_sql::resolve_type(&basalt_sql::parse_type(ty.as_bytes())?)?,
                None => SqlType::String,
            };
            Ok(Column::new(name, ty))
        });
        columns.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_view_is_a_query_under_both_names() {
        for view in VIEWS {
            let names = [view.name.to_owned(), view.name.to_ascii_uppercase()];
            for name in names {
                let (_, columns) = super::view(&name).expect("a view");
                assert!(columns.len() > 1, "{name}");
            }
        }
        super::view("Tables").expect_err("neither");
    }
}
