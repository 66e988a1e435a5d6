//! FLAT: small `UInt64` keys as positions in an array.
//!
//! Attributes are in order of key, with the default for a missing key. A bitmap marks the keys that exist. FLAT is
//! fast and small while keys are dense. A key beyond `MAX_ARRAY_SIZE` is an error, because it would make the array as
//! large as the key.

use arrow::array::ArrayRef;
use basalt_base::{Error, Result, bail};

use super::auto_choice::AutoChoice;
use super::contract::{Layout, LayoutBuilder};
use super::positions::{Part, PartSlices, Positions};
use crate::attribute::Attribute;
use crate::block::integer_keys;
use crate::block_cut::SCAN_BLOCK_ROWS;
use crate::image::{ImageReader, ImageWriter};
use crate::layout_spec::LayoutSpec;
use crate::payloads::Payloads;
use crate::table::Hits;
use crate::values::{Bitmap, Bits, ColumnStore, Values};

/// A part of the array. The row of a key is its position.
pub(crate) struct FlatPart {
    present: Bitmap,
    len: usize,
    /// The number of the first row.
    first: u64,
}

/// The bytes of a [`FlatPart`] that lookups read.
#[derive(Clone, Copy)]
pub(crate) struct FlatSlices<'a> {
    present: Bits<'a>,
    first: u64,
}

pub(crate) struct FlatBuilder {
    attributes: Vec<Attribute>,
    max_array_size: u64,
    /// The key at the first position.
    least: u64,
    /// The payload of each key, or `None` if it has none so far.
    rows: Vec<Option<u32>>,
}

impl FlatBuilder {
    pub(crate) fn new(attributes: &[Attribute], spec: &LayoutSpec) -> FlatBuilder {
        let initial = spec.initial_array_size.min(spec.max_array_size) as usize;
        FlatBuilder {
            attributes: attributes.to_vec(),
            max_array_size: spec.max_array_size,
            least: 0,
            rows: vec![None; initial],
        }
    }

    /// A builder for the `places` positions from the key `least` on.
    pub(crate) fn of_part(attributes: &[Attribute], least: u64, places: usize) -> FlatBuilder {
        let attributes = attributes.to_vec();
        FlatBuilder { attributes, max_array_size: u64::MAX, least, rows: vec![None; places] }
    }

    /// Builds the part. Its rows have numbers from `first` on.
    pub(crate) fn into_part(self, first: u64, values: &mut Values) -> Result<FlatPart> {
        let Values::Rows(by_row) = values else {
            return Err(Error::logical("FLAT keeps its attributes in columns"));
        };
        by_row.shrink()?;
        let mut by_key = ColumnStore::new(&self.attributes);
        let mut present = Bitmap::default();
        for rows in self.rows.chunks(SCAN_BLOCK_ROWS) {
            let mut hits = Hits::with_capacity(rows.len());
            for row in rows {
                hits.push(row.map(u64::from));
                present.push(row.is_some());
            }
            let columns =
                (0..self.attributes.len()).map(|at| by_row.get(at, &hits)).collect::<Result<Vec<_>>>()?;
            by_key.push(&columns, rows.len())?;
        }
        present.shrink();
        *by_row = by_key;
        let len = present.count();
        Ok(FlatPart { present, len, first })
    }
}

/// Refuses a key that would make the array too large.
pub(crate) fn check_flat_key(key: u64, max_array_size: u64) -> Result<()> {
    if key >= max_array_size {
        bail!(
            ArgumentOutOfBound,
            "FLAT: key {key} is beyond MAX_ARRAY_SIZE {max_array_size}; raise it or use the layout HASHED"
        );
    }
    Ok(())
}

impl LayoutBuilder for FlatBuilder {
    fn push(&mut self, keys: &[ArrayRef], payloads: Payloads) -> Result<()> {
        for (key, row) in integer_keys(&keys[0])?.into_iter().zip(payloads.into_vec()) {
            check_flat_key(key, self.max_array_size)?;
            let at = (key - self.least) as usize;
            if at >= self.rows.len() {
                self.rows.resize(at + 1, None);
            }
            self.rows[at] = Some(row as u32);
        }
        Ok(())
    }

    fn finish(self: Box<Self>, values: &mut Values) -> Result<Box<dyn Layout>> {
        Ok(Box::new(Positions::whole(0, self.into_part(0, values)?)))
    }
}

impl PartSlices for FlatSlices<'_> {
    #[inline(always)]
    fn payload(self, at: usize) -> Option<u64> {
        self.present.get(at).then_some(self.first + at as u64)
    }
}

impl Part for FlatPart {
    type Slices<'a> = FlatSlices<'a>;

    const CHOICE: Option<AutoChoice> = None;

    fn places(&self) -> usize {
        self.present.len()
    }

    fn len(&self) -> usize {
        self.len
    }

    fn slices(&self) -> FlatSlices<'_> {
        FlatSlices { present: self.present.bits(), first: self.first }
    }

    fn check(&self, at: usize) -> Result<()> {
        self.present.check(at)
    }

    fn save(&self, image: &mut ImageWriter<'_>) -> Result<()> {
        [self.first, self.len as u64].into_iter().for_each(|number| image.number(number));
        self.present.save(image)
    }

    fn open(image: &mut ImageReader<'_>) -> Result<FlatPart> {
        Ok(FlatPart {
            first: image.number_below(1 << u32::BITS)?,
            len: image.count()?,
            present: Bitmap::open(image)?,
        })
    }

    fn heap_bytes(&self) -> usize {
        self.present.heap_bytes()
    }
}

#[cfg(test)]
mod tests {
    use basalt_base::ErrorCode;

    use crate::layout::conformance;
    use crate::{LayoutKind, LayoutSpec};

    #[test]
    fn conforms() {
        conformance::check_dense(&LayoutSpec::new(LayoutKind::Flat));
    }

    #[test]
    fn a_key_beyond_the_array_is_an_error() {
        let spec = LayoutSpec { max_array_size: 100, ..LayoutSpec::new(LayoutKind::Flat) };
        let load = |key| conformance::load_keys(&spec, &[key]).map(|_| ()).map_err(|error| error.code());
        assert_eq!(load(99), Ok(()));
        assert_eq!(load(100), Err(ErrorCode::ArgumentOutOfBound));
        assert_eq!(load(u64::MAX), Err(ErrorCode::ArgumentOutOfBound));
    }
}
