//! Layouts whose keys are put in order all together: they stay in memory until the last row, while attributes go to the
//! file as they come, one segment after the other.
//!
//! A segment is an eighth of what is written already, or more, so that few of them have any number of rows.

use arrow::array::ArrayRef;
use basalt_base::{Result, bail};

use super::{ImagePlace, LoadBounds, LoadedImage, in_file};
use crate::block::RowBlock;
use crate::dictionary::Attribute;
use crate::image::{ImageWriter, Piece};
use crate::layout::{GivenPolygons, GivenPrefixes, check_prefix_key};
use crate::spec::DictionarySpec;
use crate::values::{ColumnStore, SEGMENT_BITS, SEGMENTS_MAX};

/// A segment has at least this part of what is written.
const SEGMENT_SHARE: usize = 8;

/// What a key takes until the last row came: of a prefix, itself and the places that it begins and ends at; of a polygon,
/// what the index says of it.
const KEY_BYTES: usize = 96;

impl DictionarySpec {
    /// What the key of a row takes in memory while the dictionary is loaded into a file, if all keys are needed at once.
    pub fn key_bytes_in_memory(&self) -> usize {
        if self.layout.kind.is_ordered() { KEY_BYTES } else { 0 }
    }
}

/// Keys on their way.
enum Given {
    Prefixes(GivenPrefixes),
    Polygons(Box<GivenPolygons>),
}

/// Loads rows whose keys need to be in memory, into a file.
pub(super) fn load_in_order(
    spec: DictionarySpec,
    blocks: &mut dyn Iterator<Item = Result<Vec<ArrayRef>>>,
    place: &ImagePlace<'_>,
    bounds: LoadBounds,
) -> Result<LoadedImage> {
    let mut keys = Given::of(&spec)?;
    in_file(spec, place, |spec, image| {
        let columns = spec.columns_by_row();
        let mut rows = RowSegments::new(&columns, bounds.shard_bytes);
        for block in blocks {
            let block = RowBlock::of(spec, &block?)?;
            if rows.is_full(block.rows, keys.piece_bytes()) {
                rows.write(image)?;
                keys.write_piece(image)?;
            }
            keys.push(&block.keys, &rows.push(&block.columns_by_row(spec), block.rows)?)?;
        }
        rows.write(image)?;
        keys.write_piece(image)?;
        let len = keys.save(image)?;
        image.number(rows.written.len() as u64);
        rows.written.into_iter().for_each(|piece| image.put(piece));
        Ok(len)
    })
}

impl Given {
    fn of(spec: &DictionarySpec) -> Result<Given> {
        if spec.layout.kind.is_polygon() {
            return GivenPolygons::of(spec).map(|given| Given::Polygons(Box::new(given)));
        }
        check_prefix_key(&spec.key_types())?;
        Ok(Given::Prefixes(GivenPrefixes::default()))
    }

    fn push(&mut self, keys: &[ArrayRef], rows: &[u64]) -> Result<()> {
        match self {
            Given::Prefixes(given) => given.push(keys, rows),
            Given::Polygons(given) => given.push(keys, rows),
        }
    }

    /// What would be written with the rows' segment.
    fn piece_bytes(&self) -> usize {
        match self {
            Given::Prefixes(_) => 0,
            Given::Polygons(given) => given.piece_bytes(),
        }
    }

    fn write_piece(&mut self, image: &mut ImageWriter<'_>) -> Result<()> {
        match self {
            Given::Prefixes(_) => Ok(()),
            Given::Polygons(given) => given.write_piece(image),
        }
    }

    fn save(self, image: &mut ImageWriter<'_>) -> Result<u64> {
        match self {
            Given::Prefixes(given) => given.save(image),
            Given::Polygons(given) => given.save(image),
        }
    }
}

/// Attributes on their way into the file.
struct RowSegments<'a> {
    columns: &'a [Attribute],
    /// Rows that are not written yet.
    store: ColumnStore,
    written: Vec<Piece>,
    written_bytes: usize,
    segment_bytes: usize,
}

impl<'a> RowSegments<'a> {
    fn new(columns: &'a [Attribute], segment_bytes: usize) -> RowSegments<'a> {
        let store = ColumnStore::new(columns);
        RowSegments { columns, store, written: Vec::new(), written_bytes: 0, segment_bytes }
    }

    /// Whether the segment is to be written before so many rows come, with so many bytes of their keys.
    fn is_full(&self, rows: usize, key_bytes: usize) -> bool {
        let full = self.segment_bytes.max(self.written_bytes / SEGMENT_SHARE);
        let is_full =
            self.store.heap_bytes() + key_bytes >= full || self.store.rows() + rows > 1 << SEGMENT_BITS;
        is_full && self.store.rows() > 0 && self.written.len() + 1 < SEGMENTS_MAX
    }

    /// Takes a block and says the number of each of its rows.
    fn push(&mut self, columns: &[ArrayRef], rows: usize) -> Result<Vec<u64>> {
        if self.store.rows() + rows > 1 << SEGMENT_BITS {
            bail!(ArgumentOutOfBound, "a dictionary of this layout has too many rows");
        }
        let first = (self.written.len() as u64) << SEGMENT_BITS;
        Ok(self.store.push(columns, rows)?.into_iter().map(|row| first + row).collect())
    }

    fn write(&mut self, image: &mut ImageWriter<'_>) -> Result<()> {
        let mut store = std::mem::replace(&mut self.store, ColumnStore::new(self.columns));
        store.shrink()?;
        self.written_bytes += store.heap_bytes();
        self.written.push(image.piece(|image| store.save(image))?);
        Ok(())
    }
}
