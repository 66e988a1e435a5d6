//! Loads layouts that sort all their keys at once: the keys stay in memory until the last row, while attributes are
//! written to the file in segments.
//!
//! The rows of an IP_TRIE are spilled first, so that rows of duplicate prefixes are left out.
//!
//! A segment is at least an eighth of what is written already, so that few segments hold any number of rows.

use arrow::array::{Array, ArrayRef, BooleanArray};
use basalt_base::{Result, bail};

use super::pending::{ImagePlace, LoadBounds, LoadedImage, in_file};
use crate::attribute::Attribute;
use crate::block::RowBlock;
use crate::block_cut::in_pieces;
use crate::image::{ImageWriter, Piece};
use crate::layout::{GivenPolygons, GivenPrefixes, check_prefix_key, node_block, node_columns};
use crate::layout_kind::LayoutKind;
use crate::spec::DictionarySpec;
use crate::spill::SpillWriter;
use crate::tombstones::filtered;
use crate::values::{ColumnStore, ROWS_MAX, SEGMENT_BITS, SEGMENTS_MAX};

/// A segment is at least one part in this many of what is written.
const SEGMENT_SHARE: usize = 8;

/// The bytes of a key in memory until the last row: a prefix and its two ends, the index entry of a polygon, or the
/// places of a node's values.
const KEY_BYTES: usize = 96;

impl DictionarySpec {
    /// The bytes that the key of each row takes in memory during a load into a file; 0 if keys are spilled.
    pub fn key_bytes_in_memory(&self) -> usize {
        if self.layout.kind.is_ordered() { KEY_BYTES } else { 0 }
    }
}

/// Loads rows into a file, and keeps their keys in memory.
pub(super) fn load_in_order(
    spec: DictionarySpec,
    blocks: &mut dyn Iterator<Item = Result<Vec<ArrayRef>>>,
    place: &ImagePlace<'_>,
    bounds: LoadBounds,
) -> Result<LoadedImage> {
    // Pieces bound what is copied of a block.
    let pieces = blocks.map(|block| block.map(in_pieces));
    let mut pieces = pieces.flat_map(|pieces| -> Box<dyn Iterator<Item = _>> {
        match pieces {
            Ok(pieces) => Box::new(pieces),
            Err(error) => Box::new(std::iter::once(Err(error))),
        }
    });
    match spec.layout.kind {
        LayoutKind::IpTrie => load_prefixes(spec, &mut pieces, place, bounds),
        LayoutKind::RegexpTree => load_nodes(spec, &mut pieces, place, bounds),
        _ => load_polygons(spec, &mut pieces, place, bounds),
    }
}

/// Loads the nodes of a REGEXP_TREE. Opening the file makes the tree.
fn load_nodes(
    spec: DictionarySpec,
    blocks: &mut dyn Iterator<Item = Result<Vec<ArrayRef>>>,
    place: &ImagePlace<'_>,
    bounds: LoadBounds,
) -> Result<LoadedImage> {
    in_file(spec, place, |_, image| {
        let (columns, mut count) = (node_columns(), 0);
        let mut rows = RowSegments::new(&columns, bounds.shard_bytes);
        for block in blocks {
            let block = node_block(&block?)?;
            let nodes = block[0].len();
            if rows.is_full(nodes, 0) {
                rows.write(image)?;
            }
            rows.push(&block, nodes)?;
            count += nodes as u64;
        }
        rows.write(image)?;
        rows.put(image);
        Ok(count)
    })
}

fn load_polygons(
    spec: DictionarySpec,
    blocks: &mut dyn Iterator<Item = Result<Vec<ArrayRef>>>,
    place: &ImagePlace<'_>,
    bounds: LoadBounds,
) -> Result<LoadedImage> {
    let mut given = GivenPolygons::of(&spec)?;
    in_file(spec, place, |spec, image| {
        let columns = spec.columns_by_row();
        let mut rows = RowSegments::new(&columns, bounds.shard_bytes);
        for block in blocks {
            let block = RowBlock::of(spec, &block?)?;
            if rows.is_full(block.rows, given.piece_bytes()) {
                rows.write(image)?;
                given.write_piece(image)?;
            }
            given.push(&block.keys, &rows.push(&block.columns_by_row(spec), block.rows)?)?;
        }
        rows.write(image)?;
        given.write_piece(image)?;
        let len = given.save(image)?;
        rows.put(image);
        Ok(len)
    })
}

/// Loads prefixes. Their rows are spilled until all prefixes are known, and with them the rows to keep.
fn load_prefixes(
    spec: DictionarySpec,
    blocks: &mut dyn Iterator<Item = Result<Vec<ArrayRef>>>,
    place: &ImagePlace<'_>,
    bounds: LoadBounds,
) -> Result<LoadedImage> {
    check_prefix_key(&spec.key_types())?;
    let (mut given, mut count) = (GivenPrefixes::default(), 0);
    let mut spilled = SpillWriter::create(&spec, 1, bounds.shard_bytes, place.storage, place.spill_dir)?;
    for block in blocks {
        let RowBlock { rows, keys, columns, .. } = RowBlock::of(&spec, &block?)?;
        if count + rows > ROWS_MAX {
            bail!(ArgumentOutOfBound, "a dictionary holds at most {ROWS_MAX} rows");
        }
        given.push(&keys, &(count as u64..(count + rows) as u64).collect::<Vec<_>>())?;
        count += rows;
        spilled.push(&[keys, columns].concat(), &vec![0; rows])?;
    }
    let (spilled, alive) = (spilled.finish()?, given.keep_last(count));
    in_file(spec, place, |spec, image| {
        let mut rows = RowSegments::new(&spec.attributes, bounds.shard_bytes);
        // The new number of each row.
        let mut numbers = Vec::with_capacity(count);
        for block in spilled.blocks(0) {
            let mut block = block?;
            let spilled_rows = numbers.len()..numbers.len() + block[0].len();
            let stays = spilled_rows.map(|row| alive.as_ref().is_none_or(|alive| alive.get(row)));
            let stays = stays.map(Some).collect::<BooleanArray>();
            if stays.false_count() > 0 {
                block = filtered(&block, &stays)?;
            }
            let columns = block.split_off(spec.key_columns.len());
            if rows.is_full(block[0].len(), 0) {
                rows.write(image)?;
            }
            let mut kept = rows.push(&columns, block[0].len())?.into_iter();
            numbers.extend(stays.values().iter().map(|stays| match stays {
                true => kept.next().map_or(0, |row| row as u32),
                false => 0,
            }));
        }
        rows.write(image)?;
        given.renumber(&numbers);
        let len = given.save(image)?;
        rows.put(image);
        Ok(len)
    })
}

/// Writes attributes in segments.
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

    /// Whether the segment must be written before `rows` more are added. Their keys take `key_bytes`.
    fn is_full(&self, rows: usize, key_bytes: usize) -> bool {
        let full = self.segment_bytes.max(self.written_bytes / SEGMENT_SHARE);
        let is_full =
            self.store.heap_bytes() + key_bytes >= full || self.store.rows() + rows > 1 << SEGMENT_BITS;
        is_full && self.store.rows() > 0 && self.written.len() + 1 < SEGMENTS_MAX
    }

    /// Adds a block and returns the number of each row.
    fn push(&mut self, columns: &[ArrayRef], rows: usize) -> Result<Vec<u64>> {
        if self.store.rows() + rows > 1 << SEGMENT_BITS {
            bail!(ArgumentOutOfBound, "a dictionary of this layout has too many rows");
        }
        let first = (self.written.len() as u64) << SEGMENT_BITS;
        Ok(self.store.push(columns, rows)?.map(|row| first + row).collect())
    }

    fn write(&mut self, image: &mut ImageWriter<'_>) -> Result<()> {
        let mut store = std::mem::replace(&mut self.store, ColumnStore::new(self.columns));
        store.shrink()?;
        self.written_bytes += store.heap_bytes();
        self.written.push(image.piece(|image| store.save(image))?);
        Ok(())
    }

    /// Adds the segments to the shape of the file.
    fn put(self, image: &mut ImageWriter<'_>) {
        image.number(self.written.len() as u64);
        self.written.into_iter().for_each(|piece| image.put(piece));
    }
}
