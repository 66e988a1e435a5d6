//! The SELECT of a source in another database: of a table or of a query, for all rows or for some.

use arrow::array::ArrayRef;
use basalt_base::{Columns, Error, ErrorCode, Result, SqlType, bail};
use basalt_formats::TextSettings;
use basalt_formats::text::{Style, ValueWriter};

use super::parameters::Parameters;
use super::row_source::UpdateField;
use super::{LoadRequest, RowRange};

/// Seconds before the newest row that an update reads again, unless UPDATE_LAG is set.
const UPDATE_LAG_SECONDS: u64 = 1;

/// The placeholder in a QUERY for the condition of an update or of a lookup.
const CONDITION: &str = "{condition}";

/// The parameters that [`Select::parse`] takes.
pub(super) const SELECT_PARAMETERS: [&str; 8] =
    ["db", "database", "table", "where", "query", "invalidate_query", "update_field", "update_lag"];

/// The parameters that [`update_field`] takes.
pub(super) const UPDATE_PARAMETERS: [&str; 2] = ["update_field", "update_lag"];

/// The table or query that is read, without the address of the database.
#[derive(Clone, Debug)]
pub(super) struct Select {
    pub(super) from: From,
    pub(super) filter: Option<String>,
    pub(super) invalidate_query: Option<String>,
    pub(super) update: Option<UpdateField>,
}

#[derive(Clone, Debug)]
pub(super) enum From {
    /// A table, and its database or schema.
    Table(Option<String>, String),
    Query(String),
}

/// How a database writes names, literals and times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Dialect {
    ClickHouse,
    PostgreSql,
    MySql,
    Sqlite,
}

impl Select {
    pub(super) fn parse(parameters: &Parameters<'_>) -> Result<Select> {
        let database = match parameters.text("database")? {
            Some(name) => Some(name),
            None => parameters.text("db")?,
        };
        let filter = parameters.text("where")?.filter(|filter| !filter.trim().is_empty());
        let from = match (parameters.text("table")?, parameters.text("query")?) {
            (Some(table), None) => From::Table(database.filter(|name| !name.is_empty()), table),
            (None, Some(query)) => From::Query(query.trim().trim_end_matches(';').to_owned()),
            _ => bail!(
                IncorrectDictionaryDefinition,
                "dictionary source {} takes either TABLE or QUERY",
                parameters.source()
            ),
        };
        Ok(Select {
            from,
            filter,
            invalidate_query: parameters.text("invalidate_query")?,
            update: update_field(parameters)?,
        })
    }

    /// The statement for a range of rows, in the form of [`super::RowSource::rows`].
    pub(super) fn text(&self, dialect: Dialect, load: &LoadRequest, range: RowRange) -> String {
        let mut list: Vec<String> =
            load.columns.iter().map(|column| dialect.column(load, &column.name)).collect();
        let update = self.update.as_ref().map(|update| dialect.name(&update.name));
        list.extend(update.iter().map(|field| dialect.seconds_of(field)));
        let tombstone = load.tombstone.as_ref().map(|name| dialect.name(name));
        list.extend(tombstone.iter().map(|name| dialect.is_not_zero(name)));
        let condition = match (range, &update) {
            (RowRange::Since(seconds), Some(field)) => Some(dialect.is_since(field, seconds)),
            _ => None,
        };
        let mut text = self.select(dialect, &list, condition);
        // The last row of a key counts, so rows are in order of change: for updates, and if rows delete others.
        if let Some(field) = update
            && (tombstone.is_some() || matches!(range, RowRange::Since(_)))
        {
            text = format!("{text} ORDER BY {field}");
        }
        text
    }

    /// The statement for the rows of some keys, with the requested columns alone.
    pub(super) fn text_of_keys(
        &self,
        dialect: Dialect,
        load: &LoadRequest,
        keys: &[ArrayRef],
    ) -> Result<String> {
        let columns = load.columns.iter();
        let list: Vec<String> = columns.map(|column| dialect.column(load, &column.name)).collect();
        Ok(self.select(dialect, &list, Some(key_list(dialect, &load.columns, &list, keys)?)))
    }

    fn select(&self, dialect: Dialect, list: &[String], condition: Option<String>) -> String {
        let from = match &self.from {
            From::Table(None, table) => dialect.name(table),
            From::Table(Some(database), table) => {
                format!("{}.{}", dialect.name(database), dialect.name(table))
            }
            From::Query(query) if query.contains(CONDITION) => {
                let inner = condition.as_deref().unwrap_or("1 = 1");
                let inner = query.replace(CONDITION, inner);
                return format!("SELECT {} FROM ({inner}) AS source", list.join(", "));
            }
            From::Query(query) => format!("({query}) AS source"),
        };
        let filter = self.filter.iter().map(|filter| format!("({filter})"));
        let conditions: Vec<String> = filter.chain(condition).collect();
        let filter = match conditions.is_empty() {
            true => String::new(),
            false => format!(" WHERE {}", conditions.join(" AND ")),
        };
        format!("SELECT {} FROM {from}{filter}", list.join(", "))
    }
}

/// UPDATE_FIELD and UPDATE_LAG of any source.
pub(super) fn update_field(parameters: &Parameters<'_>) -> Result<Option<UpdateField>> {
    let lag_seconds = parameters.number("update_lag", UPDATE_LAG_SECONDS)?;
    let name = parameters.text("update_field")?;
    Ok(name.map(|name| UpdateField { name, lag_seconds }))
}

impl Dialect {
    /// A requested column: its expression, or its name. Without an alias, which might hide a column of another
    /// expression.
    fn column(self, load: &LoadRequest, name: &str) -> String {
        match load.expressions.get(name) {
            Some(expression) => format!("({expression})"),
            None => self.name(name),
        }
    }

    fn name(self, name: &str) -> String {
        match self {
            Dialect::ClickHouse => basalt_sql::quote_name(name),
            Dialect::PostgreSql => format!("\"{}\"", name.replace('"', "\"\"")),
            // In double quotes, SQLite would take an unknown name for a text.
            Dialect::MySql | Dialect::Sqlite => format!("`{}`", name.replace('`', "``")),
        }
    }

    /// The time of a row's last change, as seconds since 1970.
    fn seconds_of(self, field: &str) -> String {
        match self {
            Dialect::ClickHouse => format!("toInt64(toDateTime({field}))"),
            Dialect::PostgreSql => format!("floor(extract(epoch from {field}))::bigint"),
            Dialect::MySql => format!("floor(unix_timestamp({field}))"),
            Dialect::Sqlite => format!("cast(strftime('%s', {field}) AS integer)"),
        }
    }

    fn is_since(self, field: &str, seconds: i64) -> String {
        match self {
            Dialect::ClickHouse => format!("{field} >= toDateTime({})", seconds.max(0)),
            Dialect::PostgreSql => format!("{field} >= to_timestamp({seconds})"),
            Dialect::MySql => format!("{field} >= from_unixtime({})", seconds.max(0)),
            Dialect::Sqlite => format!("cast(strftime('%s', {field}) AS integer) >= {seconds}"),
        }
    }

    fn is_not_zero(self, name: &str) -> String {
        match self {
            Dialect::ClickHouse => format!("toUInt8(ifNull({name}, 0) != 0)"),
            Dialect::PostgreSql => {
                format!("CASE WHEN coalesce({name}::text, '0') IN ('0', 'f', 'false') THEN 0 ELSE 1 END")
            }
            Dialect::MySql | Dialect::Sqlite => {
                format!("CASE WHEN coalesce({name}, 0) = 0 THEN 0 ELSE 1 END")
            }
        }
    }

    /// Appends a value as a literal.
    fn write_value(self, writer: &ValueWriter, ty: &SqlType, row: usize, out: &mut Vec<u8>) {
        if self == Dialect::ClickHouse {
            return writer.write(row, Style::Quoted, out);
        }
        if ty.is_number() {
            return writer.write(row, Style::Raw, out);
        }
        let mut text = Vec::new();
        writer.write(row, Style::Raw, &mut text);
        out.push(b'\'');
        for byte in text {
            let is_doubled = byte == b'\'' || byte == b'\\' && self == Dialect::MySql;
            out.extend(std::iter::repeat_n(byte, if is_doubled { 2 } else { 1 }));
        }
        out.push(b'\'');
    }
}

/// `(a, b) IN ((1, 'x'), (2, 'y'))`.
fn key_list(dialect: Dialect, columns: &Columns, names: &[String], keys: &[ArrayRef]) -> Result<String> {
    let settings = TextSettings::default();
    let columns = &columns[..keys.len()];
    let writers = keys
        .iter()
        .zip(columns)
        .map(|(key, column)| Ok((ValueWriter::new(&column.ty, key, &settings)?, &column.ty)))
        .collect::<Result<Vec<_>>>()?;
    let names = &names[..keys.len()];
    // SQLite takes a list of several columns only as rows of VALUES, and of one column only as a list.
    let head = if dialect == Dialect::Sqlite && keys.len() > 1 { "VALUES " } else { "" };
    let mut list = format!("({}) IN ({head}", names.join(", ")).into_bytes();
    for row in 0..keys.first().map_or(0, |key| key.len()) {
        list.extend_from_slice(if row == 0 { b"(" } else { b",(" });
        for (index, (writer, ty)) in writers.iter().enumerate() {
            if index > 0 {
                list.push(b',');
            }
            dialect.write_value(writer, ty, row, &mut list);
        }
        list.push(b')');
    }
    list.push(b')');
    String::from_utf8(list)
        .map_err(|_| Error::new(ErrorCode::BadArguments, "a key of a DIRECT dictionary is not UTF-8"))
}
