//! The rows of a dictionary's source on their way into a layout: checked and counted.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray};
use arrow::datatypes::Int64Type;
use basalt_base::{Result, SqlType, bail};
use basalt_dict::{Dictionary, RowForm, RowStream};

use super::definition::Definition;
use super::memory::LoadMemory;
use super::progress::{LoadProgress, LoadStep};
use super::source::{Blocks, Question, Wanted};

/// Bytes of rows after which pages that nobody uses go back to the system. Blocks are made on threads of the query and
/// freed on the one that loads, so the allocator comes to keep as many again.
const RELEASED_BYTES: usize = 64 << 20;

/// Blocks of key columns, attributes and the mark of deleted keys.
pub(super) struct Rows<'a> {
    blocks: Blocks,
    key_count: usize,
    /// The first column that is kept beside the hash of the key.
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
    /// Bytes of rows since that was called.
    unreleased: usize,
}

impl<'a> Rows<'a> {
    /// Asks the source; `progress` counts what comes, and `memory` is charged with it.
    pub(super) fn ask(
        definition: &Definition,
        question: &Question,
        wanted: Wanted,
        progress: &'a LoadProgress,
        memory: LoadMemory,
    ) -> Result<Rows<'a>> {
        progress.begin();
        Ok(Rows {
            blocks: definition.source.rows(question, wanted)?,
            key_count: definition.spec.key_columns.len(),
            kept_from: usize::from(!definition.spec.layout.kind.is_complex()),
            column_count: question.columns.len(),
            has_time: definition.source.tells_update_time(),
            form: if question.tombstone.is_some() { RowForm::Marked } else { RowForm::Plain },
            newest: None,
            has_begun: false,
            has_failed: false,
            progress,
            memory,
            release_memory: question.engine.opener().release_memory,
            unreleased: 0,
        })
    }

    /// Asks for all rows anew, unless none of them was taken yet.
    pub(super) fn ask_again(&mut self, definition: &Definition, question: &Question) -> Result<()> {
        self.memory.unbound();
        if self.has_begun {
            self.progress.begin();
            self.blocks = definition.source.rows(question, Wanted::All)?;
            (self.newest, self.has_begun) = (None, false);
        }
        Ok(())
    }

    /// What the load holds.
    pub(super) fn memory(&mut self) -> &mut LoadMemory {
        &mut self.memory
    }

    /// Whether some of them delete keys.
    pub(super) fn form(&self) -> RowForm {
        self.form
    }

    /// The blocks in that form.
    pub(super) fn blocks(&mut self) -> impl Iterator<Item = Result<Vec<ArrayRef>>> {
        let form = self.form;
        self.map(move |block| {
            block.map(|mut block| {
                if form == RowForm::Plain {
                    // The mark of a source that deletes nothing.
                    block.pop();
                }
                block
            })
        })
    }

    /// The rows of `version`, which has taken those of the source in and is to become one of one piece: they are charged
    /// like those, and no progress.
    pub(super) fn joined(
        &mut self,
        version: &Arc<dyn Dictionary>,
    ) -> Result<impl Iterator<Item = Result<Vec<ArrayRef>>>> {
        let mut stream = RowStream::of(version)?;
        Ok(std::iter::from_fn(move || {
            self.release();
            let block = stream.next()?.and_then(|block| self.charge(&block).map(|()| block));
            self.has_failed |= block.is_err();
            Some(block)
        }))
    }

    /// Whether the source gave an error or a row that no dictionary takes, or memory is short.
    pub(super) fn have_failed(&self) -> bool {
        self.has_failed
    }

    /// The newest time of a change, in seconds since 1970, if the source tells it.
    pub(super) fn newest(&self) -> Option<i64> {
        self.newest
    }
}

impl Iterator for Rows<'_> {
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

impl Rows<'_> {
    /// Gives free pages back, once many rows were taken.
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
        // The key of a simple layout is what the hash is made of.
        self.unreleased += self.memory.take(&block[self.kept_from..], rows)?;
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
