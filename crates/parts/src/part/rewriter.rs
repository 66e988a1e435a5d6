//! Rewrites some columns of a wide part: makes a pending part that links to the other files.
//!
//! The rows, the primary index, the partition and the mask of deleted rows stay as they are. The zone maps of all
//! columns share a file, so it is written again, from the old maps of the columns that stay and the new ones of the
//! others. Files that the metadata does not name are not linked.

use std::path::PathBuf;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef};
use basalt_base::fs::{PendingDirectory, Storage};

use super::column_writer::ColumnWriter;
use super::computed_index::RecomputedIndexes;
use super::deleted::DELETED_FILE;
use super::file_name;
use super::meta::{ColumnMeta, META_FILE, PartMeta, SkipIndexMeta};
use super::stored::PRIMARY_FILE;
use super::view::Part;
use super::writer::{PendingPart, write_file};
use crate::error::Result;
use crate::index::skip_index::SkipIndex;
use crate::index::zone_file::{ZONES_FILE, ZonesPlace};
use crate::spec::PartSpec;

/// A copy of a part with some columns rewritten.
pub(crate) struct PartRewriter {
    part: Arc<Part>,
    /// The table's spec, with the granules of the part.
    spec: PartSpec,
    directory: PendingDirectory,
    /// With their positions in the table.
    columns: Vec<(usize, ColumnWriter)>,
    /// Names of the columns that the copy drops.
    cleared: Vec<String>,
    /// Multi-column and expression indexes that read a rewritten column.
    indexes: RecomputedIndexes,
}

impl PartRewriter {
    /// Starts a copy of `part` in the temporary directory `path`, with new values in `columns` (positions in the
    /// table, without duplicates) and without the columns called `cleared`.
    ///
    /// # Panics
    ///
    /// If the part is compact, because its columns share a file.
    pub(crate) fn create(
        storage: Arc<dyn Storage>,
        path: PathBuf,
        part: &Arc<Part>,
        columns: &[usize],
        cleared: &[String],
    ) -> Result<PartRewriter> {
        let meta = &part.stored.meta;
        assert!(meta.data_file.is_none(), "a compact part is written whole");
        let spec = PartSpec { granule_rows: meta.granule_rows as usize, ..part.spec.as_ref().clone() };
        let directory = PendingDirectory::create(storage, path)?;
        let is_written = |name: &str| columns.iter().any(|&at| spec.columns[at].name == name);
        let kept = meta.columns.iter().filter(|column| !is_written(&column.name));
        let mut taken: Vec<String> = kept.map(|column| column.file.clone()).collect();
        let mut writers = Vec::with_capacity(columns.len());
        for &position in columns {
            let file = file_name::of_new_column(&spec.columns[position].name, position, &taken);
            taken.push(file.clone());
            let writer = ColumnWriter::create(directory.path(), &spec, position)?.named(file);
            writer.move_to_file(&directory)?;
            writers.push((position, writer));
        }
        let is_recomputed = |index: &&SkipIndex| {
            let is_of_written = columns.iter().any(|&at| index.reads(&spec.columns[at].name));
            index.as_column().is_none() && is_of_written && !is_of_any(index, cleared)
        };
        let recomputed = spec.indexes.iter().filter(is_recomputed);
        let indexes = RecomputedIndexes::new(part, &spec, recomputed);
        let (part, cleared) = (Arc::clone(part), cleared.to_vec());
        Ok(PartRewriter { part, indexes, spec, directory, columns: writers, cleared })
    }

    /// Also builds `indexes`.
    pub(crate) fn with(mut self, indexes: &[SkipIndex]) -> PartRewriter {
        self.indexes = RecomputedIndexes::new(&self.part, &self.spec, indexes.iter());
        self
    }

    /// Builds the indexes of the next rows, which are whole granules. No column is written.
    pub(crate) fn write_indexes(&mut self, rows: usize) -> Result<()> {
        self.indexes.write(rows, &[])
    }

    /// Appends whole granules: the values of each column, in the order of [`PartRewriter::create`].
    pub(crate) fn write(&mut self, values: &[ArrayRef]) -> Result<()> {
        let places = self.columns.iter().map(|(position, _)| *position);
        let new: Vec<(usize, ArrayRef)> = places.zip(values.iter().cloned()).collect();
        self.indexes.write(values.first().map_or(0, |values| values.len()), &new)?;
        self.columns.iter_mut().zip(values).try_for_each(|((_, writer), values)| writer.write(values))
    }

    /// Links the unchanged files and writes the metadata; the caller syncs the directory.
    pub(crate) fn finish(self, made_at_us: u64) -> Result<PendingPart> {
        let old = &self.part.stored.meta;
        let mut zones = Vec::new();
        let (mut columns, mut skip_indexes) = (Vec::new(), Vec::new());
        for (position, writer) in self.columns {
            let mut column = writer.finish()?;
            for (index, bytes) in column.take_indexes() {
                write_file(&self.directory, &file_name::of_skip_index(&index.name), &bytes)?;
                skip_indexes.push(SkipIndexMeta::new(&index, bytes.len(), None));
            }
            columns.push(column.meta(&self.spec, position, &mut zones)?);
        }
        for (index, bytes) in self.indexes.finish()? {
            write_file(&self.directory, &file_name::of_skip_index(&index.name), &bytes)?;
            skip_indexes.push(SkipIndexMeta::new(&index, bytes.len(), None));
        }
        let kept = Kept::of(&self.part, (&columns, &self.cleared), &skip_indexes, &mut zones)?;
        kept.link(&self.part, &self.directory)?;
        columns.extend(kept.columns);
        skip_indexes.extend(kept.skip_indexes);
        if !zones.is_empty() {
            write_file(&self.directory, ZONES_FILE, &zones)?;
        }
        let meta = PartMeta {
            made_at_us,
            made_by: env!("CARGO_PKG_VERSION").to_owned(),
            zones_file_bytes: zones.len() as u64,
            columns,
            skip_indexes,
            ..old.clone()
        };
        write_file(&self.directory, META_FILE, &meta.encode())?;
        Ok(PendingPart { directory: self.directory, meta })
    }
}

/// The unchanged columns and indexes of a part.
struct Kept {
    columns: Vec<ColumnMeta>,
    skip_indexes: Vec<SkipIndexMeta>,
}

impl Kept {
    /// The columns and indexes that are neither written nor cleared; appends their zone maps to `zones`.
    fn of(
        part: &Part,
        (written, cleared): (&[ColumnMeta], &[String]),
        indexes: &[SkipIndexMeta],
        zones: &mut Vec<u8>,
    ) -> Result<Kept> {
        let old = &part.stored.meta;
        let is_written = |name: &String| written.iter().any(|column| column.name == *name);
        let is_gone = |name: &String| is_written(name) || cleared.contains(name);
        let mut columns = Vec::with_capacity(old.columns.len());
        for column in old.columns.iter().filter(|column| !is_gone(&column.name)) {
            let mut column = column.clone();
            if let Some(place) = &mut column.zones {
                *place = ZonesPlace::append_encoded(zones, &part.stored.zone_bytes(*place)?);
            }
            columns.push(column);
        }
        // An index that the table no longer has may read columns that are rewritten.
        let is_known = |meta: &SkipIndexMeta| {
            part.spec.indexes.iter().any(|index| meta.is_of(index) && !is_of_any(index, cleared))
        };
        let is_kept =
            |index: &&SkipIndexMeta| is_known(index) && indexes.iter().all(|other| other.name != index.name);
        Ok(Kept { columns, skip_indexes: old.skip_indexes.iter().filter(is_kept).cloned().collect() })
    }

    fn link(&self, part: &Part, directory: &PendingDirectory) -> Result<()> {
        let (stored, old) = (&part.stored.directory, &part.stored.meta);
        let link =
            |file: &str| stored.storage().hard_link(&stored.path().join(file), &directory.path().join(file));
        link(PRIMARY_FILE)?;
        if old.deleted_count > 0 {
            link(DELETED_FILE)?;
        }
        for column in &self.columns {
            link(&column.file)?;
        }
        for index in &self.skip_indexes {
            link(&file_name::of_skip_index(&index.name))?;
        }
        Ok(())
    }
}

fn is_of_any(index: &SkipIndex, names: &[String]) -> bool {
    names.iter().any(|name| index.reads(name))
}
