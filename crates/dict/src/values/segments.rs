//! Rows in several column stores: the attributes of a dictionary that was loaded shard by shard.
//!
//! A row's number has its store in the bits from [`SEGMENT_BITS`] on, and its row there below. Where there is
//! one store, its rows have all the bits.

use arrow::array::{Array, ArrayRef};
use arrow::compute::interleave;
use basalt_base::{Error, Result};

use super::ColumnStore;
use crate::attribute::Attribute;
use crate::image::{ImageReader, ImageWriter};
use crate::table::Hits;

/// Bits of a row's number inside its segment.
pub(crate) const SEGMENT_BITS: u32 = 26;
/// With them, a row's number has 32 bits.
pub(crate) const SEGMENTS_MAX: usize = 1 << (u32::BITS - SEGMENT_BITS);

/// At least two stores.
pub(crate) struct Segments(Vec<ColumnStore>);

/// The segment of a row among so many, and its number there; a number that cannot be is that of another row.
#[inline(always)]
pub(crate) fn split_row(segments: usize, row: u64) -> (usize, usize) {
    if segments == 1 {
        return (0, row as usize);
    }
    (((row >> SEGMENT_BITS) as usize).min(segments - 1), (row & ((1 << SEGMENT_BITS) - 1)) as usize)
}

impl Segments {
    /// So many stores that were [saved](ColumnStore::save) one after the other.
    pub(super) fn open(
        count: usize,
        attributes: &[Attribute],
        image: &mut ImageReader<'_>,
    ) -> Result<Segments> {
        let stores = (0..count).map(|_| ColumnStore::new(attributes).open(image));
        Ok(Segments(stores.collect::<Result<_>>()?))
    }

    /// The arrays of `attributes` for each hit; the default where it is missing.
    pub(super) fn get(&self, attributes: &[usize], hits: &Hits) -> Result<Vec<ArrayRef>> {
        let mut dealt = None;
        let column = |&attribute: &usize| match ColumnStore::get_of(&self.0, attribute, hits)? {
            Some(column) => Ok(column),
            None => self.gather(attribute, dealt.get_or_insert_with(|| self.deal(hits))),
        };
        attributes.iter().map(column).collect()
    }

    /// The values of hits that were dealt to their segments, in the order of the hits.
    fn gather(
        &self,
        attribute: usize,
        (dealt, places): &(Vec<Hits>, Vec<(usize, usize)>),
    ) -> Result<ArrayRef> {
        let parts = dealt.iter().zip(&self.0).map(|(hits, store)| store.get(attribute, hits));
        let parts = parts.collect::<Result<Vec<_>>>()?;
        let parts: Vec<&dyn Array> = parts.iter().map(AsRef::as_ref).collect();
        interleave(&parts, places).map_err(Error::of_arrow)
    }

    /// See [`Values::nested`](super::Values::nested).
    pub(super) fn nested(&self, attribute: usize) -> Result<Vec<&ArrayRef>> {
        self.0.iter().map(|store| store.nested(attribute)).collect()
    }

    pub(super) fn check(&self, attributes: &[usize], hits: &Hits) -> Result<()> {
        let dealt = self.deal(hits).0.into_iter().zip(&self.0);
        dealt.into_iter().try_for_each(|(hits, store)| {
            attributes.iter().try_for_each(|&attribute| store.check(attribute, &hits))
        })
    }

    pub(super) fn save(&self, image: &mut ImageWriter<'_>) -> Result<()> {
        image.number(self.0.len() as u64);
        self.0.iter().try_for_each(|store| store.save(image))
    }

    pub(super) fn heap_bytes(&self) -> usize {
        self.0.iter().map(ColumnStore::heap_bytes).sum()
    }

    /// The hits of each segment, and where each hit went; a key that is missing goes to the first.
    fn deal(&self, hits: &Hits) -> (Vec<Hits>, Vec<(usize, usize)>) {
        let mut dealt: Vec<Hits> = self.0.iter().map(|_| Hits::default()).collect();
        let mut places = Vec::with_capacity(hits.payloads.len());
        for (&payload, &found) in hits.payloads.iter().zip(&hits.found) {
            let (segment, row) = split_row(self.0.len(), payload);
            places.push((segment, dealt[segment].payloads.len()));
            dealt[segment].push(found.then_some(row as u64));
        }
        (dealt, places)
    }
}
