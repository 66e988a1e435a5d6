//! An open segment: keys, columns and what searches them.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use basalt_base::fs::Storage;
use basalt_base::{Error, Result};

use crate::Rank;
use crate::bits::ranks::Ranks;
use crate::file::{Access, SegmentFile};
use crate::filter::KeyFilter;
use crate::key::{KeyIndex, SecondaryIndex, open_key_index};
use crate::search::{Pattern, SearchReport, Strings, search};
use crate::spec::{ColumnSpec, FILTER, KEY, SegmentSpec, TOMBSTONES, index_component};
use crate::trigram::Postings;
use crate::value::{ColumnStore, Zones, open};

/// A segment file and its structures. Cloning the `Arc` around it pins the file.
pub struct Segment {
    file: SegmentFile,
    keys: Arc<dyn KeyIndex>,
    filter: Option<KeyFilter>,
    tombstones: Option<Ranks>,
    columns: Vec<Option<SegmentColumn>>,
    indexes: Vec<Option<SecondaryIndex>>,
}

/// A column of a segment.
pub struct SegmentColumn {
    store: Arc<dyn ColumnStore>,
    zones: Option<Zones>,
    postings: Option<Postings>,
}

impl Segment {
    /// Opens the file at `path`. A column or an index of `spec` that the file does not have is `None`: it was added to
    /// the table later.
    pub fn open(storage: &dyn Storage, path: &Path, access: Access, spec: &SegmentSpec) -> Result<Segment> {
        let file = SegmentFile::open(storage, path, access)?;
        let keys = open_key_index(&file, KEY)?;
        if keys.len() != file.rows() {
            let what = format!("{} keys for {} rows", keys.len(), file.rows());
            return Err(file.component(KEY)?.place().corrupt(what));
        }
        let filter = match file.find(FILTER)? {
            Some(_) => Some(KeyFilter::open(&file, FILTER)?),
            None => None,
        };
        let tombstones = tombstones_of(&file)?;
        let columns = spec.columns.iter().map(|column| SegmentColumn::open(&file, column));
        let columns = columns.collect::<Result<_>>()?;
        let index = |name: &String| {
            let name = index_component(name);
            match file.find(&name)? {
                Some(_) => SecondaryIndex::open(&file, &name).map(Some),
                None => Ok(None),
            }
        };
        let indexes = spec.indexes.iter().map(index).collect::<Result<_>>()?;
        Ok(Segment { file, keys, filter, tombstones, columns, indexes })
    }

    pub fn file(&self) -> &SegmentFile {
        &self.file
    }

    /// Rows with the tombstones among them.
    pub fn rows(&self) -> u32 {
        self.file.rows()
    }

    pub fn keys(&self) -> &dyn KeyIndex {
        self.keys.as_ref()
    }

    /// The rank of `key`, of a row or a tombstone; `None` if it is not there.
    #[inline]
    pub fn find(&self, key: &[u8]) -> Result<Option<Rank>> {
        match &self.filter {
            Some(filter) if !filter.may_contain(key) => Ok(None),
            _ => self.keys.find(key),
        }
    }

    #[inline]
    pub fn is_tombstone(&self, rank: Rank) -> bool {
        self.tombstones.as_ref().is_some_and(|tombstones| tombstones.position(rank).is_some())
    }

    /// The column at `position` of the spec.
    pub fn column(&self, position: usize) -> Option<&SegmentColumn> {
        self.columns.get(position)?.as_ref()
    }

    /// The secondary index at `position` of the spec.
    pub fn index(&self, position: usize) -> Option<&SecondaryIndex> {
        self.indexes.get(position)?.as_ref()
    }

    /// Compares all checksums.
    pub fn check(&self) -> Result<()> {
        self.file.check()
    }

    /// An error if the file became shorter or its disk failed while it was read. It must be called before the result
    /// of a lookup is used.
    pub fn check_present(&self) -> Result<()> {
        self.file.check_present()
    }
}

impl SegmentColumn {
    fn open(file: &SegmentFile, spec: &ColumnSpec) -> Result<Option<SegmentColumn>> {
        let name = spec.component();
        if file.find(&name)?.is_none() {
            return Ok(None);
        }
        let store = open(file, &name, &spec.data_type)?;
        let zones = file.find(&spec.zones())?.map(Zones::open).transpose()?;
        let postings = file.find(&spec.trigrams())?.map(Postings::open).transpose()?;
        Ok(Some(SegmentColumn { store, zones, postings }))
    }

    pub fn store(&self) -> &dyn ColumnStore {
        self.store.as_ref()
    }

    pub fn zones(&self) -> Option<&Zones> {
        self.zones.as_ref()
    }

    /// Calls `found` with the ascending ranks in `ranks` whose strings match, until it breaks. A NULL has the string
    /// that its store has for it; the caller knows that it is none.
    pub fn search(
        &self,
        pattern: &Pattern,
        ranks: std::ops::Range<Rank>,
        found: &mut dyn FnMut(Rank) -> Result<std::ops::ControlFlow<()>>,
    ) -> Result<SearchReport> {
        let store = self
            .store
            .as_strings()
            .ok_or_else(|| Error::logical("a pattern in a column that has no strings"))?;
        let strings = Strings { store, tokens: store.as_tokens(), postings: self.postings.as_ref() };
        search(strings, pattern, ranks, found)
    }
}

fn tombstones_of(file: &SegmentFile) -> Result<Option<Ranks>> {
    let Some(mut component) = file.find(TOMBSTONES)? else {
        return match file.tombstones() {
            0 => Ok(None),
            _ => file.component(TOMBSTONES).map(|_| None),
        };
    };
    let tombstones = Ranks::open(&mut component, file.rows())?;
    if tombstones.len() != file.tombstones() as usize {
        let what = format!("{} ranks for {} tombstones", tombstones.len(), file.tombstones());
        return Err(component.place().corrupt(what));
    }
    component.finish()?;
    Ok(Some(tombstones))
}

impl fmt::Debug for Segment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Segment").field("file", &self.file).finish_non_exhaustive()
    }
}
