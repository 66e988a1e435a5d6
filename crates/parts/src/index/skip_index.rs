//! A skip index of a table, and how a part writes and reads it.

use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch};
use arrow::datatypes::FieldRef;
use basalt_base::Columns;

use super::kind::IndexKind;
use super::predicate::{Operand, Predicate};
use super::skip_file::SkipFileWriter;
use super::summary::Summary;
use crate::column::plain::plain;
use crate::error::{Error, Result};
use crate::key::element::KeyElement;
use crate::key::expression::KeyExpression;
use crate::key::prune::MarkRanges;

/// The most granules of a summary.
pub const INDEX_GRANULARITY_MAX: u32 = 1 << 20;

/// The definition of a skip index.
#[derive(Clone, Debug)]
pub struct SkipIndex {
    pub name: String,
    /// The indexed elements, at least one; each has its own summaries.
    pub elements: Vec<Indexed>,
    pub kind: IndexKind,
    /// Granules of a summary: 1 to [`INDEX_GRANULARITY_MAX`].
    pub granularity: u32,
}

/// An indexed column or expression.
#[derive(Clone, Debug)]
pub enum Indexed {
    /// By its name.
    Column(String),
    Expression(Arc<dyn KeyExpression>),
}

impl Indexed {
    pub fn operand(&self) -> Operand {
        match self {
            Indexed::Column(name) => Operand::Column(name.clone()),
            Indexed::Expression(expression) => Operand::Expression(expression.text().to_owned()),
        }
    }

    /// The names of the columns that it reads.
    pub fn columns(&self) -> &[String] {
        match self {
            Indexed::Column(name) => std::slice::from_ref(name),
            Indexed::Expression(expression) => expression.columns(),
        }
    }

    /// The field of its values; `None` if its column is missing.
    pub(crate) fn field(&self, columns: &Columns) -> Option<FieldRef> {
        self.key_element(columns).map(|element| element.field(columns))
    }

    fn key_element(&self, columns: &Columns) -> Option<KeyElement> {
        match self {
            Indexed::Column(name) => columns.position(name).map(KeyElement::column),
            Indexed::Expression(expression) => Some(KeyElement::expression(Arc::clone(expression))),
        }
    }
}

impl SkipIndex {
    /// The name of the indexed column; `None` for anything else than one column.
    pub(crate) fn as_column(&self) -> Option<&str> {
        match self.elements.as_slice() {
            [Indexed::Column(name)] => Some(name),
            _ => None,
        }
    }

    /// Whether the index reads the column called `name`.
    pub fn reads(&self, name: &str) -> bool {
        self.elements.iter().any(|element| element.columns().iter().any(|column| column == name))
    }

    /// The indexed elements, in the form of a part's metadata.
    pub(crate) fn text(&self) -> String {
        let texts = self.elements.iter().map(|element| match element {
            Indexed::Column(name) => name.as_str(),
            Indexed::Expression(expression) => expression.text(),
        });
        texts.collect::<Vec<_>>().join(", ")
    }

    /// Identifies the index in a part's metadata; an index of another type has another signature.
    pub(crate) fn signature(&self) -> String {
        let types = self.elements.iter().map(|element| match element {
            Indexed::Column(_) => String::new(),
            Indexed::Expression(expression) => format!(" OF {}", expression.ty()),
        });
        format!("{} GRANULARITY {}{}", self.kind, self.granularity, types.collect::<String>())
    }

    /// The field of each element's values; `None` if a column is not among `columns`.
    pub(crate) fn fields(&self, columns: &Columns) -> Option<Vec<FieldRef>> {
        self.elements.iter().map(|element| element.field(columns)).collect()
    }

    /// Whether this type of index can skip granules with `predicate`.
    pub fn is_of_use(&self, predicate: &Predicate) -> bool {
        predicate.is_checkable(&|operand, test| {
            self.kind.understands(test) && self.elements.iter().any(|own| own.operand() == *operand)
        })
    }
}

impl PartialEq for SkipIndex {
    fn eq(&self, other: &SkipIndex) -> bool {
        (&self.name, self.text(), self.signature()) == (&other.name, other.text(), other.signature())
    }
}

impl Eq for SkipIndex {}

/// Collects the summaries of one index while a part is written.
#[derive(Debug)]
pub(crate) struct SkipIndexWriter {
    pub(crate) index: SkipIndex,
    fields: Vec<FieldRef>,
    /// The summaries of the current granules, one for each element.
    summaries: Vec<Box<dyn Summary>>,
    /// Complete granules in `summaries`.
    granules: u32,
    file: SkipFileWriter,
}

impl SkipIndexWriter {
    /// For arrays of `fields`, one for each element.
    pub(crate) fn new(index: &SkipIndex, fields: Vec<FieldRef>) -> SkipIndexWriter {
        SkipIndexWriter {
            summaries: fields.iter().map(|field| index.kind.summary(field)).collect(),
            fields,
            granules: 0,
            file: SkipFileWriter::new(index.granularity),
            index: index.clone(),
        }
    }

    /// The values of each element in the rows of `batch`, which has the table's columns.
    pub(crate) fn values(&self, batch: &RecordBatch, columns: &Columns) -> Result<Vec<ArrayRef>> {
        let value = |element: &Indexed| {
            element.key_element(columns).map_or_else(
                || Err(Error::BlockMismatch { what: format!("index `{}` misses a column", self.index.name) }),
                |element| Ok(plain(&element.array(batch, columns)?)),
            )
        };
        self.index.elements.iter().map(value).collect()
    }

    /// Appends rows to the current granule: the values of each element.
    pub(crate) fn append(&mut self, rows: &[ArrayRef]) -> Result<()> {
        let pairs = self.summaries.iter_mut().zip(rows);
        pairs.into_iter().try_for_each(|(summary, rows)| summary.append(&plain(rows)))
    }

    /// Ends the current granule.
    pub(crate) fn end_granule(&mut self) -> Result<()> {
        self.granules += 1;
        if self.granules == self.index.granularity { self.end_summary() } else { Ok(()) }
    }

    fn end_summary(&mut self) -> Result<()> {
        self.summaries.iter().try_for_each(|summary| self.file.push(&**summary))?;
        self.summaries = self.fields.iter().map(|field| self.index.kind.summary(field)).collect();
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

/// The summaries of an index in a part.
#[derive(Debug)]
pub(crate) struct SkipSummaries {
    pub(crate) granularity: usize,
    /// One for each element of the index, then those of the next granules.
    pub(crate) summaries: Vec<Box<dyn Summary>>,
}

impl SkipSummaries {
    /// Those of `marks` where `predicate` may hold for the values of `index`.
    pub(crate) fn retain(&self, marks: &MarkRanges, index: &SkipIndex, predicate: &Predicate) -> MarkRanges {
        let operands: Vec<Operand> = index.elements.iter().map(Indexed::operand).collect();
        let mut kept = MarkRanges::none(marks.total);
        let mut last: Option<(usize, bool)> = None;
        for mark in marks.ranges.iter().flat_map(Clone::clone) {
            let at = mark / self.granularity;
            let holds = match last {
                Some((summary, holds)) if summary == at => holds,
                _ => {
                    let own = &self.summaries[at * operands.len()..(at + 1) * operands.len()];
                    predicate.may_hold(&|operand, test| {
                        let mut own = operands.iter().zip(own).filter(|(of, _)| *of == operand);
                        own.all(|(_, summary)| summary.may_match(test))
                    })
                }
            };
            last = Some((at, holds));
            if holds {
                kept.push(mark);
            }
        }
        kept
    }
}
