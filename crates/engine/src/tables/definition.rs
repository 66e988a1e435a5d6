//! The definition of a table: its columns and clauses, from the CREATE statement.

use basalt_base::{Column, Columns, Result, SqlType, bail};
use basalt_codec::CodecChain;
use basalt_parts::{BlockBytes, ColumnHistory, MergeMode};
use basalt_sql::ast::{self, DefaultKind};
use uuid::Uuid;

use super::merge_mode::{merge_mode, version_in_key};
use crate::scan::with_constants;

/// A table's columns and clauses. Never changes: ALTER makes a new one.
#[derive(Clone, Debug)]
pub(crate) struct TableDefinition {
    pub(crate) database: String,
    pub(crate) name: String,
    pub(crate) uuid: Uuid,
    pub(crate) columns: Vec<ColumnDefinition>,
    /// The stored ones among `columns`.
    stored: Columns,
    /// The stored columns, and the virtual ones of every table.
    scanned: Columns,
    /// The statement that would make this table, as `SHOW CREATE` prints it.
    pub(crate) create: ast::CreateTable,
    /// The earlier names of its columns.
    pub(crate) history: ColumnHistory,
}

/// One column of a table.
#[derive(Clone, Debug)]
pub(crate) struct ColumnDefinition {
    pub(crate) name: String,
    pub(crate) ty: SqlType,
    pub(crate) default: Option<ColumnDefault>,
    /// `None`: the default codec.
    pub(crate) codec: Option<CodecChain>,
    /// When a value becomes the default.
    pub(crate) ttl: Option<ast::Expr>,
    pub(crate) comment: String,
    /// The sizes of blocks in its SETTINGS.
    pub(crate) blocks: Option<BlockBytes>,
}

/// `DEFAULT expr` and its kin.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ColumnDefault {
    pub(crate) kind: DefaultKind,
    pub(crate) expr: Option<ast::Expr>,
}

impl ColumnDefinition {
    /// A column without any clause.
    pub(crate) fn plain(column: &Column) -> ColumnDefinition {
        ColumnDefinition {
            name: column.name.clone(),
            ty: column.ty.clone(),
            default: None,
            codec: None,
            ttl: None,
            comment: String::new(),
            blocks: None,
        }
    }
}

impl TableDefinition {
    pub(crate) fn new(
        database: &str,
        name: &str,
        uuid: Uuid,
        columns: Vec<ColumnDefinition>,
        create: ast::CreateTable,
    ) -> TableDefinition {
        let stored = columns.iter().filter(|column| column.is_stored());
        let stored = stored.map(|column| Column::new(&column.name, column.ty.clone())).collect();
        let scanned = with_constants(&stored, |name| columns.iter().any(|column| column.name == name));
        TableDefinition {
            database: database.to_owned(),
            name: name.to_owned(),
            uuid,
            columns,
            stored,
            scanned,
            create,
            history: ColumnHistory::default(),
        }
    }

    /// The columns that are stored: all but ALIAS and EPHEMERAL ones.
    pub(crate) fn stored(&self) -> Columns {
        self.stored.clone()
    }

    /// The stored columns, then the virtual columns of every table.
    pub(crate) fn scanned(&self) -> Columns {
        self.scanned.clone()
    }

    pub(crate) fn stored_definitions(&self) -> impl Iterator<Item = &ColumnDefinition> {
        self.columns.iter().filter(|column| column.is_stored())
    }

    pub(crate) fn column(&self, name: &str) -> Option<&ColumnDefinition> {
        self.columns.iter().find(|column| column.name == name)
    }

    /// Whether rows or values expire.
    pub(crate) fn has_ttl(&self) -> bool {
        !self.create.ttl.is_empty() || self.columns.iter().any(|column| column.ttl.is_some())
    }

    /// `database.name`.
    pub(crate) fn full_name(&self) -> String {
        format!("{}.{}", self.database, self.name)
    }

    /// The elements of the ORDER BY clause, or of PRIMARY KEY where there is none, then the length of the
    /// primary key among them.
    pub(crate) fn sort_key(&self) -> Result<(Vec<KeyClause>, usize)> {
        let plain = |expr: &ast::Expr| KeyClause { expr: expr.clone(), descending: false };
        let primary: Option<Vec<KeyClause>> =
            self.create.primary_key.as_ref().map(|key| key.iter().map(plain).collect());
        let Some(order_by) = &self.create.order_by else {
            let primary = primary.unwrap_or_default();
            let length = primary.len();
            return Ok((primary, length));
        };
        let mut sorted: Vec<KeyClause> = order_by
            .iter()
            .map(|item| KeyClause { expr: item.expr.clone(), descending: item.descending })
            .collect();
        let listed = sorted.len();
        // An engine may sort by one column more than the statement says.
        let version = version_in_key(&self.create).map(|name| plain(&ast::Expr::Identifier(vec![name])));
        sorted.extend(version.filter(|version| sorted.iter().all(|other| other.expr != version.expr)));
        let Some(primary) = primary else {
            return Ok((sorted, listed));
        };
        for (position, element) in primary.iter().enumerate() {
            let sorted = sorted.get(position);
            if sorted.is_none_or(|sorted| sorted.expr != element.expr) {
                bail!(
                    BadArguments,
                    "PRIMARY KEY must be a prefix of ORDER BY, but at position {position} it has `{}`, not `{}`",
                    element.text(),
                    sorted.map(KeyClause::text).unwrap_or_default()
                );
            }
        }
        Ok((sorted, primary.len()))
    }

    /// The elements of PARTITION BY: those of a tuple, or the expression itself.
    pub(crate) fn partition_key(&self) -> Vec<ast::Expr> {
        match &self.create.partition_by {
            None => Vec::new(),
            Some(ast::Expr::Tuple(elements)) => elements.clone(),
            Some(ast::Expr::Function(call)) if call.name == "tuple" => call.args.clone(),
            Some(expr) => vec![expr.clone()],
        }
    }

    /// The names of the stored columns that the sorting and the partition key read.
    pub(crate) fn key_columns(&self) -> Result<Vec<String>> {
        let (sort_key, _) = self.sort_key()?;
        let partition = self.partition_key();
        let is_read = |name: &str| {
            let mut exprs = sort_key.iter().map(|element| &element.expr).chain(&partition);
            exprs.any(|expr| names_column(expr, name))
        };
        Ok(self.stored_definitions().map(|column| column.name.clone()).filter(|name| is_read(name)).collect())
    }

    /// Whether an UPDATE of the column would change the order, the partition, the sample or what a merge
    /// leaves.
    pub(crate) fn is_in_key(&self, name: &str) -> Result<bool> {
        let key = self.key_columns()?;
        let stored = self.stored();
        let mode = merge_mode(self, &stored, &key)?;
        let decides = !matches!(mode, MergeMode::Summing { .. })
            && mode.columns().iter().any(|&at| stored[at].name == name);
        let is_sampled = self.create.sample_by.iter().any(|expr| names_column(expr, name));
        Ok(decides || is_sampled || key.iter().any(|column| column == name))
    }

    /// The stored column that a key clause names.
    pub(crate) fn key_column(&self, expr: &ast::Expr, clause: &str) -> Result<String> {
        let ast::Expr::Identifier(parts) = expr else {
            bail!(NotImplemented, "an expression in {clause} is not implemented, only columns: `{expr}`");
        };
        let name = parts.join(".");
        match self.column(&name) {
            Some(column) if column.is_stored() => Ok(name),
            Some(_) => bail!(UnknownIdentifier, "column `{name}` of {clause} is not stored"),
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

/// One element of the sorting key.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct KeyClause {
    pub(crate) expr: ast::Expr,
    pub(crate) descending: bool,
}

impl KeyClause {
    /// As `system.tables` shows it: without the direction.
    pub(crate) fn text(&self) -> String {
        self.expr.to_string()
    }
}

/// Whether the expression has the column called `name` in it.
pub(crate) fn names_column(expr: &ast::Expr, name: &str) -> bool {
    expr.any(&mut |part| matches!(part, ast::Expr::Identifier(parts) if parts.join(".") == name))
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

/// The word of a DEFAULT clause.
pub(crate) fn default_kind_name(kind: DefaultKind) -> &'static str {
    match kind {
        DefaultKind::Default => "DEFAULT",
        DefaultKind::Materialized => "MATERIALIZED",
        DefaultKind::Alias => "ALIAS",
        DefaultKind::Ephemeral => "EPHEMERAL",
    }
}
