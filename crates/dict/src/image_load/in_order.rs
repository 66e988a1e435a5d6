//! Layouts whose keys are put in order all together: they stay in memory until the last row, while attributes go to the
//! file as they come, one segment after the other.
//!
//! A segment is an eighth of what is written already, or more, so that few of them have any number of rows.

use arrow::array::ArrayRef;
use basalt_base::{Result, bail};

use super::{ImagePlace, LoadBounds, LoadedImage, in_file};
use crate::block::RowBlock;
use crate::image::{ImageWriter, Piece};
use crate::layout::{GivenPrefixes, check_prefix_key};
use crate::layout_kind::LayoutKind;
use crate::spec::DictionarySpec;
use crate::values::{ColumnStore, SEGMENT_BITS, SEGMENTS_MAX};

/// A segment has at least this part of what is written.
const SEGMENT_SHARE: usize = 8;

/// What a prefix takes until the last row came: itself, and the places that it begins and ends at.
const PREFIX_BYTES: usize = 96;

impl DictionarySpec {
    /// What the key of a row takes in memory while the dictionary is loaded into a file, if all keys are needed at once.
    pub fn key_bytes_in_memory(&self) -> usize {
        if self.layout.kind == LayoutKind::IpTrie { PREFIX_BYTES } else { 0 }
    }
}

/// Loads rows whose keys need to be in memory, into a file.
pub(super) fn load_in_order(
    spec: DictionarySpec,
    blocks: &mut dyn Iterator<Item = Result<Vec<ArrayRef>>>,
    place: &ImagePlace<'_>,
    bounds: LoadBounds,
) -> Result<LoadedImage> {
    check_prefix_key(&spec.key_types())?;
    in_file(spec, place, |spec, image| {
        let (mut keys, mut rows) = (GivenPrefixes::default(), RowSegments::new(spec, bounds.shard_bytes));
        for block in blocks {
            let RowBlock { rows: count, keys: columns, columns: values, .. } = RowBlock::of(spec, &block?)?;
            keys.push(&columns, &rows.push(&values, count, image)?)?;
        }
        let values = rows.finish(image)?;
        let len = keys.save(image)?;
        image.number(values.len() as u64);
        values.into_iter().for_each(|piece| image.put(piece));
        Ok(len)
    })
}

/// Attributes on their way into the file.
struct RowSegments<'a> {
    spec: &'a DictionarySpec,
    /// Rows that are not written yet.
    store: ColumnStore,
    written: Vec<Piece>,
    written_bytes: usize,
    segment_bytes: usize,
}

impl<'a> RowSegments<'a> {
    fn new(spec: &'a DictionarySpec, segment_bytes: usize) -> RowSegments<'a> {
        let store = ColumnStore::new(&spec.attributes);
        RowSegments { spec, store, written: Vec::new(), written_bytes: 0, segment_bytes }
    }

    /// Takes a block and says the number of each of its rows.
    fn push(&mut self, columns: &[ArrayRef], rows: usize, image: &mut ImageWriter<'_>) -> Result<Vec<u64>> {
        let full = self.segment_bytes.max(self.written_bytes / SEGMENT_SHARE);
        let is_full = self.store.heap_bytes() >= full || self.store.rows() + rows > 1 << SEGMENT_BITS;
        if is_full && self.store.rows() > 0 && self.written.len() + 1 < SEGMENTS_MAX {
            self.write(image)?;
        }
        if self.store.rows() + rows > 1 << SEGMENT_BITS {
            bail!(ArgumentOutOfBound, "a dictionary of this layout has too many rows");
        }
        let first = (self.written.len() as u64) << SEGMENT_BITS;
        Ok(self.store.push(columns, rows)?.into_iter().map(|row| first + row).collect())
    }

    fn write(&mut self, image: &mut ImageWriter<'_>) -> Result<()> {
        let mut store = std::mem::replace(&mut self.store, ColumnStore::new(&self.spec.attributes));
        store.shrink()?;
        self.written_bytes += store.heap_bytes();
        self.written.push(image.piece(|image| store.save(image))?);
        Ok(())
    }

    /// Where the segments are; there is one at least.
    fn finish(mut self, image: &mut ImageWriter<'_>) -> Result<Vec<Piece>> {
        if self.store.rows() > 0 || self.written.is_empty() {
            self.write(image)?;
        }
        Ok(self.written)
    }
}
