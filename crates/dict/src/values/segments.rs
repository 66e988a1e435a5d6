//! Rows in several column stores: the attributes of a dictionary that was loaded shard by shard.

use arrow::array::{Array, ArrayRef};
use arrow::compute::interleave;
use basalt_base::{Error, Result};

use super::row_number::split_row;
use super::store::ColumnStore;
use crate::attribute::Attribute;
use crate::image::{ImageReader, ImageWriter};
use crate::table::Hits;

/// At least two stores.
pub(crate) struct Segments(Vec<ColumnStore>);

impl Segments {
    /// `count` stores that were [saved](ColumnStore::save) one after the other.
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
        let mut routed = None;
        let column = |&attribute: &usize| match ColumnStore::get_of(&self.0, attribute, hits)? {
            Some(column) => Ok(column),
            None => self.gather(attribute, routed.get_or_insert_with(|| self.route(hits))),
        };
        attributes.iter().map(column).collect()
    }

    /// The values of hits that were routed to their segments, in the order of the hits.
    fn gather(
        &self,
        attribute: usize,
        (routed, places): &(Vec<Hits>, Vec<(usize, usize)>),
    ) -> Result<ArrayRef> {
        let parts = routed.iter().zip(&self.0).map(|(hits, store)| store.get(attribute, hits));
        let parts = parts.collect::<Result<Vec<_>>>()?;
        let parts: Vec<&dyn Array> = parts.iter().map(AsRef::as_ref).collect();
        interleave(&parts, places).map_err(Error::of_arrow)
    }

    /// See [`Values::nested`](super::Values::nested).
    pub(super) fn nested(&self, attribute: usize) -> Result<Vec<&ArrayRef>> {
        self.0.iter().map(|store| store.nested(attribute)).collect()
    }

    pub(super) fn check(&self, attributes: &[usize], hits: &Hits) -> Result<()> {
        let routed = self.route(hits).0.into_iter().zip(&self.0);
        routed.into_iter().try_for_each(|(hits, store)| {
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

    /// The hits of each segment, and where each hit went. A missing key goes to the first segment.
    fn route(&self, hits: &Hits) -> (Vec<Hits>, Vec<(usize, usize)>) {
        let mut routed: Vec<Hits> = self.0.iter().map(|_| Hits::default()).collect();
        let mut places = Vec::with_capacity(hits.payloads.len());
        for (&payload, &found) in hits.payloads.iter().zip(&hits.found) {
            let (segment, row) = split_row(self.0.len(), payload);
            places.push((segment, routed[segment].payloads.len()));
            routed[segment].push(found.then_some(row as u64));
        }
        (routed, places)
    }
}
