//! A rule of a table's TTL: when rows expire, and what happens then.

use std::fmt;
use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch};
use basalt_base::Columns;
use basalt_codec::CodecChain;

use crate::error::Result;
use crate::key::element::arguments;
use crate::key::expression::KeyExpression;

/// The time at which a row expires. The engine implements it, because this crate knows no expressions.
pub trait Expiry: Send + Sync + fmt::Debug {
    /// The expression as SQL text.
    fn text(&self) -> &str;

    /// The names of the columns that it reads, without duplicates.
    fn columns(&self) -> &[String];

    /// Seconds since 1970 for each of `rows` rows of [`Expiry::columns`]; 0 is never.
    fn evaluate(&self, columns: &[ArrayRef], rows: usize) -> basalt_base::Result<Vec<i64>>;
}

/// An aggregation of rows that expire together. The engine implements it.
pub trait Aggregation: Send + Sync + fmt::Debug {
    /// The names of the columns that it reads.
    fn reads(&self) -> &[String];

    fn writes(&self) -> &[String];

    /// Starts without groups.
    fn begin(&self) -> basalt_base::Result<Box<dyn AggregationGroups>>;
}

/// Groups of rows whose aggregates are being computed.
pub trait AggregationGroups: Send {
    /// Adds `rows`, which have the columns of [`Aggregation::reads`]: each to the group with its number in
    /// `groups`, all below `count`.
    fn add(&mut self, rows: &RecordBatch, groups: &[usize], count: usize) -> basalt_base::Result<()>;

    /// The values of [`Aggregation::writes`] in the first `count` groups, which are removed; the others are
    /// renumbered.
    fn take(&mut self, count: usize) -> basalt_base::Result<Vec<ArrayRef>>;
}

/// A rule.
#[derive(Clone, Debug)]
pub struct TtlRule {
    /// The whole clause as SQL text, which identifies the rule in every version of the table.
    pub name: String,
    pub expiry: Arc<dyn Expiry>,
    pub action: TtlAction,
}

/// The action on expired rows.
#[derive(Clone, Debug)]
pub enum TtlAction {
    /// Deletes them. If there is a condition, the expiry of rows that it keeps is never.
    Delete { has_condition: bool },
    /// Resets the column to its default; `None` is that of [`PartSpec::filled`].
    ///
    /// [`PartSpec::filled`]: crate::spec::PartSpec::filled
    Clear { column: String, default: Option<Arc<dyn KeyExpression>> },
    /// Aggregates neighbours that agree in the first `key_len` elements of the sorting key.
    Group { key_len: usize, aggregation: Arc<dyn Aggregation> },
    /// Writes these columns with other codecs once all rows of a part have expired.
    Recompress { codecs: Vec<(String, CodecChain)> },
}

impl TtlRule {
    /// When each row of `batch`, which has `columns`, expires; 0 is never.
    pub(crate) fn evaluate(&self, batch: &RecordBatch, columns: &Columns) -> Result<Vec<i64>> {
        let read = arguments(self.expiry.columns(), self.expiry.text(), batch, columns)?;
        Ok(self.expiry.evaluate(&read, batch.num_rows())?)
    }

    /// Which rows of `batch` have expired at `now_s`.
    pub(crate) fn expired(&self, batch: &RecordBatch, columns: &Columns, now_s: i64) -> Result<Vec<bool>> {
        let expiries = self.evaluate(batch, columns)?;
        Ok(expiries.into_iter().map(|expiry| is_expired(expiry, now_s)).collect())
    }

    /// Whether the expiry depends on the column.
    pub(crate) fn depends_on(&self, column: &str) -> bool {
        let is_cleared = matches!(&self.action, TtlAction::Clear { column: own, .. } if own == column);
        is_cleared || self.expiry.columns().iter().any(|name| name == column)
    }

    /// Whether applying the rule reads or changes the column.
    pub(crate) fn needs(&self, column: &str) -> bool {
        let has = |names: &[String]| names.iter().any(|name| name == column);
        self.depends_on(column)
            || match &self.action {
                TtlAction::Clear { default: Some(default), .. } => has(default.columns()),
                TtlAction::Group { aggregation, .. } => has(aggregation.reads()) || has(aggregation.writes()),
                _ => false,
            }
    }

    pub(crate) fn is_recompression(&self) -> bool {
        matches!(self.action, TtlAction::Recompress { .. })
    }
}

/// Whether a row that expires at `expiry_s` has done so.
pub(crate) fn is_expired(expiry_s: i64, now_s: i64) -> bool {
    expiry_s != 0 && expiry_s <= now_s
}

impl PartialEq for TtlRule {
    fn eq(&self, other: &TtlRule) -> bool {
        self.name == other.name
    }
}

impl Eq for TtlRule {}
