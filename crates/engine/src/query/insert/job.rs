//! One INSERT into one table.
//!
//! The rows pass through three steps on one thread that may block: a source of blocks with the columns that the
//! statement lists, the [`RowFiller`] that adds the others, and a [`Gatherer`].

use std::collections::HashMap;
use std::io::{Cursor, Read};
use std::sync::Arc;

use arrow::array::ArrayRef;
use arrow::record_batch::RecordBatch;
use basalt_base::query::outside;
use basalt_base::{Columns, Result, SqlType, bail};
use basalt_formats::{Block, BlockReader, Callbacks, Defaulted, ExpressionEvaluator, FormatSettings};
use basalt_planner::plan_constant;
use basalt_sql::ast::{self, InsertSource, InsertTarget, SetExpr};

use super::gatherer::{Gatherer, block_bytes, joined};
use super::new_rows::{InsertMode, NewRows};
use crate::context::QueryContext;
use crate::execution::Execution;
use crate::input_file::{format_of_path, open_input};
use crate::planning::{PlanningContext, RowFiller, plan_typed, run_to_blocks};
use crate::request::Input;
use crate::settings::Settings;
use crate::table_functions;
use crate::tables::{CastConverter, InsertSettings, InsertSink, Table, TableDefinition};

type Blocks<'a> = Box<dyn Iterator<Item = Result<Block>> + 'a>;

/// One INSERT into one table, or into a table function.
pub(super) struct Job<'a> {
    query: &'a Arc<Execution>,
    table: Arc<dyn Table>,
    definition: Arc<TableDefinition>,
    /// The columns that the statement gives, with the table's types.
    given: Columns,
    planning: PlanningContext,
}

impl<'a> Job<'a> {
    pub(super) fn new(
        query: &'a Arc<Execution>,
        target: &InsertTarget,
        columns: &[String],
        parameters: HashMap<String, String>,
    ) -> Result<Job<'a>> {
        let planning = PlanningContext::new(query, parameters);
        let table = match target {
            InsertTarget::Table(name) => {
                let key = query.key_of(name);
                query.instance.catalog().table(&key.database, &key.name, "INSERT")?
            }
            InsertTarget::Function(call) => {
                let table = table_functions::table(call, &planning.context(), query)?;
                table.receiving(columns).unwrap_or(table)
            }
        };
        let definition = table.definition();
        let given = given_columns(&definition, columns)?;
        query.log_start();
        Ok(Job { query, table, definition, given, planning })
    }

    pub(super) fn table(&self) -> Arc<dyn Table> {
        Arc::clone(&self.table)
    }

    /// All rows of a small source as one block; `None` if there are none.
    pub(super) fn rows(&self, source: InsertSource, settings: FormatSettings) -> Result<Option<RecordBatch>> {
        let filler = RowFiller::new(&self.definition, &self.given, &self.planning.context())?;
        let mut gatherer = Gatherer::new(self.query);
        for block in self.blocks(source, settings, Input::None)? {
            gatherer.push(filler.fill(&block?)?);
        }
        joined(gatherer.take())
    }

    pub(super) fn run(&self, source: InsertSource, settings: FormatSettings, input: Input) -> Result<()> {
        let mut insert = insert_settings(self.query);
        if let InsertSource::Query(select) = &source {
            let is_sorted = matches!(&select.body, SetExpr::Select(select) if select.order_by_all);
            insert.deduplicates = deduplicates_select(&self.query.settings, is_sorted)?;
        }
        let filler = RowFiller::new(&self.definition, &self.given, &self.planning.context())?;
        let blocks = self.blocks(source, settings, input)?;
        let mode = InsertMode::parse(&self.query.settings.insert_mode)?;
        if mode != InsertMode::Replace {
            return self.run_new_rows(mode, blocks, &filler);
        }
        let mut gatherer = Gatherer::new(self.query);
        let mut sink = self.table.begin_insert(&insert)?;
        let gathers = sink.as_ref().is_none_or(|sink| sink.prefers_large_blocks());
        let mut written = (0, 0);
        for block in blocks {
            self.query.check()?;
            gatherer.push(filler.fill(&block?)?);
            if gatherer.is_full() || !gathers {
                self.write(sink.as_deref_mut(), gatherer.take(), &mut written)?;
            }
        }
        self.write(sink.as_deref_mut(), gatherer.take(), &mut written)?;
        if let Some(sink) = sink {
            sink.commit()?;
            self.query.progress.add_written(written.0, written.1);
        }
        self.query.instance.background().wake();
        Ok(())
    }

    /// Inserts the rows whose keys are new.
    fn run_new_rows(&self, mode: InsertMode, blocks: Blocks<'_>, filler: &RowFiller) -> Result<()> {
        let mut rows = NewRows::begin(self.query, &self.table, &self.definition, mode)?;
        let mut written = (0, 0);
        for block in blocks {
            self.query.check()?;
            let taken = rows.write(&filler.fill(&block?)?)?;
            written = (written.0 + taken.num_rows() as u64, written.1 + block_bytes(&taken));
        }
        rows.commit()?;
        self.query.progress.add_written(written.0, written.1);
        Ok(())
    }

    /// Hands blocks to the table as one; `written` counts rows and bytes that wait for the commit.
    fn write(
        &self,
        sink: Option<&mut (dyn InsertSink + '_)>,
        blocks: Vec<RecordBatch>,
        written: &mut (u64, u64),
    ) -> Result<()> {
        let rows = blocks.iter().map(|block| block.num_rows() as u64).sum();
        let bytes = blocks.iter().map(block_bytes).sum();
        match sink {
            Some(sink) => {
                sink.write(blocks)?;
                *written = (written.0 + rows, written.1 + bytes);
            }
            None => {
                let Some(block) = joined(blocks)? else { return Ok(()) };
                self.table.insert(block)?;
                self.query.progress.add_written(rows, bytes);
            }
        }
        Ok(())
    }

    fn blocks(&self, source: InsertSource, settings: FormatSettings, input: Input) -> Result<Blocks<'_>> {
        match source {
            InsertSource::Query(ast) => self.query_blocks(&ast),
            InsertSource::Values { .. } | InsertSource::Format { .. }
                if matches!(input, Input::Blocks(_)) =>
            {
                self.received_blocks(input, &settings)
            }
            InsertSource::Values { text } => {
                self.reader_blocks("Values", &settings, followed_by(text, input))
            }
            InsertSource::Format { name, bytes } => {
                self.reader_blocks(&name, &settings, followed_by(bytes, input))
            }
            InsertSource::Infile { path, compression, format } => {
                self.file_blocks(&path, compression.as_deref(), format, &settings)
            }
        }
    }

    /// Blocks of a client, which has parsed its data itself.
    fn received_blocks(&self, input: Input, settings: &FormatSettings) -> Result<Blocks<'_>> {
        let Input::Blocks(open) = input else { return Ok(Box::new(std::iter::empty())) };
        let source = open.open(&self.given)?;
        let settings = self.bounded(settings);
        let converter = Some(CastConverter::shared(self.query.zone));
        Ok(blocks_of(basalt_formats::native::open_blocks(source, &self.given, &settings, converter)))
    }

    fn file_blocks(
        &self,
        path: &str,
        compression: Option<&str>,
        format: Option<String>,
        settings: &FormatSettings,
    ) -> Result<Blocks<'_>> {
        let path = self.query.instance.access.user_path(path)?;
        let format = match format {
            Some(format) => format,
            None => format_of_path(&path)?,
        };
        let file = open_input(&path, &format, compression)?;
        self.reader_blocks(&format, settings, file).map_err(|error| error.within(path.display()))
    }

    /// The rows of a SELECT, converted to the types of the given columns by position.
    fn query_blocks(&self, ast: &ast::Query) -> Result<Blocks<'_>> {
        let plan = plan_typed(ast, &self.given, 0, &self.planning.context())
            .map_err(|error| error.within(format!("INSERT INTO `{}`", self.definition.full_name())))?;
        let blocks = run_to_blocks(self.query, plan);
        Ok(Box::new(blocks.map(|block| block.map(whole_block))))
    }

    fn reader_blocks(
        &self,
        format: &str,
        settings: &FormatSettings,
        bytes: Box<dyn Read + Send>,
    ) -> Result<Blocks<'_>> {
        let expressions = PlannedExpressions { query: Arc::clone(self.query) };
        let callbacks = Callbacks {
            evaluator: Some(Arc::new(expressions)),
            converter: Some(CastConverter::shared(self.query.zone)),
        };
        let settings = self.bounded(settings);
        let reader = basalt_formats::open_reader_with(format, &self.given, &settings, bytes, callbacks)?;
        Ok(blocks_of(reader))
    }

    /// The settings of a reader, with blocks of at most max_insert_block_size rows.
    fn bounded(&self, settings: &FormatSettings) -> FormatSettings {
        let most = self.query.settings.max_insert_block_size.clamp(1, u64::from(u32::MAX)) as usize;
        FormatSettings { max_block_rows: settings.max_block_rows.min(most), ..settings.clone() }
    }
}

pub(super) fn insert_settings(query: &QueryContext) -> InsertSettings {
    let settings = &query.settings;
    InsertSettings {
        max_partitions_per_insert_block: settings.max_partitions_per_insert_block,
        throw_on_max_partitions_per_insert_block: settings.throw_on_max_partitions_per_insert_block,
        deduplicates: deduplicates(settings),
        insert_deduplication_token: settings.insert_deduplication_token.clone(),
        fsync_after_insert: settings.fsync_after_insert,
        optimize_on_insert: settings.optimize_on_insert,
        threads: query.threads(),
    }
}

fn deduplicates(settings: &Settings) -> bool {
    settings.deduplicate_insert != "disable" && settings.insert_deduplicate
}

/// Whether the blocks of an INSERT SELECT are deduplicated. A repeated SELECT gives the same blocks only if all its rows
/// are sorted by all columns; a token names them too.
fn deduplicates_select(settings: &Settings, is_sorted: bool) -> Result<bool> {
    let is_stable = is_sorted || !settings.insert_deduplication_token.is_empty();
    match settings.deduplicate_insert_select.as_str() {
        "disable" => Ok(false),
        "force_enable" if is_stable => Ok(true),
        "force_enable" => bail!(
            DeduplicationIsNotPossible,
            "this SELECT may give other blocks each time: add ORDER BY ALL or an insert_deduplication_token, or set \
             deduplicate_insert_select to 'enable_when_possible'"
        ),
        "enable_when_possible" => Ok(is_stable && deduplicates(settings)),
        _ => Ok(deduplicates(settings)),
    }
}

/// The data inside the statement, then the data that the caller sends separately.
pub(super) fn followed_by(bytes: Vec<u8>, input: Input) -> Box<dyn Read + Send> {
    match input {
        Input::None | Input::Blocks(_) => Box::new(Cursor::new(bytes)),
        Input::Reader(rest) => Box::new(Cursor::new(bytes).chain(Foreign(rest))),
    }
}

/// The caller's reader. Memory that it frees while it is read was never charged to the query.
struct Foreign(Box<dyn Read + Send>);

impl Read for Foreign {
    fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
        let _outside = outside();
        self.0.read(out)
    }
}

fn blocks_of<'a>(mut reader: Box<dyn BlockReader>) -> Blocks<'a> {
    Box::new(std::iter::from_fn(move || reader.next_block().transpose()))
}

/// A block in which every value was given.
fn whole_block(batch: RecordBatch) -> Block {
    let defaulted = vec![Defaulted::Never; batch.num_columns()];
    Block { batch, defaulted }
}

/// Evaluates the expressions that VALUES holds in place of literals.
struct PlannedExpressions {
    query: Arc<Execution>,
}

impl ExpressionEvaluator for PlannedExpressions {
    fn evaluate(&self, expression: &str, ty: &SqlType) -> Result<ArrayRef> {
        let expr = basalt_sql::parse_expr(expression.as_bytes())?;
        let expr = ast::Expr::Function(ast::FunctionCall {
            name: "_CAST".to_owned(),
            parameters: Vec::new(),
            distinct: false,
            args: vec![expr, ast::Expr::Literal(ast::Literal::String(ty.to_string().into_bytes()))],
            filter: None,
            over: None,
        });
        let planning = PlanningContext::new(&self.query, HashMap::new());
        Ok(plan_constant(&expr, &planning.context())?.0)
    }
}

/// The columns that an INSERT gives: those listed, or all ordinary ones.
fn given_columns(definition: &TableDefinition, listed: &[String]) -> Result<Columns> {
    if listed.is_empty() {
        let ordinary = definition.columns.iter().filter(|column| column.is_ordinary());
        return Ok(ordinary
            .map(|column| basalt_base::Column::new(&column.name, column.ty.clone()))
            .collect());
    }
    let mut given: Vec<basalt_base::Column> = Vec::new();
    for name in listed {
        let Some(column) = definition.column(name) else {
            let known = definition.columns.iter().map(|column| column.name.as_str());
            let near = basalt_base::suggest::did_you_mean(name, known);
            bail!(NoSuchColumnInTable, "column `{name}` is not in table `{}`{near}", definition.full_name());
        };
        if matches!(column.kind(), Some(ast::DefaultKind::Alias | ast::DefaultKind::Materialized)) {
            bail!(IllegalColumn, "column `{name}` is computed and cannot be inserted");
        }
        if given.iter().any(|before| before.name == *name) {
            bail!(DuplicateColumn, "column `{name}` is listed twice");
        }
        given.push(basalt_base::Column::new(name, column.ty.clone()));
    }
    Ok(Columns::new(given))
}
