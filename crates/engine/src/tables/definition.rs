//! What a table is: its columns and clauses, from the CREATE statement.

use basalt_base::{Column, Columns, Result, SqlType, bail};
use basalt_codec::CodecChain;
use basalt_parts::MergeMode;
use basalt_sql::ast::{self, DefaultKind};
use uuid::Uuid;

use super::merge_mode::{merge_mode, version_in_key};

/// A table's columns and clauses. Never changes: ALTER makes a new one.
#[derive(Clone, Debug)]
pub(crate) struct TableDefinition {
    pub(crate) database: String,
    pub(crate) name: String,
    pub(crate) uuid: Uuid,
    pub(crate) columns: Vec<ColumnDefinition>,
    /// The statement that would make this table, as `SHOW CREATE` prints it.
    pub(crate) create: ast::CreateTable,
}

/// One column of a table.
#[derive(Clone, Debug)]
pub(crate) struct ColumnDefinition {
    pub(crate) name: String,
    pub(crate) ty: SqlType,
    pub(crate) default: Option<ColumnDefault>,
    /// `None`: the default codec.
    pub(crate) codec: Option<CodecChain>,
    pub(crate) comment: String,
}

/// `DEFAULT expr` and its kin.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ColumnDefault {
    pub(crate) kind: DefaultKind,
    pub(crate) expr: Option<ast::Expr>,
}

impl TableDefinition {
    /// The columns that are stored: all but ALIAS and EPHEMERAL ones.
    pub(crate) fn stored(&self) -> Columns {
        self.stored_definitions().map(|column| Column::new(&column.name, column.ty.clone())).collect()
    }

    pub(crate) fn stored_definitions(&self) -> impl Iterator<Item = &ColumnDefinition> {
        self.columns.iter().filter(|column| column.is_stored())
    }

    pub(crate) fn column(&self, name: &str) -> Option<&ColumnDefinition> {
        self.columns.iter().find(|column| column.name == name)
    }

    /// Fails if the codecs of a column make no sense together or for its type.
    pub(crate) fn check_codecs(&self) -> Result<()> {
        self.columns.iter().try_for_each(|column| {
            let Some(codec) = &column.codec else { return Ok(()) };
            codec.check(&column.ty).map_err(|error| error.within(format!("column `{}`", column.name)))
        })
    }

    /// `database.name`.
    pub(crate) fn full_name(&self) -> String {
        format!("{}.{}", self.database, self.name)
    }

    /// The columns of the ORDER BY clause, then the length of the primary key among them.
    pub(crate) fn sort_key(&self) -> Result<(Vec<String>, usize)> {
        let order_by = self.create.order_by.as_deref();
        let mut sorted = Vec::new();
        for item in order_by.unwrap_or_default() {
            if item.descending {
                bail!(NotImplemented, "ORDER BY ... DESC in the key of a table is not implemented");
            }
            sorted.push(self.key_column(&item.expr, "ORDER BY")?);
        }
        let listed = sorted.len();
        // An engine may sort by one column more than the statement says.
        let version = version_in_key(&self.create).filter(|name| !sorted.contains(name));
        sorted.extend(version);
        let Some(primary) = &self.create.primary_key else {
            return Ok((sorted, listed));
        };
        let primary: Vec<String> =
            primary.iter().map(|expr| self.key_column(expr, "PRIMARY KEY")).collect::<Result<_>>()?;
        if order_by.is_none() {
            let length = primary.len();
            return Ok((primary, length));
        }
        if !sorted.starts_with(&primary) {
            bail!(
                BadArguments,
                "PRIMARY KEY ({}) is not a prefix of ORDER BY ({})",
                primary.join(", "),
                sorted.join(", ")
            );
        }
        Ok((sorted, primary.len()))
    }

    /// Whether an UPDATE of the column would change the order or the mode of a merge.
    pub(crate) fn is_in_key(&self, name: &str) -> Result<bool> {
        let (key, _) = self.sort_key()?;
        let stored = self.stored();
        let mode = merge_mode(self, &stored, &key)?;
        let decides = !matches!(mode, MergeMode::Summing { .. })
            && mode.columns().iter().any(|&at| stored[at].name == name);
        Ok(decides || key.iter().any(|column| column == name))
    }

    /// The stored column that a key clause names.
    pub(crate) fn key_column(&self, expr: &ast::Expr, clause: &str) -> Result<String> {
        let ast::Expr::Identifier(parts) = expr else {
            bail!(NotImplemented, "an expression in {clause} is not implemented, only columns: `{expr}`");
        };
        let name = parts.join(".");
        match self.column(&name) {
            Some(column) if column.is_stored() => Ok(name),
            Some(_) => bail!(BadArguments, "column `{name}` of {clause} is not stored"),
            None => {
                let near =
                    basalt_base::suggest::did_you_mean(&name, self.columns.iter().map(|c| c.name.as_str()));
                bail!(
                    UnknownIdentifier,
                    "column `{name}` of {clause} is not in table `{}`{near}",
                    self.full_name()
                )
            }
        }
    }
}

impl ColumnDefinition {
    pub(crate) fn is_stored(&self) -> bool {
        !matches!(self.kind(), Some(DefaultKind::Alias | DefaultKind::Ephemeral))
    }

    /// Whether an INSERT without a column list fills it, and `*` shows it.
    pub(crate) fn is_ordinary(&self) -> bool {
        !matches!(self.kind(), Some(DefaultKind::Materialized | DefaultKind::Alias | DefaultKind::Ephemeral))
    }

    pub(crate) fn kind(&self) -> Option<DefaultKind> {
        self.default.as_ref().map(|default| default.kind)
    }
}
