//! One row by its key, as bytes: the way of a key/value store.

use std::ops::Range;
use std::sync::Arc;

use arrow::array::ArrayRef;
use arrow::datatypes::DataType;
use basalt_base::Result;
use basalt_kv::encoding::{Corrupt, RowFields, RowLayout, RowWriter, StoredRow};
use basalt_segment::{Rank, Segment};

use crate::snapshot::Snapshot;
use crate::spec::{ColumnPlace, TableSpec};
use crate::table::Table;

/// Reads rows one at a time. It takes no snapshot: each row is the newest one of its key.
///
/// A row is the encoded columns outside the key, as [`RowWriter`] writes them and [`RowLayout`] reads them.
pub struct RecordReader {
    table: Arc<Table>,
    plan: Plan,
    groups: Vec<GroupRecord>,
}

/// Where the columns of a row are in segments.
struct Plan {
    spec: Arc<TableSpec>,
    /// Positions of the columns outside the key.
    values: Vec<usize>,
    layout: RowLayout,
    /// The columns of each group.
    groups: Vec<RowLayout>,
    shape: Shape,
}

/// How the columns of a row are read from a segment.
enum Shape {
    /// The records of this group are the rows.
    Group(usize),
    /// Value by value.
    Values(Vec<ValuePlace>),
    /// As a batch: arrays and tuples have no bytes of their own.
    Batch,
}

/// A column of a row.
enum ValuePlace {
    /// In the records of a group, by the place of the column in them.
    Group(usize, usize),
    Column {
        at: usize,
        is_string: bool,
    },
}

/// The record of a column group, and where its columns are; `None` for NULL.
#[derive(Default)]
struct GroupRecord {
    bytes: Vec<u8>,
    columns: Vec<Option<Range<usize>>>,
}

enum Fresh {
    Row,
    /// The row lacks columns that were added after it.
    Older,
    Tombstone,
}

impl Table {
    /// A reader of rows. Each thread needs its own.
    pub fn records(self: &Arc<Self>) -> RecordReader {
        RecordReader { table: Arc::clone(self), plan: Plan::new(self.spec()), groups: Vec::new() }
    }
}

impl RecordReader {
    /// Appends the row of an [encoded](basalt_kv::encoding::KeyEncoder) key to `out`; `false` if there is none.
    pub fn read(&mut self, key: &[u8], out: &mut Vec<u8>) -> Result<bool> {
        let start = out.len();
        let version = self.table.version();
        // Taken after the places, so that it has the columns of all their rows.
        let spec = self.table.spec();
        if !Arc::ptr_eq(&spec, &self.plan.spec) {
            self.plan = Plan::new(spec);
        }
        for generation in version.generations.iter().filter(|generation| !generation.is_empty()) {
            let take = |row: StoredRow<'_>| self.plan.take_fresh(row, out);
            let Some(taken) = self.table.database.get(generation.family(), key, take)? else { continue };
            match taken.map_err(|corrupt| corrupt.at(self.table.database.path(), key))? {
                Fresh::Row => return Ok(true),
                Fresh::Tombstone => return Ok(false),
                Fresh::Older => return self.read_batch(key, out),
            }
        }
        for segment in version.segments.iter().map(|stored| stored.segment()) {
            let found = segment.find(key)?;
            let is_whole = match found {
                Some(rank) if !segment.is_tombstone(rank) => self.read_segment(segment, rank, out)?,
                _ => false,
            };
            segment.check_present()?;
            match found {
                None => {}
                Some(rank) if segment.is_tombstone(rank) => return Ok(false),
                Some(_) if is_whole => return Ok(true),
                Some(_) => {
                    out.truncate(start);
                    return self.read_batch(key, out);
                }
            }
        }
        Ok(false)
    }

    /// `false`, after any bytes, if the row must be read as a batch.
    fn read_segment(&mut self, segment: &Segment, rank: Rank, out: &mut Vec<u8>) -> Result<bool> {
        match &self.plan.shape {
            Shape::Batch => Ok(false),
            Shape::Group(at) => match segment.column(*at) {
                Some(column) => column.store().append_value(rank, out),
                None => Ok(false),
            },
            Shape::Values(places) => {
                read_groups(&self.plan.groups, segment, rank, &mut self.groups)?;
                let mut row = RowFields::begin(places.len(), out);
                for place in places {
                    match *place {
                        ValuePlace::Group(group, column) => {
                            row.push_encoded(self.groups[group].column(column), out);
                        }
                        ValuePlace::Column { at, is_string } => {
                            let Some(column) = segment.column(at) else { return Ok(false) };
                            row.push(is_string, out, |out| column.store().append_value(rank, out))?;
                        }
                    }
                }
                Ok(true)
            }
        }
    }

    /// Reads the row as a batch, which has the defaults of columns that are newer than the row.
    #[cold]
    fn read_batch(&self, key: &[u8], out: &mut Vec<u8>) -> Result<bool> {
        let snapshot: Arc<Snapshot> = self.table.snapshot();
        let rows = snapshot.get_one(key, &self.plan.values)?;
        if rows.num_rows() == 0 {
            return Ok(false);
        }
        let columns = &snapshot.spec().rows.columns;
        let is_nullable = self.plan.values.iter().map(|&column| columns[column].ty.accepts_null());
        let arrays: Vec<(&ArrayRef, bool)> = rows.columns().iter().zip(is_nullable).collect();
        RowWriter::new(arrays.into_iter(), None)?.write(0, out);
        Ok(true)
    }
}

/// Reads the records of all groups. A group without columns outside the key is not read.
fn read_groups(
    layouts: &[RowLayout],
    segment: &Segment,
    rank: Rank,
    records: &mut Vec<GroupRecord>,
) -> Result<()> {
    records.resize_with(layouts.len(), GroupRecord::default);
    for (at, (layout, record)) in layouts.iter().zip(records).enumerate() {
        record.bytes.clear();
        record.columns.clear();
        let Some(stored) = segment.column(at) else { continue };
        stored.store().append_value(rank, &mut record.bytes)?;
        let start = record.bytes.as_ptr().addr();
        let place = |bytes: &[u8]| {
            let first = bytes.as_ptr().addr() - start;
            first..first + bytes.len()
        };
        let columns = &mut record.columns;
        let read = layout.each(&record.bytes, |value| columns.push(value.map(place)));
        read.map_err(|corrupt| corrupt.at(segment.file().path(), b"column group"))?;
    }
    Ok(())
}

impl GroupRecord {
    fn column(&self, at: usize) -> Option<&[u8]> {
        self.bytes.get(self.columns.get(at)?.clone()?)
    }
}

impl Plan {
    fn new(spec: Arc<TableSpec>) -> Plan {
        let columns = &spec.rows.columns;
        let layout = |positions: &[usize]| {
            RowLayout::new(positions.iter().map(|&position| columns[position].ty.carrier()).collect())
        };
        let values = spec.rows.value_positions();
        let groups: Vec<RowLayout> = spec.groups.iter().map(|group| layout(&group.columns)).collect();
        Plan { layout: layout(&values), groups, shape: Plan::shape(&spec, &values), values, spec }
    }

    fn shape(spec: &TableSpec, values: &[usize]) -> Shape {
        if let Some(at) = spec.groups.iter().position(|group| group.columns == *values) {
            return Shape::Group(at);
        }
        let place = |&column: &usize| {
            let carrier = spec.rows.columns[column].ty.carrier();
            match spec.place(column) {
                _ if matches!(carrier, DataType::List(_) | DataType::Struct(_) | DataType::Null) => None,
                ColumnPlace::Group(group, at) => Some(ValuePlace::Group(group, at)),
                ColumnPlace::Column(at) => {
                    Some(ValuePlace::Column { at, is_string: carrier == DataType::BinaryView })
                }
                ColumnPlace::Key => None,
            }
        };
        values.iter().map(place).collect::<Option<_>>().map_or(Shape::Batch, Shape::Values)
    }

    /// Appends a row that is in no segment.
    fn take_fresh(&self, row: StoredRow<'_>, out: &mut Vec<u8>) -> Result<Fresh, Corrupt> {
        let StoredRow::Row(row) = row else { return Ok(Fresh::Tombstone) };
        if !self.layout.is_whole(row)? {
            return Ok(Fresh::Older);
        }
        out.extend_from_slice(row);
        Ok(Fresh::Row)
    }
}
