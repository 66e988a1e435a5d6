//! A table whose rows are made when it is scanned: system tables and table functions.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::array::ArrayRef;
use arrow::record_batch::RecordBatch;
use basalt_base::{Column, Columns, Error, Result};
use basalt_sql::ast;
use uuid::Uuid;

use super::capability::KeyedTable;
use super::definition::{ColumnDefault, ColumnDefinition};
use super::table::Table;
use super::{Found, TableDefinition};
use crate::scan::{BlockSource, MemorySource, ScanRequest};

/// Finds rows by the columns at some positions.
pub(crate) trait FindsRows: Send + Sync {
    /// See [`KeyedTable::prepare_lookup`].
    fn prepare(&self) -> Result<()>;

    /// See [`KeyedTable::lookup`].
    fn find(&self, keys: &[ArrayRef], columns: &[usize], threads_max: usize) -> Result<Found>;

    /// See [`KeyedTable::prefers_large_blocks`]; called after [`FindsRows::prepare`].
    fn prefers_large_blocks(&self) -> bool;
}

/// Metadata of the fields of a schema, by column.
pub(crate) type FieldMetadata = HashMap<String, HashMap<String, String>>;

type ScanFn = Box<dyn Fn(&ScanRequest) -> Result<Arc<dyn BlockSource>> + Send + Sync>;

/// Columns, and how to make the rows.
pub(crate) struct VirtualTable {
    engine: &'static str,
    definition: Arc<TableDefinition>,
    scan: ScanFn,
    lookup: Option<VirtualLookup>,
    field_metadata: FieldMetadata,
}

/// How to find rows by the columns at these positions.
struct VirtualLookup {
    key: Vec<usize>,
    rows: Box<dyn FindsRows>,
}

impl VirtualTable {
    /// A table called `database.name`, whose rows `scan` makes.
    pub(crate) fn new(
        engine: &'static str,
        database: &str,
        name: &str,
        columns: &Columns,
        scan: impl Fn(&ScanRequest) -> Result<Arc<dyn BlockSource>> + Send + Sync + 'static,
    ) -> Result<VirtualTable> {
        let definitions = columns.iter().map(ColumnDefinition::plain).collect();
        Ok(VirtualTable {
            engine,
            definition: Arc::new(virtual_definition(engine, database, name, definitions)),
            scan: Box::new(scan),
            lookup: None,
            field_metadata: FieldMetadata::new(),
        })
    }

    /// The table, with a way to its rows by key: see [`KeyedTable::lookup`].
    pub(crate) fn with_lookup(mut self, key: Vec<usize>, lookup: impl FindsRows + 'static) -> VirtualTable {
        self.lookup = Some(VirtualLookup { key, rows: Box::new(lookup) });
        self
    }

    /// The table, with metadata for fields of its schema, by column.
    pub(crate) fn with_field_metadata(mut self, metadata: FieldMetadata) -> VirtualTable {
        self.field_metadata = metadata;
        self
    }

    /// A table whose rows fit one block, which every scan makes again.
    pub(crate) fn of_block(
        engine: &'static str,
        database: &str,
        name: &str,
        columns: &Columns,
        block: impl Fn() -> Result<RecordBatch> + Send + Sync + 'static,
    ) -> Result<VirtualTable> {
        VirtualTable::new(engine, database, name, columns, move |request| {
            let block = block()?.project(&request.columns).map_err(Error::logical)?;
            Ok(MemorySource::deal(vec![block], request, "made for the query"))
        })
    }

    /// The same table with ALIAS columns: name, type and expression of each.
    pub(crate) fn with_aliases(mut self, aliases: &[(&str, &str, &str)]) -> Result<VirtualTable> {
        let mut definition = TableDefinition::clone(&self.definition);
        for (name, ty, expr) in aliases {
            let default = ColumnDefault {
                kind: ast::DefaultKind::Alias,
                expr: Some(basalt_sql::parse_expr(expr.as_bytes())?),
            };
            let ty = basalt_sql::resolve_type(&basalt_sql::parse_type(ty.as_bytes())?)?;
            let column = ColumnDefinition::plain(&Column::new(*name, ty));
            definition.columns.push(ColumnDefinition { default: Some(default), ..column });
        }
        self.definition = Arc::new(definition);
        Ok(self)
    }
}

/// The definition of a table that lives for one query.
pub(crate) fn virtual_definition(
    engine: &str,
    database: &str,
    name: &str,
    columns: Vec<ColumnDefinition>,
) -> TableDefinition {
    let create = ast::CreateTable {
        name: ast::ObjectName { database: Some(database.to_owned()), name: name.to_owned() },
        or_replace: false,
        if_not_exists: false,
        temporary: false,
        elements: Vec::new(),
        engine: Some(ast::EngineCall { name: engine.to_owned(), args: Vec::new() }),
        partition_by: None,
        primary_key: None,
        order_by: None,
        sample_by: None,
        ttl: Vec::new(),
        settings: Vec::new(),
        source: None,
        comment: None,
    };
    TableDefinition::new(database, name, Uuid::nil(), columns, create)
}

impl Table for VirtualTable {
    fn engine(&self) -> &'static str {
        self.engine
    }

    fn definition(&self) -> Arc<TableDefinition> {
        Arc::clone(&self.definition)
    }

    fn set_definition(&self, _definition: Arc<TableDefinition>) -> Result<()> {
        Err(self.refuses("RENAME"))
    }

    fn scan(&self, request: &ScanRequest) -> Result<Arc<dyn BlockSource>> {
        (self.scan)(request)
    }

    fn field_metadata(&self) -> Option<&FieldMetadata> {
        Some(&self.field_metadata).filter(|metadata| !metadata.is_empty())
    }

    fn as_keyed(&self) -> Option<&dyn KeyedTable> {
        self.lookup.as_ref().map(|lookup| lookup as &dyn KeyedTable)
    }
}

impl KeyedTable for VirtualLookup {
    fn lookup_key(&self) -> &[usize] {
        &self.key
    }

    fn lookup(&self, keys: &[ArrayRef], columns: &[usize], threads_max: usize) -> Result<Found> {
        self.rows.find(keys, columns, threads_max)
    }

    fn prepare_lookup(&self) -> Result<()> {
        self.rows.prepare()
    }

    fn prefers_large_blocks(&self) -> bool {
        self.rows.prefers_large_blocks()
    }
}
