//! Keys of a narrow range as positions in an array: the choice of AUTO for dense keys.
//!
//! Payloads are in order of key and packed. A bitmap marks the keys that exist.

use basalt_base::region::{Region, Section};
use basalt_base::{Error, ErrorCode, Result};

use super::auto_choice::AutoChoice;
use super::positions::{Part, PartSlices};
use super::sorted_rows::{drop_dead_rows, extents};
use crate::hash::unscramble;
use crate::image::{ImageReader, ImageWriter};
use crate::table::SortedShards;
use crate::table::bits::{PADDING_BYTES, get, low_bits, packed_bytes, put};
use crate::values::{Bitmap, Bits, Values};

pub(crate) struct DensePart {
    present: Bitmap,
    payloads: Section,
    payload_bits: u32,
    len: usize,
}

/// The bytes of a [`DensePart`] that lookups read.
#[derive(Clone, Copy)]
pub(crate) struct DenseSlices<'a> {
    present: Bits<'a>,
    payloads: &'a [u8],
    payload_bits: u64,
    payload_mask: u64,
}

impl DensePart {
    /// Builds the part from sorted rows whose keys are at the `places` positions from `least` on. The first row has
    /// the number `first`.
    pub(super) fn new(
        sorted: SortedShards,
        least: u64,
        places: usize,
        first: u64,
        values: &mut Values,
    ) -> Result<DensePart> {
        let numbers = drop_dead_rows(&sorted, values)?.map(|(_, numbers)| numbers);
        let payload_bits = match values {
            Values::Inline(inline) => match inline.packed_bits() {
                Some(bits) => bits,
                None => inline.pack(&extents(&sorted, inline)),
            },
            Values::Rows(_) | Values::Segments(_) => {
                u64::BITS - (first + sorted.len() as u64).leading_zeros()
            }
        };
        let Some(bytes) = packed_bytes(places, payload_bits) else {
            return Err(Error::new(ErrorCode::CannotAllocateMemory, "a dictionary with this many keys"));
        };
        let mut payloads = Region::zeroed(bytes)?;
        let mut present = Bitmap::zeroes(places);
        let len = sorted.len();
        sorted.drain(|hash, payload| {
            let at = unscramble(hash) - least;
            let payload = match values {
                Values::Inline(inline) => inline.packed(payload),
                Values::Rows(_) | Values::Segments(_) => {
                    first + numbers.as_ref().map_or(payload, |numbers| u64::from(numbers[payload as usize]))
                }
            };
            present.set(at as usize);
            put(&mut payloads, at * u64::from(payload_bits), payload);
            Ok(())
        })?;
        Ok(DensePart { present, payloads: payloads.into(), payload_bits, len })
    }
}

impl PartSlices for DenseSlices<'_> {
    #[inline(always)]
    fn payload(self, at: usize) -> Option<u64> {
        let bit = at as u64 * self.payload_bits;
        self.present.get(at).then(|| get(self.payloads, bit, self.payload_mask))
    }
}

impl Part for DensePart {
    type Slices<'a> = DenseSlices<'a>;

    const CHOICE: Option<AutoChoice> = Some(AutoChoice::Flat);

    fn places(&self) -> usize {
        self.present.len()
    }

    fn len(&self) -> usize {
        self.len
    }

    fn slices(&self) -> DenseSlices<'_> {
        DenseSlices {
            present: self.present.bits(),
            payloads: &self.payloads,
            payload_bits: u64::from(self.payload_bits),
            payload_mask: low_bits(self.payload_bits),
        }
    }

    fn check(&self, at: usize) -> Result<()> {
        self.present.check(at)?;
        let byte = (at as u64 * u64::from(self.payload_bits) / 8) as usize;
        self.payloads.check(byte..byte + PADDING_BYTES)
    }

    fn save(&self, image: &mut ImageWriter<'_>) -> Result<()> {
        let numbers = [self.len as u64, u64::from(self.payload_bits)];
        numbers.into_iter().for_each(|number| image.number(number));
        self.present.save(image)?;
        image.section(&self.payloads)
    }

    fn open(image: &mut ImageReader<'_>) -> Result<DensePart> {
        let len = image.count()?;
        let payload_bits = image.number_below(u64::from(u64::BITS) + 1)? as u32;
        let present = Bitmap::open(image)?;
        let payloads = image.section_of(packed_bytes(present.len(), payload_bits))?;
        Ok(DensePart { present, payloads, payload_bits, len })
    }

    fn heap_bytes(&self) -> usize {
        self.present.heap_bytes() + self.payloads.resident_bytes()
    }
}
