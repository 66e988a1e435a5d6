//! The columns of a table out of a segment.

use std::ops::{ControlFlow, Range};
use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, UInt32Array};
use arrow::compute::take;
use basalt_base::{Error, Result};
use basalt_kv::encoding::{ColumnBuilder, Corrupt, KeyEncoder, RowReader};
use basalt_segment::value::ColumnStore;
use basalt_segment::{Rank, Segment};

use crate::spec::{ColumnPlace, TableSpec};

/// Some columns of the rows of a segment.
pub struct SegmentColumns {
    spec: Arc<TableSpec>,
    key: KeyEncoder,
    wanted: Vec<usize>,
}

/// Rows of a segment.
#[derive(Clone, Debug)]
pub enum Picked<'a> {
    Range(Range<Rank>),
    /// In any order.
    List(&'a [Rank]),
}

impl Picked<'_> {
    /// Ascending ranks, as a range if they are consecutive.
    pub fn of(ranks: &[Rank]) -> Picked<'_> {
        match (ranks.first(), ranks.last()) {
            (Some(&first), Some(&last)) if (last - first) as usize + 1 == ranks.len() => {
                Picked::Range(first..last + 1)
            }
            _ => Picked::List(ranks),
        }
    }

    pub fn len(&self) -> usize {
        match self {
            Picked::Range(range) => range.len(),
            Picked::List(ranks) => ranks.len(),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl SegmentColumns {
    /// The columns of `spec` at `wanted`.
    pub fn new(spec: &Arc<TableSpec>, wanted: &[usize]) -> Result<SegmentColumns> {
        let key = spec.rows.key_encoder()?;
        Ok(SegmentColumns { spec: Arc::clone(spec), key, wanted: wanted.to_vec() })
    }

    /// The columns of these rows of `segment`, in the order in which they are wanted.
    pub fn read(&self, segment: &Segment, picked: &Picked<'_>) -> Result<Vec<ArrayRef>> {
        let mut columns: Vec<Option<ArrayRef>> = vec![None; self.wanted.len()];
        self.read_keys(segment, picked, &mut columns)?;
        for group in 0..self.spec.groups.len() {
            self.read_group(segment, group, picked, &mut columns)?;
        }
        let columns = self.wanted.iter().zip(columns).map(|(&column, read)| match read {
            Some(read) => Ok(read),
            None => self.read_single(segment, column, picked),
        });
        let columns = columns.collect::<Result<Vec<_>>>()?;
        segment.check_present()?;
        Ok(columns)
    }

    /// Where among the wanted columns those of `place` are.
    fn targets(&self, is_there: impl Fn(usize) -> bool) -> Vec<usize> {
        (0..self.wanted.len()).filter(|&at| is_there(self.wanted[at])).collect()
    }

    fn read_keys(
        &self,
        segment: &Segment,
        picked: &Picked<'_>,
        columns: &mut [Option<ArrayRef>],
    ) -> Result<()> {
        let targets = self.targets(|column| self.spec.place(column) == ColumnPlace::Key);
        if targets.is_empty() {
            return Ok(());
        }
        let types = targets.iter().map(|&at| &self.spec.rows.columns[self.wanted[at]].ty);
        let mut builders = types.map(ColumnBuilder::new).collect::<Result<Vec<_>>>()?;
        // A column that is wanted twice is decoded into the first of its places.
        let place = |column: &usize| targets.iter().position(|&at| self.wanted[at] == *column);
        let places: Vec<Option<usize>> = self.spec.rows.key.iter().map(place).collect();
        each_key(segment, picked, &mut |key| {
            let decoded = self.key.decode(key, &places, &mut builders);
            decoded.map_err(|corrupt| corrupt.at(segment.file().path(), key))
        })?;
        let arrays = builders.into_iter().map(ColumnBuilder::finish).collect::<Result<Vec<_>>>()?;
        for &at in &targets {
            let first = place(&self.wanted[at]).unwrap_or_default();
            columns[at] = Some(Arc::clone(&arrays[first]));
        }
        Ok(())
    }

    fn read_group(
        &self,
        segment: &Segment,
        group: usize,
        picked: &Picked<'_>,
        columns: &mut [Option<ArrayRef>],
    ) -> Result<()> {
        let members = &self.spec.groups[group].columns;
        let targets = self.targets(|column| members.contains(&column));
        let Some(stored) = segment.column(group).filter(|_| !targets.is_empty()) else { return Ok(()) };
        let records = read_store(stored.store(), picked)?;
        let records = records
            .as_binary_view_opt()
            .ok_or_else(|| Error::logical("a column group is stored as something else than records"))?;
        let rows = &self.spec.rows;
        let types = targets.iter().map(|&at| &rows.columns[self.wanted[at]].ty);
        let mut builders = types.map(ColumnBuilder::new).collect::<Result<Vec<_>>>()?;
        let target = |column: &usize| targets.iter().position(|&at| self.wanted[at] == *column);
        let reader = RowReader::new(
            members.iter().map(|&column| rows.columns[column].ty.carrier()).collect(),
            members.iter().map(target).collect(),
            members.iter().map(|&column| Arc::clone(&rows.defaults[column])).collect(),
        );
        for record in records.iter().flatten() {
            let read: Result<usize, Corrupt> = reader.read(record, &mut builders);
            read.map_err(|corrupt| corrupt.at(segment.file().path(), b"column group"))?;
        }
        let arrays = builders.into_iter().map(ColumnBuilder::finish).collect::<Result<Vec<_>>>()?;
        for &at in &targets {
            let first = target(&self.wanted[at]).unwrap_or_default();
            columns[at] = Some(Arc::clone(&arrays[first]));
        }
        Ok(())
    }

    fn read_single(&self, segment: &Segment, column: usize, picked: &Picked<'_>) -> Result<ArrayRef> {
        if let ColumnPlace::Column(at) = self.spec.place(column)
            && let Some(stored) = segment.column(at)
        {
            return read_store(stored.store(), picked);
        }
        // The segment is older than the column.
        let rows = &self.spec.rows;
        match &rows.computed[column] {
            Some(default) => {
                let inputs = SegmentColumns::new(&self.spec, default.inputs())?.read(segment, picked)?;
                default.compute(&inputs, picked.len())
            }
            None => repeated(&rows.defaults[column], picked.len()),
        }
    }
}

/// Calls `take` with the keys of the rows.
fn each_key(segment: &Segment, picked: &Picked<'_>, take: &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()> {
    match picked {
        Picked::Range(ranks) => segment.keys().scan(ranks.clone(), &mut |_, key| {
            take(key)?;
            Ok(ControlFlow::Continue(()))
        }),
        Picked::List(ranks) => {
            let mut key = Vec::new();
            ranks.iter().try_for_each(|&rank| {
                key.clear();
                segment.keys().key(rank, &mut key)?;
                take(&key)
            })
        }
    }
}

fn read_store(store: &dyn ColumnStore, picked: &Picked<'_>) -> Result<ArrayRef> {
    match picked {
        Picked::Range(ranks) => store.scan(ranks.clone()),
        Picked::List(ranks) => store.take(ranks),
    }
}

/// The value of an array of one row, `count` times.
fn repeated(value: &ArrayRef, count: usize) -> Result<ArrayRef> {
    take(value, &UInt32Array::from(vec![0; count]), None).map_err(Error::of_arrow)
}
