//! A file in words and figures, for system tables and for people.

use super::directory::Component;
use super::format::{Features, VERSION};
use super::reader::SegmentFile;

/// What a file says about itself. Nothing but its directory is read for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SegmentDescription {
    /// The version of the format.
    pub version: u32,
    /// The number that the table gave to the segment.
    pub segment: u64,
    /// Rows with the tombstones among them.
    pub rows: u32,
    pub tombstones: u32,
    /// The bytes of the file.
    pub bytes: u64,
    pub features: Features,
    /// In the order of the file: a nested component follows the one that it is nested in.
    pub components: Vec<ComponentDescription>,
}

/// A component of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ComponentDescription {
    pub name: String,
    pub encoding: String,
    /// Why the builder chose the encoding; empty if it had no choice.
    pub reason: String,
    /// The bytes of the values before they were encoded.
    pub raw_bytes: u64,
    /// The bytes of its own sections, without those of nested components.
    pub stored_bytes: u64,
}

impl SegmentFile {
    pub fn describe(&self) -> SegmentDescription {
        SegmentDescription {
            version: VERSION,
            segment: self.segment(),
            rows: self.rows(),
            tombstones: self.tombstones(),
            bytes: self.bytes(),
            features: self.features(),
            components: self.components().iter().map(ComponentDescription::of).collect(),
        }
    }
}

impl ComponentDescription {
    fn of(component: &Component) -> ComponentDescription {
        ComponentDescription {
            name: component.name.clone(),
            encoding: component.encoding.clone(),
            reason: component.reason.clone(),
            raw_bytes: component.raw_bytes,
            stored_bytes: component.stored_bytes(),
        }
    }
}
