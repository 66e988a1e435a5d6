//! Attributes of nested types (`Array`, `Tuple`, `Map`) as Arrow arrays.
//!
//! Strings of Arrow's views share the bytes of their block. Rows that are stored, and rows of answers, get bytes of
//! their own: a few of them would keep all others in memory, or take them along into a file.

use std::sync::{Arc, OnceLock};

use arrow::array::{Array, ArrayRef, AsArray, BooleanArray, ListArray, StructArray, UInt32Array};
use arrow::buffer::OffsetBuffer;
use arrow::compute::{concat, filter, take};
use arrow::datatypes::DataType;
use arrow::error::ArrowError;
use basalt_base::{Error, Result};

use super::Bitmap;
use super::stored_array::StoredArray;
use crate::image::{ImageReader, ImageWriter};
use crate::table::Hits;

/// Blocks are merged when there are this many, so that a load does not copy all rows at every block.
const BLOCKS_MAX: usize = 256;

#[derive(Debug)]
pub(super) struct NestedColumn {
    /// The default: row 0 of what is looked up.
    default: ArrayRef,
    blocks: Vec<ArrayRef>,
    /// The rows in a file, instead of `blocks`.
    stored: Option<Stored>,
}

/// The rows for lookups, made at the first one.
#[derive(Debug)]
struct Stored {
    array: StoredArray,
    whole: OnceLock<ArrayRef>,
}

impl NestedColumn {
    pub(super) fn new(default: &ArrayRef) -> NestedColumn {
        NestedColumn { default: default.clone(), blocks: vec![default.clone()], stored: None }
    }

    pub(super) fn push(&mut self, array: &ArrayRef) -> Result<()> {
        self.blocks.push(compacted(array).map_err(broken)?);
        if self.blocks.len() > BLOCKS_MAX { self.join() } else { Ok(()) }
    }

    fn join(&mut self) -> Result<()> {
        let blocks: Vec<&dyn Array> = self.blocks.iter().map(AsRef::as_ref).collect();
        self.blocks = vec![concat(&blocks).map_err(broken)?];
        Ok(())
    }

    /// All rows, after the default.
    pub(super) fn rows(&self) -> Result<&ArrayRef> {
        let Some(stored) = &self.stored else { return Ok(&self.blocks[0]) };
        if let Some(whole) = stored.whole.get() {
            return Ok(whole);
        }
        let array = stored.array.array(self.default.data_type())?;
        Ok(stored.whole.get_or_init(|| array))
    }

    pub(super) fn get(&self, hits: &Hits) -> Result<ArrayRef> {
        let row = |(&row, &found): (&u64, &bool)| if found { row as u32 + 1 } else { 0 };
        let rows: UInt32Array = hits.payloads.iter().zip(&hits.found).map(row).collect::<Vec<_>>().into();
        take(self.rows()?, &rows, None).and_then(|values| compacted(&values)).map_err(broken)
    }

    pub(super) fn retain(&mut self, alive: &Bitmap) -> Result<()> {
        self.join()?;
        let keep: BooleanArray =
            std::iter::once(true).chain((0..alive.len()).map(|row| alive.get(row))).map(Some).collect();
        self.blocks = vec![filter(&self.blocks[0], &keep).map_err(broken)?];
        Ok(())
    }

    /// Keeps the rows `order`, in that order.
    pub(super) fn select(&mut self, order: &[u32]) -> Result<()> {
        self.join()?;
        let rows: UInt32Array =
            std::iter::once(0).chain(order.iter().map(|row| row + 1)).collect::<Vec<_>>().into();
        self.blocks = vec![take(&self.blocks[0], &rows, None).map_err(broken)?];
        Ok(())
    }

    /// Must be called once after the last row.
    pub(super) fn shrink(&mut self) -> Result<()> {
        self.join()
    }

    /// Compares the checksums of all rows.
    pub(super) fn check(&self) -> Result<()> {
        match &self.stored {
            Some(stored) if stored.whole.get().is_none() => stored.array.check(),
            _ => Ok(()),
        }
    }

    pub(super) fn save(&self, image: &mut ImageWriter<'_>) -> Result<()> {
        StoredArray::save(&self.rows()?.to_data(), image)
    }

    /// Opens the column of `rows` that [`NestedColumn::save`] wrote, in place of an empty one.
    pub(super) fn open(self, rows: usize, image: &mut ImageReader<'_>) -> Result<NestedColumn> {
        let array = StoredArray::open(self.default.data_type(), image)?;
        if rows.checked_add(1) != Some(array.len()) {
            return Err(ImageReader::unfit());
        }
        let stored = Some(Stored { array, whole: OnceLock::new() });
        Ok(NestedColumn { blocks: Vec::new(), stored, ..self })
    }

    pub(super) fn heap_bytes(&self) -> usize {
        let stored = self.stored.as_ref().map_or(0, |stored| stored.array.bytes());
        self.default.get_array_memory_size()
            + self.blocks.iter().map(|block| block.get_array_memory_size()).sum::<usize>()
            + stored
    }
}

/// The same values, without the bytes of other strings.
fn compacted(array: &ArrayRef) -> Result<ArrayRef, ArrowError> {
    if !has_views(array.data_type()) {
        return Ok(Arc::clone(array));
    }
    Ok(match array.data_type() {
        DataType::List(field) => {
            let list = array.as_list::<i32>();
            let (first, last) = (list.value_offsets()[0], list.value_offsets()[list.len()]);
            let values = compacted(&list.values().slice(first as usize, (last - first) as usize))?;
            let offsets = OffsetBuffer::from_lengths(list.offsets().lengths());
            Arc::new(ListArray::try_new(Arc::clone(field), offsets, values, list.nulls().cloned())?)
        }
        DataType::Struct(fields) => {
            let columns = array.as_struct().columns().iter().map(compacted).collect::<Result<_, _>>()?;
            Arc::new(StructArray::try_new(fields.clone(), columns, array.nulls().cloned())?)
        }
        _ => Arc::new(array.as_binary_view().gc()),
    })
}

/// Whether a carrier has strings in it.
fn has_views(ty: &DataType) -> bool {
    match ty {
        DataType::BinaryView => true,
        DataType::List(field) => has_views(field.data_type()),
        DataType::Struct(fields) => fields.iter().any(|field| has_views(field.data_type())),
        _ => false,
    }
}

fn broken(error: ArrowError) -> Error {
    Error::logical(format!("attribute arrays do not fit together: {error}"))
}
