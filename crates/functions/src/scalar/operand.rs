//! Typed views of operands for the loops of kernels, for columns and constants.

use arrow::array::{
    Array, ArrayRef, ArrowPrimitiveType, AsArray, BinaryViewArray, BinaryViewBuilder, FixedSizeBinaryArray,
    PrimitiveArray,
};
use arrow::buffer::NullBuffer;
use basalt_base::query::{check_allocation, checkpoint};
use basalt_base::{Error, ErrorCode, Result};

use super::Operand;
use super::number::{Number, wrap_to};

/// The bytes of a String or FixedString operand.
pub(super) struct Bytes<'a> {
    source: Source<'a>,
    mask: usize,
}

enum Source<'a> {
    View(&'a BinaryViewArray),
    Fixed(&'a FixedSizeBinaryArray),
}

impl<'a> Bytes<'a> {
    pub(super) fn of(array: &'a ArrayRef) -> Result<Bytes<'a>> {
        let source = if let Some(view) = array.as_binary_view_opt() {
            Source::View(view)
        } else if let Some(fixed) = array.as_fixed_size_binary_opt() {
            Source::Fixed(fixed)
        } else {
            return Err(Error::logical(format!("{} is not the carrier of a string", array.data_type())));
        };
        Ok(Bytes { source, mask: usize::MAX })
    }

    /// The value of `row`; arbitrary bytes if it is NULL.
    #[inline]
    pub(super) fn get(&self, row: usize) -> &'a [u8] {
        let row = row & self.mask;
        match self.source {
            Source::View(array) => array.value(row),
            Source::Fixed(array) => array.value(row),
        }
    }

    /// The value, if it is constant.
    pub(super) fn constant(&self) -> Option<&'a [u8]> {
        (self.mask == 0).then(|| self.get(0))
    }
}

/// The numbers of an operand.
pub(super) struct Numbers<T: ArrowPrimitiveType> {
    array: PrimitiveArray<T>,
    mask: usize,
}

impl<T: ArrowPrimitiveType> Numbers<T> {
    #[inline]
    pub(super) fn get(&self, row: usize) -> T::Native {
        self.array.values()[row & self.mask]
    }

    pub(super) fn values(&self) -> &[T::Native] {
        self.array.values()
    }

    pub(super) fn is_constant(&self) -> bool {
        self.mask == 0
    }
}

impl Operand {
    fn mask(&self) -> usize {
        if self.constant { 0 } else { usize::MAX }
    }

    pub(super) fn bytes(&self) -> Result<Bytes<'_>> {
        Ok(Bytes { mask: self.mask(), ..Bytes::of(&self.array)? })
    }

    /// The numbers of the operand converted to `T`; wider ones wrap.
    pub(super) fn numbers<T>(&self) -> Result<Numbers<T>>
    where
        T: ArrowPrimitiveType,
        T::Native: Number,
    {
        Ok(Numbers { array: wrap_to::<T>(&self.array)?, mask: self.mask() })
    }

    /// The values of an operand whose carrier is exactly `T`.
    pub(super) fn primitives<T: ArrowPrimitiveType>(&self) -> Result<Numbers<T>> {
        let array = self.array.as_primitive_opt::<T>();
        let array = array
            .ok_or_else(|| Error::logical(format!("{} is not {}", self.array.data_type(), T::DATA_TYPE)))?;
        Ok(Numbers { array: array.clone(), mask: self.mask() })
    }
}

/// The number of rows that a kernel should compute: one if every operand is constant.
pub(super) fn rows_needed(operands: &[Operand], rows: usize) -> usize {
    if rows > 0 && !operands.is_empty() && operands.iter().all(|operand| operand.constant) { 1 } else { rows }
}

/// The rows without a NULL operand, in which a kernel may fail.
pub(super) fn nulls_of(operands: &[Operand], rows: usize) -> Option<NullBuffer> {
    let mut union: Option<NullBuffer> = None;
    for operand in operands {
        let nulls = operand.array.logical_nulls();
        let nulls = match nulls {
            Some(_) if operand.constant && operand.array.is_null(0) => Some(NullBuffer::new_null(rows)),
            _ if operand.constant => None,
            nulls => nulls,
        };
        union = NullBuffer::union(union.as_ref(), nulls.as_ref());
    }
    union
}

/// The bytes that may be made before the memory limit is checked.
const UNCHECKED_BYTES_MAX: usize = 1 << 20;

/// Strings made row by row: `write` appends the bytes of a row to an empty buffer, large amounts with [`append`].
pub(super) fn build_strings(
    rows: usize,
    mut write: impl FnMut(usize, &mut Vec<u8>) -> Result<()>,
) -> Result<BinaryViewArray> {
    let mut builder = BinaryViewBuilder::with_capacity(rows);
    let mut scratch = Vec::new();
    let mut unchecked = 0;
    for row in 0..rows {
        scratch.clear();
        write(row, &mut scratch)?;
        unchecked += scratch.len();
        if unchecked > UNCHECKED_BYTES_MAX {
            checkpoint()?;
            unchecked = 0;
        }
        push_string(&mut builder, &scratch)?;
    }
    Ok(builder.finish())
}

/// Appends to a string that may become long. Checks the query's memory limit first.
#[inline]
pub(super) fn append(out: &mut Vec<u8>, bytes: &[u8]) -> Result<()> {
    if out.capacity() - out.len() < bytes.len() {
        reserve(out, bytes.len())?;
    }
    out.extend_from_slice(bytes);
    Ok(())
}

/// Reserves `additional` bytes in `out`.
pub(super) fn reserve(out: &mut Vec<u8>, additional: usize) -> Result<()> {
    let needed = out.len().saturating_add(additional);
    if u32::try_from(needed).is_err() {
        return Err(too_long(needed));
    }
    if needed > UNCHECKED_BYTES_MAX && needed > out.capacity() {
        checkpoint()?;
        check_allocation(needed.max(2 * out.capacity()) as u64)?;
    }
    out.reserve(additional);
    Ok(())
}

/// Strings that are slices of other strings.
pub(super) fn slice_strings<'a>(
    rows: usize,
    mut slice: impl FnMut(usize) -> Result<&'a [u8]>,
) -> Result<BinaryViewArray> {
    let mut builder = BinaryViewBuilder::with_capacity(rows);
    let mut unchecked = 0;
    for row in 0..rows {
        let slice = slice(row)?;
        unchecked += slice.len();
        if unchecked > UNCHECKED_BYTES_MAX {
            checkpoint()?;
            unchecked = 0;
        }
        push_string(&mut builder, slice)?;
    }
    Ok(builder.finish())
}

/// Appends a string; refuses one that is too large for a view.
pub(super) fn push_string(builder: &mut BinaryViewBuilder, bytes: &[u8]) -> Result<()> {
    if bytes.len() > UNCHECKED_BYTES_MAX {
        check_allocation(bytes.len() as u64)?;
    }
    builder.try_append_value(bytes).map_err(|_| too_long(bytes.len()))
}

#[cold]
fn too_long(bytes: usize) -> Error {
    Error::new(ErrorCode::TooLargeStringSize, format!("a string of {bytes} bytes is too long"))
}
