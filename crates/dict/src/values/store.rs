//! The attribute columns of a dictionary whose payloads are row numbers.

use std::ops::Range;

use arrow::array::{Array, ArrayRef};
use basalt_base::{Error, Result, bail};

use super::fixed::FixedColumn;
use super::nested::NestedColumn;
use super::packed::PackedColumn;
use super::strings::StringColumn;
use super::{Bitmap, ROWS_MAX, RowOrder};
use crate::attribute::Attribute;
use crate::image::{ImageReader, ImageWriter};
use crate::table::Hits;

#[derive(Debug)]
pub(crate) struct ColumnStore {
    columns: Vec<AttributeColumn>,
    rows: usize,
}

#[derive(Debug)]
enum AttributeColumn {
    Fixed(FixedColumn),
    Packed(PackedColumn),
    Strings(StringColumn),
    Nested(NestedColumn),
}

impl ColumnStore {
    pub(crate) fn new(attributes: &[Attribute]) -> ColumnStore {
        let columns = attributes.iter().map(|attribute| AttributeColumn::new(&attribute.default));
        ColumnStore { columns: columns.collect(), rows: 0 }
    }

    pub(crate) fn rows(&self) -> usize {
        self.rows
    }

    /// Appends a block and returns the numbers of its rows.
    pub(crate) fn push(&mut self, columns: &[ArrayRef], rows: usize) -> Result<Range<u64>> {
        if self.rows + rows > ROWS_MAX {
            bail!(ArgumentOutOfBound, "a dictionary holds at most {ROWS_MAX} rows");
        }
        for (column, array) in self.columns.iter_mut().zip(columns) {
            if array.len() != rows {
                return Err(Error::logical("columns of one block differ in length"));
            }
            column.push(array)?;
        }
        let first = self.rows as u64;
        self.rows += rows;
        Ok(first..self.rows as u64)
    }

    pub(crate) fn get(&self, attribute: usize, hits: &Hits) -> Result<ArrayRef> {
        match &self.columns[attribute] {
            AttributeColumn::Fixed(column) => column.get(hits),
            AttributeColumn::Packed(column) => column.get(hits),
            AttributeColumn::Strings(column) => Ok(column.get(hits)),
            AttributeColumn::Nested(column) => column.get(hits),
        }
    }

    /// As [`ColumnStore::get`], for rows in several stores, which are selected by the row's number
    /// ([`super::split_row`]). `None` for columns that must be read store by store.
    pub(super) fn get_of(stores: &[ColumnStore], attribute: usize, hits: &Hits) -> Result<Option<ArrayRef>> {
        let columns = || stores.iter().map(|store| &store.columns[attribute]);
        let fixed = columns().map(|column| match column {
            AttributeColumn::Fixed(column) => Some(column),
            _ => None,
        });
        if let Some(fixed) = fixed.collect::<Option<Vec<_>>>() {
            return FixedColumn::get_of(&fixed, hits).map(Some);
        }
        let strings = columns().map(|column| match column {
            AttributeColumn::Strings(column) => Some(column),
            _ => None,
        });
        Ok(strings.collect::<Option<Vec<_>>>().and_then(|strings| StringColumn::get_of(&strings, hits)))
    }

    /// All rows of a column of a nested type, after the default.
    pub(super) fn nested(&self, attribute: usize) -> Result<&ArrayRef> {
        match &self.columns[attribute] {
            AttributeColumn::Nested(column) => column.rows(),
            _ => Err(Error::logical("a column of no nested type")),
        }
    }

    pub(crate) fn check(&self, attribute: usize, hits: &Hits) -> Result<()> {
        match &self.columns[attribute] {
            AttributeColumn::Fixed(column) => column.check(hits),
            AttributeColumn::Packed(column) => column.check(hits),
            AttributeColumn::Strings(column) => column.check(hits),
            AttributeColumn::Nested(column) => column.check(),
        }
    }

    pub(crate) fn save(&self, image: &mut ImageWriter<'_>) -> Result<()> {
        image.number(self.rows as u64);
        self.columns.iter().try_for_each(|column| {
            image.flag(matches!(column, AttributeColumn::Packed(_)));
            match column {
                AttributeColumn::Fixed(column) => column.save(image),
                AttributeColumn::Packed(column) => column.save(image),
                AttributeColumn::Strings(column) => column.save(image),
                AttributeColumn::Nested(column) => column.save(image),
            }
        })
    }

    /// Opens what [`ColumnStore::save`] wrote, in place of the same columns without rows.
    pub(crate) fn open(self, image: &mut ImageReader<'_>) -> Result<ColumnStore> {
        let rows = image.count()?;
        let mut open = |column| {
            let is_packed = image.flag()?;
            Ok(match column {
                AttributeColumn::Fixed(column) if is_packed => {
                    AttributeColumn::Packed(PackedColumn::open(&column, image)?)
                }
                _ if is_packed => return Err(ImageReader::unfit()),
                AttributeColumn::Fixed(column) => AttributeColumn::Fixed(column.open(rows, image)?),
                AttributeColumn::Packed(_) => return Err(ImageReader::unfit()),
                AttributeColumn::Strings(column) => AttributeColumn::Strings(column.open(image)?),
                AttributeColumn::Nested(column) => AttributeColumn::Nested(column.open(rows, image)?),
            })
        };
        let columns = self.columns.into_iter().map(&mut open).collect::<Result<_>>()?;
        Ok(ColumnStore { columns, rows })
    }

    /// Keeps the rows whose bit is set, in their order.
    pub(crate) fn retain(&mut self, alive: &Bitmap) -> Result<()> {
        self.rows = alive.count();
        for column in &mut self.columns {
            match column {
                AttributeColumn::Fixed(column) => column.retain(alive),
                AttributeColumn::Packed(_) => return Err(Error::logical("packed rows are not changed")),
                AttributeColumn::Strings(column) => column.retain(alive)?,
                AttributeColumn::Nested(column) => column.retain(alive)?,
            }
        }
        Ok(())
    }

    /// Learns how [`ColumnStore::pack`] should pack the rows, as far as it does not depend on their order.
    pub(crate) fn plan(&mut self) -> Result<()> {
        self.columns.iter_mut().try_for_each(|column| match column {
            AttributeColumn::Strings(column) => column.plan(),
            _ => Ok(()),
        })
    }

    /// Keeps the rows `order`, in that order, in as few bits as their values need. Repeated strings are stored once.
    /// No rows can be added afterwards.
    pub(crate) fn pack(&mut self, order: &RowOrder<'_>) -> Result<()> {
        self.rows = order.len();
        for column in &mut self.columns {
            match column {
                AttributeColumn::Fixed(fixed) => match PackedColumn::of(fixed, order.list()?)? {
                    Some(packed) => *column = AttributeColumn::Packed(packed),
                    None => fixed.select(order.list()?),
                },
                AttributeColumn::Packed(_) => return Err(Error::logical("packed rows are not packed again")),
                AttributeColumn::Strings(column) => column.pack(order)?,
                AttributeColumn::Nested(column) => column.select(order.list()?)?,
            }
        }
        Ok(())
    }

    /// Must be called after the last row, before the first [`ColumnStore::get`].
    pub(crate) fn shrink(&mut self) -> Result<()> {
        for column in &mut self.columns {
            match column {
                AttributeColumn::Fixed(column) => column.shrink(),
                AttributeColumn::Packed(_) => {}
                AttributeColumn::Strings(column) => column.shrink(),
                AttributeColumn::Nested(column) => column.shrink()?,
            }
        }
        Ok(())
    }

    pub(crate) fn heap_bytes(&self) -> usize {
        let bytes = self.columns.iter().map(|column| match column {
            AttributeColumn::Fixed(column) => column.heap_bytes(),
            AttributeColumn::Packed(column) => column.heap_bytes(),
            AttributeColumn::Strings(column) => column.heap_bytes(),
            AttributeColumn::Nested(column) => column.heap_bytes(),
        });
        bytes.sum::<usize>() + self.columns.capacity() * size_of::<AttributeColumn>()
    }
}

impl AttributeColumn {
    fn new(default: &ArrayRef) -> AttributeColumn {
        if let Some(fixed) = FixedColumn::new(default) {
            AttributeColumn::Fixed(fixed)
        } else if let Some(strings) = StringColumn::new(default) {
            AttributeColumn::Strings(strings)
        } else {
            AttributeColumn::Nested(NestedColumn::new(default))
        }
    }

    fn push(&mut self, array: &ArrayRef) -> Result<()> {
        match self {
            AttributeColumn::Fixed(column) => column.push(array),
            AttributeColumn::Packed(_) => return Err(Error::logical("packed rows are not changed")),
            AttributeColumn::Strings(column) => column.push(array)?,
            AttributeColumn::Nested(column) => column.push(array)?,
        }
        Ok(())
    }
}
