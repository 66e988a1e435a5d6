//! A random table: engine, columns and rows.

use super::kind::{Family, KINDS, Kind};
use super::random::Random;

pub(crate) struct Column {
    pub(crate) name: String,
    pub(crate) kind: &'static Kind,
    type_name: String,
    is_nullable: bool,
}

pub(crate) struct Table {
    pub(crate) name: &'static str,
    pub(crate) columns: Vec<Column>,
    engine: String,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// Column `id` numbers the rows, so that statements can define their order.
    pub(crate) fn make(name: &'static str, random: &mut Random) -> Table {
        let columns: Vec<Column> =
            (0..5 + random.below(4)).map(|index| Column::make(index, random)).collect();
        let engine = engine(&columns, random);
        let rows = (0..4 + random.below(16)).map(|id| row(id, &columns, random)).collect();
        Table { name, columns, engine, rows }
    }

    pub(crate) fn statements(&self) -> Vec<String> {
        let mut columns = vec!["id UInt32".to_owned()];
        columns.extend(self.columns.iter().map(|column| format!("{} {}", column.name, column.type_name)));
        let rows: Vec<String> = self.rows.iter().map(|row| format!("({})", row.join(", "))).collect();
        vec![
            format!("CREATE TABLE {} ({}) ENGINE = {}", self.name, columns.join(", "), self.engine),
            format!("INSERT INTO {} VALUES {}", self.name, rows.join(", ")),
        ]
    }

    pub(crate) fn drop_statement(&self) -> String {
        format!("DROP TABLE {}", self.name)
    }

    pub(crate) fn is_merge_tree(&self) -> bool {
        self.engine.starts_with("MergeTree")
    }

    /// The names of columns of `family`.
    pub(crate) fn columns_of(&self, family: Family) -> impl Iterator<Item = &str> {
        self.columns
            .iter()
            .filter(move |column| column.kind.family == family)
            .map(|column| column.name.as_str())
    }
}

impl Column {
    fn make(index: usize, random: &mut Random) -> Column {
        let kind = random.pick(KINDS);
        let is_nullable = kind.may_be_null() && random.once_in(3);
        let mut type_name = kind.name.to_owned();
        if is_nullable {
            type_name = format!("Nullable({type_name})");
        }
        if kind.may_be_low_cardinality() && random.once_in(3) {
            type_name = format!("LowCardinality({type_name})");
        }
        Column { name: format!("c{index}"), kind, type_name, is_nullable }
    }
}

fn engine(columns: &[Column], random: &mut Random) -> String {
    let keys: Vec<&str> = columns
        .iter()
        .filter(|column| {
            !column.is_nullable && column.kind.may_be_null() && column.kind.family != Family::Float
        })
        .map(|column| column.name.as_str())
        .collect();
    match random.below(4) {
        0 => "Memory".to_owned(),
        1 => "EmbeddedRocksDB PRIMARY KEY id".to_owned(),
        2 if !keys.is_empty() => format!("MergeTree ORDER BY ({}, id)", random.pick(&keys)),
        _ => "MergeTree ORDER BY id".to_owned(),
    }
}

fn row(id: usize, columns: &[Column], random: &mut Random) -> Vec<String> {
    let mut row = vec![id.to_string()];
    for column in columns {
        let value = match column.is_nullable && random.once_in(3) {
            true => "NULL",
            false => random.pick(column.kind.values),
        };
        row.push(value.to_owned());
    }
    row
}
