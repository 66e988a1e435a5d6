//! A segment of two columns, and all that it answers.

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, BinaryArray, BinaryViewArray, Int64Array};
use arrow::buffer::BooleanBuffer;
use arrow::datatypes::{DataType, Int64Type};
use basalt_base::Result;
use basalt_base::fs::{FaultyStorage, PendingFile, Storage};

use crate::file::{Access, SpoolPlace};
use crate::search::{Pattern, SearchMemory};
use crate::{BuildOptions, Built, ColumnSpec, RowBlock, RowSource, Segment, SegmentSpec, build};

pub(super) const PATH: &str = "/tmp/7.seg";
const BLOCK_ROWS: usize = 1000;

/// Rows `at * 3` with some columns; every fifth is a tombstone.
pub(super) struct Rows(pub(super) usize);

pub(super) fn key(at: usize) -> Vec<u8> {
    format!("user/{:08}/profile", at * 3).into_bytes()
}

pub(super) fn text(at: usize) -> String {
    format!("the record of user {at} was written by writer {} and has no end", at % 17)
}

pub(super) fn group(at: usize) -> String {
    format!("group {}", at % 7)
}

impl RowSource for Rows {
    fn read(&self, take: &mut dyn FnMut(&RowBlock) -> Result<()>) -> Result<()> {
        for start in (0..self.0).step_by(BLOCK_ROWS) {
            let rows = || start..self.0.min(start + BLOCK_ROWS);
            let columns: Vec<ArrayRef> = vec![
                Arc::new(
                    rows()
                        .map(|at| (!at.is_multiple_of(11)).then_some(at as i64 * 7))
                        .collect::<Int64Array>(),
                ),
                Arc::new(BinaryViewArray::from_iter_values(rows().map(|at| text(at).into_bytes()))),
            ];
            take(&RowBlock {
                keys: BinaryArray::from_iter_values(rows().map(key)),
                columns,
                indexes: vec![
                    rows().map(|at| (!at.is_multiple_of(5)).then(|| group(at).into_bytes())).collect(),
                ],
                tombstones: Some(BooleanBuffer::collect_bool(rows().len(), |row| {
                    (start + row).is_multiple_of(5)
                })),
            })?;
        }
        Ok(())
    }
}

pub(super) fn spec() -> SegmentSpec {
    let text = ColumnSpec { has_trigrams: true, ..ColumnSpec::new("text", DataType::BinaryView) };
    SegmentSpec {
        columns: vec![ColumnSpec::new("number", DataType::Int64), text],
        indexes: vec!["by_group".into()],
    }
}

/// Columns that have no key of their own: the key is the row.
pub(super) struct Columns(pub(super) Vec<(ColumnSpec, ArrayRef)>);

impl RowSource for Columns {
    fn read(&self, take: &mut dyn FnMut(&RowBlock) -> Result<()>) -> Result<()> {
        let rows = self.0.first().map_or(0, |(_, values)| values.len());
        take(&RowBlock {
            keys: BinaryArray::from_iter_values((0..rows as u64).map(u64::to_be_bytes)),
            columns: self.0.iter().map(|(_, values)| Arc::clone(values)).collect(),
            indexes: Vec::new(),
            tombstones: None,
        })
    }
}

impl Columns {
    pub(super) fn new(columns: impl IntoIterator<Item = (&'static str, ArrayRef)>) -> Columns {
        let column =
            |(name, values): (_, ArrayRef)| (ColumnSpec::new(name, values.data_type().clone()), values);
        Columns(columns.into_iter().map(column).collect())
    }

    pub(super) fn spec(&self) -> SegmentSpec {
        let columns = self.0.iter().map(|(column, _)| column.clone());
        SegmentSpec { columns: columns.collect(), indexes: Vec::new() }
    }

    pub(super) fn segment(&self) -> Segment {
        let (storage, _) = built_of(self, &self.spec());
        Segment::open(storage.as_ref(), Path::new(PATH), Access::Mapped, &self.spec()).expect("a segment")
    }
}

/// A directory with a segment of `rows` rows.
pub(super) fn built(rows: usize) -> Arc<dyn Storage> {
    let (storage, built) = built_of(&Rows(rows), &spec());
    assert_eq!((built.rows as usize, built.tombstones as usize), (rows, rows.div_ceil(5)));
    storage
}

/// A directory with a segment of these rows.
pub(super) fn built_of(rows: &dyn RowSource, spec: &SegmentSpec) -> (Arc<dyn Storage>, Built) {
    built_with(rows, spec, BuildOptions::default())
}

pub(super) fn built_with(
    rows: &dyn RowSource,
    spec: &SegmentSpec,
    options: BuildOptions,
) -> (Arc<dyn Storage>, Built) {
    let storage: Arc<dyn Storage> = Arc::new(FaultyStorage::new());
    storage.create_dir_all(Path::new("/tmp/spools")).expect("a directory");
    let place = SpoolPlace::new(Arc::clone(&storage), "/tmp/spools".into());
    let mut built = None;
    PendingFile::write_with(storage.as_ref(), Path::new(PATH), |out| {
        built = Some(build(rows, spec, 7, &place, options, out)?);
        Ok(())
    })
    .and_then(|pending| pending.publish(storage.as_ref()))
    .expect("a segment");
    assert!(storage.list(Path::new("/tmp/spools")).expect("a directory").is_empty(), "spools are removed");
    (storage, built.expect("it was built"))
}

pub(super) fn open(storage: &Arc<dyn Storage>, access: Access) -> Result<Segment> {
    Segment::open(storage.as_ref(), Path::new(PATH), access, &spec())
}

/// Ranks of the rows whose text matches.
fn matching(segment: &Segment, pattern: &Pattern) -> Result<Vec<u32>> {
    let mut ranks = Vec::new();
    let column = segment.column(1).expect("it is there");
    column.search(pattern, &mut SearchMemory::default(), 0..segment.rows(), &mut |rank| {
        ranks.push(rank);
        Ok(ControlFlow::Continue(()))
    })?;
    Ok(ranks)
}

/// All that a segment of `rows` rows answers; an error ends it.
pub(super) fn read(segment: &Segment, rows: usize) -> Result<()> {
    for at in 0..rows {
        let rank = segment.find(&key(at))?.expect("a key of the segment");
        assert_eq!(rank as usize, at);
        assert_eq!(segment.is_tombstone(rank), at.is_multiple_of(5));
        let mut found = Vec::new();
        segment.keys().key(rank, &mut found)?;
        assert_eq!(found, key(at));
        assert_eq!(segment.find(&[key(at), vec![b'x']].concat())?, None);
    }
    let ranks: Vec<u32> = (0..rows as u32).rev().step_by(3).collect();
    let (numbers, texts) = (segment.column(0).expect("it is there"), segment.column(1).expect("it is there"));
    let (numbers, texts) = (numbers.store().take(&ranks)?, texts.store().take(&ranks)?);
    for (row, &rank) in ranks.iter().enumerate() {
        let at = rank as usize;
        let number = numbers.as_primitive::<Int64Type>().iter().nth(row).flatten();
        assert_eq!(number, (!at.is_multiple_of(11)).then_some(at as i64 * 7));
        assert_eq!(texts.as_binary_view().value(row), text(at).as_bytes());
    }
    let scanned = segment.column(1).expect("it is there").store().scan(0..segment.rows())?;
    assert_eq!(scanned.as_binary_view().iter().count(), rows);
    let expected: Vec<u32> = (0..rows as u32).filter(|at| at % 17 == 12).collect();
    assert_eq!(matching(segment, &Pattern::expression(b"by writer (12) and")?)?, expected);
    segment.check_present()
}
