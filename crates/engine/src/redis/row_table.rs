//! A table of one key column, whose rows are hashes for clients of Redis.
//!
//! Rows are read by key; changes are SQL statements of the user, so that defaults, rights and the log are those of SQL.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef};
use basalt_base::{Columns, ErrorCode, Result, SqlType};
use basalt_formats::TextSettings;
use basalt_formats::text::{ColumnBuilder, Style, ValueWriter, write_quoted};
use basalt_redis::RowTable;
use basalt_sql::ast::ObjectName;

use super::user::RedisUser;
use crate::tables::Table;

/// Changes of a row that was made or deleted meanwhile are tried again.
const ATTEMPTS: usize = 16;

/// A table and the user who reads it.
pub(super) struct KeyedRows {
    user: Arc<RedisUser>,
    table: Arc<dyn Table>,
    /// Its name in SQL.
    name: String,
    key_name: String,
    key_type: SqlType,
    /// The columns besides the key, and where they are among the stored ones.
    columns: Columns,
    positions: Vec<usize>,
}

impl KeyedRows {
    /// `None` if the table does not find rows by one key column.
    pub(super) fn of(user: &Arc<RedisUser>, table: Arc<dyn Table>, name: &ObjectName) -> Option<KeyedRows> {
        let &[key] = table.as_changeable()?.lookup_key() else { return None };
        let stored = table.definition().stored();
        let positions: Vec<usize> = (0..stored.len()).filter(|at| *at != key).collect();
        let columns = Columns::new(positions.iter().map(|&at| stored[at].clone()).collect());
        let (key_name, key_type) = (stored[key].name.clone(), stored[key].ty.clone());
        let name = name.to_string();
        Some(KeyedRows { user: Arc::clone(user), table, name, key_name, key_type, columns, positions })
    }

    /// The key as an array of one value; `None` for a text that no key has.
    fn key(&self, text: &[u8]) -> Result<Option<ArrayRef>> {
        let mut builder = ColumnBuilder::new(&self.key_type, &TextSettings::default())?;
        // Such a text is no error: there is no row with it.
        Ok(builder.parse_raw(text).is_ok().then(|| builder.finish()))
    }

    /// `column = CAST('text' AS Type)`.
    fn assign(&self, name: &str, ty: &SqlType, text: &[u8], out: &mut Vec<u8>) {
        out.extend_from_slice(basalt_base::types::quote_identifier(name).as_bytes());
        out.extend_from_slice(b" = CAST(");
        write_quoted(text, out);
        out.extend_from_slice(b" AS ");
        out.extend_from_slice(ty.to_string().as_bytes());
        out.push(b')');
    }

    fn where_key(&self, key: &[u8], out: &mut Vec<u8>) {
        out.extend_from_slice(b" WHERE ");
        self.assign(&self.key_name, &self.key_type, key, out);
    }

    fn insert(&self, key: &[u8], fields: &[(usize, &[u8])], mode: &str) -> Result<()> {
        let mut names = vec![basalt_base::types::quote_identifier(&self.key_name)];
        names.extend(
            fields.iter().map(|(at, _)| basalt_base::types::quote_identifier(&self.columns[*at].name)),
        );
        let head = format!(
            "INSERT INTO {} ({}) SETTINGS insert_mode = '{mode}' VALUES (",
            self.name,
            names.join(", ")
        );
        let mut statement = head.into_bytes();
        write_quoted(key, &mut statement);
        for (_, text) in fields {
            statement.extend_from_slice(b", ");
            write_quoted(text, &mut statement);
        }
        statement.push(b')');
        self.user.run(&statement)
    }

    fn update(&self, key: &[u8], fields: &[(usize, &[u8])]) -> Result<()> {
        let mut statement = format!("UPDATE {} SET ", self.name).into_bytes();
        for (number, (at, text)) in fields.iter().enumerate() {
            if number > 0 {
                statement.extend_from_slice(b", ");
            }
            let column = &self.columns[*at];
            self.assign(&column.name, &column.ty, text, &mut statement);
        }
        self.where_key(key, &mut statement);
        self.user.run(&statement)
    }
}

impl RowTable for KeyedRows {
    fn columns(&self) -> Vec<String> {
        self.columns.iter().map(|column| column.name.clone()).collect()
    }

    fn get(&self, key: &[u8]) -> Result<Option<Vec<Option<Vec<u8>>>>> {
        let Some(key) = self.key(key)? else { return Ok(None) };
        let Some(keyed) = self.table.as_keyed() else { return Err(self.table.refuses("a lookup by key")) };
        keyed.prepare_lookup()?;
        let found = keyed.lookup(&[key], &self.positions, 1)?;
        let Some(Some(row)) = found.row_of_key.first().copied() else { return Ok(None) };
        let settings = TextSettings::default();
        let texts = self.columns.iter().zip(found.rows.columns()).map(|(column, values)| {
            let row = row as usize;
            if values.is_null(row) {
                return Ok(None);
            }
            let mut text = Vec::new();
            ValueWriter::new(&column.ty, values, &settings)?.write(row, Style::Raw, &mut text);
            Ok(Some(text))
        });
        texts.collect::<Result<Vec<_>>>().map(Some)
    }

    fn put(&self, key: &[u8], fields: &[(usize, &[u8])]) -> Result<bool> {
        for _ in 0..ATTEMPTS {
            if self.get(key)?.is_some() {
                self.update(key, fields)?;
                if self.get(key)?.is_some() {
                    return Ok(false);
                }
                continue;
            }
            match self.insert(key, fields, "error") {
                Err(error) if error.code() == ErrorCode::ViolatedConstraint => {}
                inserted => return inserted.map(|()| true),
            }
        }
        Err(basalt_base::Error::new(
            ErrorCode::TimeoutExceeded,
            format!("the row of `{}` is made and deleted all the time", self.name),
        ))
    }

    fn delete(&self, key: &[u8]) -> Result<bool> {
        if self.get(key)?.is_none() {
            return Ok(false);
        }
        let mut statement = format!("DELETE FROM {}", self.name).into_bytes();
        self.where_key(key, &mut statement);
        self.user.run(&statement).map(|()| true)
    }
}
