//! An Arrow array of any type in the sections of a file.
//!
//! # Layout
//!
//! The array, then its children, each as: length and offset; whether it has NULLs, and if so its validity bits; the
//! number of buffers, and these. Types are not stored, they follow from the dictionary's definition. The buffers of
//! the array are the sections themselves, so that an array of a file takes no memory.

use arrow::array::{ArrayData, ArrayRef, make_array};
use arrow::buffer::{BooleanBuffer, Buffer, NullBuffer};
use arrow::datatypes::DataType;
use basalt_base::region::Section;
use basalt_base::{Error, Result};

use crate::image::{ImageReader, ImageWriter};

/// The deepest nesting of types.
const DEPTH_MAX: usize = 64;
/// The most buffers of an array: strings of many blocks have one for each.
const BUFFERS_MAX: u64 = 1 << 20;

#[derive(Debug)]
pub(super) struct StoredArray {
    len: usize,
    offset: usize,
    valid: Option<Section>,
    buffers: Vec<Section>,
    children: Vec<StoredArray>,
}

impl StoredArray {
    pub(super) fn save(data: &ArrayData, image: &mut ImageWriter<'_>) -> Result<()> {
        // Checks now that it can be opened again.
        children_of(data.data_type())?;
        image.number(data.len() as u64);
        image.number(data.offset() as u64);
        image.flag(data.nulls().is_some());
        if let Some(nulls) = data.nulls() {
            image.section(&nulls.inner().sliced())?;
        }
        image.number(data.buffers().len() as u64);
        data.buffers().iter().try_for_each(|buffer| image.section(buffer))?;
        data.child_data().iter().try_for_each(|child| StoredArray::save(child, image))
    }

    pub(super) fn open(ty: &DataType, image: &mut ImageReader<'_>) -> Result<StoredArray> {
        StoredArray::open_within(ty, image, DEPTH_MAX)
    }

    fn open_within(ty: &DataType, image: &mut ImageReader<'_>, depth: usize) -> Result<StoredArray> {
        let deeper = depth.checked_sub(1).ok_or_else(ImageReader::unfit)?;
        let (len, offset) = (image.count()?, image.count()?);
        let valid = if image.flag()? { Some(image.section_of(Some(len.div_ceil(8)))?) } else { None };
        let buffers =
            (0..image.number_below(BUFFERS_MAX)?).map(|_| image.section()).collect::<Result<_>>()?;
        let children = children_of(ty)?.into_iter();
        let children =
            children.map(|ty| StoredArray::open_within(ty, image, deeper)).collect::<Result<_>>()?;
        Ok(StoredArray { len, offset, valid, buffers, children })
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Compares the checksums of all of it.
    pub(super) fn check(&self) -> Result<()> {
        self.valid.iter().chain(&self.buffers).try_for_each(|section| section.check(0..section.len()))?;
        self.children.iter().try_for_each(StoredArray::check)
    }

    pub(super) fn bytes(&self) -> usize {
        let own: usize = self.valid.iter().chain(&self.buffers).map(Section::resident_bytes).sum();
        own + self.children.iter().map(StoredArray::bytes).sum::<usize>()
    }

    /// The array over the sections, whose parts are checked.
    pub(super) fn array(&self, ty: &DataType) -> Result<ArrayRef> {
        let data = self.data(ty)?;
        data.validate_full().map_err(unfit)?;
        Ok(make_array(data))
    }

    fn data(&self, ty: &DataType) -> Result<ArrayData> {
        let children = children_of(ty)?.into_iter().zip(&self.children).map(|(ty, child)| child.data(ty));
        let bits = |section: &Section| BooleanBuffer::new(section.clone().into(), 0, self.len);
        let builder = ArrayData::builder(ty.clone())
            .len(self.len)
            .offset(self.offset)
            .nulls(self.valid.as_ref().map(|section| NullBuffer::new(bits(section))))
            .buffers(self.buffers.iter().cloned().map(Buffer::from).collect())
            .child_data(children.collect::<Result<_>>()?);
        builder.align_buffers(true).build().map_err(unfit)
    }
}

/// The types of an array's children.
fn children_of(ty: &DataType) -> Result<Vec<&DataType>> {
    Ok(match ty {
        DataType::List(field) | DataType::LargeList(field) | DataType::Map(field, _) => {
            vec![field.data_type()]
        }
        DataType::FixedSizeList(field, _) => vec![field.data_type()],
        DataType::Struct(fields) => fields.iter().map(|field| field.data_type()).collect(),
        DataType::Union(..) | DataType::RunEndEncoded(..) | DataType::Dictionary(..) => {
            return Err(Error::not_implemented(format!("an attribute of arrow type {ty} in a file")));
        }
        _ => Vec::new(),
    })
}

fn unfit(_: arrow::error::ArrowError) -> Error {
    ImageReader::unfit()
}
