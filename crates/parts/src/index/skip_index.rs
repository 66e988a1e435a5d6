//! A skip index of a table, and how a part writes and reads one.

use arrow::array::ArrayRef;
use arrow::datatypes::FieldRef;

use super::kind::{IndexKind, Summary};
use super::predicate::Predicate;
use super::skip_file::SkipFileWriter;
use crate::column::plain::plain;
use crate::error::Result;
use crate::key::prune::MarkRanges;

/// Granules of a summary at most.
pub const INDEX_GRANULARITY_MAX: u32 = 1 << 20;

/// What a table's definition says of a skip index.
#[derive(Clone, Debug, PartialEq)]
pub struct SkipIndex {
    pub name: String,
    /// The name of the column that it is of.
    pub column: String,
    pub kind: IndexKind,
    /// Granules of a summary: 1 to [`INDEX_GRANULARITY_MAX`].
    pub granularity: u32,
}

// A false positive rate is a number that equals itself: it was parsed between 0 and 1.
impl Eq for SkipIndex {}

impl SkipIndex {
    /// By what a part's metadata knows the index again: one of another type is another index.
    pub(crate) fn signature(&self) -> String {
        format!("{} GRANULARITY {}", self.kind, self.granularity)
    }
}

/// Collects the summaries of one index while a part is written.
#[derive(Debug)]
pub(crate) struct SkipIndexWriter {
    pub(crate) index: SkipIndex,
    field: FieldRef,
    summary: Box<dyn Summary>,
    /// Complete granules in `summary`.
    granules: u32,
    file: SkipFileWriter,
}

impl SkipIndexWriter {
    /// For arrays of `field`.
    pub(crate) fn new(index: &SkipIndex, field: &FieldRef) -> SkipIndexWriter {
        SkipIndexWriter {
            summary: index.kind.summary(field),
            field: FieldRef::clone(field),
            granules: 0,
            file: SkipFileWriter::new(index.granularity),
            index: index.clone(),
        }
    }

    /// Adds rows to the current granule.
    pub(crate) fn append(&mut self, rows: &ArrayRef) -> Result<()> {
        self.summary.append(&plain(rows))
    }

    /// The current granule is complete.
    pub(crate) fn end_granule(&mut self) -> Result<()> {
        self.granules += 1;
        if self.granules == self.index.granularity { self.end_summary() } else { Ok(()) }
    }

    fn end_summary(&mut self) -> Result<()> {
        self.file.push(&*self.summary)?;
        self.summary = self.index.kind.summary(&self.field);
        self.granules = 0;
        Ok(())
    }

    /// The bytes of the index's file.
    pub(crate) fn finish(mut self) -> Result<Vec<u8>> {
        if self.granules > 0 {
            self.end_summary()?;
        }
        Ok(self.file.finish())
    }
}

/// The summaries of one index of one part.
#[derive(Debug)]
pub(crate) struct SkipSummaries {
    pub(crate) granularity: usize,
    pub(crate) summaries: Vec<Box<dyn Summary>>,
}

impl SkipSummaries {
    /// Those of `marks` where `predicate` can hold for the values of `column`.
    pub(crate) fn retain(&self, marks: &MarkRanges, column: &str, predicate: &Predicate) -> MarkRanges {
        let mut kept = MarkRanges::none(marks.total);
        let mut last: Option<(usize, bool)> = None;
        for mark in marks.ranges.iter().flat_map(Clone::clone) {
            let at = mark / self.granularity;
            let holds = match last {
                Some((summary, holds)) if summary == at => holds,
                _ => predicate.may_hold(column, &|wanted| self.summaries[at].may_match(wanted)),
            };
            last = Some((at, holds));
            if holds {
                kept.push(mark);
            }
        }
        kept
    }
}
