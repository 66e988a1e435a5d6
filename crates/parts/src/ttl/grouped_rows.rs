//! Aggregates consecutive expired rows of one key to one row, in a stream of sorted batches.
//!
//! A group may continue in the next batch. Only its first row and the state of its aggregates are kept, so memory
//! does not grow with the rows of a key.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, RecordBatch, RecordBatchOptions, UInt32Array};
use arrow::compute::{interleave, interleave_record_batch, take_record_batch};
use arrow::row::{OwnedRow, RowConverter, Rows};

use super::rule::{Aggregation, AggregationGroups, TtlRule};
use crate::error::{Error, Result};
use crate::spec::PartSpec;

/// Iterates over batches in which every group is one row.
pub(super) struct GroupedRows<I> {
    batches: I,
    spec: Arc<PartSpec>,
    rule: TtlRule,
    key_len: usize,
    aggregation: Arc<dyn Aggregation>,
    now_s: i64,
    converter: Option<RowConverter>,
    groups: Option<Box<dyn AggregationGroups>>,
    /// The group that the last batch ended with.
    open: Option<OpenGroup>,
    is_finished: bool,
}

/// A group that may have more rows.
struct OpenGroup {
    first: RecordBatch,
    key: OwnedRow,
}

/// The source of an output row.
#[derive(Clone, Copy)]
enum Pick {
    Row(usize),
    /// The group with this number, and its first row; `None` for the open group.
    Group(usize, Option<usize>),
}

/// How the rows of one batch are grouped.
#[derive(Default)]
struct Plan {
    picks: Vec<Pick>,
    /// The group numbers of the grouped rows.
    grouped: Vec<u32>,
    groups: Vec<usize>,
    group_count: usize,
    /// Whether the last group may have more rows.
    is_open: bool,
}

impl<I: Iterator<Item = Result<RecordBatch>>> GroupedRows<I> {
    pub(super) fn new(
        batches: I,
        spec: Arc<PartSpec>,
        (rule, key_len, aggregation): (TtlRule, usize, Arc<dyn Aggregation>),
        now_s: i64,
    ) -> GroupedRows<I> {
        GroupedRows {
            batches,
            spec,
            rule,
            key_len,
            aggregation,
            now_s,
            converter: None,
            groups: None,
            open: None,
            is_finished: false,
        }
    }

    fn next_batch(&mut self) -> Result<Option<RecordBatch>> {
        while !self.is_finished {
            let grouped = match self.batches.next().transpose()? {
                Some(batch) if batch.num_rows() == 0 => None,
                Some(batch) => self.grouped(&batch)?,
                None => {
                    self.is_finished = true;
                    self.end()?
                }
            };
            if grouped.is_some() {
                return Ok(grouped);
            }
        }
        Ok(None)
    }

    fn grouped(&mut self, batch: &RecordBatch) -> Result<Option<RecordBatch>> {
        let expired = self.rule.expired(batch, &self.spec.columns, self.now_s)?;
        if self.open.is_none() && !expired.contains(&true) {
            return Ok(Some(batch.clone()));
        }
        let keys = self.keys(batch)?;
        let mut plan = plan(&expired, &keys, self.open.as_ref());
        if !plan.grouped.is_empty() {
            let rows = take_record_batch(batch, &UInt32Array::from(std::mem::take(&mut plan.grouped)))?;
            let rows = self.read(&rows)?;
            let groups = match &mut self.groups {
                Some(groups) => groups,
                None => self.groups.insert(self.aggregation.begin()?),
            };
            groups.add(&rows, &plan.groups, plan.group_count)?;
        }
        let carried = self.open.take();
        if plan.is_open {
            self.open = match (plan.picks.pop(), carried.as_ref()) {
                (Some(Pick::Group(_, Some(row))), _) => Some(OpenGroup {
                    first: take_record_batch(batch, &UInt32Array::from(vec![row as u32]))?,
                    key: keys.row(row).owned(),
                }),
                (_, Some(open)) => Some(OpenGroup { first: open.first.clone(), key: open.key.clone() }),
                _ => return Err(Error::BlockMismatch { what: "a group has no first row".to_owned() }),
            };
        }
        let complete = plan.group_count - usize::from(plan.is_open);
        self.put_out(batch, carried.as_ref(), &plan.picks, complete)
    }

    /// The group that is open after all rows.
    fn end(&mut self) -> Result<Option<RecordBatch>> {
        let Some(open) = self.open.take() else { return Ok(None) };
        let empty = open.first.slice(0, 0);
        self.put_out(&empty, Some(&open), &[Pick::Group(0, None)], 1)
    }

    fn put_out(
        &mut self,
        batch: &RecordBatch,
        carried: Option<&OpenGroup>,
        picks: &[Pick],
        complete: usize,
    ) -> Result<Option<RecordBatch>> {
        if picks.is_empty() {
            return Ok(None);
        }
        let mut sources = vec![batch];
        sources.extend(carried.map(|open| &open.first));
        let place = |pick: &Pick| match *pick {
            Pick::Row(row) | Pick::Group(_, Some(row)) => (0, row),
            Pick::Group(_, None) => (1, 0),
        };
        let places: Vec<(usize, usize)> = picks.iter().map(place).collect();
        let rows = interleave_record_batch(&sources, &places)?;
        match &mut self.groups {
            Some(groups) if complete > 0 => {
                let values = groups.take(complete)?;
                self.with_values(&rows, picks, &values).map(Some)
            }
            _ => Ok(Some(rows)),
        }
    }

    /// The rows, with the aggregates in those that represent a group.
    fn with_values(&self, rows: &RecordBatch, picks: &[Pick], values: &[ArrayRef]) -> Result<RecordBatch> {
        let place = |(row, pick): (usize, &Pick)| match *pick {
            Pick::Row(_) => (0, row),
            Pick::Group(group, _) => (1, group),
        };
        let places: Vec<(usize, usize)> = picks.iter().enumerate().map(place).collect();
        let mut columns = rows.columns().to_vec();
        for (name, values) in self.aggregation.writes().iter().zip(values) {
            let column = self.position(name)?;
            let sources: [&dyn Array; 2] = [&columns[column], values];
            columns[column] = interleave(&sources, &places)?;
        }
        let options = RecordBatchOptions::new().with_row_count(Some(rows.num_rows()));
        Ok(RecordBatch::try_new_with_options(rows.schema(), columns, &options)?)
    }

    fn read(&self, rows: &RecordBatch) -> Result<RecordBatch> {
        let positions: Vec<usize> =
            self.aggregation.reads().iter().map(|name| self.position(name)).collect::<Result<_>>()?;
        Ok(rows.project(&positions)?)
    }

    fn position(&self, name: &str) -> Result<usize> {
        self.spec.columns.position(name).ok_or_else(|| Error::BlockMismatch {
            what: format!("column `{name}` of the TTL `{}` is not in the table", self.rule.name),
        })
    }

    fn keys(&mut self, batch: &RecordBatch) -> Result<Rows> {
        let spec = &self.spec;
        let elements = &spec.sort_key[..self.key_len.min(spec.sort_key.len())];
        let columns = elements.iter().map(|element| element.array(batch, &spec.columns));
        let columns = columns.collect::<Result<Vec<_>>>()?;
        let converter = match &mut self.converter {
            Some(converter) => converter,
            None => {
                let fields = elements.iter().map(|element| element.sort_field(&spec.columns)).collect();
                self.converter.insert(RowConverter::new(fields)?)
            }
        };
        Ok(converter.convert_columns(&columns)?)
    }
}

impl<I: Iterator<Item = Result<RecordBatch>>> Iterator for GroupedRows<I> {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Result<RecordBatch>> {
        self.next_batch().transpose()
    }
}

/// A group ends at the first row of another key, and at the first row that has not expired.
fn plan(expired: &[bool], keys: &Rows, open: Option<&OpenGroup>) -> Plan {
    let mut plan = Plan { is_open: open.is_some(), ..Plan::default() };
    if open.is_some() {
        plan.picks.push(Pick::Group(0, None));
        plan.group_count = 1;
    }
    for (row, &is_expired) in expired.iter().enumerate() {
        if !is_expired {
            plan.is_open = false;
            plan.picks.push(Pick::Row(row));
            continue;
        }
        let same_key = match open {
            _ if row > 0 => keys.row(row) == keys.row(row - 1),
            Some(open) => keys.row(row) == open.key.row(),
            None => false,
        };
        if !(plan.is_open && same_key) {
            plan.picks.push(Pick::Group(plan.group_count, Some(row)));
            plan.group_count += 1;
            plan.is_open = true;
        }
        plan.grouped.push(row as u32);
        plan.groups.push(plan.group_count - 1);
    }
    plan
}
