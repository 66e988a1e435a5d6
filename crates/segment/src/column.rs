//! A column of an open segment.

use std::ops::{ControlFlow, Range};
use std::sync::Arc;

use basalt_base::{Error, Result};

use crate::Rank;
use crate::file::SegmentFile;
use crate::search::{Pattern, SearchMemory, SearchReport, Strings, search};
use crate::spec::ColumnSpec;
use crate::trigram::Postings;
use crate::value::{ColumnStore, Zones, open};

/// A column of a segment.
pub struct SegmentColumn {
    store: Arc<dyn ColumnStore>,
    zones: Option<Zones>,
    postings: Option<Postings>,
    description: ColumnDescription,
}

/// How a column is stored.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ColumnDescription {
    /// The name in the spec.
    pub name: String,
    pub encoding: String,
    /// Why the builder chose the encoding.
    pub reason: String,
    /// The bytes of the values before they were encoded: without NULLs, and without the ends of strings and lists.
    pub raw_bytes: u64,
    /// The bytes of the store in the file, with those of nested stores and of NULLs. Zone maps and trigrams are apart.
    pub stored_bytes: u64,
}

impl SegmentColumn {
    /// `None` if the file does not have the column.
    pub(crate) fn open(file: &SegmentFile, spec: &ColumnSpec) -> Result<Option<SegmentColumn>> {
        let name = spec.component();
        let Some(component) = file.find(&name)? else { return Ok(None) };
        let component = component.component();
        let store = open(file, &name, &spec.data_type)?;
        let description = ColumnDescription {
            name: spec.name.clone(),
            encoding: component.encoding.clone(),
            reason: component.reason.clone(),
            raw_bytes: component.raw_bytes,
            stored_bytes: store.stored_bytes(),
        };
        let zones = file.find(&spec.zones())?.map(Zones::open).transpose()?;
        let postings = file.find(&spec.trigrams())?.map(Postings::open).transpose()?;
        Ok(Some(SegmentColumn { store, zones, postings, description }))
    }

    pub fn store(&self) -> &dyn ColumnStore {
        self.store.as_ref()
    }

    pub fn zones(&self) -> Option<&Zones> {
        self.zones.as_ref()
    }

    pub fn description(&self) -> &ColumnDescription {
        &self.description
    }

    /// Calls `found` with the ascending ranks in `ranks` whose strings match, until it breaks. A NULL has the string
    /// that its store has for it; the caller knows that it is none.
    pub fn search(
        &self,
        pattern: &Pattern,
        memory: &mut SearchMemory,
        ranks: Range<Rank>,
        found: &mut dyn FnMut(Rank) -> Result<ControlFlow<()>>,
    ) -> Result<SearchReport> {
        let store = self
            .store
            .as_strings()
            .ok_or_else(|| Error::logical("a pattern in a column that has no strings"))?;
        let strings = Strings { store, tokens: store.as_tokens(), postings: self.postings.as_ref() };
        search(strings, pattern, memory, ranks, found)
    }
}
