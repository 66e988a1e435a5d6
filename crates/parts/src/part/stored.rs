//! A published part on disk, as it was written, independent of the table's current columns.
//!
//! Parts never change. An obsolete part is marked, and its files are removed when its last reader drops it; until
//! then every snapshot with the part can read it.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use arrow::array::ArrayRef;
use arrow::buffer::BooleanBuffer;
use arrow::datatypes::FieldRef;
use basalt_base::fs::Storage;
use basalt_base::{Column, Columns, ErrorCode, FileAction};

use super::deleted::{self, DELETED_FILE};
use super::file_name;
use super::meta::{ColumnMeta, DataFile, META_BYTES_MAX, META_FILE, PartMeta, decode_bounds};
use super::span::{SharedFile, Span, Stretch};
use crate::column::file::ColumnFile;
use crate::column::plain::plain;
use crate::conversion::{Conversion, Conversions, ConvertValues};
use crate::error::{Damage, Error, Result};
use crate::history::ColumnHistory;
use crate::index::skip_file;
use crate::index::skip_index::{SkipIndex, SkipSummaries};
use crate::index::zone_file::{self, ZONES_FILE, ZonesPlace};
use crate::index::zones::{self, Zones};
use crate::key::primary::PrimaryIndex;
use crate::name::PartName;
use crate::spec::PartSpec;

/// The name of the primary index's file.
pub(crate) const PRIMARY_FILE: &str = "primary.idx";

/// The name of the file with the columns and indexes of a compact part.
pub(crate) const DATA_FILE: &str = "data.bin";

/// A larger index is invalid: a million granules with keys of a kilobyte.
const PRIMARY_BYTES_MAX: u64 = 1 << 30;

/// A part on disk.
#[derive(Debug)]
pub(crate) struct StoredPart {
    pub(crate) name: PartName,
    pub(crate) directory: Arc<PartDirectory>,
    pub(crate) meta: PartMeta,
    primary: OnceLock<Arc<PrimaryIndex>>,
    deleted: OnceLock<BooleanBuffer>,
    /// The first damage that a read found.
    damage: OnceLock<String>,
    /// By index in the metadata's skip indexes.
    skip_indexes: Vec<OnceLock<Arc<SkipSummaries>>>,
}

/// A part's directory. It is removed when the part is obsolete and has no reader.
#[derive(Debug)]
pub(crate) struct PartDirectory {
    storage: Arc<dyn Storage>,
    path: PathBuf,
    /// The data file of a compact part.
    data_file: Arc<SharedFile>,
    obsolete: AtomicBool,
    /// The empty part that covers removed rows. It must outlive this one, or the rows would reappear after a crash.
    replaced_by: OnceLock<Arc<PartDirectory>>,
    /// The directory to rename to before removal, if no part covers this one: half of its files would look damaged.
    removal_path: OnceLock<PathBuf>,
}

/// A column's file. The file of a dropped column is removed when it has no reader.
#[derive(Debug)]
pub(crate) struct StoredColumn {
    storage: Arc<dyn Storage>,
    pub(crate) file: Arc<ColumnFile>,
    obsolete: AtomicBool,
    zones: OnceLock<Option<Arc<Zones>>>,
    /// The conversion from the older type that the part has, if any.
    conversion: Option<Arc<dyn ConvertValues>>,
}

impl StoredPart {
    /// Reads the metadata of the part in `directory`.
    pub(crate) fn open(storage: Arc<dyn Storage>, directory: PathBuf, name: PartName) -> Result<StoredPart> {
        let path = directory.join(META_FILE);
        let bytes = storage.read(&path, META_BYTES_MAX)?;
        let meta = PartMeta::decode(&bytes).map_err(|error| error.in_file(&path))?;
        Ok(StoredPart::new(PartDirectory::new(storage, directory), name, meta))
    }

    pub(crate) fn new(directory: Arc<PartDirectory>, name: PartName, meta: PartMeta) -> StoredPart {
        let skip_indexes = meta.skip_indexes.iter().map(|_| OnceLock::new()).collect();
        StoredPart {
            name,
            directory,
            meta,
            primary: OnceLock::new(),
            deleted: OnceLock::new(),
            damage: OnceLock::new(),
            skip_indexes,
        }
    }

    /// The part with the table's current column names; `None` if it has them already.
    pub(crate) fn renamed(&self, history: &ColumnHistory) -> Option<StoredPart> {
        let mut meta = self.meta.clone();
        let is_changed = history.apply(&mut meta);
        is_changed.then(|| StoredPart::new(Arc::clone(&self.directory), self.name.clone(), meta))
    }

    /// Checks that all files exist. Their contents are checked when they are read: a query that needs a damaged
    /// file fails with the place of the damage, and then the part is set aside.
    pub(crate) fn check_files(&self) -> Result<()> {
        if self.meta.data_file.is_some() {
            return self.check_file(DATA_FILE);
        }
        self.check_file(PRIMARY_FILE)?;
        if self.meta.zones_file_bytes > 0 {
            self.check_file(ZONES_FILE)?;
        }
        for index in &self.meta.skip_indexes {
            self.check_file(&file_name::of_skip_index(&index.name))?;
        }
        self.meta.columns.iter().try_for_each(|column| self.check_file(&column.file))
    }

    fn check_file(&self, name: &str) -> Result<()> {
        let path = self.directory.path.join(name);
        if self.directory.storage.exists(&path)? {
            return Ok(());
        }
        Err(Error::Storage(basalt_base::Error::new(
            ErrorCode::FileDoesntExist,
            format!("file {} of the part is missing", path.display()),
        )))
    }

    /// Records that a read found damage, so that the part is set aside.
    pub(crate) fn note_damage(&self, error: &Error) {
        let is_damage = match error {
            Error::Corrupt { .. } => true,
            Error::Storage(error) => error.code() == ErrorCode::FileDoesntExist,
            _ => false,
        };
        if is_damage {
            // The first damage is enough.
            let _ = self.damage.set(error.to_string());
        }
    }

    /// The first damage that a read found.
    pub(crate) fn damage(&self) -> Option<&str> {
        self.damage.get().map(String::as_str)
    }

    /// The primary index, loaded on first use.
    pub(crate) fn primary(&self, fields: &[FieldRef]) -> Result<&PrimaryIndex> {
        if let Some(primary) = self.primary.get() {
            return Ok(primary);
        }
        let (span, bytes) = self.primary_bytes()?;
        let rows = if self.meta.row_count == 0 { 0 } else { self.meta.mark_count() + 1 };
        let index = PrimaryIndex::decode(&bytes, fields, rows).map_err(|damage| damage.in_file(&span))?;
        Ok(self.primary.get_or_init(|| Arc::new(index)))
    }

    /// The bytes of the primary index.
    pub(super) fn primary_bytes(&self) -> Result<(Span, Vec<u8>)> {
        let span = self.index_span(PRIMARY_FILE, self.meta.primary_file_bytes, |data| data.primary_offset);
        let bytes =
            span.read(&*self.directory.storage, self.meta.primary_file_bytes.min(PRIMARY_BYTES_MAX))?;
        Ok((span, bytes))
    }

    /// The zone map of `column`, which is `stored`; loaded on first use.
    pub(crate) fn zones(&self, stored: &StoredColumn, column: &Column) -> Result<Option<Arc<Zones>>> {
        if let Some(zones) = stored.zones.get() {
            return Ok(zones.clone());
        }
        let zones = self.read_zones(column)?.map(Arc::new);
        Ok(stored.zones.get_or_init(|| zones).clone())
    }

    fn read_zones(&self, column: &Column) -> Result<Option<Zones>> {
        let Some(meta) = self.column_meta(&column.name) else { return Ok(None) };
        let (field, marks) = (column.to_field(), self.meta.mark_count());
        if let Some(place) = meta.zones {
            let span = self.index_span(ZONES_FILE, self.meta.zones_file_bytes, |data| data.zones_offset);
            let bytes = self.read_zone_bytes(&span, place)?;
            let zones = place.read(&bytes, &field, marks);
            return zones.map(Some).map_err(|damage| damage.shifted(place.offset).in_file(&span));
        }
        if marks != 1 {
            return Ok(None);
        }
        let path = self.directory.path.join(META_FILE);
        let bounds = decode_bounds(&field, &meta.bounds).map_err(|damage| damage.in_file(&path))?;
        bounds.map(|bounds| zones::of_one_granule(&bounds, meta.null_count)).transpose()
    }

    /// The bytes of a zone map in the file, with their checksum verified.
    pub(super) fn zone_bytes(&self, place: ZonesPlace) -> Result<Vec<u8>> {
        let span = self.index_span(ZONES_FILE, self.meta.zones_file_bytes, |data| data.zones_offset);
        let bytes = self.read_zone_bytes(&span, place)?;
        place.check(&bytes).map_err(|damage| damage.shifted(place.offset).in_file(&span))?;
        Ok(bytes)
    }

    fn read_zone_bytes(&self, span: &Span, place: ZonesPlace) -> Result<Vec<u8>> {
        let file = span.open(&*self.directory.storage)?;
        let expected = self.meta.zones_file_bytes;
        if file.size() != expected || place.offset + place.bytes > expected {
            let what = format!("the file has {} bytes, the part's metadata says {expected}", file.size());
            return Err(Damage { at: file.size().min(expected), what }.in_file(span));
        }
        let read = |at: u64, bytes: &mut [u8]| {
            file.read_at(at, bytes)
                .map_err(|error| Error::from(basalt_base::Error::io(FileAction::Read, span.path(), &error)))
        };
        let mut magic = [0; zone_file::MAGIC.len()];
        read(0, &mut magic)?;
        if magic != *zone_file::MAGIC {
            return Err(Damage::new(0, "this is not a file of zone maps").in_file(span));
        }
        let mut bytes = vec![0; place.bytes as usize];
        read(place.offset, &mut bytes)?;
        Ok(bytes)
    }

    /// The summaries of `index` of a table with `columns`; `None` if the part was written without it. Loaded on
    /// first use.
    pub(crate) fn skip_summaries(
        &self,
        index: &SkipIndex,
        columns: &Columns,
    ) -> Result<Option<&SkipSummaries>> {
        let position = self.meta.skip_indexes.iter().position(|meta| meta.is_of(index));
        let (Some(position), Some(fields)) = (position, index.fields(columns)) else { return Ok(None) };
        if let Some(found) = self.skip_indexes[position].get() {
            return Ok(Some(found));
        }
        let (span, bytes) = self.skip_index_bytes(position)?;
        let summaries =
            skip_file::decode(&bytes, &index.kind, &fields, index.granularity, self.meta.mark_count())
                .map_err(|damage| damage.in_file(&span))?;
        let found = Arc::new(SkipSummaries { granularity: index.granularity as usize, summaries });
        Ok(Some(self.skip_indexes[position].get_or_init(|| found)))
    }

    /// The bytes of the skip index at `position` of the metadata.
    pub(super) fn skip_index_bytes(&self, position: usize) -> Result<(Span, Vec<u8>)> {
        let meta = &self.meta.skip_indexes[position];
        let span = match (&self.meta.data_file, meta.offset) {
            (Some(data), Some(offset)) => self.data_span(data, offset, meta.file_bytes),
            _ => Span::whole(self.directory.path.join(file_name::of_skip_index(&meta.name))),
        };
        let bytes = span.read(&*self.directory.storage, meta.file_bytes)?;
        Ok((span, bytes))
    }

    /// The place of an index: a file of a wide part, a section of the data file of a compact one.
    fn index_span(&self, file: &str, bytes: u64, offset: fn(&DataFile) -> u64) -> Span {
        match &self.meta.data_file {
            None => Span::whole(self.directory.path.join(file)),
            Some(data) => self.data_span(data, offset(data), bytes),
        }
    }

    fn data_span(&self, data: &DataFile, offset: u64, bytes: u64) -> Span {
        let stretch = Stretch { offset, bytes, file_bytes: data.file_bytes };
        Span::stretch(self.directory.path.join(DATA_FILE), stretch, &self.directory.data_file)
    }

    fn column_span(&self, meta: &ColumnMeta) -> Span {
        match (&self.meta.data_file, meta.offset) {
            (Some(data), Some(offset)) => self.data_span(data, offset, meta.size.file_bytes),
            _ => Span::whole(self.directory.path.join(&meta.file)),
        }
    }

    /// The metadata of the column called `name`.
    pub(crate) fn column_meta(&self, name: &str) -> Option<&ColumnMeta> {
        self.meta.columns.iter().find(|meta| meta.name == name)
    }

    /// A mask of the deleted rows; `None` if there are none. Loaded on first use.
    pub(crate) fn deleted(&self) -> Result<Option<&BooleanBuffer>> {
        let (rows, count) = (self.meta.row_count, self.meta.deleted_count);
        if count == 0 || self.deleted.get().is_some() {
            return Ok(self.deleted.get());
        }
        let path = self.directory.path.join(DELETED_FILE);
        let bytes = self.directory.storage.read(&path, deleted::file_bytes(rows))?;
        let mask = deleted::decode(&bytes, rows, count).map_err(|damage| damage.in_file(&path))?;
        Ok(Some(self.deleted.get_or_init(|| mask)))
    }

    /// Bytes of the primary index in memory; 0 before its first use.
    pub(crate) fn primary_memory_bytes(&self) -> usize {
        self.primary.get().map_or(0, |primary| primary.memory_bytes())
    }

    /// The stored columns by position in the table; `None` for those that the part was written without.
    pub(crate) fn columns(&self, spec: &PartSpec) -> Result<Vec<Option<Arc<StoredColumn>>>> {
        spec.columns.iter().map(|column| self.column(column, &spec.conversions)).collect()
    }

    fn column(&self, column: &Column, conversions: &Conversions) -> Result<Option<Arc<StoredColumn>>> {
        let Some(meta) = self.column_meta(&column.name) else { return Ok(None) };
        let conversion = self.conversion(meta, column, conversions)?;
        let storage = Arc::clone(&self.directory.storage);
        let path = self.column_span(meta);
        let field = match &conversion {
            Some(conversion) => Column::new(&column.name, conversion.from.clone()).to_field(),
            None => column.to_field(),
        };
        let field = Arc::new(field);
        let (rows, granule_rows) = (self.meta.row_count, self.meta.granule_rows);
        let file = ColumnFile::new(Arc::clone(&storage), path, field, meta.size, rows, granule_rows);
        Ok(Some(Arc::new(StoredColumn {
            storage,
            file: Arc::new(file),
            obsolete: AtomicBool::new(false),
            zones: OnceLock::new(),
            conversion: conversion.and_then(|conversion| conversion.values),
        })))
    }

    /// The conversion of the column's values to its current type; `None` if they have it.
    fn conversion(
        &self,
        meta: &ColumnMeta,
        column: &Column,
        conversions: &Conversions,
    ) -> Result<Option<Conversion>> {
        let expected = column.ty.to_string();
        if meta.ty == expected {
            return Ok(None);
        }
        match &conversions.0 {
            Some(conversions) => Ok(Some(conversions.find(&meta.ty, column)?)),
            None => Err(Error::ColumnType {
                part: self.name.to_string(),
                column: column.name.clone(),
                found: meta.ty.clone(),
                expected,
            }),
        }
    }
}

impl PartDirectory {
    pub(crate) fn new(storage: Arc<dyn Storage>, path: PathBuf) -> Arc<PartDirectory> {
        Arc::new(PartDirectory {
            storage,
            path,
            data_file: Arc::default(),
            obsolete: AtomicBool::new(false),
            replaced_by: OnceLock::new(),
            removal_path: OnceLock::new(),
        })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn storage(&self) -> &Arc<dyn Storage> {
        &self.storage
    }

    /// Marks the part as obsolete: another part has its rows, or nobody needs them.
    pub(crate) fn mark_obsolete(&self) {
        self.obsolete.store(true, Ordering::Release);
    }

    /// Marks the part as obsolete although no other part covers it: its removal renames it to `removal_path` first.
    pub(crate) fn mark_uncovered(&self, removal_path: PathBuf) {
        let _ = self.removal_path.set(removal_path);
        self.mark_obsolete();
    }

    /// Keeps `empty` alive until this part's files are removed.
    pub(crate) fn mark_replaced(&self, empty: &Arc<PartDirectory>) {
        // Only active parts are replaced, and only once.
        let _ = self.replaced_by.set(Arc::clone(empty));
        self.mark_obsolete();
    }
}

impl Drop for PartDirectory {
    fn drop(&mut self) {
        if !*self.obsolete.get_mut() {
            return;
        }
        let Some(parent) = self.path.parent() else { return };
        // If removal fails, the next open removes it.
        let removed = match self.removal_path.get() {
            None => self.storage.remove_dir_all(&self.path),
            Some(removal_path) => self
                .storage
                .rename(&self.path, removal_path)
                .and_then(|()| self.storage.sync_dir(parent))
                .and_then(|()| self.storage.remove_dir_all(removal_path)),
        };
        if let Some(empty) = self.replaced_by.get() {
            let durable = removed.and_then(|()| self.storage.sync_dir(parent));
            if durable.is_err() {
                empty.obsolete.store(false, Ordering::Release);
            }
        }
    }
}

impl StoredColumn {
    /// Whether the values have an older type, so that their zone maps and bounds are of no use.
    pub(crate) fn is_converted(&self) -> bool {
        self.conversion.is_some()
    }

    /// Converts values to the current type.
    pub(crate) fn converted(&self, values: ArrayRef) -> Result<ArrayRef> {
        match &self.conversion {
            Some(conversion) => Ok(conversion.convert(&plain(&values))?),
            None => Ok(values),
        }
    }

    pub(crate) fn mark_obsolete(&self) {
        self.obsolete.store(true, Ordering::Release);
    }
}

impl Drop for StoredColumn {
    fn drop(&mut self) {
        if *self.obsolete.get_mut() && self.file.has_own_file() {
            // If removal fails, the file only takes space: the metadata no longer names it.
            let _ = self.storage.remove_file(self.file.path());
        }
    }
}
