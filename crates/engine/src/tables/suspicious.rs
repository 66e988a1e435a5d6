//! ClickHouse's checks of types, codecs and names of columns: some need a setting, others are refused.

use basalt_base::{Result, SqlType, bail};

use super::definition::{ColumnDefinition, TableDefinition};
use crate::settings::{Settings, check_suspicious_type};

/// The virtual column of rows that are not deleted.
const ROW_EXISTS: &str = "_row_exists";

impl TableDefinition {
    /// Fails if the codecs of a column make no sense, or if its type is suspicious and `before`, the table as it
    /// was, does not have it.
    pub(crate) fn check_suspicious(
        &self,
        before: Option<&TableDefinition>,
        settings: &Settings,
    ) -> Result<()> {
        for column in &self.columns {
            let old = before.and_then(|before| before.column(&column.name));
            let checked = if old.is_some_and(|old| old.ty == column.ty) {
                Ok(())
            } else {
                check_suspicious_type(&column.ty, settings).and_then(|()| self.check_not_reserved(column))
            };
            let checked = checked.and_then(|()| check_codec(column, settings));
            checked.map_err(|error| error.within(format!("column `{}`", column.name)))?;
        }
        Ok(())
    }

    /// Some names mean something else: where a part keeps which rows are deleted, and the halves of a map.
    fn check_not_reserved(&self, column: &ColumnDefinition) -> Result<()> {
        let is_of_parts =
            self.create.engine.as_ref().is_some_and(|engine| engine.name.ends_with("MergeTree"));
        if is_of_parts && column.name == ROW_EXISTS {
            bail!(IllegalColumn, "no column may be named `{ROW_EXISTS}`: it is reserved for deleted rows");
        }
        let is_half_of = |map: &ColumnDefinition| {
            let half = column.name.strip_prefix(&map.name);
            matches!(map.ty, SqlType::Map(..)) && matches!(half, Some(".keys" | ".values"))
        };
        if let Some(map) = self.columns.iter().find(|map| is_half_of(map)) {
            bail!(BadArguments, "the name is that of a half of the map `{}`", map.name);
        }
        Ok(())
    }
}

fn check_codec(column: &ColumnDefinition, settings: &Settings) -> Result<()> {
    match &column.codec {
        Some(codec) if !settings.allow_suspicious_codecs => codec.check(&column.ty),
        _ => Ok(()),
    }
}
