//! Keys of a narrow range as positions in an array: what AUTO makes of dense keys.
//!
//! Payloads lie in order of key from the least on, packed to the bits that they need, and a bitmap says
//! which keys are there.

use arrow::array::ArrayRef;
use basalt_base::region::{Region, Section};
use basalt_base::{Error, ErrorCode, Result};

use super::auto::{FLAT, save_choice};
use super::{Layout, SCAN_BLOCK_ROWS, VisitBlock, drop_dead_rows, extents};
use crate::block::{integer_keys, key_column};
use crate::hash::unscramble;
use crate::image::{ImageReader, ImageWriter};
use crate::table::bits::{PADDING_BYTES, get, low_bits, packed_bytes, put};
use crate::table::{Hits, SortedShards};
use crate::values::{Bitmap, Values};

pub(crate) struct Dense {
    least: u64,
    present: Bitmap,
    payloads: Section,
    payload_bits: u32,
    len: usize,
}

impl Dense {
    /// The layout over sorted rows whose keys are among the `places` from `least` on.
    pub(super) fn new(sorted: SortedShards, least: u64, places: usize, values: &mut Values) -> Result<Dense> {
        let numbers = drop_dead_rows(&sorted, values)?.map(|(_, numbers)| numbers);
        let payload_bits = match values {
            Values::Inline(inline) => inline.pack(&extents(&sorted, inline)),
            Values::Rows(_) | Values::Segments(_) => u64::BITS - (sorted.len() as u64).leading_zeros(),
        };
        let Some(bytes) = packed_bytes(places, payload_bits) else {
            return Err(Error::new(ErrorCode::CannotAllocateMemory, "a dictionary of so many keys"));
        };
        let mut payloads = Region::zeroed(bytes)?;
        let mut present = Bitmap::zeroes(places);
        let len = sorted.len();
        sorted.drain(|hash, payload| {
            let at = unscramble(hash) - least;
            let payload = match values {
                Values::Inline(inline) => inline.packed(payload),
                Values::Rows(_) | Values::Segments(_) => {
                    numbers.as_ref().map_or(payload, |numbers| u64::from(numbers[payload as usize]))
                }
            };
            present.set(at as usize);
            put(&mut payloads, at * u64::from(payload_bits), payload);
            Ok(())
        })?;
        Ok(Dense { least, present, payloads: payloads.into(), payload_bits, len })
    }

    pub(super) fn open(image: &mut ImageReader<'_>) -> Result<Dense> {
        let (least, len) = (image.number()?, image.count()?);
        let payload_bits = image.number_below(u64::from(u64::BITS) + 1)? as u32;
        let present = Bitmap::open(image)?;
        let payloads = image.section_of(packed_bytes(present.len(), payload_bits))?;
        Ok(Dense { least, present, payloads, payload_bits, len })
    }

    /// The place of a key, if it is in the array.
    fn place(&self, key: u64) -> Option<usize> {
        let at = key.checked_sub(self.least).and_then(|at| usize::try_from(at).ok());
        at.filter(|&at| at < self.present.len())
    }

    fn payload(&self, at: usize) -> Option<u64> {
        let bit = at as u64 * u64::from(self.payload_bits);
        self.present.get(at).then(|| get(&self.payloads, bit, low_bits(self.payload_bits)))
    }
}

impl Layout for Dense {
    fn find(&self, keys: &[ArrayRef]) -> Result<Hits> {
        let keys = integer_keys(&keys[0])?;
        let mut hits = Hits::with_capacity(keys.len());
        for key in keys {
            hits.push(self.place(key).and_then(|at| self.payload(at)));
        }
        Ok(hits)
    }

    fn check(&self, keys: &[ArrayRef]) -> Result<()> {
        for at in integer_keys(&keys[0])?.into_iter().filter_map(|key| self.place(key)) {
            self.present.check(at)?;
            let byte = (at as u64 * u64::from(self.payload_bits) / 8) as usize;
            self.payloads.check(byte..byte + PADDING_BYTES)?;
        }
        Ok(())
    }

    fn save(&self, image: &mut ImageWriter<'_>) -> Result<()> {
        save_choice(FLAT, image);
        let numbers = [self.least, self.len as u64, u64::from(self.payload_bits)];
        numbers.into_iter().for_each(|number| image.number(number));
        self.present.save(image)?;
        image.section(&self.payloads)
    }

    fn visit(&self, visit: &mut VisitBlock<'_>) -> Result<()> {
        let mut rows =
            self.present.ones().filter_map(|at| Some((self.least + at as u64, self.payload(at)?))).peekable();
        while rows.peek().is_some() {
            let (keys, payloads) = rows.by_ref().take(SCAN_BLOCK_ROWS).unzip();
            visit(vec![key_column(keys)], payloads)?;
        }
        Ok(())
    }

    fn len(&self) -> usize {
        self.len
    }

    fn heap_bytes(&self) -> usize {
        self.present.heap_bytes() + self.payloads.resident_bytes()
    }

    fn load_factor(&self) -> f64 {
        self.len as f64 / self.present.len().max(1) as f64
    }

    fn name(&self) -> Option<&'static str> {
        Some(FLAT)
    }
}
