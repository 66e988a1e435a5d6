//! The merge mode that an engine's name and arguments state: `ReplacingMergeTree(ver)` and its kin.

use basalt_base::{Columns, Result, SqlType, bail};
use basalt_parts::MergeMode;
use basalt_sql::ast::{CreateTable, Expr};

use super::TableDefinition;

/// The engines of this family.
pub(super) const ENGINES: &[&str] = &[
    "MergeTree",
    "ReplacingMergeTree",
    "SummingMergeTree",
    "CollapsingMergeTree",
    "VersionedCollapsingMergeTree",
];

/// The static name of the engine.
pub(super) fn engine_name(create: &CreateTable) -> &'static str {
    let name = create.engine.as_ref().map_or("MergeTree", |engine| engine.name.as_str());
    ENGINES.iter().find(|known| **known == name).copied().unwrap_or("MergeTree")
}

/// The column that the engine adds to the sorting key.
pub(super) fn version_in_key(create: &CreateTable) -> Option<String> {
    let engine = create.engine.as_ref().filter(|engine| engine.name == "VersionedCollapsingMergeTree")?;
    engine.args.get(1).and_then(column_name)
}

/// The mode of the table; `columns` are the stored ones, `key` names those of the sorting and the
/// partition key.
pub(super) fn merge_mode(
    definition: &TableDefinition,
    columns: &Columns,
    key: &[String],
) -> Result<MergeMode> {
    let args = definition.create.engine.as_ref().map_or(&[][..], |engine| &engine.args);
    let arguments = Arguments { engine: engine_name(&definition.create), args, columns };
    match arguments.engine {
        "ReplacingMergeTree" => arguments.replacing(),
        "SummingMergeTree" => arguments.summing(key),
        "CollapsingMergeTree" => {
            arguments.check_count(1..=1, "sign column")?;
            Ok(MergeMode::Collapsing { sign: arguments.sign()? })
        }
        "VersionedCollapsingMergeTree" => {
            arguments.check_count(2..=2, "sign column, version")?;
            arguments.version(1)?;
            Ok(MergeMode::VersionedCollapsing { sign: arguments.sign()? })
        }
        _ => {
            // Arguments of other engines mean nothing here.
            if definition.create.engine.as_ref().is_none_or(|engine| engine.name == arguments.engine) {
                arguments.check_count(0..=0, "")?;
            }
            Ok(MergeMode::Ordinary)
        }
    }
}

/// The arguments of the engine.
struct Arguments<'a> {
    engine: &'static str,
    args: &'a [Expr],
    columns: &'a Columns,
}

impl Arguments<'_> {
    fn replacing(&self) -> Result<MergeMode> {
        self.check_count(0..=2, "[version], [is_deleted column]")?;
        let version = if self.args.is_empty() { None } else { Some(self.version(0)?) };
        let is_deleted = if self.args.len() < 2 { None } else { Some(self.column(1, "is_deleted")?) };
        if let Some(at) = is_deleted {
            if version == is_deleted {
                bail!(
                    BadArguments,
                    "the version and is_deleted column cannot be the same column ({})",
                    self.columns[at].name
                );
            }
            self.require_type(at, &SqlType::UInt8, "is_deleted")?;
        }
        Ok(MergeMode::Replacing { version, is_deleted })
    }

    fn summing(&self, key: &[String]) -> Result<MergeMode> {
        self.check_count(0..=1, "[list of columns to sum]")?;
        let is_summable = |at: &usize| is_summable(&self.columns[*at].ty);
        let Some(listed) = self.args.first() else {
            if let Some(map) = self.columns.iter().find(|column| is_nested_map(&column.name)) {
                bail!(NotImplemented, "summing the nested map `{}` is not implemented", map.name);
            }
            let is_free = |at: &usize| !key.contains(&self.columns[*at].name);
            (0..self.columns.len()).filter(is_free).try_for_each(|at| self.refuse_wide(at))?;
            let columns = (0..self.columns.len()).filter(is_free).filter(is_summable).collect();
            return Ok(MergeMode::Summing { columns });
        };
        let mut columns = Vec::new();
        for name in listed_columns(listed)? {
            let Some(at) = self.columns.position(&name) else {
                bail!(
                    NoSuchColumnInTable,
                    "column {name} listed in columns to sum does not exist in table declaration"
                );
            };
            if key.contains(&name) {
                bail!(
                    BadArguments,
                    "columns: {name} listed both in columns to sum and in a key; that is not allowed"
                );
            }
            self.refuse_wide(at)?;
            columns.extend(Some(at).filter(is_summable));
        }
        Ok(MergeMode::Summing { columns })
    }

    /// ClickHouse sums these; to keep one of their values instead would be a wrong answer.
    fn refuse_wide(&self, at: usize) -> Result<()> {
        let column = &self.columns[at];
        if column.ty.stripped().wide().is_some() {
            bail!(
                NotImplemented,
                "{} with a sum of `{}` of type {} is not implemented",
                self.engine,
                column.name,
                column.ty
            );
        }
        Ok(())
    }

    fn check_count(&self, allowed: std::ops::RangeInclusive<usize>, what: &str) -> Result<()> {
        if allowed.contains(&self.args.len()) {
            return Ok(());
        }
        let count = match (allowed.start(), allowed.end()) {
            (0, 0) => "no parameters".to_owned(),
            (low, high) if low == high => format!("{low} parameters: {what}"),
            (low, high) => format!("{low} to {high} parameters: {what}"),
        };
        bail!(NumberOfArgumentsDoesntMatch, "storage {} requires {count}", self.engine)
    }

    fn column(&self, argument: usize, role: &str) -> Result<usize> {
        let Some(name) = column_name(&self.args[argument]) else {
            bail!(
                BadArguments,
                "the {role} of storage {} is the name of a column, not `{}`",
                self.engine,
                self.args[argument]
            );
        };
        match self.columns.position(&name) {
            Some(at) => Ok(at),
            None => bail!(NoSuchColumnInTable, "{role} column {name} does not exist in table declaration"),
        }
    }

    fn sign(&self) -> Result<usize> {
        let at = self.column(0, "Sign")?;
        self.require_type(at, &SqlType::Int8, "Sign")?;
        Ok(at)
    }

    fn version(&self, argument: usize) -> Result<usize> {
        let at = self.column(argument, "Version")?;
        let column = &self.columns[at];
        let is_time = matches!(column.ty, SqlType::Date | SqlType::DateTime(_) | SqlType::DateTime64 { .. });
        // ClickHouse takes any number here, whatever its message says.
        if !(column.ty.is_integer() || column.ty.is_float() || column.ty == SqlType::Date32 || is_time) {
            bail!(
                TypeOfColumnMismatch,
                "the column {} cannot be used as a version column for storage {} because it is of type {} \
                 (must be of an integer type or of type Date/DateTime/DateTime64)",
                column.name,
                self.engine,
                column.ty
            );
        }
        Ok(at)
    }

    fn require_type(&self, at: usize, ty: &SqlType, role: &str) -> Result<()> {
        let column = &self.columns[at];
        if column.ty == *ty {
            return Ok(());
        }
        bail!(
            TypeOfColumnMismatch,
            "{role} column ({}) for storage {} must have type {ty}; provided column of type {}",
            column.name,
            self.engine,
            column.ty
        )
    }
}

fn column_name(expr: &Expr) -> Option<String> {
    match expr {
        Expr::Identifier(parts) => Some(parts.join(".")),
        _ => None,
    }
}

/// `a` or `(a, b)`.
fn listed_columns(expr: &Expr) -> Result<Vec<String>> {
    let items = match expr {
        Expr::Tuple(items) => items.as_slice(),
        one => std::slice::from_ref(one),
    };
    let names: Option<Vec<String>> = items.iter().map(column_name).collect();
    match names {
        Some(names) => Ok(names),
        None => bail!(BadArguments, "the columns to sum are names of columns, not `{expr}`"),
    }
}

/// Numbers are; dates, times, enums and Bool are not.
fn is_summable(ty: &SqlType) -> bool {
    let ty = ty.stripped();
    ty.is_integer() || ty.is_float() || matches!(ty, SqlType::Decimal { .. })
}

/// ClickHouse sums the values of arrays `<name>Map.<key>`, `<name>Map.<value>` by key.
fn is_nested_map(name: &str) -> bool {
    name.split_once('.').is_some_and(|(table, _)| table.ends_with("Map"))
}
