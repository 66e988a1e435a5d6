//! Small or dense integer keys as positions in arrays: FLAT, and the choice of AUTO for dense keys.
//!
//! The positions from the least key on are cut into parts whose length is a power of two. A load in memory makes one
//! part.

use arrow::array::ArrayRef;
use basalt_base::Result;

use super::auto_choice::AutoChoice;
use super::contract::{Layout, VisitBlock};
use crate::block::{integer_keys, key_column};
use crate::block_cut::SCAN_BLOCK_ROWS;
use crate::image::{ImageReader, ImageWriter};
use crate::table::Hits;
use crate::values::SEGMENTS_MAX;

/// A range of positions, and the payloads of its keys.
pub(crate) trait Part: Send + Sync + Sized {
    /// The slices that a lookup reads.
    type Slices<'a>: PartSlices
    where
        Self: 'a;

    /// The layout's name, if the definition leaves the choice to the load.
    const CHOICE: Option<AutoChoice>;

    /// The number of positions.
    fn places(&self) -> usize;

    /// The number of keys.
    fn len(&self) -> usize;

    /// The bytes of the part, which many lookups share.
    fn slices(&self) -> Self::Slices<'_>;

    /// Compares the checksums of what [`PartSlices::payload`] reads.
    fn check(&self, at: usize) -> Result<()>;

    fn save(&self, image: &mut ImageWriter<'_>) -> Result<()>;

    fn open(image: &mut ImageReader<'_>) -> Result<Self>;

    fn heap_bytes(&self) -> usize;
}

/// The bytes of a part.
pub(crate) trait PartSlices: Copy {
    /// The payload at a position; `None` if there is no key, or no such position.
    fn payload(self, at: usize) -> Option<u64>;
}

/// How positions are divided into parts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cut {
    /// The key at the first position.
    pub(crate) least: u64,
    /// The binary logarithm of the positions of each part but the last one.
    pub(crate) place_bits: u32,
}

pub(crate) struct Positions<P> {
    cut: Cut,
    parts: Vec<P>,
}

impl Cut {
    /// The cut of a single part.
    const WHOLE_BITS: u32 = u64::BITS - 1;

    pub(super) fn whole(least: u64) -> Cut {
        Cut { least, place_bits: Cut::WHOLE_BITS }
    }

    /// The part of a key, and its position there. A key below the least one has a position after the end.
    #[inline(always)]
    pub(crate) fn place(self, key: u64) -> (usize, usize) {
        let at = key.wrapping_sub(self.least);
        ((at >> self.place_bits) as usize, (at & ((1 << self.place_bits) - 1)) as usize)
    }

    /// The key at the first position of a part.
    pub(crate) fn first_key(self, part: usize) -> u64 {
        self.least + ((part as u64) << self.place_bits)
    }

    /// Writes what comes before the parts, `parts` in number.
    pub(crate) fn save<P: Part>(self, parts: usize, image: &mut ImageWriter<'_>) {
        if let Some(choice) = P::CHOICE {
            choice.save(image);
        }
        [self.least, u64::from(self.place_bits), parts as u64].into_iter().for_each(|of| image.number(of));
    }
}

impl<P: Part> Positions<P> {
    /// All positions in one part.
    pub(super) fn whole(least: u64, part: P) -> Positions<P> {
        Positions { cut: Cut::whole(least), parts: vec![part] }
    }

    /// Opens what [`Cut::save`] and the parts wrote after the name of the layout.
    pub(crate) fn open(image: &mut ImageReader<'_>) -> Result<Positions<P>> {
        let (least, place_bits) = (image.number()?, image.number_below(u64::from(u64::BITS))? as u32);
        let count = image.number_below(SEGMENTS_MAX as u64 + 1)?;
        let parts = (0..count).map(|_| P::open(image)).collect::<Result<_>>()?;
        Ok(Positions { cut: Cut { least, place_bits }, parts })
    }

    /// Every key and its payload, in order.
    fn entries(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.parts.iter().enumerate().flat_map(|(number, part)| {
            let (first, slices) = (self.cut.first_key(number), part.slices());
            (0..part.places()).filter_map(move |at| Some((first + at as u64, slices.payload(at)?)))
        })
    }
}

impl<P: Part> Layout for Positions<P> {
    fn find(&self, keys: &[ArrayRef]) -> Result<Hits> {
        let keys = integer_keys(&keys[0])?;
        let parts: Vec<P::Slices<'_>> = self.parts.iter().map(P::slices).collect();
        Ok(find_in(self.cut, &parts, &keys))
    }

    fn check(&self, keys: &[ArrayRef]) -> Result<()> {
        integer_keys(&keys[0])?.into_iter().try_for_each(|key| {
            let (part, at) = self.cut.place(key);
            let part = self.parts.get(part).filter(|part| at < part.places());
            part.map_or(Ok(()), |part| part.check(at))
        })
    }

    fn save(&self, image: &mut ImageWriter<'_>) -> Result<()> {
        self.cut.save::<P>(self.parts.len(), image);
        self.parts.iter().try_for_each(|part| part.save(image))
    }

    fn visit(&self, visit: &mut VisitBlock<'_>) -> Result<()> {
        let mut entries = self.entries().peekable();
        while entries.peek().is_some() {
            let (keys, payloads) = entries.by_ref().take(SCAN_BLOCK_ROWS).unzip();
            visit(vec![key_column(keys)], payloads)?;
        }
        Ok(())
    }

    fn len(&self) -> usize {
        self.parts.iter().map(P::len).sum()
    }

    fn heap_bytes(&self) -> usize {
        self.parts.capacity() * size_of::<P>() + self.parts.iter().map(P::heap_bytes).sum::<usize>()
    }

    fn load_factor(&self) -> f64 {
        let places: usize = self.parts.iter().map(P::places).sum();
        self.len() as f64 / places.max(1) as f64
    }

    fn name(&self) -> Option<&'static str> {
        P::CHOICE.map(AutoChoice::name)
    }
}

fn find_in<S: PartSlices>(cut: Cut, parts: &[S], keys: &[u64]) -> Hits {
    let mut hits = Hits::with_capacity(keys.len());
    for &key in keys {
        let (part, at) = cut.place(key);
        hits.push(parts.get(part).and_then(|part| part.payload(at)));
    }
    hits
}
