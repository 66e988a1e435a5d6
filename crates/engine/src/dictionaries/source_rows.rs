//! The rows of a source that a load reads: checked, counted and charged.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray};
use arrow::datatypes::Int64Type;
use basalt_base::{Result, SqlType, bail};
use basalt_dict::{Dictionary, RowForm, RowStream};

use super::definition::Definition;
use super::host::Blocks;
use super::memory::LoadMemory;
use super::progress::{LoadProgress, LoadStep};
use super::source::{LoadRequest, RowRange};

/// Bytes of rows after which free pages are returned to the system. Blocks are allocated on the query's threads and
/// freed on the thread that loads, so the allocator would keep as many bytes again.
const RELEASED_BYTES: usize = 64 << 20;

/// Where the rows of a new version come from.
#[derive(Clone, Copy)]
pub(super) enum RowOrigin<'a> {
    Source,
    /// A version that has taken in all changes of the source.
    Version(&'a Arc<dyn Dictionary>),
}

/// Blocks of key columns, attributes and the tombstone.
pub(super) struct SourceRows<'a> {
    blocks: Blocks,
    key_count: usize,
    /// The first column that is kept: the key of a simple layout becomes its hash.
    kept_from: usize,
    column_count: usize,
    has_time: bool,
    form: RowForm,
    /// The newest time of a change, in seconds since 1970.
    newest: Option<i64>,
    has_begun: bool,
    has_failed: bool,
    progress: &'a LoadProgress,
    memory: LoadMemory,
    release_memory: Option<fn()>,
    /// Bytes of rows since it was called.
    unreleased: usize,
}

impl<'a> SourceRows<'a> {
    /// Asks the source. `progress` counts the rows, and `memory` is charged with them.
    pub(super) fn ask(
        definition: &Definition,
        load: &LoadRequest,
        range: RowRange,
        progress: &'a LoadProgress,
        memory: LoadMemory,
    ) -> Result<SourceRows<'a>> {
        progress.begin();
        Ok(SourceRows {
            blocks: definition.source.rows(load, range)?,
            key_count: definition.spec.key_columns.len(),
            kept_from: usize::from(!definition.spec.layout.kind.is_complex()),
            column_count: load.columns.len(),
            has_time: definition.source.tells_update_time(),
            form: if load.tombstone.is_some() { RowForm::Marked } else { RowForm::Plain },
            newest: None,
            has_begun: false,
            has_failed: false,
            progress,
            memory,
            release_memory: load.host.release_memory(),
            unreleased: 0,
        })
    }

    /// Begins again with all rows of `origin`, which are not spilled now.
    pub(super) fn restart(
        &mut self,
        definition: &Definition,
        load: &LoadRequest,
        origin: RowOrigin<'_>,
    ) -> Result<()> {
        self.memory.stop_spilling();
        if self.has_begun && matches!(origin, RowOrigin::Source) {
            self.progress.begin();
            self.blocks = definition.source.rows(load, RowRange::All)?;
            (self.newest, self.has_begun) = (None, false);
        }
        Ok(())
    }

    /// The memory that the load is charged with.
    pub(super) fn memory(&mut self) -> &mut LoadMemory {
        &mut self.memory
    }

    pub(super) fn into_memory(self) -> LoadMemory {
        self.memory
    }

    /// Whether some rows of `origin` delete keys.
    pub(super) fn form(&self, origin: RowOrigin<'_>) -> RowForm {
        match origin {
            RowOrigin::Source => self.form,
            RowOrigin::Version(_) => RowForm::Plain,
        }
    }

    /// The rows of `origin` as blocks of the form that [`SourceRows::form`] returns.
    pub(super) fn blocks(
        &mut self,
        origin: RowOrigin<'_>,
    ) -> Result<Box<dyn Iterator<Item = Result<Vec<ArrayRef>>> + '_>> {
        Ok(match origin {
            RowOrigin::Source if self.form == RowForm::Marked => Box::new(self),
            // A source that deletes nothing has a tombstone of zeroes.
            RowOrigin::Source => Box::new(self.map(|block| {
                block.map(|mut block| {
                    block.pop();
                    block
                })
            })),
            RowOrigin::Version(version) => Box::new(self.blocks_of(RowStream::of(version)?)),
        })
    }

    /// Rows of a version: they are charged like those of a source, and are not counted as progress.
    fn blocks_of(&mut self, mut stream: RowStream) -> impl Iterator<Item = Result<Vec<ArrayRef>>> + '_ {
        std::iter::from_fn(move || {
            self.release();
            let block = stream.next()?.and_then(|block| self.charge(&block).map(|()| block));
            self.has_failed |= block.is_err();
            Some(block)
        })
    }

    /// Whether the load failed at its rows: the source failed, a row was refused, or memory is short.
    pub(super) fn have_failed(&self) -> bool {
        self.has_failed
    }

    /// The newest time of a change, in seconds since 1970, if the source reports it.
    pub(super) fn newest(&self) -> Option<i64> {
        self.newest
    }
}

impl Iterator for SourceRows<'_> {
    type Item = Result<Vec<ArrayRef>>;

    fn next(&mut self) -> Option<Result<Vec<ArrayRef>>> {
        self.has_begun = true;
        let Some(block) = self.blocks.next() else {
            self.progress.enter(LoadStep::Building);
            return None;
        };
        self.release();
        let block = block.and_then(|block| self.checked(block));
        self.has_failed |= block.is_err();
        Some(block)
    }
}

impl SourceRows<'_> {
    /// Returns free pages to the system after many rows.
    fn release(&mut self) {
        if self.unreleased > RELEASED_BYTES
            && let Some(release) = self.release_memory
        {
            release();
            self.unreleased = 0;
        }
    }

    fn charge(&mut self, block: &[ArrayRef]) -> Result<()> {
        let rows = block.first().map_or(0, |column| column.len());
        self.unreleased += self.memory.charge(&block[self.kept_from..], rows)?;
        Ok(())
    }

    fn checked(&mut self, mut block: Vec<ArrayRef>) -> Result<Vec<ArrayRef>> {
        let rows = block.first().map_or(0, |column| column.len());
        if let Some(at) = block[..self.key_count].iter().position(|key| key.logical_null_count() > 0) {
            bail!(
                CannotInsertNullInOrdinaryColumn,
                "the source has a row whose key is NULL (key column {} of the dictionary)",
                at + 1
            );
        }
        if self.has_time {
            let times = block.remove(self.column_count);
            let newest = arrow::compute::max(times.as_primitive::<Int64Type>());
            self.newest = self.newest.max(newest);
        }
        self.charge(&block)?;
        if block.len() == self.column_count {
            block.push(SqlType::UInt8.default_array(rows));
        }
        self.progress.add_rows(rows);
        Ok(block)
    }
}
