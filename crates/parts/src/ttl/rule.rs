//! One rule of a table's TTL: when rows expire, and what happens to them then.

use std::fmt;
use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch};
use basalt_base::Columns;
use basalt_codec::CodecChain;

use crate::error::Result;
use crate::key::element::{KeyExpression, arguments};

/// The time at which a row expires. The engine gives it: parts know no expressions.
pub trait Expiry: Send + Sync + fmt::Debug {
    /// The expression as SQL writes it.
    fn text(&self) -> &str;

    /// The names of the columns that it reads, each once.
    fn columns(&self) -> &[String];

    /// Seconds since 1970 for each of `rows` rows of [`Expiry::columns`]; 0 is never.
    fn evaluate(&self, columns: &[ArrayRef], rows: usize) -> basalt_base::Result<Vec<i64>>;
}

/// What many rows become when they expire together. The engine gives it.
pub trait Aggregation: Send + Sync + fmt::Debug {
    /// The names of the columns that it reads, and of those that it sets.
    fn reads(&self) -> &[String];

    fn writes(&self) -> &[String];

    /// Begins without any group.
    fn begin(&self) -> basalt_base::Result<Box<dyn AggregationGroups>>;
}

/// Groups of rows whose values are being computed.
pub trait AggregationGroups: Send {
    /// Adds `rows`, which have the columns of [`Aggregation::reads`]: each to the group of its number
    /// in `groups`, all below `count`.
    fn add(&mut self, rows: &RecordBatch, groups: &[usize], count: usize) -> basalt_base::Result<()>;

    /// The values of [`Aggregation::writes`] in the first `count` groups, which are forgotten; those that
    /// are left are numbered anew.
    fn take(&mut self, count: usize) -> basalt_base::Result<Vec<ArrayRef>>;
}

/// One rule.
#[derive(Clone, Debug)]
pub struct TtlRule {
    /// The whole clause as SQL writes it: rules of one name do the same, in every version of the table.
    pub name: String,
    pub expiry: Arc<dyn Expiry>,
    pub action: TtlAction,
}

/// What happens to expired rows.
#[derive(Clone, Debug)]
pub enum TtlAction {
    /// They go. Of those that a condition keeps the expiry says that they never expire.
    Delete { has_condition: bool },
    /// The column's value becomes its default; `None` is what [`PartSpec::filled`] says.
    ///
    /// [`PartSpec::filled`]: crate::spec::PartSpec::filled
    Clear { column: String, default: Option<Arc<dyn KeyExpression>> },
    /// Neighbours that agree in so many elements of the sorting key become one.
    Group { key_len: usize, aggregation: Arc<dyn Aggregation> },
    /// When all of a part has expired, these columns are written with other codecs.
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

    /// Whether other values of the column may expire at another time.
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
