//! An open segment: keys, columns and what searches them.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use basalt_base::Result;
use basalt_base::fs::Storage;

use crate::Rank;
use crate::bits::ranks::Ranks;
use crate::column::{ColumnDescription, SegmentColumn};
use crate::file::{Access, SegmentDescription, SegmentFile};
use crate::filter::KeyFilter;
use crate::key::{KeyIndex, SecondaryIndex, open_key_index};
use crate::spec::{FILTER, KEY, SegmentSpec, TOMBSTONES, index_component};

/// A segment file and its structures. Cloning the `Arc` around it pins the file.
pub struct Segment {
    file: SegmentFile,
    keys: Arc<dyn KeyIndex>,
    filter: Option<KeyFilter>,
    tombstones: Option<Ranks>,
    columns: Vec<Option<SegmentColumn>>,
    indexes: Vec<Option<SecondaryIndex>>,
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

    /// Calls `visit` with the ranks of all tombstones, in order.
    pub fn each_tombstone(&self, mut visit: impl FnMut(Rank)) {
        if let Some(tombstones) = &self.tombstones {
            tombstones.each_in(0..self.rows(), |rank, _| visit(rank));
        }
    }

    /// The column at `position` of the spec.
    pub fn column(&self, position: usize) -> Option<&SegmentColumn> {
        self.columns.get(position)?.as_ref()
    }

    /// The secondary index at `position` of the spec.
    pub fn index(&self, position: usize) -> Option<&SecondaryIndex> {
        self.indexes.get(position)?.as_ref()
    }

    /// What the file says about itself.
    pub fn describe(&self) -> SegmentDescription {
        self.file.describe()
    }

    /// The columns of the spec that the file has, in the order of the spec.
    pub fn describe_columns(&self) -> impl Iterator<Item = &ColumnDescription> {
        self.columns.iter().flatten().map(SegmentColumn::description)
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
