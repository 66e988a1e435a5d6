//! The sources of Succinct tables.
//!
//! - [`plan`]: what a query reads of each row, and the filter as the rows see it.
//! - [`candidates`]: the rows of a segment that the key, zone maps, indexes and the search of strings leave.
//! - [`rows`]: rows on their way through the filter: columns are read when they are needed, for the rows that are left.
//! - [`source`]: scans in any order; [`lookups`]: rows by key; [`ordered`]: scans in the order of the key.

mod candidates;
mod lookups;
mod ordered;
mod plan;
mod rows;
mod source;

pub(crate) use source::succinct_source;
